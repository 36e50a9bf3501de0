/* Which handler belongs to which interrupt, from made-up stamps of a kernel. */
#include "base/posix_source.h"

#include "family/interrupt/handler_trace.h"
#include "tap.h"

static struct handler_log made_up;
/* "+ENTRY -EXIT !LOST_AT" in order; "|": what was read is cleared. */
static void log_all(const char *events)
{
    for (char kind; (kind = *events) != '\0'; events += strspn(events, " ")) {
        char *end = (char *)events + 1;
        int64_t at_ns = kind == '|' ? 0 : strtoll(events + 1, &end, 10);
        if (kind == '+')
            handler_log_entry(&made_up, at_ns);
        if (kind == '-')
            handler_log_exit(&made_up, at_ns);
        if (kind == '!')
            handler_log_lost(&made_up, at_ns);
        if (kind == '|')
            handler_log_clear(&made_up);
        events = end;
    }
}

TEST(handlers_of_an_interrupt)
{
    static const struct {
        const char *events;
        int64_t from_ns, to_ns;
        enum handler_fate fate;
        int64_t entry_ns, exit_ns; /* of a single one */
    } rows[] = {
        {"+100 -150 +1020 -1080 +2000 -2050", 1000, 1100, HANDLER_SINGLE, 1020, 1080},
        {"+100 -150 +1020 -1080 +2000 -2050", 1020, 1080, HANDLER_SINGLE, 1020, 1080},
        /* one that began before, or ended after, is another's */
        {"+990 -1050 +1060 -1110", 1000, 1100, HANDLER_NONE, 0, 0},
        {"+990 -1050 +1060 -1110", 5000, 5100, HANDLER_NONE, 0, 0},
        {"+1010 -1020 +1030 -1040", 1000, 1100, HANDLER_SEVERAL, 0, 0},
        {"+1010 -1020 +1030 -1040", 1000, 1025, HANDLER_SINGLE, 1010, 1020},
        {"+100 -150 !1000 +1020 -1080", 90, 140, HANDLER_NONE, 0, 0}, /* it ends later */
        {"+100 -150 !1000 +1020 -1080", 90, 160, HANDLER_LOST, 0, 0},
        {"+100 -150 !1000 +1020 -1080", 500, 600, HANDLER_LOST, 0, 0},
        {"+100 -150 !1000 +1020 -1080", 1010, 1100, HANDLER_SINGLE, 1020, 1080},
        {"+100 -150 !1000 +1020 -1080 |", 500, 600, HANDLER_NONE, 0, 0},
        /* the exit is missing: no pair is made of an entry and the exit of a later handler */
        {"+100 !1000 -1080", 90, 1100, HANDLER_LOST, 0, 0},
        {"+100 !1000 -1080", 1050, 1100, HANDLER_NONE, 0, 0},
        /* read in two parts: the handler that lies between is whole */
        {"+100 | -150", 90, 160, HANDLER_SINGLE, 100, 150},
    };
    foreach (row, rows, row->events) {
        struct handled found = {0};
        memset(&made_up, 0, sizeof made_up);
        log_all(row->events);
        CHECK_SAME(handler_log_find(&made_up, row->from_ns, row->to_ns, &found), row->fate);
        if (row->fate == HANDLER_SINGLE)
            CHECK(found.entry_ns == row->entry_ns && found.exit_ns == row->exit_ns);
    }
}

TEST(full)
{
    struct handled found;
    memset(&made_up, 0, sizeof made_up);
    for (int i = 0; i < HANDLER_LOG + 5; i++) {
        handler_log_entry(&made_up, i * 100);
        handler_log_exit(&made_up, i * 100 + 50);
    }
    CHECK_SAME(made_up.count, HANDLER_LOG);
    CHECK_SAME(handler_log_find(&made_up, 100, 190, &found), HANDLER_SINGLE);
    CHECK_SAME(handler_log_find(&made_up, HANDLER_LOG * 100, HANDLER_LOG * 100 + 60, &found),
               HANDLER_LOST);
}

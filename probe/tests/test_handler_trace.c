/* Which handler belongs to which interrupt, from made-up stamps of a kernel. */
#include "base/posix_source.h"

#include "family/interrupt/handler_trace.h"
#include "tap.h"

static struct handler_log made_up;
static struct handled found;

static bool begin(void)
{
    memset(&made_up, 0, sizeof made_up);
    memset(&found, 0, sizeof found);
    return true;
}

#define LOG_TEST(what) TEST_IN(begin(), (void)0, what)

static enum handler_fate find(int64_t from_ns, int64_t to_ns)
{
    return handler_log_find(&made_up, from_ns, to_ns, &found);
}

static void handle(int64_t entry_ns, int64_t exit_ns)
{
    handler_log_entry(&made_up, entry_ns);
    handler_log_exit(&made_up, exit_ns);
}

LOG_TEST(single)
{
    handle(100, 150);
    handle(1020, 1080);
    handle(2000, 2050);
    CHECK_SAME(find(1000, 1100), HANDLER_SINGLE);
    CHECK_SAME(found.entry_ns, 1020);
    CHECK_SAME(found.exit_ns, 1080);
    CHECK_SAME(find(1020, 1080), HANDLER_SINGLE);
}

/* One that began before, or ended after, is another's. */
LOG_TEST(none)
{
    handle(990, 1050);
    handle(1060, 1110);
    CHECK_SAME(find(1000, 1100), HANDLER_NONE);
    CHECK_SAME(find(5000, 5100), HANDLER_NONE);
}

LOG_TEST(several)
{
    handle(1010, 1020);
    handle(1030, 1040);
    CHECK_SAME(find(1000, 1100), HANDLER_SEVERAL);
    CHECK_SAME(find(1000, 1025), HANDLER_SINGLE);
}

LOG_TEST(lost)
{
    handle(100, 150);
    handler_log_lost(&made_up, 1000);
    handle(1020, 1080);
    CHECK_SAME(find(90, 140), HANDLER_NONE); /* it ends later */
    CHECK_SAME(find(90, 160), HANDLER_LOST);
    CHECK_SAME(find(500, 600), HANDLER_LOST);
    CHECK_SAME(find(1010, 1100), HANDLER_SINGLE);
    handler_log_clear(&made_up);
    CHECK_SAME(find(500, 600), HANDLER_NONE);
}

/* The exit is missing: no pair is made of an entry and the exit of a later handler. */
LOG_TEST(lost_inside)
{
    handler_log_entry(&made_up, 100);
    handler_log_lost(&made_up, 1000);
    handler_log_exit(&made_up, 1080);
    CHECK_SAME(made_up.count, 0);
    CHECK_SAME(find(90, 1100), HANDLER_LOST);
}

/* Read in two parts: the handler that lies between is whole. */
LOG_TEST(over_the_end)
{
    handler_log_entry(&made_up, 100);
    handler_log_clear(&made_up);
    handler_log_exit(&made_up, 150);
    CHECK_SAME(find(90, 160), HANDLER_SINGLE);
    CHECK_SAME(found.entry_ns, 100);
}

LOG_TEST(full)
{
    for (int i = 0; i < HANDLER_LOG + 5; i++)
        handle(i * 100, i * 100 + 50);
    CHECK_SAME(made_up.count, HANDLER_LOG);
    CHECK_SAME(find(100, 190), HANDLER_SINGLE);
    CHECK_SAME(find(HANDLER_LOG * 100, HANDLER_LOG * 100 + 60), HANDLER_LOST);
}

/* Which handler belongs to which interrupt, from made-up stamps of a kernel. */
#include "base/posix_source.h"

#include "family/interrupt/handler_match.h"
#include "tap.h"

static struct handler_log made_up;
static struct handled found;

static void begin(void)
{
    memset(&made_up, 0, sizeof made_up);
    memset(&found, 0, sizeof found);
}

static void handle(int64_t entry_ns, int64_t exit_ns)
{
    handler_log_entry(&made_up, entry_ns);
    handler_log_exit(&made_up, exit_ns);
}

TEST(single)
{
    begin();
    handle(100, 150);
    handle(1020, 1080);
    handle(2000, 2050);
    CHECK(handler_log_find(&made_up, 1000, 1100, &found) == HANDLER_SINGLE);
    CHECK_SAME(found.entry_ns, 1020);
    CHECK_SAME(found.exit_ns, 1080);
    CHECK(handler_log_find(&made_up, 1020, 1080, &found) == HANDLER_SINGLE);
}

/* One that began before, or ended after, is another's. */
TEST(none)
{
    begin();
    handle(990, 1050);
    handle(1060, 1110);
    CHECK(handler_log_find(&made_up, 1000, 1100, &found) == HANDLER_NONE);
    CHECK(handler_log_find(&made_up, 5000, 5100, &found) == HANDLER_NONE);
}

TEST(several)
{
    begin();
    handle(1010, 1020);
    handle(1030, 1040);
    CHECK(handler_log_find(&made_up, 1000, 1100, &found) == HANDLER_SEVERAL);
    CHECK(handler_log_find(&made_up, 1000, 1025, &found) == HANDLER_SINGLE);
}

TEST(lost)
{
    begin();
    handle(100, 150);
    handler_log_lost(&made_up, 1000);
    handle(1020, 1080);
    CHECK(handler_log_find(&made_up, 90, 140, &found) == HANDLER_NONE); /* it ends later */
    CHECK(handler_log_find(&made_up, 90, 160, &found) == HANDLER_LOST);
    CHECK(handler_log_find(&made_up, 500, 600, &found) == HANDLER_LOST);
    CHECK(handler_log_find(&made_up, 1010, 1100, &found) == HANDLER_SINGLE);
    handler_log_clear(&made_up);
    CHECK(handler_log_find(&made_up, 500, 600, &found) == HANDLER_NONE);
}

/* The exit is missing: no pair is made of an entry and the exit of a later handler. */
TEST(lost_inside)
{
    begin();
    handler_log_entry(&made_up, 100);
    handler_log_lost(&made_up, 1000);
    handler_log_exit(&made_up, 1080);
    CHECK_SAME(made_up.count, 0);
    CHECK(handler_log_find(&made_up, 90, 1100, &found) == HANDLER_LOST);
}

/* Read in two parts: the handler that lies between is whole. */
TEST(over_the_end)
{
    begin();
    handler_log_entry(&made_up, 100);
    handler_log_clear(&made_up);
    handler_log_exit(&made_up, 150);
    CHECK(handler_log_find(&made_up, 90, 160, &found) == HANDLER_SINGLE);
    CHECK_SAME(found.entry_ns, 100);
}

TEST(full)
{
    begin();
    for (int i = 0; i < HANDLER_LOG + 5; i++)
        handle(i * 100, i * 100 + 50);
    CHECK_SAME(made_up.count, HANDLER_LOG);
    CHECK(handler_log_find(&made_up, 100, 190, &found) == HANDLER_SINGLE);
    CHECK(handler_log_find(&made_up, HANDLER_LOG * 100, HANDLER_LOG * 100 + 60, &found) ==
          HANDLER_LOST);
}

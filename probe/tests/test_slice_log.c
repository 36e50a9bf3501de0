/* The slice log: what a thread may note that was preempted after its check. */
#include "base/posix_source.h"

#include "family/thread/slice_log.h"
#include "tap.h"

static struct slice_log notes;

static void take_turn(int place, uint64_t ticks)
{
    slice_log_take(&notes, slice_log_look(&notes), place, ticks);
}

static void check_entry(unsigned i, int place, uint64_t ticks)
{
    CHECK_SAME(notes.entries[i].place, place);
    CHECK_SAME(notes.entries[i].ticks, ticks);
}

#define LOG_TEST(what, room) TEST_IN((slice_log_clear(&notes, room), true), (void)0, what)

LOG_TEST(who_runs_is_noted_once, 10)
{
    CHECK_SAME(slice_log_count(&notes), 0);
    take_turn(0, 5);
    take_turn(0, 6);
    take_turn(1, 7);
    take_turn(0, 8);
    CHECK_SAME(slice_log_count(&notes), 3);
    check_entry(0, 0, 5);
    check_entry(1, 1, 7);
    check_entry(2, 0, 8);
}

LOG_TEST(preempted_before_the_last_note, 3)
{
    take_turn(0, 1);
    take_turn(1, 2);
    unsigned seen = slice_log_look(&notes);
    CHECK(!slice_log_is_over(&notes, seen));
    take_turn(2, 3); /* of another thread: the log is full */
    slice_log_take(&notes, seen, 0, 4);
    CHECK_SAME(slice_log_count(&notes), 3);
    check_entry(2, 2, 3);
    CHECK(slice_log_is_over(&notes, slice_log_look(&notes)));
}

/* The same thread is noted as before, and yet a round has passed. */
LOG_TEST(preempted_for_a_round, 10)
{
    take_turn(0, 1);
    unsigned seen = slice_log_look(&notes);
    take_turn(1, 2);
    take_turn(0, 3);
    slice_log_take(&notes, seen, 2, 2);
    CHECK_SAME(slice_log_count(&notes), 3);
    take_turn(2, 4);
    check_entry(3, 2, 4);
}

LOG_TEST(opened_again, 10)
{
    take_turn(0, 1);
    slice_log_close(&notes);
    take_turn(1, 2);
    slice_log_reopen(&notes);
    CHECK(!slice_log_is_over(&notes, slice_log_look(&notes)));
    take_turn(1, 3);
    CHECK_SAME(slice_log_count(&notes), 2);
    check_entry(1, 1, 3);
}

LOG_TEST(no_more_than_fit, SLICE_LOG_ENTRIES + 1)
{
    for (unsigned i = 0; i < SLICE_LOG_ENTRIES + 2; i++)
        take_turn((int)(i % 2), i);
    CHECK_SAME(slice_log_count(&notes), SLICE_LOG_ENTRIES);
    check_entry(SLICE_LOG_ENTRIES - 1, 1, SLICE_LOG_ENTRIES - 1);
}

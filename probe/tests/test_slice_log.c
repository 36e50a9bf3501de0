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

TEST(who_runs_is_noted_once)
{
    slice_log_clear(&notes, 10);
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

TEST(preempted_before_the_last_note)
{
    slice_log_clear(&notes, 3);
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
TEST(preempted_for_a_round)
{
    slice_log_clear(&notes, 10);
    take_turn(0, 1);
    unsigned seen = slice_log_look(&notes);
    take_turn(1, 2);
    take_turn(0, 3);
    slice_log_take(&notes, seen, 2, 2);
    CHECK_SAME(slice_log_count(&notes), 3);
    take_turn(2, 4);
    check_entry(3, 2, 4);
}

TEST(preempted_before_it_is_closed)
{
    slice_log_clear(&notes, 10);
    take_turn(0, 1);
    unsigned seen = slice_log_look(&notes);
    slice_log_close(&notes);
    slice_log_take(&notes, seen, 1, 2);
    CHECK_SAME(slice_log_count(&notes), 1);
    CHECK(slice_log_is_over(&notes, slice_log_look(&notes)));
}

TEST(opened_again)
{
    slice_log_clear(&notes, 10);
    take_turn(0, 1);
    slice_log_close(&notes);
    take_turn(1, 2);
    slice_log_reopen(&notes);
    CHECK(!slice_log_is_over(&notes, slice_log_look(&notes)));
    take_turn(1, 3);
    CHECK_SAME(slice_log_count(&notes), 2);
    check_entry(1, 1, 3);
}

TEST(no_more_than_fit)
{
    slice_log_clear(&notes, SLICE_LOG_ENTRIES + 1);
    for (unsigned i = 0; i < SLICE_LOG_ENTRIES + 2; i++)
        take_turn((int)(i % 2), i);
    CHECK_SAME(slice_log_count(&notes), SLICE_LOG_ENTRIES);
    check_entry(SLICE_LOG_ENTRIES - 1, 1, SLICE_LOG_ENTRIES - 1);
}

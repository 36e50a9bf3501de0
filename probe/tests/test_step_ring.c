/* A step that ends late on any thread is missed, and counted once; made-up stamps. */
#include "base/posix_source.h"

#include "family/simulate/team.h"
#include "tap.h"

enum { START = 1000, PERIOD = 100 };

static struct step_ring ring;
static struct step_end ended; /* the latest step that did */

#define RING_TEST(what, threads)                                                                   \
    TEST_IN((step_ring_open(&ring, threads, START, PERIOD), true), (void)0, what)

/* A thread ends `step` so many ns after its release. */
static enum step_state end(uint64_t step, int64_t after)
{
    int64_t release = step_release_ns(&ring, step);
    return step_ring_end(&ring, step, release + after / 2, release + after, &ended);
}

static void check_counts(uint64_t planned, int64_t now, uint64_t finished, uint64_t released,
                         uint64_t missed, uint64_t first_missed)
{
    step_ring_close(&ring, planned, now);
    CHECK_SAME(ring.counts.finished, finished);
    CHECK_SAME(ring.counts.released, released);
    CHECK_SAME(ring.counts.missed, missed);
    CHECK_SAME(ring.counts.first_missed, first_missed);
}

RING_TEST(late_once, 1)
{
    ring.watched = 3;
    for (uint64_t step = 0; step < 5; step++) {
        end(step, step == 2 ? 150 : 40);
        CHECK_SAME(ended.late_ns, step == 2 ? 50 : -60);
        CHECK_SAME(ended.step, step);
    }
    check_counts(5, START + 4 * PERIOD + 40, 5, 5, 1, 3);
    CHECK_SAME(ring.counts.watched_missed, 1);
}

RING_TEST(late_by_one_ns, 1)
{
    CHECK_SAME(end(0, PERIOD), STEP_LAST); /* on the deadline is in time */
    CHECK(!ended.is_late);
    end(1, PERIOD + 1);
    CHECK_SAME(ended.late_ns, 1);
    CHECK(ended.is_late);
    check_counts(2, START + 3 * PERIOD, 2, 2, 1, 2);
}

RING_TEST(late_on_any_thread, 3)
{
    for (uint64_t step = 0; step < 3; step++) {
        CHECK_SAME(end(step, 30), STEP_OPEN);
        CHECK_SAME(end(step, step == 1 ? 140 : 50), STEP_OPEN);
        CHECK_SAME(end(step, step == 1 ? 120 : 40), STEP_LAST);
        CHECK_SAME(ended.begin_ns, step_release_ns(&ring, step) + 15); /* of the first */
        CHECK_SAME(ended.end_ns, step_release_ns(&ring, step) + (step == 1 ? 140 : 50));
    }
    check_counts(3, START + 3 * PERIOD, 3, 3, 1, 2); /* two threads were late */
}

RING_TEST(never_finished, 2)
{
    end(0, 10);
    end(0, 10);
    end(1, 10); /* the other thread never comes to it */
    /* the deadline of the sixth has not passed */
    check_counts(10, START + 5 * PERIOD + PERIOD / 2, 1, 5, 4, 2);
}

RING_TEST(no_more_than_planned, 1)
{
    ring.watched = 2;
    check_counts(3, START + 100 * PERIOD, 0, 3, 3, 1);
    CHECK_SAME(ring.counts.watched_missed, 1);
}

RING_TEST(slots_are_used_again, 2)
{
    uint64_t steps = 3 * STEP_SLOTS + 5;
    for (uint64_t step = 0; step < steps; step++) {
        bool is_late = step % 1000 == 7;
        CHECK_SAME(end(step, is_late ? 101 : 10), STEP_OPEN);
        CHECK_SAME(end(step, 20), STEP_LAST);
        CHECK_SAME(ended.late_ns > 0, is_late);
    }
    check_counts(steps, START + (int64_t)steps * PERIOD, steps, steps, (steps + 992) / 1000, 8);
}

RING_TEST(a_whole_ring_ahead, 2)
{
    for (uint64_t step = 0; step < STEP_SLOTS; step++)
        CHECK_SAME(end(step, 10), STEP_OPEN);
    CHECK_SAME(end(STEP_SLOTS, 10), STEP_AHEAD);
    CHECK_SAME(end(0, 10), STEP_LAST); /* the slower one does a step: there is room again */
    CHECK_SAME(end(STEP_SLOTS, 10), STEP_OPEN);
}

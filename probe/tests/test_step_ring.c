/* A step that ends late on any thread is missed, and counted once; made-up stamps. */
#include "base/posix_source.h"

#include "family/simulate/step_ring.h"
#include "tap.h"

enum { START = 1000, PERIOD = 100 };

static struct step_ring ring;

static void open_ring(int threads)
{
    step_ring_open(&ring, threads, START, PERIOD);
}

/* A thread ends `step` so many ns after its release. */
static enum step_state end(uint64_t step, int64_t after, struct step_end *ended)
{
    int64_t release = step_release_ns(&ring, step);
    return step_ring_end(&ring, step, release + after / 2, release + after, ended);
}

static struct step_counts counts(uint64_t planned, int64_t now)
{
    step_ring_close(&ring, planned, now);
    return ring.counts;
}

TEST(in_time)
{
    struct step_end ended;
    open_ring(1);
    for (uint64_t step = 0; step < 5; step++)
        CHECK_SAME(end(step, PERIOD, &ended), STEP_LAST); /* on the deadline is in time */
    struct step_counts all = counts(5, START + 5 * PERIOD);
    CHECK_SAME(all.finished, 5);
    CHECK_SAME(all.released, 5);
    CHECK_SAME(all.missed, 0);
    CHECK_SAME(all.first_missed, 0);
}

TEST(late_once)
{
    struct step_end ended;
    open_ring(1);
    ring.watched = 3;
    for (uint64_t step = 0; step < 5; step++) {
        end(step, step == 2 ? 150 : 40, &ended);
        CHECK_SAME(ended.late_ns, step == 2 ? 50 : -60);
        CHECK_SAME(ended.step, step);
    }
    struct step_counts all = counts(5, START + 5 * PERIOD);
    CHECK_SAME(all.missed, 1);
    CHECK_SAME(all.first_missed, 3);
    CHECK_SAME(all.watched_missed, 1);
}

TEST(late_by_one_ns)
{
    struct step_end ended;
    open_ring(1);
    end(0, PERIOD + 1, &ended);
    CHECK_SAME(ended.late_ns, 1);
    CHECK_SAME(counts(1, START + 2 * PERIOD).missed, 1);
}

/* What is late by several periods misses one deadline; those that follow are missed for themselves.
 */
TEST(backlog)
{
    struct step_end ended;
    open_ring(1);
    end(0, 350, &ended); /* at 350: the deadlines of steps 0, 1 and 2 have passed */
    end(1, 260, &ended); /* at 360 */
    end(2, 170, &ended); /* at 370 */
    end(3, 80, &ended);  /* at 380, in time */
    struct step_counts all = counts(4, START + 4 * PERIOD);
    CHECK_SAME(all.missed, 3);
    CHECK_SAME(all.first_missed, 1);
}

TEST(late_on_any_thread)
{
    struct step_end ended;
    open_ring(3);
    for (uint64_t step = 0; step < 3; step++) {
        CHECK_SAME(end(step, 30, &ended), STEP_OPEN);
        CHECK_SAME(end(step, step == 1 ? 140 : 50, &ended), STEP_OPEN);
        CHECK_SAME(end(step, step == 1 ? 120 : 40, &ended), STEP_LAST);
        CHECK_SAME(ended.begin_ns, step_release_ns(&ring, step) + 15); /* of the first */
        CHECK_SAME(ended.end_ns, step_release_ns(&ring, step) + (step == 1 ? 140 : 50));
    }
    struct step_counts all = counts(3, START + 3 * PERIOD);
    CHECK_SAME(all.missed, 1); /* two threads were late */
    CHECK_SAME(all.first_missed, 2);
}

TEST(never_finished)
{
    struct step_end ended;
    open_ring(2);
    end(0, 10, &ended);
    end(0, 10, &ended);
    end(1, 10, &ended); /* the other thread never comes to it */
    struct step_counts all = counts(10, START + 5 * PERIOD + PERIOD / 2);
    CHECK_SAME(all.finished, 1);
    CHECK_SAME(all.released, 5); /* the deadline of the sixth has not passed */
    CHECK_SAME(all.missed, 4);
    CHECK_SAME(all.first_missed, 2);
}

TEST(no_more_than_planned)
{
    open_ring(1);
    ring.watched = 2;
    struct step_counts all = counts(3, START + 100 * PERIOD);
    CHECK_SAME(all.released, 3);
    CHECK_SAME(all.missed, 3);
    CHECK_SAME(all.watched_missed, 1);
}

TEST(ended_before_the_start)
{
    open_ring(1);
    struct step_counts all = counts(3, START - 1);
    CHECK_SAME(all.released, 0);
    CHECK_SAME(all.missed, 0);
}

TEST(slots_are_used_again)
{
    struct step_end ended;
    uint64_t steps = 3 * STEP_SLOTS + 5;
    open_ring(2);
    for (uint64_t step = 0; step < steps; step++) {
        bool is_late = step % 1000 == 7;
        CHECK_SAME(end(step, is_late ? 101 : 10, &ended), STEP_OPEN);
        CHECK_SAME(end(step, 20, &ended), STEP_LAST);
        CHECK_SAME(ended.late_ns > 0, is_late);
    }
    struct step_counts all = counts(steps, START + (int64_t)steps * PERIOD);
    CHECK_SAME(all.finished, steps);
    CHECK_SAME(all.missed, (steps + 992) / 1000);
    CHECK_SAME(all.first_missed, 8);
}

TEST(a_whole_ring_ahead)
{
    struct step_end ended;
    open_ring(2);
    for (uint64_t step = 0; step < STEP_SLOTS; step++)
        CHECK_SAME(end(step, 10, &ended), STEP_OPEN);
    CHECK_SAME(end(STEP_SLOTS, 10, &ended), STEP_AHEAD);
    CHECK_SAME(end(0, 10, &ended), STEP_LAST); /* the slower one does a step: there is room again */
    CHECK_SAME(end(STEP_SLOTS, 10, &ended), STEP_OPEN);
}

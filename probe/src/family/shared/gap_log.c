#include "base/posix_source.h"

#include "family/shared/gap_log.h"

#include <stdlib.h>

enum { TURNS = 1001, TIMES_THE_TURN = 10, TURNS_TO_A_STEP = 1 << 20 };

#define LEAST_GAP_NS 300

static int compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

/* Sorts the turns. */
static uint64_t median_turn(const struct clock *clock, uint64_t *turns)
{
    uint64_t before = clock_ticks(clock);
    for (int i = 0; i < TURNS; i++) {
        uint64_t now = clock_ticks(clock);
        turns[i] = now - before;
        before = now;
    }
    qsort(turns, TURNS, sizeof turns[0], compare);
    return turns[TURNS / 2];
}

/* The shortest step that the clock makes. Some turns see none, where the clock is coarse. */
static uint64_t shortest_step(const struct clock *clock, const uint64_t *turns)
{
    for (int i = 0; i < TURNS; i++)
        if ((int64_t)turns[i] > 0)
            return turns[i];
    uint64_t from = clock_ticks(clock), now = from;
    for (int i = 0; now == from && i < TURNS_TO_A_STEP; i++)
        now = clock_ticks(clock);
    return (int64_t)(now - from) > 0 ? now - from : 1;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void gap_log_open(struct gap_log *gap_log, const struct clock *clock, struct gap *gaps,
                  uint32_t size)
{
    uint64_t turns[TURNS], turn = median_turn(clock, turns);
    uint64_t least =
        larger(clock_ticks_of_ns(clock, LEAST_GAP_NS), 2 * shortest_step(clock, turns));
    *gap_log = (struct gap_log){.turn = turn, .size = size, .gaps = gaps};
    gap_log->threshold = larger(turn * TIMES_THE_TURN, least);
}

static void note(struct gap_log *gap_log, uint64_t begin, uint64_t end)
{
    if (gap_log->count < gap_log->size)
        gap_log->gaps[gap_log->count++] = (struct gap){begin, end};
    else
        gap_log->dropped_count++;
}

uint64_t gap_log_watch(struct gap_log *gap_log, const struct clock *clock, uint64_t until,
                       const atomic_bool *is_over)
{
    int64_t threshold = (int64_t)gap_log->threshold;
    uint64_t before = clock_ticks(clock);
    while ((int64_t)(until - before) > 0) {
        uint64_t now = clock_ticks(clock);
        if ((int64_t)(now - before) >= threshold)
            note(gap_log, before, now);
        before = now;
        if (is_over && atomic_load_explicit(is_over, memory_order_relaxed))
            break;
    }
    return before;
}

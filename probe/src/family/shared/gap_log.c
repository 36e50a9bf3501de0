#include "base/posix_source.h"

#include "family/shared/gap_log.h"

#include <stdlib.h>

enum { TURNS = 1001, TIMES_THE_TURN = 10 };

#define LEAST_GAP_NS 300

static int compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static uint64_t median_turn(const struct clock *clock)
{
    uint64_t turns[TURNS], before = clock_ticks(clock);
    for (int i = 0; i < TURNS; i++) {
        uint64_t now = clock_ticks(clock);
        turns[i] = now - before;
        before = now;
    }
    qsort(turns, TURNS, sizeof turns[0], compare);
    return turns[TURNS / 2];
}

void gap_log_open(struct gap_log *gap_log, const struct clock *clock, struct gap *gaps,
                  uint32_t size)
{
    uint64_t least = clock_ticks_of_ns(clock, LEAST_GAP_NS);
    uint64_t turn = median_turn(clock);
    *gap_log = (struct gap_log){.turn = turn, .size = size, .gaps = gaps};
    gap_log->threshold = turn * TIMES_THE_TURN > least ? turn * TIMES_THE_TURN : least;
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
    uint64_t threshold = gap_log->threshold, before = clock_ticks(clock);
    while ((int64_t)(until - before) > 0) {
        uint64_t now = clock_ticks(clock);
        if (now - before >= threshold)
            note(gap_log, before, now);
        before = now;
        if (is_over && atomic_load_explicit(is_over, memory_order_relaxed))
            break;
    }
    return before;
}

#include "base/posix_source.h"

#include "family/thread/round_robin.h"

enum { MOST_INCOMPLETE = 3 };

/* Slices and time of each thread in a burst. */
struct burst_slices {
    int turns[ROUND_ROBIN_THREADS];
    int64_t ns[ROUND_ROBIN_THREADS];
    struct slices whole[SLICE_KINDS];
    int64_t cut_most_ns[SLICE_KINDS];
};

static void add_slice(struct slices *slices, int64_t ns)
{
    slices->least_ns = slices->count == 0 || ns < slices->least_ns ? ns : slices->least_ns;
    slices->most_ns = ns > slices->most_ns ? ns : slices->most_ns;
    slices->sum_ns += ns;
    slices->count++;
}

static void add_slices(struct slices *slices, const struct slices *more)
{
    if (more->count == 0)
        return;
    bool is_less = slices->count == 0 || more->least_ns < slices->least_ns;
    slices->least_ns = is_less ? more->least_ns : slices->least_ns;
    slices->most_ns = more->most_ns > slices->most_ns ? more->most_ns : slices->most_ns;
    slices->sum_ns += more->sum_ns;
    slices->count += more->count;
}

/* Time within a part of the burst; `is_whole`: all of it. */
static int64_t time_within(const struct clock *clock, const struct spinning *part, uint64_t begin,
                           uint64_t end, bool *is_whole)
{
    bool is_late = (int64_t)(begin - part->begin_ticks) < 0;
    bool is_early = (int64_t)(part->end_ticks - end) < 0;
    uint64_t from = is_late ? part->begin_ticks : begin, to = is_early ? part->end_ticks : end;
    *is_whole = !is_late && !is_early;
    return (int64_t)(to - from) > 0 ? clock_ns(clock, to - from) : 0;
}

/* Time between two readings without the rests; `is_whole`: no rest was between them. */
static int64_t time_spun(const struct round_robin *round_robin, uint64_t begin, uint64_t end,
                         bool *is_whole)
{
    int64_t ns = 0;
    bool is_in_part = false;
    *is_whole = false;
    for (int i = 0; i < round_robin->part_count; i++) {
        ns +=
            time_within(&round_robin->run->clock, &round_robin->parts[i], begin, end, &is_in_part);
        *is_whole = *is_whole || is_in_part;
    }
    return ns;
}

static int64_t at_ns(const struct round_robin *round_robin, uint64_t ticks)
{
    uint64_t since_ticks = ticks - round_robin->parts[0].begin_ticks;
    return round_robin->begin_at_ns + clock_ns(&round_robin->run->clock, since_ticks);
}

static void take_slice(struct round_robin *round_robin, const struct slice_entry *slice,
                       struct burst_slices *burst)
{
    bool is_whole;
    uint64_t end_ticks = slice[1].ticks;
    int64_t ns = time_spun(round_robin, slice->ticks, end_ticks, &is_whole);
    int kind = burst->turns[slice->place]++ == 0 ? FIRST_SLICE : LATER_SLICE;
    burst->ns[slice->place] += ns;
    if (is_whole) {
        add_slice(&burst->whole[kind], ns);
        record_value(arena_record(round_robin->run->arena, kind), ns,
                     at_ns(round_robin, end_ticks));
    } else if (ns > burst->cut_most_ns[kind]) {
        burst->cut_most_ns[kind] = ns;
    }
}

/* A slice ends where the next one begins. */
static void take_slices(struct round_robin *round_robin, struct burst_slices *burst)
{
    unsigned count = slice_log_count(&round_robin->log);
    for (unsigned i = 1; i < count; i++)
        take_slice(round_robin, &round_robin->log.entries[i - 1], burst);
}

static int least_turns(const struct round_robin *round_robin, const struct burst_slices *burst)
{
    int least = burst->turns[0];
    for (int i = 1; i < round_robin->thread_count; i++)
        if (burst->turns[i] < least)
            least = burst->turns[i];
    return least;
}

static void count_complete(struct round_robin *round_robin, const struct burst_slices *burst)
{
    int least = least_turns(round_robin, burst);
    round_robin->complete_count++;
    round_robin->incomplete_in_row = 0;
    if (least < round_robin->least_turns)
        round_robin->least_turns = least;
    for (int i = 0; i < round_robin->thread_count; i++)
        round_robin->shares_ns[i] += burst->ns[i];
    for (int i = 0; i < SLICE_KINDS; i++) {
        add_slices(&round_robin->slices[i], &burst->whole[i]);
        if (burst->cut_most_ns[i] > round_robin->cut_most_ns[i])
            round_robin->cut_most_ns[i] = burst->cut_most_ns[i];
    }
}

/* Where throttling requires rests, a burst that was too short goes on after them from now on. */
static void divide_bursts(struct round_robin *round_robin)
{
    bool is_long = round_robin->part_count > 1;
    bool is_often = round_robin->incomplete_in_row >= MOST_INCOMPLETE;
    if (!round_robin->cpu_loss.is_limited || round_robin->is_divided || (!is_long && !is_often))
        return;
    round_robin->is_divided = true;
    round_robin->incomplete_in_row = 0;
}

static void count_incomplete(struct round_robin *round_robin, const struct burst_slices *burst)
{
    int least = least_turns(round_robin, burst);
    round_robin->incomplete_count++;
    round_robin->incomplete_in_row++;
    if (least < round_robin->incomplete_turns)
        round_robin->incomplete_turns = least;
    arena_event(round_robin->run->arena, "incomplete_burst", round_robin->begin_at_ns,
                DATA(data_integer("threads_count", round_robin->thread_count),
                     data_integer("slices_count", round_robin->rounds),
                     data_integer("least_slices_count", least),
                     data_integer("burst_ns", round_robin->run->rt_budget.burst_ns)),
                "not every one of %d threads had %d slices before the burst of %lld ms ended: one "
                "got only %d; the burst is repeated",
                round_robin->thread_count, round_robin->rounds,
                (long long)(round_robin->run->rt_budget.burst_ns / 1000000), least);
    divide_bursts(round_robin);
}

/* A part that lost CPU time may have cut a slice: in a burst of several nothing else shows it. */
static bool is_complete(struct round_robin *round_robin)
{
    bool is_cut =
        round_robin->part_count > 1 && round_robin->cpu_loss.cut_count > round_robin->cut_before;
    return !is_cut && slice_log_count(&round_robin->log) >= round_robin->log.wanted_count;
}

void round_robin_take(struct round_robin *round_robin)
{
    struct burst_slices burst = {{0}, {0}, {{0}}, {0}};
    take_slices(round_robin, &burst);
    if (round_robin_keeps_cpu(round_robin) && round_robin_has_lasted(round_robin)) {
        round_robin->kept_ns = round_robin->part_count * round_robin->run->rt_budget.burst_ns;
        round_robin->shares_ns[round_robin->log.entries[0].place] += round_robin->kept_ns;
    } else if (is_complete(round_robin)) {
        count_complete(round_robin, &burst);
    } else {
        count_incomplete(round_robin, &burst);
    }
}

bool round_robin_is_decided(const struct round_robin *round_robin)
{
    return round_robin->kept_ns > 0 || round_robin->incomplete_in_row >= MOST_INCOMPLETE;
}

#include "base/posix_source.h"

#include "family/thread/round_robin.h"

#include <stdio.h>
#include <string.h>

#define UNFAIR 0.05
#define LENGTH_ERROR 0.10

static double mean_of(const struct slices *slices)
{
    return slices->count > 0 ? (double)slices->sum_ns / slices->count : 0;
}

/* The scheduler's tick by the resolution of a coarse clock; 0: not known. */
static int64_t tick_ns(void)
{
    const struct port_clock *clocks;
    struct timespec step;
    for (int i = port_clocks(&clocks) - 1; i >= 0; i--)
        if (strstr(clocks[i].name, "COARSE") && clock_getres(clocks[i].id, &step) == 0)
            return clock_timespec_ns(&step);
    return 0;
}

/* How far the means of first and later slices may differ. */
static double allowed_ns(const struct round_robin *round_robin)
{
    double part_ns = mean_of(&round_robin->slices[LATER_SLICE]) / 4, tick = (double)tick_ns();
    return part_ns > tick ? part_ns : tick;
}

/* Whether none was seen whole, or a slice that a rest cut had run for longer than all that were:
 * they would be a choice of the short ones. */
static bool misses_long_ones(const struct round_robin *round_robin, int kind)
{
    const struct slices *slices = &round_robin->slices[kind];
    double most_ns = (double)slices->most_ns + allowed_ns(round_robin);
    return slices->count == 0 || (double)round_robin->cut_most_ns[kind] > most_ns;
}

/* Whether the slices of this kind can be judged; else an event says why the verdict is missing. */
static bool was_seen(const struct round_robin *round_robin, int kind, const char *verdict)
{
    static const char *const names[] = {"first", "later"};
    struct arena *arena = round_robin->run->arena;
    const char *command = rt_budget_lift_command(&round_robin->run->rt_budget);
    long long burst_ms = (long long)(round_robin->run->rt_budget.burst_ns / 1000000);
    if (round_robin->kept_ns > 0 && round_robin->slices[kind].count == 0)
        arena_event_once(arena, "not_seen",
                         DATA(data_text("verdict", verdict), data_text("reason", "none_ended"),
                              data_text("slice", names[kind])),
                         "%s: no verdict, because no %s slice ended: one thread kept the CPU",
                         verdict, names[kind]);
    else if (misses_long_ones(round_robin, kind))
        arena_event_once(
            arena, "not_seen",
            DATA(data_text("verdict", verdict), data_text("reason", "budget_too_short"),
                 data_text("slice", names[kind]),
                 data_integer("budget_ns", round_robin->run->rt_budget.burst_ns),
                 data_integer("ran_ns", round_robin->cut_most_ns[kind]),
                 command ? data_text("command", command) : data_none()),
            "%s: no verdict, because a %s slice did not fit into the %lld ms that "
            "real-time threads may spin without a rest: it ran for %.3f ms, with a "
            "rest in it; to see it whole, lift the limit on real-time threads",
            verdict, names[kind], burst_ms, (double)round_robin->cut_most_ns[kind] / 1e6);
    else
        return true;
    return false;
}

static void judge_rotation(const struct round_robin *round_robin)
{
    struct arena *arena = round_robin->run->arena;
    int threads = round_robin->thread_count, rounds = round_robin->rounds;
    if (round_robin->kept_ns > 0)
        arena_verdict(arena, false, 1, "rotates",
                      "one thread kept the CPU for %.3f s, while %d others were ready; a slice is "
                      "due after %.3f ms",
                      (double)round_robin->kept_ns / 1e9, threads - 1,
                      (double)round_robin->due_ns / 1e6);
    else if (round_robin->least_turns < rounds)
        arena_verdict(arena, false, 1, "rotates",
                      "of %d slices in a burst one of %d threads got only %d, not %d",
                      rounds * threads, threads, round_robin->least_turns, rounds);
    else
        arena_verdict(arena, true, (uint64_t)round_robin->complete_count, "rotates",
                      "%d threads, %d slices each in every one of %d bursts", threads, rounds,
                      round_robin->complete_count);
}

static void judge_fairness(const struct round_robin *round_robin)
{
    char shares[ARENA_TEXT_BYTES / 2] = "";
    size_t used = 0;
    int64_t sum_ns = 0;
    bool is_fair = true;
    for (int i = 0; i < round_robin->thread_count; i++)
        sum_ns += round_robin->shares_ns[i];
    for (int i = 0; i < round_robin->thread_count && used < sizeof shares; i++) {
        double share = sum_ns > 0 ? (double)round_robin->shares_ns[i] / (double)sum_ns : 0;
        double deviation = share * round_robin->thread_count - 1;
        is_fair = is_fair && deviation <= UNFAIR && deviation >= -UNFAIR;
        used += (size_t)snprintf(shares + used, sizeof shares - used, "%s%.2f %%", i ? ", " : "",
                                 share * 100);
    }
    arena_verdict(round_robin->run->arena, is_fair, (uint64_t)sum_ns, "fair",
                  "shares of %.3f s: %s", (double)sum_ns / 1e9, shares);
}

static void judge_length(const struct round_robin *round_robin)
{
    const struct slices *later = &round_robin->slices[LATER_SLICE];
    struct arena *arena = round_robin->run->arena;
    double mean_ns = mean_of(later), claimed_ns = (double)round_robin->claimed_ns;
    if (round_robin->claimed_ns < 0)
        arena_event(arena, "slice_unknown", -1, NO_DATA,
                    "sched_rr_get_interval fails, so the intended length of a slice is not known");
    if (round_robin->claimed_ns < 0 || !was_seen(round_robin, LATER_SLICE, "slice_length"))
        return;
    bool is_right =
        mean_ns < claimed_ns * (1 + LENGTH_ERROR) && mean_ns > claimed_ns * (1 - LENGTH_ERROR);
    arena_verdict(arena, is_right, (uint64_t)later->count, "slice_length",
                  "%d later slices, mean %.3f ms (%.3f to %.3f); claimed: %.3f ms", later->count,
                  mean_ns / 1e6, (double)later->least_ns / 1e6, (double)later->most_ns / 1e6,
                  claimed_ns / 1e6);
}

static void judge_first_slice(const struct round_robin *round_robin)
{
    const struct slices *first = &round_robin->slices[FIRST_SLICE];
    const struct slices *later = &round_robin->slices[LATER_SLICE];
    if (!was_seen(round_robin, FIRST_SLICE, "first_slice") ||
        !was_seen(round_robin, LATER_SLICE, "first_slice"))
        return;
    double difference_ns = mean_of(first) - mean_of(later), most_ns = allowed_ns(round_robin);
    bool is_like = difference_ns <= most_ns && difference_ns >= -most_ns;
    arena_verdict(round_robin->run->arena, is_like, (uint64_t)first->count, "first_slice",
                  "%d first slices, mean %.3f ms (%.3f to %.3f); mean of the later ones %.3f ms",
                  first->count, mean_of(first) / 1e6, (double)first->least_ns / 1e6,
                  (double)first->most_ns / 1e6, mean_of(later) / 1e6);
}

static int refuse_verdict(struct round_robin *round_robin)
{
    struct run *run = round_robin->run;
    int64_t due_ns = round_robin->due_ns * round_robin->rounds * round_robin->thread_count;
    struct remedy remedy = {"end what takes the CPU from the test; if the slices are long, shorten "
                            "them (Linux: kernel.sched_rr_timeslice_ms), or lift the limit on "
                            "real-time threads",
                            rt_budget_lift_command(&run->rt_budget)};
    return outcome_set_remedy(
        &run->outcome, STATUS_FAILED, remedy,
        "no verdict: %d bursts of %lld ms ended before each of %d threads had its %d "
        "slices, which are due in %lld ms; one got only %d",
        round_robin->incomplete_count, (long long)(run->rt_budget.burst_ns / 1000000),
        round_robin->thread_count, round_robin->rounds, (long long)(due_ns / 1000000),
        round_robin->incomplete_turns);
}

static bool has_proof(const struct round_robin *round_robin)
{
    return round_robin->kept_ns > 0 ||
           (round_robin->complete_count > 0 && !round_robin_is_decided(round_robin));
}

int round_robin_judge(struct round_robin *round_robin)
{
    if (!has_proof(round_robin))
        return refuse_verdict(round_robin);
    judge_rotation(round_robin);
    judge_fairness(round_robin);
    judge_length(round_robin);
    judge_first_slice(round_robin);
    return 0;
}

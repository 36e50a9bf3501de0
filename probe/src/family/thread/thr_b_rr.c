/* THR-B-RR: round robin is fair (Dedicated Systems 2012). N SCHED_RR threads, one below the run's
 * priority, spin on one CPU. A thread that finds another one noted as the last to run has just been
 * given the CPU, and notes itself with a reading of the counter (slice_log.h). A slice is the time
 * from one such note to the next: it includes the context switch and all interrupts. Its time of
 * occurrence is its end.
 *
 * The threads run in bursts, with rests between them, because throttling would be a slice of its
 * own. Each burst has new threads, so each thread has a first slice: on some systems it is ten
 * times as long (1 s instead of 100 ms on Linux with PREEMPT_RT in 2012), so it goes to a series of
 * its own. Nothing is discarded as warm-up. The slice that the end of a burst cuts off is not
 * recorded.
 *
 * Without throttling a burst takes as long as its slices, also if the first ones are ten times as
 * long: 3.6 s at most with three threads and slices of 100 ms, 5 s at most in any case. With
 * throttling spinning without a rest is limited: 760 ms with the budget of 950 ms a second. If
 * slices do not fit into that, the same threads go on after a rest, the one that had the CPU first,
 * until each has its slices. Then a slice with a rest in it is not recorded; its thread is given
 * what was left of it, as far as the system keeps that over a wait.
 *
 *   rotates       every thread gets its slices without blocking or yielding
 *   fair          each thread's share of the time of all bursts is within 5 % of the mean
 *   slice_length  the mean of the later slices is within 10 % of sched_rr_get_interval
 *   first_slice   the mean of the first slices is that of the later ones within a quarter or one
 *                 clock tick: slices are counted in ticks, and the first starts between two
 *
 * The last two rest on slices without a rest in them. Where those with a rest were longer, or there
 * are none, the verdict is missing and an event says why (not_seen).
 *
 * A burst that ends before it has all its slices proves nothing: the host may have been late, or
 * slices may be longer than a burst. It is reported (event incomplete_burst) and repeated; its
 * whole slices stay in the series, but no verdict looks at them. After three in a row, even though
 * bursts went on after rests, there is no verdict, and the result fails.
 *
 * If one thread kept the CPU for a whole burst, the same threads go on after a rest, that thread
 * first, until it has kept the CPU for twenty slices. Only then is it established that they do not
 * take turns.
 *
 * How it could be wrong: a thread of higher priority lengthens the slice that it interrupts;
 * throttling does too (event throttled, the result fails), and so does the fair server of
 * Linux 6.12 and later in bursts of more than about a second. A system that begins a new slice
 * after each wait and has slices longer than a burst would look as if its threads took no turns.
 */
#include "base/posix_source.h"

#include "family/thread/round_robin.h"
#include "family/thread/scenario.h"

enum { LEAST_THREADS = 2, LEVELS = 2, SAMPLES = 12 };

static const struct param_spec params[] = {
    {"threads", PARAM_COUNT, false, "3", LEAST_THREADS, ROUND_ROBIN_THREADS, NULL,
     "threads that share the CPU"},
    {0},
};

static const struct series_spec series[] = {
    {"first_slice", "ns", "", "a new thread is first given the CPU",
     "another thread is given the CPU"},
    {"later_slice", "ns", "", "a thread is given the CPU again", "another thread is given the CPU"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"rotates", "equal SCHED_RR threads that spin take turns"},
    {"fair", "each gets the same share of the time, within 5 %"},
    {"slice_length", "slices are as long as sched_rr_get_interval says, within 10 %"},
    {"first_slice", "a thread's first slice is as long as its later ones"},
    {0},
};

static int prepare(struct run *run)
{
    if (thread_scenario_check(run, LEVELS) != 0)
        return -1;
    struct round_robin *round_robin = run_own(run, sizeof *round_robin);
    if (!round_robin)
        return -1;
    round_robin->run = run;
    round_robin->thread_count = (int)run_number(run, "threads");
    return 0;
}

/* Slices count against the budget only in complete bursts, also those that were not recorded. */
static bool needs_more(const struct round_robin *round_robin, const struct run_budget *budget,
                       int64_t now_ns)
{
    int slices = round_robin->complete_count * round_robin->thread_count * round_robin->rounds;
    return run_budget_left(budget, (uint64_t)slices, now_ns);
}

static int measure(struct run *run)
{
    struct round_robin *round_robin = run->own;
    struct run_budget budget = run_budget(run, 1);
    cpu_loss_open(&round_robin->cpu_loss, run);
    if (round_robin_plan(round_robin) != 0)
        return -1;
    int64_t now_ns;
    rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns);
    do { /* at least one burst: less proves nothing */
        if (round_robin_spin(round_robin) != 0)
            return -1;
        round_robin_take(round_robin);
        now_ns = rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns);
    } while (!round_robin_is_decided(round_robin) && needs_more(round_robin, &budget, now_ns));
    return 0;
}

static int judge(struct run *run)
{
    struct round_robin *round_robin = run->own;
    if (cpu_loss_judge(&round_robin->cpu_loss, run) != 0)
        return -1; /* no verdict on throttled bursts */
    return round_robin_judge(round_robin);
}

const struct test thr_b_rr = {
    .id = "THR-B-RR",
    .title = "Round robin: turns, equal shares, slice length",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = 500000000,
    .sample_ns = 150000000,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

/* THR-B-RR: round robin is fair (Dedicated Systems 2012). N SCHED_RR threads of equal
 * priority spin on one CPU. A thread that finds another one in the note of who ran last
 * has just been given the CPU: it notes itself and the counter. A slice is the time from
 * one such note to the next one, by another thread; so the switch is in it, and all that
 * interrupts took.
 *
 * They run in bursts that fit into the real-time budget (throttling would be a slice of
 * its own), with rests between them: a slice of 100 ms and a budget of 950 ms a second
 * leave two slices each for three threads. The threads of each burst are new, so that each
 * has a first slice: that is a series of its own, since there are systems where it is ten
 * times as long. The slice that the end of the burst cuts off is not recorded.
 *
 *   rotates       every thread gets its slices without blocking or yielding
 *   fair          each thread's share of the time of all bursts is within 5 % of the mean
 *   slice_length  the mean of the later slices is within 10 % of sched_rr_get_interval
 *   first_slice   the mean of the first slices is that of the later ones, within a quarter
 *                 or a clock tick: a slice is counted in ticks, and the first one starts
 *                 between two of them
 *
 * How it could be wrong: a thread of higher priority lengthens the slice that it
 * interrupts; throttling does too (event throttled, and the result fails).
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "realtime/cpu_loss.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 3, LEAST_THREADS = 2, MOST_THREADS = 16, MOST_ROUNDS = 16, LEVELS = 2 };
enum { SAMPLES = 12, NOBODY = -1 };

#define UNKNOWN_SLICE_NS INT64_C(100000000)
#define UNFAIR 0.05
#define LENGTH_ERROR 0.10

static const struct param_spec params[] = {
    {"threads", PARAM_COUNT, false, "3", LEAST_THREADS, MOST_THREADS, NULL,
     "threads that share the CPU"},
    {0},
};

static const struct series_spec series[] = {
    {"first_slice", "ns", "", "a new thread is first given the CPU",
     "another thread is given the CPU"},
    {"later_slice", "ns", "", "a thread is given the CPU again", "another thread is given the CPU"},
    {0},
};
enum { FIRST, LATER };

static const struct verdict_spec verdicts[] = {
    {"rotates", "equal SCHED_RR threads that spin take turns"},
    {"fair", "each gets the same share of the time, within 5 %"},
    {"slice_length", "slices are as long as sched_rr_get_interval says, within 10 %"},
    {"first_slice", "a thread's first slice is as long as its later ones"},
    {0},
};

struct own;

struct spinner {
    struct own *own;
    int place;
    struct actor actor;
};

struct own {
    struct run *run;
    struct occupancy occupancy;
    int64_t claimed_ns; /* by sched_rr_get_interval; -1: it does not say */
    int64_t due_ns;     /* the same, or a guess */
    int thread_count, rounds;
    atomic_int current;
    atomic_bool is_over;
    uint64_t until_ticks;
    struct order_log log; /* who was given the CPU, and when */
    unsigned wanted_count;
    struct spinner spinners[MOST_THREADS];
    int64_t shares_ns[MOST_THREADS];
    int incomplete_count, burst_count, worst_turns;
};

static int64_t expected_ns(const struct run *run)
{
    uint64_t slices = run->samples > 0 ? run->samples % 100000000 : SAMPLES;
    return run->samples == 0 && run->duration_ns > 0 ? run->duration_ns
                                                     : (int64_t)slices * UNKNOWN_SLICE_NS * 3 / 2;
}

static int size(struct run *run)
{
    return run_add_series(run, "first_slice", "ns", NULL, NULL) < 0 ||
                   run_add_series(run, "later_slice", "ns", NULL, NULL) < 0
               ? -1
               : 0;
}

/* The length that the system claims; asked by a thread of the policy. */
static void ask_slice(void *argument)
{
    struct own *own = argument;
    struct timespec slice;
    own->claimed_ns = sched_rr_get_interval(0, &slice) == 0 ? clock_timespec_ns(&slice) : -1;
}

/* Rounds that fit into a burst: 0, or -1 with the outcome. */
static int choose_rounds(struct own *own)
{
    struct run *run = own->run;
    own->due_ns = own->claimed_ns > 0 ? own->claimed_ns : UNKNOWN_SLICE_NS;
    int64_t rounds = run->breath.burst_ns / 10 * 9 / own->due_ns / own->thread_count;
    own->rounds = (int)(rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS);
    if (own->rounds >= 2)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                       "widen the real-time budget (Linux: sysctl kernel.sched_rt_runtime_us=-1) "
                       "or shorten the slices (kernel.sched_rr_timeslice_ms)",
                       "two slices of %lld ms for each of %d threads do not fit into the %lld ms "
                       "that real-time threads may spin without a rest",
                       (long long)(own->due_ns / 1000000), own->thread_count,
                       (long long)(run->breath.burst_ns / 1000000));
}

static int plan_bursts(struct own *own)
{
    struct actor actor;
    struct actor_setup setup = thread_setup(own->run, SCHED_RR, 1);
    int error = actor_start(&actor, &setup, ask_slice, own);
    if (error)
        return outcome_set_errno(&own->run->outcome, error, "a thread under SCHED_RR", NULL);
    actor_go(&actor);
    actor_join(&actor);
    return choose_rounds(own);
}

/* The log takes notes from any thread, also should one lose the CPU while it writes; its
 * order is that of the readings. */
static void note_slice(struct own *own, int who)
{
    order_log_add_nth(&own->log, "thread", who, "was given the CPU");
    if (order_log_count(&own->log) >= own->wanted_count)
        atomic_store_explicit(&own->is_over, true, memory_order_relaxed);
}

static void spin(void *argument)
{
    struct spinner *spinner = argument;
    struct own *own = spinner->own;
    const struct clock *clock = &own->run->clock;
    while (!atomic_load_explicit(&own->is_over, memory_order_relaxed)) {
        if (atomic_load_explicit(&own->current, memory_order_relaxed) != spinner->place) {
            atomic_store_explicit(&own->current, spinner->place, memory_order_relaxed);
            note_slice(own, spinner->place);
        }
        if ((int64_t)(clock_ticks(clock) - own->until_ticks) >= 0)
            atomic_store_explicit(&own->is_over, true, memory_order_relaxed);
    }
}

static int start_spinners(struct own *own, int *started)
{
    struct actor_setup setup = thread_setup(own->run, SCHED_RR, 1);
    for (; *started < own->thread_count; (*started)++) {
        struct spinner *spinner = &own->spinners[*started];
        spinner->own = own;
        spinner->place = *started;
        int error = actor_start(&spinner->actor, &setup, spin, spinner);
        if (error)
            return outcome_set_errno(&own->run->outcome, error, "threads under SCHED_RR", NULL);
    }
    return 0;
}

/* The director is above them: they start when it waits. */
static int spin_burst(struct own *own)
{
    const struct clock *clock = &own->run->clock;
    int started = 0, error = start_spinners(own, &started);
    order_log_clear(&own->log, clock);
    own->wanted_count = (unsigned)(own->thread_count * own->rounds) + 1;
    atomic_store(&own->current, NOBODY);
    atomic_store(&own->is_over, error != 0);
    own->until_ticks = clock_begin(clock) + clock_ticks_of_ns(clock, own->run->breath.burst_ns);
    occupancy_begin(&own->occupancy);
    for (int i = 0; i < started; i++)
        actor_go(&own->spinners[i].actor);
    for (int i = 0; i < started; i++)
        actor_join(&own->spinners[i].actor);
    occupancy_end(&own->occupancy, own->run);
    return error;
}

static void record_slice(struct own *own, const struct order_entry *slice, uint64_t end_ticks,
                         bool is_first, int64_t at_ns)
{
    int64_t ns = clock_ns(&own->run->clock, end_ticks - slice->ticks);
    own->shares_ns[slice->number] += ns;
    record_value(arena_record(own->run->arena, is_first ? FIRST : LATER), ns, at_ns);
}

/* A slice ends where another thread's begins. */
static void record_burst(struct own *own, int64_t at_ns)
{
    int turns[MOST_THREADS] = {0};
    unsigned count = order_log_count(&own->log), begin = 0;
    order_log_sort(&own->log);
    for (unsigned i = 1; i < count; i++) {
        const struct order_entry *slice = &own->log.entries[begin];
        if (own->log.entries[i].number == slice->number)
            continue;
        bool is_first = turns[slice->number]++ == 0;
        record_slice(own, slice, own->log.entries[i].ticks, is_first, at_ns);
        begin = i;
    }
    own->burst_count++;
    own->incomplete_count += count < own->wanted_count ? 1 : 0;
    for (int i = 0; i < own->thread_count; i++)
        if (turns[i] < own->worst_turns)
            own->worst_turns = turns[i];
}

static int prepare(struct run *run)
{
    if (thread_scenario_check(run, LEVELS) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    own->thread_count = (int)run_number(run, "threads");
    return 0;
}

static uint64_t slices_recorded(struct run *run)
{
    return arena_record(run->arena, FIRST)->count + arena_record(run->arena, LATER)->count;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    struct run_budget budget = run_budget(run, 1);
    occupancy_open(&own->occupancy);
    if (plan_bursts(own) != 0)
        return -1;
    own->worst_turns = own->rounds;
    int64_t now_ns = breathe_ahead(&run->breath, run->breath.burst_ns);
    do { /* one burst at least: less proves nothing */
        if (spin_burst(own) != 0)
            return -1;
        record_burst(own, run_at_ns(run, now_ns));
        now_ns = breathe_ahead(&run->breath, run->breath.burst_ns);
    } while (run_budget_left(&budget, slices_recorded(run), now_ns) && own->incomplete_count == 0);
    return 0;
}

/* ---- verdicts ---- */

/* Of the scheduler, where a clock that steps by it tells; else 0. */
static int64_t tick_ns(void)
{
    const struct port_clock *clocks;
    struct timespec step;
    for (int i = port_clocks(&clocks) - 1; i >= 0; i--)
        if (strstr(clocks[i].name, "COARSE") && clock_getres(clocks[i].id, &step) == 0)
            return clock_timespec_ns(&step);
    return 0;
}

static double lowest_ms(const struct record *record)
{
    return record->count > 0 ? (double)record->min / 1e6 : 0;
}

static double highest_ms(const struct record *record)
{
    return record->count > 0 ? (double)record->max / 1e6 : 0;
}

static void judge_rotation(const struct own *own)
{
    if (own->incomplete_count == 0)
        arena_verdict(own->run->arena, true, "rotates",
                      "%d threads, %d slices each in every one of %d bursts", own->thread_count,
                      own->rounds, own->burst_count);
    else
        arena_verdict(own->run->arena, false, "rotates",
                      "of %d slices for each of %d threads, due in %lld ms, one thread got only "
                      "%d before the burst of %lld ms ended",
                      own->rounds, own->thread_count,
                      (long long)(own->due_ns * own->rounds * own->thread_count / 1000000),
                      own->worst_turns, (long long)(own->run->breath.burst_ns / 1000000));
}

static void judge_fairness(const struct own *own)
{
    char shares[ARENA_TEXT_BYTES / 2] = "";
    size_t used = 0;
    int64_t sum_ns = 0;
    bool is_fair = true;
    for (int i = 0; i < own->thread_count; i++)
        sum_ns += own->shares_ns[i];
    for (int i = 0; i < own->thread_count && used < sizeof shares; i++) {
        double share = sum_ns > 0 ? (double)own->shares_ns[i] / (double)sum_ns : 0;
        double deviation = share * own->thread_count - 1;
        is_fair = is_fair && deviation <= UNFAIR && deviation >= -UNFAIR;
        used += (size_t)snprintf(shares + used, sizeof shares - used, "%s%.2f %%", i ? ", " : "",
                                 share * 100);
    }
    arena_verdict(own->run->arena, is_fair, "fair", "shares of %.3f s: %s", (double)sum_ns / 1e9,
                  shares);
}

static void judge_length(const struct own *own)
{
    const struct record *later = arena_record_view(own->run->arena, LATER);
    double mean_ns = record_mean(later), claimed_ns = (double)own->claimed_ns;
    if (own->claimed_ns < 0) {
        arena_event(own->run->arena, "slice_unknown", -1,
                    "sched_rr_get_interval fails: nobody knows how long slices should be");
        return;
    }
    bool is_right = later->count > 0 && mean_ns < claimed_ns * (1 + LENGTH_ERROR) &&
                    mean_ns > claimed_ns * (1 - LENGTH_ERROR);
    arena_verdict(own->run->arena, is_right, "slice_length",
                  "%llu later slices, mean %.3f ms (%.3f to %.3f); claimed: %.3f ms",
                  (unsigned long long)later->count, mean_ns / 1e6, lowest_ms(later),
                  highest_ms(later), claimed_ns / 1e6);
}

static void judge_first_slice(const struct own *own)
{
    const struct record *first = arena_record_view(own->run->arena, FIRST);
    const struct record *later = arena_record_view(own->run->arena, LATER);
    double allowed_ns = record_mean(later) / 4;
    if (allowed_ns < (double)tick_ns())
        allowed_ns = (double)tick_ns();
    double difference_ns = record_mean(first) - record_mean(later);
    bool is_like = first->count > 0 && later->count > 0 && difference_ns <= allowed_ns &&
                   difference_ns >= -allowed_ns;
    arena_verdict(own->run->arena, is_like, "first_slice",
                  "%llu first slices, mean %.3f ms (%.3f to %.3f); mean of the later ones %.3f ms",
                  (unsigned long long)first->count, record_mean(first) / 1e6, lowest_ms(first),
                  highest_ms(first), record_mean(later) / 1e6);
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (occupancy_judge(&own->occupancy, run) != 0)
        return -1; /* throttling is no slice, and no verdict is founded on it */
    judge_rotation(own);
    judge_fairness(own);
    judge_length(own);
    judge_first_slice(own);
    return 0;
}

const struct test thr_b_rr = {
    .id = "THR-B-RR",
    .title = "Round robin is fair",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

/* THR-B-RR: round robin is fair (Dedicated Systems 2012). N SCHED_RR threads, one below the run's
 * priority, spin on one CPU. A thread that finds another one noted as the last to run has just been
 * given the CPU, and notes itself with a reading of the counter (slice_log.h). A slice is the time
 * from one such note to the next: it includes the context switch and all interrupts. Its time of
 * occurrence is its end.
 *
 * The threads run in bursts that fit into the real-time budget, with rests between them, because
 * throttling would be a slice of its own. With slices of 100 ms and a budget of 950 ms a second,
 * three threads get two slices each. Each burst has new threads, so each thread has a first slice:
 * on some systems it is ten times as long, so it goes to a series of its own. Nothing is discarded
 * as warm-up. The slice that the end of a burst cuts off is not recorded.
 *
 *   rotates       every thread gets its slices without blocking or yielding
 *   fair          each thread's share of the time of all bursts is within 5 % of the mean
 *   slice_length  the mean of the later slices is within 10 % of sched_rr_get_interval
 *   first_slice   the mean of the first slices is that of the later ones within a quarter or one
 *                 clock tick: slices are counted in ticks, and the first starts between two
 *
 * A burst that ends before it has all its slices proves nothing: the host may have been late, or
 * slices may be longer than a burst. It is reported (event incomplete_burst) and repeated; its
 * whole slices stay in the series, but no verdict looks at them. After three in a row there is no
 * verdict, and the result fails.
 *
 * If one thread kept the CPU for a whole burst, the same threads go on after a rest, that thread
 * first, until it has kept the CPU for twenty slices. Only then is it established that they do not
 * take turns. If they do take turns later, slices are longer than a burst.
 *
 * How it could be wrong: a thread of higher priority lengthens the slice that it interrupts;
 * throttling does too (event throttled, the result fails).
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"
#include "family/thread/slice_log.h"

#include "realtime/cpu_loss.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 3, LEAST_THREADS = 2, MOST_THREADS = 16, MOST_ROUNDS = 16, LEVELS = 2 };
enum { SAMPLES = 12, MOST_INCOMPLETE = 3, LEAST_PARTS = 3, KEPT_SLICES = 20 };

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
    struct rt_thread rt_thread;
    sem_t go; /* starts the thread's part of a burst */
};

/* Slices of complete bursts: the verdicts rest on them. */
struct slices {
    int count;
    int64_t sum_ns, least_ns, most_ns;
};

/* A burst has one part, or several with rests between them while one thread keeps the CPU. */
struct own {
    struct run *run;
    struct cpu_loss cpu_loss;
    int64_t claimed_ns; /* slice length by sched_rr_get_interval; -1: it fails */
    int64_t due_ns;     /* the same, or a guess if it fails */
    int thread_count, rounds;
    uint64_t until_ticks;
    struct slice_log log; /* of the burst */
    sem_t parked;         /* posted by each thread at the end of its part */
    atomic_bool is_ended; /* the burst is over: threads end */
    int part_count;
    uint64_t begin_ticks; /* begin of the burst; below: as time of the run */
    int64_t begin_at_ns;
    struct spinner spinners[MOST_THREADS];
    int64_t shares_ns[MOST_THREADS]; /* of complete bursts */
    struct slices slices[2];         /* FIRST, LATER */
    int complete_count, incomplete_count, incomplete_in_row;
    int least_turns, incomplete_turns; /* fewest slices of a thread, by kind of burst */
    int64_t kept_ns;                   /* one thread kept the CPU for this; 0: none did */
};

/* Slices and time of each thread in a burst. */
struct burst {
    int turns[MOST_THREADS];
    int64_t ns[MOST_THREADS];
    struct slices slices[2];
};

/* Asks for the slice length; runs on a thread of SCHED_RR. */
static void ask_slice(void *argument)
{
    struct own *own = argument;
    struct timespec slice;
    own->claimed_ns = sched_rr_get_interval(0, &slice) == 0 ? clock_timespec_ns(&slice) : -1;
}

/* Chooses how many slices of each thread fit into a burst. 0, or -1 with the outcome. */
static int choose_rounds(struct own *own)
{
    struct run *run = own->run;
    own->due_ns = own->claimed_ns > 0 ? own->claimed_ns : UNKNOWN_SLICE_NS;
    int64_t rounds = run->rt_budget.burst_ns / 10 * 9 / own->due_ns / own->thread_count;
    own->rounds = (int)(rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS);
    if (own->rounds >= 2)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                       "widen the real-time budget (Linux: sysctl kernel.sched_rt_runtime_us=-1) "
                       "or shorten the slices (kernel.sched_rr_timeslice_ms)",
                       "two slices of %lld ms for each of %d threads do not fit into the %lld ms "
                       "that real-time threads may spin without a rest",
                       (long long)(own->due_ns / 1000000), own->thread_count,
                       (long long)(run->rt_budget.burst_ns / 1000000));
}

static int plan_bursts(struct own *own)
{
    struct rt_thread rt_thread;
    struct rt_thread_setup setup = thread_setup(own->run, SCHED_RR, 1);
    int error = rt_thread_start(&rt_thread, &setup, ask_slice, own);
    if (error)
        return outcome_set_errno(&own->run->outcome, error, "a thread under SCHED_RR", NULL);
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    return choose_rounds(own);
}

static void spin_part(struct spinner *spinner)
{
    struct own *own = spinner->own;
    struct slice_log *log = &own->log;
    for (;;) {
        unsigned turn = slice_log_look(log);
        if (slice_log_is_over(log, turn))
            return;
        uint64_t now_ticks = clock_begin(&own->run->clock);
        if ((int64_t)(now_ticks - own->until_ticks) >= 0)
            slice_log_close(log);
        else
            slice_log_take(log, turn, spinner->place, now_ticks);
    }
}

static void spin(void *argument)
{
    struct spinner *spinner = argument;
    struct own *own = spinner->own;
    for (;;) {
        thread_wait(&spinner->go);
        if (atomic_load(&own->is_ended))
            return;
        spin_part(spinner);
        sem_post(&own->parked);
    }
}

static int start_spinners(struct own *own, int *started)
{
    struct rt_thread_setup setup = thread_setup(own->run, SCHED_RR, 1);
    for (; *started < own->thread_count; (*started)++) {
        struct spinner *spinner = &own->spinners[*started];
        spinner->own = own;
        spinner->place = *started;
        sem_init(&spinner->go, 0, 0);
        int error = rt_thread_start(&spinner->rt_thread, &setup, spin, spinner);
        if (error)
            return outcome_set_errno(&own->run->outcome, error, "threads under SCHED_RR", NULL);
        rt_thread_go(&spinner->rt_thread);
    }
    return 0;
}

static void end_spinners(struct own *own, int started)
{
    atomic_store(&own->is_ended, true);
    for (int i = 0; i < started; i++)
        sem_post(&own->spinners[i].go);
    for (int i = 0; i < started; i++) {
        rt_thread_join(&own->spinners[i].rt_thread);
        sem_destroy(&own->spinners[i].go);
    }
}

/* The measuring thread has a higher priority: they start when it waits, thread `first` before the
 * others. */
static void run_part(struct own *own, int first)
{
    const struct clock *clock = &own->run->clock;
    own->until_ticks = clock_begin(clock) + clock_ticks_of_ns(clock, own->run->rt_budget.burst_ns);
    own->part_count++;
    cpu_loss_begin(&own->cpu_loss);
    for (int i = 0; i < own->thread_count; i++)
        sem_post(&own->spinners[(first + i) % own->thread_count].go);
    for (int i = 0; i < own->thread_count; i++)
        thread_wait(&own->parked);
    cpu_loss_end(&own->cpu_loss, own->run);
}

/* Whether one thread has kept the CPU since the burst began. */
static bool keeps_cpu(struct own *own)
{
    return slice_log_count(&own->log) == 1;
}

static bool has_kept_for_long(const struct own *own)
{
    int64_t kept_ns = own->part_count * own->run->rt_budget.burst_ns;
    return own->part_count >= LEAST_PARTS && kept_ns >= KEPT_SLICES * own->due_ns;
}

static void run_parts(struct own *own)
{
    struct run *run = own->run;
    own->part_count = 0;
    own->begin_at_ns = run_at_ns(run, clock_monotonic_ns());
    own->begin_ticks = clock_begin(&run->clock);
    run_part(own, 0);
    while (keeps_cpu(own) && !has_kept_for_long(own) && !run_should_stop()) {
        rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns);
        slice_log_reopen(&own->log);
        run_part(own, own->log.entries[0].place);
    }
}

static int spin_burst(struct own *own)
{
    int started = 0;
    slice_log_clear(&own->log, (unsigned)(own->thread_count * own->rounds) + 1);
    sem_init(&own->parked, 0, 0);
    atomic_store(&own->is_ended, false);
    int error = start_spinners(own, &started);
    if (!error)
        run_parts(own);
    end_spinners(own, started);
    sem_destroy(&own->parked);
    return error;
}

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

static double mean_of(const struct slices *slices)
{
    return slices->count > 0 ? (double)slices->sum_ns / slices->count : 0;
}

static void record_slice(struct own *own, const struct slice_entry *slice, uint64_t end_ticks,
                         struct burst *burst)
{
    const struct clock *clock = &own->run->clock;
    int64_t ns = clock_ns(clock, end_ticks - slice->ticks);
    int64_t at_ns = own->begin_at_ns + clock_ns(clock, end_ticks - own->begin_ticks);
    int kind = burst->turns[slice->place]++ == 0 ? FIRST : LATER;
    burst->ns[slice->place] += ns;
    add_slice(&burst->slices[kind], ns);
    record_value(arena_record(own->run->arena, kind), ns, at_ns);
}

/* A slice ends where the next one begins. Bursts with a rest in them give no slices. */
static void record_burst(struct own *own, struct burst *burst)
{
    const struct slice_entry *entries = own->log.entries;
    unsigned count = own->part_count == 1 ? slice_log_count(&own->log) : 0;
    for (unsigned i = 1; i < count; i++)
        record_slice(own, &entries[i - 1], entries[i].ticks, burst);
}

static int least_turns(const struct own *own, const struct burst *burst)
{
    int least = burst->turns[0];
    for (int i = 1; i < own->thread_count; i++)
        if (burst->turns[i] < least)
            least = burst->turns[i];
    return least;
}

static void count_complete(struct own *own, const struct burst *burst)
{
    int least = least_turns(own, burst);
    own->complete_count++;
    own->incomplete_in_row = 0;
    if (least < own->least_turns)
        own->least_turns = least;
    for (int i = 0; i < own->thread_count; i++)
        own->shares_ns[i] += burst->ns[i];
    for (int i = 0; i < 2; i++)
        add_slices(&own->slices[i], &burst->slices[i]);
}

static void count_incomplete(struct own *own, const struct burst *burst)
{
    int least = least_turns(own, burst);
    own->incomplete_count++;
    own->incomplete_in_row++;
    if (least < own->incomplete_turns)
        own->incomplete_turns = least;
    arena_event(own->run->arena, "incomplete_burst", own->begin_at_ns,
                "not every one of %d threads had %d slices before the burst of %lld ms ended: one "
                "got only %d; the burst is repeated",
                own->thread_count, own->rounds, (long long)(own->run->rt_budget.burst_ns / 1000000),
                least);
}

static void take_burst(struct own *own)
{
    struct burst burst = {{0}, {0}, {{0}}};
    record_burst(own, &burst);
    if (keeps_cpu(own) && has_kept_for_long(own)) {
        own->kept_ns = own->part_count * own->run->rt_budget.burst_ns;
        own->shares_ns[own->log.entries[0].place] += own->kept_ns;
    } else if (slice_log_count(&own->log) < own->log.wanted_count) {
        count_incomplete(own, &burst);
    } else {
        count_complete(own, &burst);
    }
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

/* Slices count against the budget only once a burst was complete. */
static bool needs_more(const struct own *own, const struct run_budget *budget, int64_t now_ns)
{
    uint64_t done = own->complete_count > 0 ? slices_recorded(own->run) : 0;
    return run_budget_left(budget, done, now_ns);
}

static bool is_decided(const struct own *own)
{
    return own->kept_ns > 0 || own->incomplete_in_row >= MOST_INCOMPLETE;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    struct run_budget budget = run_budget(run, 1);
    cpu_loss_open(&own->cpu_loss, run);
    if (plan_bursts(own) != 0)
        return -1;
    own->least_turns = own->incomplete_turns = own->rounds;
    int64_t now_ns;
    rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns);
    do { /* at least one burst: less proves nothing */
        if (spin_burst(own) != 0)
            return -1;
        take_burst(own);
        now_ns = rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns);
    } while (!is_decided(own) && needs_more(own, &budget, now_ns));
    return 0;
}

/* ---- verdicts ---- */

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

static void judge_rotation(const struct own *own)
{
    struct arena *arena = own->run->arena;
    if (own->kept_ns > 0)
        arena_verdict(arena, false, "rotates",
                      "one thread kept the CPU for %.3f s, while %d others were ready; a slice is "
                      "due after %.3f ms",
                      (double)own->kept_ns / 1e9, own->thread_count - 1, (double)own->due_ns / 1e6);
    else if (own->least_turns < own->rounds)
        arena_verdict(arena, false, "rotates",
                      "of %d slices in a burst one of %d threads got only %d, not %d",
                      own->rounds * own->thread_count, own->thread_count, own->least_turns,
                      own->rounds);
    else
        arena_verdict(arena, true, "rotates",
                      "%d threads, %d slices each in every one of %d bursts", own->thread_count,
                      own->rounds, own->complete_count);
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
    const struct slices *later = &own->slices[LATER];
    double mean_ns = mean_of(later), claimed_ns = (double)own->claimed_ns;
    if (own->claimed_ns < 0) {
        arena_event(own->run->arena, "slice_unknown", -1,
                    "sched_rr_get_interval fails: nobody knows how long slices should be");
        return;
    }
    bool is_right = later->count > 0 && mean_ns < claimed_ns * (1 + LENGTH_ERROR) &&
                    mean_ns > claimed_ns * (1 - LENGTH_ERROR);
    arena_verdict(own->run->arena, is_right, "slice_length",
                  "%d later slices, mean %.3f ms (%.3f to %.3f); claimed: %.3f ms", later->count,
                  mean_ns / 1e6, (double)later->least_ns / 1e6, (double)later->most_ns / 1e6,
                  claimed_ns / 1e6);
}

static void judge_first_slice(const struct own *own)
{
    const struct slices *first = &own->slices[FIRST], *later = &own->slices[LATER];
    double allowed_ns = mean_of(later) / 4;
    if (allowed_ns < (double)tick_ns())
        allowed_ns = (double)tick_ns();
    double difference_ns = mean_of(first) - mean_of(later);
    bool is_like = first->count > 0 && later->count > 0 && difference_ns <= allowed_ns &&
                   difference_ns >= -allowed_ns;
    arena_verdict(own->run->arena, is_like, "first_slice",
                  "%d first slices, mean %.3f ms (%.3f to %.3f); mean of the later ones %.3f ms",
                  first->count, mean_of(first) / 1e6, (double)first->least_ns / 1e6,
                  (double)first->most_ns / 1e6, mean_of(later) / 1e6);
}

static int refuse_verdict(const struct own *own)
{
    return outcome_set(
        &own->run->outcome, STATUS_FAILED,
        "end what keeps the CPU from the test; if slices are long, widen the "
        "real-time budget (Linux: sysctl kernel.sched_rt_runtime_us=-1) or shorten "
        "them (kernel.sched_rr_timeslice_ms)",
        "no verdict: %d bursts of %lld ms ended before each of %d threads had its %d "
        "slices, which are due in %lld ms; one got only %d",
        own->incomplete_count, (long long)(own->run->rt_budget.burst_ns / 1000000),
        own->thread_count, own->rounds,
        (long long)(own->due_ns * own->rounds * own->thread_count / 1000000),
        own->incomplete_turns);
}

static bool has_proof(const struct own *own)
{
    return own->kept_ns > 0 ||
           (own->complete_count > 0 && own->incomplete_in_row < MOST_INCOMPLETE);
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (cpu_loss_judge(&own->cpu_loss, run) != 0)
        return -1; /* no verdict on throttled bursts */
    if (!has_proof(own))
        return refuse_verdict(own);
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
    .setup_ns = 500000000,
    .sample_ns = 150000000,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

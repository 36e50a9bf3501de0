/* THR-B-RR: round robin is fair (Dedicated Systems 2012).
 *
 * What: threads of SCHED_RR spin. rotates: each gets its slices without blocking or yielding; fair:
 *   its share of the time of all bursts is within 5 % of the mean; slice_length: the mean of later
 *   slices is within 10 % of sched_rr_get_interval; first_slice: the mean of first slices is that
 *   of later ones within a quarter or one clock tick.
 * Begin, end: a thread that finds another one noted as the last to run has just been given the CPU
 *   and notes itself with a reading of the counter (slice_log.h). A slice is from one such note to
 *   the next, with the switch and all interrupts.
 * Threads: N one below the run's priority, on one CPU, new ones in each burst, so that each has a
 *   first slice. A burst takes as long as its slices, 5 s at most; where throttling limits it, the
 *   same threads go on after a rest, the one that had the CPU first. A slice with a rest in it, or
 *   cut by the end of a burst, is not recorded. Nothing is discarded as warm-up.
 * Wrong if: a thread of higher priority, throttling (event throttled, the result fails) or the fair
 *   server of Linux 6.12 lengthens a slice. A burst that ends before it has all its slices proves
 *   nothing and is repeated (event incomplete_burst); after three in a row there is no verdict. A
 *   system that begins a new slice after each wait, with slices longer than a burst, would look as
 *   if its threads took no turns.
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"
#include "family/thread/slice_log.h"
#include "run/run.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { ROUND_ROBIN_THREADS = 16, ROUND_ROBIN_PARTS = 8 };

/* Series, and kinds of slices. */
enum { FIRST_SLICE, LATER_SLICE, SLICE_KINDS };

struct round_robin;

struct spinner {
    struct round_robin *round_robin;
    int place;
    struct rt_thread rt_thread;
    sem_t go; /* starts the thread's part of a burst */
};

struct slices {
    int count;
    int64_t sum_ns, least_ns, most_ns;
};

/* Spinning without a rest. */
struct spinning {
    uint64_t begin_ticks, end_ticks;
};

/* A burst is one part, or several with rests between them. */
struct round_robin {
    struct run *run;
    struct cpu_loss cpu_loss;
    int64_t claimed_ns; /* slice length by sched_rr_get_interval; -1: it fails */
    int64_t due_ns;     /* the same, or a guess if it fails */
    int64_t hold_ns;    /* in which a burst is due to end even if first slices are long */
    int thread_count, rounds;
    bool is_divided; /* bursts go on after rests until they have all slices */
    uint64_t until_ticks;
    struct slice_log log; /* of the burst */
    sem_t parked;         /* posted by each thread at the end of its part */
    atomic_bool is_ended; /* the burst is over: threads end */
    int part_count, cut_before;
    struct spinning parts[ROUND_ROBIN_PARTS];
    int64_t begin_at_ns; /* of the burst, as time of the run */
    struct spinner spinners[ROUND_ROBIN_THREADS];
    int64_t shares_ns[ROUND_ROBIN_THREADS]; /* of complete bursts */
    struct slices slices[SLICE_KINDS];      /* of complete bursts, seen whole */
    int64_t cut_most_ns[SLICE_KINDS];       /* longest of those that a rest cut: time it ran */
    int complete_count, incomplete_count, incomplete_in_row;
    int least_turns, incomplete_turns; /* fewest slices of a thread, by kind of burst */
    int64_t kept_ns;                   /* one thread kept the CPU for this; 0: none did */
};

enum { LEAST_THREADS = 2, LEVELS = 2, SAMPLES = 12 };

static const struct param_spec params[] = {
    {"threads", PARAM_COUNT, false, "3", LEAST_THREADS, ROUND_ROBIN_THREADS, NULL,
     "threads that share the CPU"},
    {0},
};

static const struct series_spec series[] = {
    {"first_slice", "ns", "", "a new thread first gets the CPU", "another thread gets the CPU"},
    {"later_slice", "ns", "", "a thread gets the CPU again", "another thread gets the CPU"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"rotates", "equal SCHED_RR threads that spin take turns"},
    {"fair", "each gets the same share of the time, within 5 %"},
    {"slice_length", "slices are as long as sched_rr_get_interval says, within 10 %"},
    {"first_slice", "a thread's first slice is as long as its later ones"},
    {0},
};

enum { MOST_ROUNDS = 16, LEAST_ROUNDS = 2, LEAST_PARTS = 3, KEPT_SLICES = 20, LONG_SLICES = 10 };

#define UNKNOWN_SLICE_NS INT64_C(100000000)
#define MOST_HOLD_NS INT64_C(5000000000)

/* ---- the length of bursts ---- */

/* Runs on a thread of SCHED_RR. */
static void ask_slice(void *argument)
{
    struct round_robin *round_robin = argument;
    struct timespec slice;
    round_robin->claimed_ns =
        sched_rr_get_interval(0, &slice) == 0 ? clock_timespec_ns(&slice) : -1;
}

static int64_t rounds_within(const struct round_robin *round_robin, int64_t ns)
{
    return ns / 10 * 9 / round_robin->due_ns / round_robin->thread_count;
}

/* A first slice may be as long as ten later ones. */
static int64_t wanted_hold_ns(const struct round_robin *round_robin)
{
    return round_robin->due_ns * round_robin->thread_count * (LONG_SLICES + round_robin->rounds);
}

/* Without throttling a burst may be as long as all slices need. It rests for a ninth of that. */
static void lengthen_bursts(struct round_robin *round_robin)
{
    struct rt_budget *rt_budget = &round_robin->run->rt_budget;
    if (round_robin->cpu_loss.is_limited)
        return;
    int64_t hold_ns = wanted_hold_ns(round_robin);
    hold_ns = hold_ns < MOST_HOLD_NS ? hold_ns : MOST_HOLD_NS;
    if (hold_ns > rt_budget->burst_ns) {
        rt_budget->burst_ns = hold_ns;
        rt_budget->rest_ns = hold_ns / 9;
    }
}

static int refuse_length(struct round_robin *round_robin)
{
    struct run *run = round_robin->run;
    struct remedy remedy = {port_hint(PORT_HINT_SLICES), rt_budget_lift_command(&run->rt_budget)};
    return outcome_set_remedy(
        &run->outcome, STATUS_UNSUPPORTED, remedy,
        "two slices of %lld ms for each of %d threads do not fit into the %lld ms that real-time "
        "threads may spin without a pause",
        (long long)(round_robin->due_ns / 1000000), round_robin->thread_count,
        (long long)(run->rt_budget.burst_ns / 1000000));
}

static int choose_lengths(struct round_robin *round_robin)
{
    const struct rt_budget *rt_budget = &round_robin->run->rt_budget;
    round_robin->due_ns = round_robin->claimed_ns > 0 ? round_robin->claimed_ns : UNKNOWN_SLICE_NS;
    int64_t rounds = rounds_within(round_robin, rt_budget->burst_ns);
    rounds = rounds > LEAST_ROUNDS ? rounds : LEAST_ROUNDS;
    round_robin->rounds = (int)(rounds < MOST_ROUNDS ? rounds : MOST_ROUNDS);
    lengthen_bursts(round_robin);
    round_robin->hold_ns = wanted_hold_ns(round_robin);
    if (rounds_within(round_robin, rt_budget->burst_ns) < LEAST_ROUNDS)
        return refuse_length(round_robin);
    return 0;
}

/* Asks for the slice length and chooses the length of bursts. 0, or -1 with the outcome. */
static int round_robin_plan(struct round_robin *round_robin)
{
    struct rt_thread rt_thread;
    struct rt_thread_setup setup = thread_setup(round_robin->run, SCHED_RR, 1);
    int error = rt_thread_start(&rt_thread, &setup, ask_slice, round_robin);
    if (error)
        return outcome_set_errno(&round_robin->run->outcome, error, "a thread under SCHED_RR",
                                 NULL);
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    int result = choose_lengths(round_robin);
    round_robin->least_turns = round_robin->incomplete_turns = round_robin->rounds;
    return result;
}

/* ---- the threads ---- */

static void spin_part(struct spinner *spinner)
{
    struct round_robin *round_robin = spinner->round_robin;
    struct slice_log *log = &round_robin->log;
    for (;;) {
        unsigned turn = slice_log_look(log);
        if (slice_log_is_over(log, turn))
            return;
        uint64_t now_ticks = clock_begin(&round_robin->run->clock);
        if ((int64_t)(now_ticks - round_robin->until_ticks) >= 0)
            slice_log_close(log);
        else
            slice_log_take(log, turn, spinner->place, now_ticks);
    }
}

static void spin(void *argument)
{
    struct spinner *spinner = argument;
    struct round_robin *round_robin = spinner->round_robin;
    for (;;) {
        thread_wait(&spinner->go);
        if (atomic_load(&round_robin->is_ended))
            return;
        spin_part(spinner);
        sem_post(&round_robin->parked);
    }
}

static int start_spinners(struct round_robin *round_robin, int *started)
{
    struct run *run = round_robin->run;
    struct rt_thread_setup setup = thread_setup(run, SCHED_RR, 1);
    for (; *started < round_robin->thread_count; (*started)++) {
        struct spinner *spinner = &round_robin->spinners[*started];
        spinner->round_robin = round_robin;
        spinner->place = *started;
        sem_init(&spinner->go, 0, 0);
        int error = rt_thread_start(&spinner->rt_thread, &setup, spin, spinner);
        if (error)
            return outcome_set_errno(&run->outcome, error, "threads under SCHED_RR", NULL);
        rt_thread_go(&spinner->rt_thread);
    }
    return 0;
}

static void end_spinners(struct round_robin *round_robin, int started)
{
    atomic_store(&round_robin->is_ended, true);
    for (int i = 0; i < started; i++)
        sem_post(&round_robin->spinners[i].go);
    for (int i = 0; i < started; i++) {
        rt_thread_join(&round_robin->spinners[i].rt_thread);
        sem_destroy(&round_robin->spinners[i].go);
    }
}

/* ---- a burst ---- */

/* The measuring thread has a higher priority: they start when it waits, thread `first` before the
 * others. */
static void run_part(struct round_robin *round_robin, int first)
{
    struct run *run = round_robin->run;
    struct spinning *part = &round_robin->parts[round_robin->part_count++];
    part->begin_ticks = clock_begin(&run->clock);
    round_robin->until_ticks =
        part->begin_ticks + clock_ticks_of_ns(&run->clock, run->rt_budget.burst_ns);
    cpu_loss_begin(&round_robin->cpu_loss);
    for (int i = 0; i < round_robin->thread_count; i++)
        sem_post(&round_robin->spinners[(first + i) % round_robin->thread_count].go);
    for (int i = 0; i < round_robin->thread_count; i++)
        thread_wait(&round_robin->parked);
    cpu_loss_end(&round_robin->cpu_loss, run);
    part->end_ticks = clock_begin(&run->clock);
}

/* Whether one thread has kept the CPU since the burst began. */
static bool round_robin_keeps_cpu(struct round_robin *round_robin)
{
    return slice_log_count(&round_robin->log) == 1;
}

static int64_t spun_ns(const struct round_robin *round_robin)
{
    return round_robin->part_count * round_robin->run->rt_budget.burst_ns;
}

/* Whether the burst has lasted so many slices that a thread that kept the CPU until now counts as
 * keeping it for ever. */
static bool round_robin_has_lasted(const struct round_robin *round_robin)
{
    return round_robin->part_count >= LEAST_PARTS &&
           spun_ns(round_robin) >= KEPT_SLICES * round_robin->due_ns;
}

static bool goes_on(struct round_robin *round_robin)
{
    if (round_robin->part_count == ROUND_ROBIN_PARTS || run_should_stop())
        return false;
    if (round_robin_keeps_cpu(round_robin))
        return !round_robin_has_lasted(round_robin);
    unsigned count = slice_log_count(&round_robin->log);
    return round_robin->is_divided && count > 0 && count < round_robin->log.wanted_count &&
           spun_ns(round_robin) < round_robin->hold_ns;
}

/* The thread that had the CPU when a part ended has it first in the next one. */
static void run_parts(struct round_robin *round_robin)
{
    struct run *run = round_robin->run;
    round_robin->part_count = 0;
    round_robin->cut_before = round_robin->cpu_loss.cut_count;
    round_robin->begin_at_ns = run_at_ns(run, clock_monotonic_ns());
    run_part(round_robin, 0);
    while (goes_on(round_robin)) {
        rt_budget_rest_ahead(&run->rt_budget, run->rt_budget.burst_ns);
        slice_log_reopen(&round_robin->log);
        run_part(round_robin,
                 round_robin->log.entries[slice_log_count(&round_robin->log) - 1].place);
    }
}

/* Spins one burst. 0, or -1 with the outcome if the threads could not be started. */
static int round_robin_spin(struct round_robin *round_robin)
{
    int started = 0;
    slice_log_clear(&round_robin->log,
                    (unsigned)(round_robin->thread_count * round_robin->rounds) + 1);
    sem_init(&round_robin->parked, 0, 0);
    atomic_store(&round_robin->is_ended, false);
    int error = start_spinners(round_robin, &started);
    if (!error)
        run_parts(round_robin);
    end_spinners(round_robin, started);
    sem_destroy(&round_robin->parked);
    return error;
}

/* ---- slices ---- */

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

/* Records the slices of the burst. */
static void round_robin_take(struct round_robin *round_robin)
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

/* Whether more bursts would tell nothing else. */
static bool round_robin_is_decided(const struct round_robin *round_robin)
{
    return round_robin->kept_ns > 0 || round_robin->incomplete_in_row >= MOST_INCOMPLETE;
}

/* ---- verdicts ---- */

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
            "%s: no verdict, because a %s slice did not fit into the %lld ms that real-time "
            "threads may spin without a pause: it ran for %.3f ms, with a rest in it; to see it "
            "whole, lift the limit on real-time threads",
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
    struct remedy remedy = {port_hint(PORT_HINT_SLICES_LOST),
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

/* Gives the verdicts. 0, or -1 with the outcome if no burst proves anything. */
static int round_robin_judge(struct round_robin *round_robin)
{
    if (!has_proof(round_robin))
        return refuse_verdict(round_robin);
    judge_rotation(round_robin);
    judge_fairness(round_robin);
    judge_length(round_robin);
    judge_first_slice(round_robin);
    return 0;
}

/* ---- the test ---- */

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
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

#include "base/posix_source.h"

#include "family/thread/round_robin.h"

#include "family/thread/scenario.h"

#include <sched.h>

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
    struct remedy remedy = {"shorten the slices (Linux: kernel.sched_rr_timeslice_ms), or lift the "
                            "limit on real-time threads",
                            rt_budget_lift_command(&run->rt_budget)};
    return outcome_set_remedy(
        &run->outcome, STATUS_UNSUPPORTED, remedy,
        "two slices of %lld ms for each of %d threads do not fit into the %lld ms "
        "that real-time threads may spin without a rest",
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

int round_robin_plan(struct round_robin *round_robin)
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

bool round_robin_keeps_cpu(struct round_robin *round_robin)
{
    return slice_log_count(&round_robin->log) == 1;
}

static int64_t spun_ns(const struct round_robin *round_robin)
{
    return round_robin->part_count * round_robin->run->rt_budget.burst_ns;
}

bool round_robin_has_lasted(const struct round_robin *round_robin)
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

int round_robin_spin(struct round_robin *round_robin)
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

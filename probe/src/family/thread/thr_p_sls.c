/* THR-P-SLS: switch between threads of equal priority (Dedicated Systems 2012; with two
 * threads the task switch of Garre 2014).
 *
 * N threads of one priority and of the run's policy, all on one CPU, in a ring: each calls
 * sched_yield and so hands the CPU to the next. begin = the stamp of one thread right before its
 * sched_yield, end = the stamp of the next one right after its own sched_yield returned.
 * In the figure: one system call (its entry in one thread, its return in the other), the
 * choice of the next thread, one switch. Never in it: creating or ending a thread, waking
 * one up, the record of a value.
 *
 * The threads are made once, before the first ring and by the director, so that a limit on
 * threads leaves the smaller rings. They run in bursts: the director (same
 * priority) makes them ready in the order of the ring and blocks. What a thread does
 * first in a burst is to return from a wait and not from a yield, so a burst's first lap
 * is not recorded. After a burst all of them block, and the director rests.
 *
 * How it could be wrong: a thread that is not the ring's next one would be timed, which
 * each turn looks for (event ring_out_of_order, and the result fails); throttling or a
 * thread of higher priority would stand in a value (event throttled, and the result
 * fails); interrupts are in the values, since they are in those of any application. The
 * stamps are part of each value, as the instrument's figures say.
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "realtime/cpu_loss.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 100000, MOST_THREADS = 4096, NOBODY = -1, LEVELS = 2 };

#define BURST_NS INT64_C(50000000)
#define SAMPLE_NS 4000 /* generous, for the expected time */

static const struct param_spec params[] = {
    {"threads", PARAM_COUNT, true, "2,10,128,1000", 2, MOST_THREADS, NULL,
     "threads in the ring, one ring after the other"},
    {0},
};

static const struct series_spec series[] = {
    {"switch", "ns", "threads", "a thread of the ring, right before its sched_yield",
     "the next thread of the ring, right after its sched_yield returned"},
    {0},
};

struct ring;

struct member {
    struct ring *ring;
    int place;
    sem_t gate;
    struct actor actor;
};

/* `last` and what follows belong to the thread that runs; begin_ticks hands them on. */
struct ring {
    struct run *run;
    struct occupancy occupancy;
    struct record *record;
    sem_t done;
    atomic_int inside;
    atomic_bool is_over, is_ended;
    int member_count, size;
    uint64_t limit;       /* of values; 0: none */
    uint64_t until_ticks; /* of the burst */
    uint64_t wrong_count;
    int64_t burst_at_ns;
    uint64_t burst_ticks;
    int start_error;
    int last; /* who ran last; NOBODY at the start of a burst */
    atomic_uint_fast64_t begin_ticks;
    struct member members[];
};

static int64_t expected_ns(const struct run *run)
{
    return thread_expected_ns(run, run_param(run, "threads")->count, SAMPLE_NS);
}

static int size(struct run *run)
{
    const struct param_value *threads = run_param(run, "threads");
    for (int i = 0; i < threads->count; i++) {
        int index = run_add_series(run, "switch", "ns", NULL, NULL);
        if (index < 0)
            return -1;
        arena_plan_label_number(&run->plan, index, "threads", threads->number[i]);
    }
    return 0;
}

static void record_switch(struct ring *ring, uint64_t begin, uint64_t end)
{
    const struct clock *clock = &ring->run->clock;
    if (ring->limit > 0 && ring->record->count >= ring->limit)
        return;
    record_value(ring->record, clock_ns(clock, end - begin),
                 ring->burst_at_ns + clock_ns(clock, end - ring->burst_ticks));
}

/* The first member looks, once a lap, whether the burst is over. */
static void end_lap(struct ring *ring, uint64_t now_ticks)
{
    bool is_full = ring->limit > 0 && ring->record->count >= ring->limit;
    if (is_full || (int64_t)(now_ticks - ring->until_ticks) >= 0 || run_should_stop())
        atomic_store_explicit(&ring->is_over, true, memory_order_relaxed);
}

static void run_burst(struct member *member)
{
    struct ring *ring = member->ring;
    const struct clock *clock = &ring->run->clock;
    int before = (member->place + ring->size - 1) % ring->size;
    for (uint64_t lap = 0;; lap++) {
        uint64_t end = clock_end(clock);
        uint64_t begin = atomic_load_explicit(&ring->begin_ticks, memory_order_acquire);
        if (atomic_load_explicit(&ring->is_over, memory_order_relaxed))
            return;
        bool is_start = lap == 0 && member->place == 0;
        if (ring->last != (is_start ? NOBODY : before))
            ring->wrong_count++;
        else if (lap > 0)
            record_switch(ring, begin, end);
        if (lap > 1 && member->place == 0)
            end_lap(ring, end);
        ring->last = member->place;
        atomic_store_explicit(&ring->begin_ticks, clock_begin(clock), memory_order_release);
        sched_yield();
    }
}

static void take_part(void *argument)
{
    struct member *member = argument;
    struct ring *ring = member->ring;
    for (;;) {
        thread_wait(&member->gate);
        if (atomic_load(&ring->is_ended))
            return;
        run_burst(member);
        if (atomic_fetch_sub(&ring->inside, 1) == 1)
            sem_post(&ring->done);
    }
}

static int most_threads(const struct param_value *threads)
{
    int most = 0;
    for (int i = 0; i < threads->count; i++)
        if (threads->number[i] > most)
            most = (int)threads->number[i];
    return most;
}

/* As many as the system grants; rings that need more are told after measuring. */
static void start_members(struct ring *ring, int wanted)
{
    struct actor_setup setup = thread_setup(ring->run, ring->run->setup.policy, 0);
    for (int i = 0; i < wanted; i++) {
        struct member *member = &ring->members[i];
        member->ring = ring;
        member->place = i;
        sem_init(&member->gate, 0, 0);
        ring->start_error = actor_start_with_stack(&member->actor, &setup, ACTOR_SMALL_STACK_BYTES,
                                                   take_part, member);
        if (ring->start_error)
            return;
        actor_go(&member->actor);
        ring->member_count = i + 1;
    }
}

static int prepare(struct run *run)
{
    int wanted = most_threads(run_param(run, "threads"));
    if (thread_scenario_check(run, LEVELS) != 0)
        return -1;
    struct ring *ring = run_own(run, sizeof *ring + (size_t)wanted * sizeof ring->members[0]);
    if (!ring)
        return -1;
    ring->run = run;
    sem_init(&ring->done, 0, 0);
    return 0;
}

/* One burst: all of the ring's threads, made ready in its order. */
static void turn_ring(struct ring *ring, int64_t now_ns)
{
    const struct clock *clock = &ring->run->clock;
    ring->last = NOBODY;
    ring->burst_at_ns = run_at_ns(ring->run, now_ns);
    ring->burst_ticks = clock_begin(clock);
    ring->until_ticks = ring->burst_ticks + clock_ticks_of_ns(clock, BURST_NS);
    atomic_store(&ring->is_over, false);
    atomic_store(&ring->inside, ring->size);
    occupancy_begin(&ring->occupancy);
    for (int i = 0; i < ring->size; i++)
        sem_post(&ring->members[i].gate);
    thread_wait(&ring->done);
    occupancy_end(&ring->occupancy, ring->run);
}

static void tell_wrong_order(const struct ring *ring)
{
    struct run *run = ring->run;
    unsigned long long wrong = ring->wrong_count;
    arena_event(run->arena, "ring_out_of_order", -1,
                "%d threads: %llu turns went to another thread than the next of the ring; %llu "
                "went to the next and were timed",
                ring->size, wrong, (unsigned long long)ring->record->count);
    outcome_set(&run->outcome, STATUS_FAILED, "see THR-B-NEW for the order of equal threads",
                "sched_yield did not hand the CPU to the next thread in %llu turns of a ring of %d",
                wrong, ring->size);
}

static void measure_ring(struct run *run, struct ring *ring, int place)
{
    const struct param_value *threads = run_param(run, "threads");
    struct run_budget budget = run_budget(run, threads->count);
    ring->size = (int)threads->number[place];
    ring->record = arena_record(run->arena, place);
    ring->limit = budget.samples;
    ring->wrong_count = 0;
    int64_t now_ns = breathe_ahead(&run->breath, BURST_NS);
    while (run_budget_left(&budget, ring->record->count, now_ns) && ring->wrong_count == 0) {
        turn_ring(ring, now_ns);
        now_ns = breathe_ahead(&run->breath, BURST_NS);
    }
    if (ring->wrong_count > 0)
        tell_wrong_order(ring);
}

static void deny_ring(struct run *run, const struct ring *ring, int wanted)
{
    char what[STATUS_TEXT_BYTES / 2];
    snprintf(what, sizeof what, "a ring of %d threads: only %d could be started", wanted,
             ring->member_count);
    arena_event(run->arena, "threads_denied", -1, "%s (%s)", what, strerror(ring->start_error));
    outcome_set_errno(&run->outcome, ring->start_error, what,
                      "raise the limits on threads and memory (ulimit -u, ulimit -l, ulimit -v, "
                      "pids.max of the control group), or ask for fewer: -p threads=2,10");
}

static int measure(struct run *run)
{
    const struct param_value *threads = run_param(run, "threads");
    struct ring *ring = run->own;
    occupancy_open(&ring->occupancy);
    start_members(ring, most_threads(threads));
    if (thread_settle(run, 0) != 0)
        return outcome_set(&run->outcome, STATUS_FAILED, NULL, "the director cannot lower itself");
    for (int i = 0; i < threads->count && !run_should_stop(); i++) {
        if (threads->number[i] <= ring->member_count)
            measure_ring(run, ring, i);
        else
            deny_ring(run, ring, (int)threads->number[i]);
    }
    return 0;
}

static int judge(struct run *run)
{
    const struct ring *ring = run->own;
    return occupancy_judge(&ring->occupancy, run);
}

static void finish(struct run *run)
{
    struct ring *ring = run->own;
    if (!ring)
        return;
    atomic_store(&ring->is_ended, true);
    for (int i = 0; i < ring->member_count; i++)
        sem_post(&ring->members[i].gate);
    for (int i = 0; i < ring->member_count; i++)
        actor_join(&ring->members[i].actor);
}

const struct test thr_p_sls = {
    .id = "THR-P-SLS",
    .title = "Switch between equal threads",
    .source = "[D] Dedicated Systems 2012; [G] Garre 2014, task switch",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
    .finish = finish,
};

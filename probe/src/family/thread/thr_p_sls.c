/* THR-P-SLS: switch between threads of equal priority (Dedicated Systems 2012; with two threads the
 * task switch of Garre et al. 2014).
 *
 * What: N threads form a ring: each calls sched_yield, which hands the CPU to the next. One system
 *   call (entered by one thread, left by the other), the choice of the next thread, one switch.
 * Begin, end: a thread's stamp right before its sched_yield, the next thread's right after its own
 *   returned. Creating, ending or waking a thread, and recording a value, are never in between.
 * Threads: at the run's policy and priority on one CPU, created once; if a limit stops that, the
 *   smaller rings are still measured. The measuring thread, of the same priority, makes them ready
 *   in the order of the ring and blocks for a burst of 50 ms. The first lap of each burst returns
 *   from a wait and is not recorded.
 * Wrong if: a thread other than the next one ran, which each turn checks (event ring_out_of_order,
 *   the result fails). Throttling or a thread of higher priority would be in a value (event
 *   throttled, the result fails). Above LOCKED_THREADS stacks are touched but not locked (event
 *   stacks_not_locked): while memory is short, page faults would be. Interrupts and the stamps are
 *   part of each value; the instrument's figures state what stamps cost.
 */
#include "base/posix_source.h"

#include "family/thread/scenario.h"

#include "base/rt_thread.h"
#include "port/port.h"
#include "run/run.h"
#include "run/variant.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* LOCKED_THREADS: number of threads with a locked stack (base/rt_thread.h). */
enum { LOCKED_THREADS = 16, SAMPLES = 100000, MOST_THREADS = 4096, NOBODY = -1, LEVELS = 2 };

#define BURST_NS INT64_C(50000000)

static const struct param_spec params[] = {
    {"threads", PARAM_COUNT, true, "2,10,128,1000", 2, MOST_THREADS, NULL,
     "numbers of threads in a ring; one ring after another", "threads"},
    {0},
};

static const struct series_spec series[] = {
    {"switch", "ns", "threads", "a thread of the ring, right before its sched_yield",
     "the next thread of the ring, right after its sched_yield returned"},
    {0},
};
enum { SWITCH };

struct ring;

struct member {
    struct ring *ring;
    int place;
    sem_t gate;
    struct rt_thread rt_thread;
};

/* Only the running thread uses `last` and what follows; begin_ticks publishes it to the next
 * one. */
struct ring {
    struct run *run;
    struct record *record;
    sem_t done;
    atomic_int inside;
    atomic_bool is_over, is_ended;
    int member_count, size;
    uint64_t limit;       /* number of values; 0: no limit */
    uint64_t until_ticks; /* of the burst */
    uint64_t wrong_count;
    int start_error;
    struct stacks stacks; /* of the members from LOCKED_THREADS on */
    int last;             /* place of the last thread that ran; NOBODY at the start of a burst */
    atomic_uint_fast64_t begin_ticks;
    struct member members[];
};

static void record_switch(const struct ring *ring, uint64_t begin, uint64_t end)
{
    if (ring->limit == 0 || ring->record->count < ring->limit)
        run_take(ring->run, SWITCH, begin, end);
}

/* The first member checks once a lap whether the burst is over. */
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

static int start_member(struct member *member, const struct rt_thread_setup *setup)
{
    const struct stacks *stacks = &member->ring->stacks;
    int unlocked = member->place - LOCKED_THREADS;
    return rt_thread_start_on_stack(
        &member->rt_thread, setup, unlocked < 0 ? NULL : stacks_at(stacks, unlocked),
        unlocked < 0 ? RT_THREAD_SMALL_STACK_BYTES : stacks->stack_bytes, take_part, member);
}

/* Stacks from LOCKED_THREADS on, fewer where memory is limited: the small rings remain. The number
 * of threads that can be started. */
static int make_stacks(struct ring *ring, int wanted)
{
    struct run *run = ring->run;
    int all = wanted > LOCKED_THREADS ? wanted - LOCKED_THREADS : 0, count = all, error;
    while ((error = stacks_make(&ring->stacks, count, run->is_locked)) != 0) {
        ring->start_error = error;
        count /= 2;
    }
    if (count > 0 && run->is_locked)
        arena_event(run->arena, "stacks_not_locked", -1,
                    DATA(data_integer("locked_count", LOCKED_THREADS)),
                    "the stacks of threads beyond %d are touched but not locked: larger rings "
                    "may have page faults while memory is short",
                    LOCKED_THREADS);
    return count < all ? LOCKED_THREADS + count : wanted;
}

/* Starts as many as the system grants; a ring that needs more is denied when its turn comes. */
static void start_members(struct ring *ring, int wanted)
{
    struct rt_thread_setup setup = thread_setup(ring->run, ring->run->setup.policy, 0);
    for (int i = 0; i < wanted; i++) {
        struct member *member = &ring->members[i];
        member->ring = ring;
        member->place = i;
        sem_init(&member->gate, 0, 0);
        int error = start_member(member, &setup);
        if (error) {
            ring->start_error = error;
            return;
        }
        rt_thread_go(&member->rt_thread);
        ring->member_count = i + 1;
    }
}

static int prepare(struct run *run)
{
    int wanted = most_threads(run_param(run, "threads"));
    if (one_cpu_require_levels(run, LEVELS) != 0)
        return -1;
    struct ring *ring = run_own(run, sizeof *ring + (size_t)wanted * sizeof ring->members[0]);
    if (!ring)
        return -1;
    ring->run = run;
    sem_init(&ring->done, 0, 0);
    return 0;
}

/* One burst: makes the ring's threads ready in its order. -1 if one ran out of order. */
static int turn_ring(struct run *run)
{
    struct ring *ring = run->own;
    const struct clock *clock = &run->clock;
    ring->last = NOBODY;
    ring->until_ticks = clock_begin(clock) + clock_ticks_of_ns(clock, BURST_NS);
    atomic_store(&ring->is_over, false);
    atomic_store(&ring->inside, ring->size);
    for (int i = 0; i < ring->size; i++)
        sem_post(&ring->members[i].gate);
    thread_wait(&ring->done);
    return ring->wrong_count == 0 ? 0 : -1;
}

static void report_wrong_order(const struct ring *ring)
{
    struct run *run = ring->run;
    unsigned long long wrong = ring->wrong_count;
    arena_event(run->arena, "ring_out_of_order", -1,
                DATA(data_integer("threads_count", ring->size),
                     data_integer("wrong_count", (int64_t)ring->wrong_count),
                     data_integer("value_count", (int64_t)ring->record->count)),
                "%d threads: %llu turns went to the wrong thread of the ring; %llu went to the "
                "next one and were timed",
                ring->size, wrong, (unsigned long long)ring->record->count);
    if (sched_yield() != 0) /* not looked at where time is taken */
        outcome_set_errno(&run->outcome, errno, "sched_yield",
                          "allow it in the system call filter (SystemCallFilter= of a systemd "
                          "unit, --security-opt seccomp=unconfined of a container)");
    else
        outcome_set(
            &run->outcome, STATUS_FAILED, "run THR-B-NEW, which tests the order of equal threads",
            "sched_yield did not hand the CPU to the next thread in %llu turns of a ring of %d",
            wrong, ring->size);
}

static void deny_ring(struct run *run, const struct ring *ring, int wanted)
{
    char what[STATUS_TEXT_BYTES / 2], remedy[STATUS_TEXT_BYTES];
    snprintf(what, sizeof what, "a ring of %d threads: only %d could be started", wanted,
             ring->member_count);
    arena_event(run->arena, "threads_denied", -1,
                DATA(data_integer("asked_count", wanted),
                     data_integer("started_count", ring->member_count),
                     data_text("error", strerror(ring->start_error))),
                "%s (%s)", what, strerror(ring->start_error));
    snprintf(remedy, sizeof remedy, "%s, or ask for fewer: -p threads=2,10",
             port_hint(PORT_HINT_THREADS));
    outcome_set_errno(&run->outcome, ring->start_error, what, remedy);
}

/* A ring that fails does not stop the others. */
static int measure_ring(struct run *run)
{
    struct ring *ring = run->own;
    ring->size = (int)variant_number(run, "threads");
    if (ring->size > ring->member_count) {
        deny_ring(run, ring, ring->size);
        return 0;
    }
    ring->record = run_record(run, SWITCH);
    ring->limit = run->samples;
    ring->wrong_count = 0;
    if (variant_sample(run, SWITCH, 1, turn_ring) != 0)
        report_wrong_order(ring);
    return 0;
}

static int measure(struct run *run)
{
    struct ring *ring = run->own;
    start_members(ring, make_stacks(ring, most_threads(run_param(run, "threads"))));
    if (thread_settle(run, 0) != 0)
        return -1;
    burst_begin(run, 0);
    burst_plan(run, BURST_NS);
    return variants_measure(run);
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
        rt_thread_join(&ring->members[i].rt_thread);
    stacks_free(&ring->stacks);
}

const struct test thr_p_sls = {
    .id = "THR-P-SLS",
    .title = "Switch between equal threads",
    .source = "[D] Dedicated Systems 2012; [G] Garre et al. 2014, task switch",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = 400000000,
    .sample_ns = 2000,
    .prepare = prepare,
    .measure = measure,
    .measure_variant = measure_ring,
    .finish = finish,
};

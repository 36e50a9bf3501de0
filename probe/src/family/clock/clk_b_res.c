/* CLK-B-RES: resolution and monotonicity of every clock (Obenland 2000; HP 1987).
 *
 * On each CPU in turn the thread reads each clock `samples` times in a row; a value is a
 * difference of two neighbouring readings that is not zero, so the smallest is the
 * resolution seen. A reading before its predecessor is a step back. Across CPUs a
 * thread on each CPU reads the clock when it has the token, which a shared counter
 * hands round: each reading must not lie before the one of the CPU that had the token
 * before.
 *
 * What clock_getres claims stands beside what was seen, because claims are not evidence.
 */
#include "base/posix_source.h"

#include "run/run.h"
#include "run/shield_run.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCKS = 16, CHUNK = 20000, TOKEN_ROUNDS = 4000, READS = 1000000, RING_CPUS = 64 };

#define COARSE_LIMIT_NS INT64_C(100000000)
#define READ_NS 400 /* generous, for the expected time */

static const struct series_spec series[] = {
    {"claimed", "ns", "clock", "the resolution that clock_getres claims; one value a clock", NULL},
    {"step", "ns", "clock", "a reading of the clock",
     "the next reading that differs, back to back, on each CPU in turn"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"monotonic", "no reading lies before its predecessor on the same CPU"},
    {"monotonic_across_cpus", "no reading lies before an earlier one of another CPU"},
    {0},
};

/* A clock under test; the processor's counter is the last one. */
struct subject {
    const char *name;
    clockid_t id;
    bool is_counter, is_system_wide, is_steerable;
    uint64_t back_count, read_count;
    int64_t back_worst_ns;
    int cpu_count;
};

struct ring {
    const struct run *run;
    const struct subject *subject;
    int count; /* threads */
    _Atomic int turn, is_over;
    int64_t last;
    uint64_t back_count;
    int64_t back_worst;
};

struct ring_member {
    struct ring *ring;
    int place;
    struct actor actor;
};

struct own {
    int subject_count;
    struct subject subjects[CLOCKS];
    struct ring ring;
    struct ring_member members[RING_CPUS];
};

static int64_t read_clock(const struct clock *clock, const struct subject *subject)
{
    if (subject->is_counter)
        return (int64_t)clock_begin(clock);
    struct timespec now;
    clock_gettime(subject->id, &now);
    return clock_timespec_ns(&now);
}

static int64_t to_ns(const struct clock *clock, const struct subject *subject, int64_t length)
{
    return subject->is_counter ? clock_ns(clock, (uint64_t)length) : length;
}

static int list_subjects(struct subject subjects[CLOCKS])
{
    const struct port_clock *clocks;
    int count = port_clocks(&clocks);
    for (int i = 0; i < count && i < CLOCKS - 1; i++)
        subjects[i] = (struct subject){.name = clocks[i].name,
                                       .id = clocks[i].id,
                                       .is_system_wide = clocks[i].is_system_wide,
                                       .is_steerable = clocks[i].is_steerable};
    subjects[count] =
        (struct subject){.name = "counter", .is_counter = true, .is_system_wide = true};
    return count + 1;
}

static int64_t expected_ns(const struct run *run)
{
    bool allowed[PORT_CPUS] = {false};
    int cpus = shield_run_allowed_cpus(run, allowed);
    struct subject subjects[CLOCKS];
    int64_t read_ns = READ_NS * list_subjects(subjects) * (cpus > 0 ? cpus : 1);
    return run_expected_ns(run, read_ns);
}

static int size(struct run *run)
{
    struct subject subjects[CLOCKS];
    int count = list_subjects(subjects);
    shield_run_allowed_cpus(run, run->uses_cpu);
    for (int i = 0; i < count; i++) {
        int claimed = run_add_series(run, "claimed", "ns", "clock", subjects[i].name);
        arena_plan_derived(&run->plan, claimed, "clock_getres");
        if (claimed < 0 || run_add_series(run, "step", "ns", "clock", subjects[i].name) < 0)
            return -1;
    }
    return 0;
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->subject_count = list_subjects(own->subjects);
    if (!run->clock.use_counter)
        own->subject_count--;
    return 0;
}

static void note_back(const struct run *run, struct subject *subject, int64_t length)
{
    int64_t ns = to_ns(&run->clock, subject, length);
    subject->back_count++;
    if (ns < subject->back_worst_ns)
        subject->back_worst_ns = ns;
}

/* `reads` readings back to back; more, up to a limit, while fewer than three steps were
 * seen: a coarse clock steps once a tick. */
static void read_steps(struct run *run, struct subject *subject, struct record *step,
                       uint64_t reads)
{
    uint64_t steps = 0;
    int64_t from_ns = clock_monotonic_ns(), now_ns = from_ns;
    int64_t previous = read_clock(&run->clock, subject);
    for (uint64_t done = 0; done < reads || (steps < 3 && now_ns - from_ns < COARSE_LIMIT_NS);
         done += CHUNK) {
        for (int i = 0; i < CHUNK; i++) {
            int64_t reading = read_clock(&run->clock, subject);
            int64_t length = reading - previous;
            previous = reading;
            if (length == 0)
                continue;
            steps++;
            if (length < 0)
                note_back(run, subject, length);
            else
                record_value(step, to_ns(&run->clock, subject, length), run_at_ns(run, now_ns));
        }
        subject->read_count += CHUNK;
        now_ns = breathe(&run->breath);
        previous = read_clock(&run->clock, subject);
        if (run_should_stop())
            return;
    }
    subject->cpu_count++;
}

static void read_on_this_cpu(struct run *run)
{
    struct own *own = run->own;
    uint64_t reads = run->samples > 0 ? run->samples : READS;
    for (int i = 0; i < own->subject_count && !run_should_stop(); i++)
        read_steps(run, &own->subjects[i], arena_record(run->arena, 2 * i + 1), reads);
}

static void claim(struct run *run)
{
    struct own *own = run->own;
    for (int i = 0; i < own->subject_count; i++) {
        struct timespec step;
        if (!own->subjects[i].is_counter && clock_getres(own->subjects[i].id, &step) == 0)
            record_value(arena_record(run->arena, 2 * i), clock_timespec_ns(&step), 0);
    }
}

static void pass_token(void *argument)
{
    struct ring_member *member = argument;
    struct ring *ring = member->ring;
    for (int round = 0; round < TOKEN_ROUNDS; round++) {
        int mine = round * ring->count + member->place;
        while (atomic_load_explicit(&ring->turn, memory_order_acquire) != mine)
            if (atomic_load_explicit(&ring->is_over, memory_order_relaxed) || run_should_stop())
                return;
        int64_t reading = read_clock(&ring->run->clock, ring->subject);
        if (mine > 0 && reading < ring->last) {
            ring->back_count++;
            if (reading - ring->last < ring->back_worst)
                ring->back_worst = reading - ring->last;
        }
        ring->last = reading;
        atomic_store_explicit(&ring->turn, mine + 1, memory_order_release);
    }
}

/* Starts a thread on each CPU but the director's; the director is member 0. */
static int start_members(struct run *run, const int *cpus, int count)
{
    struct own *own = run->own;
    for (int i = 1; i < count; i++) {
        own->members[i] = (struct ring_member){.ring = &own->ring, .place = i};
        struct actor_setup setup = run->setup;
        setup.cpu = cpus[i];
        int error = actor_start(&own->members[i].actor, &setup, pass_token, &own->members[i]);
        if (!error)
            continue;
        atomic_store(&own->ring.is_over, 1);
        for (int j = 1; j < i; j++) {
            actor_go(&own->members[j].actor);
            actor_join(&own->members[j].actor);
        }
        return error;
    }
    return 0;
}

static void run_ring(struct run *run, const struct subject *subject, const int *cpus, int count)
{
    struct own *own = run->own;
    char name[ARENA_NAME_BYTES];
    memset(&own->ring, 0, sizeof own->ring);
    own->ring.run = run;
    own->ring.subject = subject;
    own->ring.count = count;
    int error = start_members(run, cpus, count);
    if (error) {
        arena_event(run->arena, "ring_not_started", -1, "%s across CPUs: %s", subject->name,
                    strerror(error));
        return;
    }
    for (int i = 1; i < count; i++)
        actor_go(&own->members[i].actor);
    own->members[0] = (struct ring_member){.ring = &own->ring, .place = 0};
    pass_token(&own->members[0]);
    for (int i = 1; i < count; i++)
        actor_join(&own->members[i].actor);
    if (run_should_stop())
        return;
    snprintf(name, sizeof name, "monotonic_across_cpus/%.16s",
             subject->is_counter ? subject->name : subject->name + 6);
    arena_verdict(run->arena, own->ring.back_count == 0, name,
                  "%d readings handed round among CPUs: %d; %llu steps back, the worst %lld ns",
                  own->ring.turn, count, (unsigned long long)own->ring.back_count,
                  (long long)-to_ns(&run->clock, subject, own->ring.back_worst));
}

static void compare_cpus(struct run *run, const int *cpus, int count)
{
    struct own *own = run->own;
    for (int i = 0; i < own->subject_count && !run_should_stop(); i++)
        if (own->subjects[i].is_system_wide && !own->subjects[i].is_steerable)
            run_ring(run, &own->subjects[i], cpus, count);
}

static void tell_monotonic(struct run *run, const struct subject *subject)
{
    char name[ARENA_NAME_BYTES];
    if (subject->cpu_count == 0)
        return;
    if (subject->is_steerable) { /* may be set back at any time: no claim, but told */
        if (subject->back_count > 0)
            arena_event(run->arena, "steerable_clock_went_back", -1, "%s: %llu steps back",
                        subject->name, (unsigned long long)subject->back_count);
        return;
    }
    snprintf(name, sizeof name, "monotonic/%.28s",
             subject->is_counter ? subject->name : subject->name + 6);
    arena_verdict(run->arena, subject->back_count == 0, name,
                  "%llu readings, CPUs in turn: %d; %llu steps back, the worst %lld ns",
                  (unsigned long long)subject->read_count, subject->cpu_count,
                  (unsigned long long)subject->back_count, (long long)-subject->back_worst_ns);
}

static int list_cpus(const struct run *run, int cpus[RING_CPUS])
{
    bool allowed[PORT_CPUS] = {false};
    cpus[0] = run->setup.cpu;
    int count = 1;
    if (shield_run_allowed_cpus(run, allowed) < 2)
        return 1;
    for (int cpu = 0; cpu < PORT_CPUS && count < RING_CPUS; cpu++)
        if (allowed[cpu] && cpu != run->setup.cpu)
            cpus[count++] = cpu;
    return count;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    int cpus[RING_CPUS];
    int count = list_cpus(run, cpus);
    claim(run);
    for (int i = 0; i < count && !run_should_stop(); i++) {
        if (count > 1 && port_pin_self(cpus[i]) != 0)
            continue;
        read_on_this_cpu(run);
    }
    if (count > 1) {
        port_pin_self(cpus[0]);
        compare_cpus(run, cpus, count);
    } else {
        arena_event(run->arena, "one_cpu", -1,
                    "CPUs cannot be compared: there is one, or this port cannot choose among them");
    }
    for (int i = 0; i < own->subject_count; i++)
        tell_monotonic(run, &own->subjects[i]);
    return 0;
}

const struct test clk_b_res = {
    .id = "CLK-B-RES",
    .title = "Clock resolution and monotonicity",
    .source = "[O] Obenland 2000; [H] HP 1987",
    .series = series,
    .verdicts = verdicts,
    .default_samples = READS,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
};

/* CLK-B-RES: resolution and monotonicity of every clock, and the step of expiries (Obenland 2000;
 * HP 1987).
 *
 * What: the difference between two readings in a row of each clock, if it is not zero: the smallest
 *     is the resolution seen, next to the one that clock_getres claims. No reading may be before
 *     its predecessor, also across CPUs (the ring). A clock that stands still while the thread runs
 *     fails; if it goes on when the thread waits, or the port says so (HS_HAS_RUNNING_CPU_CLOCKS),
 *     no step was seen, and an event takes the verdict's place. A clock that may be set promises
 *     nothing, and has events. For the step of expiries see expiry_step_measure.
 * Begin, end: two readings, back to back, on each CPU in turn. There is no warm-up.
 * Threads: the measuring thread, at the run's priority; in the ring one thread on each CPU, which
 *     reads the clock when it has the token that a shared counter passes round.
 * Wrong if: two readings are within one step: no value, so a coarse clock has few. The time of one
 *     read is a lower bound of the step that can be seen.
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/shared/timer_mechanism.h"
#include "run/run.h"
#include "run/shield_run.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOCKS = 16, CHUNK = 20000, READS = 1000000 };

/* Without any step for this time, the clock is reported as standing still. */
#define STILL_LIMIT_NS INT64_C(1000000000)

/* Longest part of a chunk that counts as running time: the thread may have been preempted for the
 * rest. */
#define CHUNK_LIMIT_NS INT64_C(20000000)

/* The same limit as a count, for a CLOCK_MONOTONIC that stands still. */
enum { MOST_READS = 50000000 };

/* Of setup_ns: what the expiries of all mechanisms take together at most. */
#define EXPIRY_STEP_NS INT64_C(6000000000)

static const struct series_spec series[] = {
    {"claimed", "ns", "clock", "the resolution that clock_getres claims; one value per clock", NULL,
     "clock_getres", .may_be_empty = true},
    {"step", "ns", "clock", "a reading of the clock",
     "the next reading that differs, back to back, on each CPU in turn",
     .range = {.most = RECORD_NO_MOST}}, /* somebody may set it forward by hours */
    {"expiry_step", "ns", "mechanism", "the expiry that was requested of a one-shot timer",
     "the first clock reading after the expiry of the next one, requested when the first had "
     "expired; the longer of two such pairs in a row"},
    {0},
};
enum { CLAIMED, STEP, SERIES };

static const struct verdict_spec verdicts[] = {
    {"monotonic", "the clock advances, and no reading is before its predecessor on the same CPU"},
    {"monotonic_across_cpus", "no reading is before an earlier one of another CPU"},
    {0},
};

/* ---- a clock ---- */

/* Steps that show that a clock moves; the time limit for them is 50 times the coarsest step that
 * POSIX allows (_POSIX_CLOCKRES_MIN). */
enum { CLOCK_SUBJECT_STEPS = 3 };
#define CLOCK_SUBJECT_STEPS_NS INT64_C(100000000)

/* A clock under test; the last one is the processor's counter. */
struct clock_subject {
    const char *name;
    clockid_t id;
    bool is_counter, is_system_wide, is_steerable;
    bool is_absent; /* clock_gettime refuses it */
    bool may_stand; /* while a thread runs, as the port says: it counts at switches only */
    uint64_t back_count, read_count;
    int64_t back_worst_ns;
    int cpu_count;
    int still_count; /* CPUs on which no reading differed from the one before; their reads and time
                      */
    uint64_t still_read_count;
    int64_t still_ns;
    bool has_moved_at_rest; /* on one of these */
};

/* A reading, in the clock's own unit. */
static inline int64_t clock_subject_read(const struct clock *clock,
                                         const struct clock_subject *subject)
{
    if (subject->is_counter)
        return (int64_t)clock_begin(clock);
    struct timespec now;
    clock_gettime(subject->id, &now);
    return clock_timespec_ns(&now);
}

/* A difference of readings in ns. */
static inline int64_t clock_subject_ns(const struct clock *clock,
                                       const struct clock_subject *subject, int64_t length)
{
    return subject->is_counter ? clock_ns(clock, (uint64_t)length) : length;
}

/* ---- its steps, on one CPU ---- */

static void note_back(const struct run *run, struct clock_subject *subject, int64_t length)
{
    int64_t ns = clock_subject_ns(&run->clock, subject, length);
    subject->back_count++;
    if (ns < subject->back_worst_ns)
        subject->back_worst_ns = ns;
}

/* The state of reading one clock on one CPU. */
struct look {
    uint64_t read_count, step_count;
    int64_t previous;
    int64_t busy_ns; /* lower bound of the thread's running time */
    bool has_moved;  /* may also change during a rest, which is no step */
};

/* Goes on after `reads` while there are too few steps: a coarse clock steps once a tick. */
static bool has_seen_enough(const struct look *look, uint64_t reads)
{
    if (look->read_count < reads)
        return false;
    if (look->step_count >= CLOCK_SUBJECT_STEPS || look->read_count >= MOST_READS)
        return true;
    return look->busy_ns >= (look->has_moved ? CLOCK_SUBJECT_STEPS_NS : STILL_LIMIT_NS);
}

/* A step that enters the list of the worst values needs its time of occurrence. The duration of
 * that reading is no step. */
static void record_step(struct run *run, struct clock_subject *subject, struct record *step,
                        int64_t step_ns, int64_t *now_ns, int64_t *previous)
{
    bool is_worst = step_ns > step->worst_floor;
    if (is_worst)
        *now_ns = clock_monotonic_ns();
    record_value(step, step_ns, run_at_ns(run, *now_ns));
    if (!is_worst)
        return;
    int64_t reading = clock_subject_read(&run->clock, subject);
    if (reading < *previous)
        note_back(run, subject, reading - *previous);
    *previous = reading;
}

static void read_chunk(struct run *run, struct clock_subject *subject, struct record *step,
                       struct look *look, int64_t now_ns)
{
    int64_t previous = look->previous;
    for (int i = 0; i < CHUNK; i++) {
        int64_t reading = clock_subject_read(&run->clock, subject);
        int64_t length = reading - previous;
        previous = reading;
        if (length == 0)
            continue;
        look->step_count++;
        if (length < 0)
            note_back(run, subject, length);
        else
            record_step(run, subject, step, clock_subject_ns(&run->clock, subject, length), &now_ns,
                        &previous);
    }
    look->previous = previous;
    look->has_moved = look->has_moved || look->step_count > 0;
    look->read_count += CHUNK;
    subject->read_count += CHUNK;
}

/* Rests if the budget needs it; returns the time after that. A change during a rest is no value,
 * but a step back then counts. */
static int64_t rest(struct run *run, struct clock_subject *subject, struct look *look)
{
    int64_t now_ns = rt_budget_rest(&run->rt_budget);
    int64_t reading = clock_subject_read(&run->clock, subject);
    look->has_moved = look->has_moved || reading != look->previous;
    if (reading < look->previous)
        note_back(run, subject, reading - look->previous);
    look->previous = reading;
    return now_ns;
}

static void note_still(struct clock_subject *subject, const struct look *look)
{
    subject->still_count++;
    subject->still_read_count += look->read_count;
    subject->still_ns += look->busy_ns;
    subject->has_moved_at_rest = subject->has_moved_at_rest || look->has_moved;
}

static void read_steps(struct run *run, struct clock_subject *subject, struct record *step,
                       uint64_t reads)
{
    struct look look = {.previous = clock_subject_read(&run->clock, subject)};
    int64_t now_ns = clock_monotonic_ns();
    while (!has_seen_enough(&look, reads)) {
        read_chunk(run, subject, step, &look, now_ns);
        int64_t chunk_ns = clock_monotonic_ns() - now_ns;
        look.busy_ns += chunk_ns < CHUNK_LIMIT_NS ? chunk_ns : CHUNK_LIMIT_NS;
        now_ns = rest(run, subject, &look);
        if (run_should_stop())
            return;
    }
    subject->cpu_count++;
    if (look.step_count == 0)
        note_still(subject, &look);
}

/* ---- the ring: CPUs in turn ---- */

/* MOST_TOKEN_ROUNDS: for a CLOCK_MONOTONIC that stands still. */
enum { TOKEN_ROUNDS = 4000, MOST_TOKEN_ROUNDS = 1000000 };

enum { CLOCK_RING_CPUS = 64 };

struct clock_ring_member {
    struct clock_ring *ring;
    int place;
    struct rt_thread rt_thread;
};

struct clock_ring {
    const struct run *run;
    const struct clock_subject *subject;
    int count; /* threads */
    _Atomic int turn, is_over;
    int64_t until_ns; /* time limit for CLOCK_SUBJECT_STEPS steps */
    int64_t last;
    uint64_t step_count, back_count;
    int64_t back_worst;
    struct clock_ring_member members[CLOCK_RING_CPUS];
};

/* Goes on after TOKEN_ROUNDS while there are too few steps: equal readings prove nothing. */
static bool has_compared_enough(const struct clock_ring *ring, int round)
{
    if (round < TOKEN_ROUNDS)
        return false;
    return ring->step_count >= CLOCK_SUBJECT_STEPS || round >= MOST_TOKEN_ROUNDS ||
           clock_monotonic_ns() >= ring->until_ns;
}

static void compare(struct clock_ring *ring, int64_t reading)
{
    int64_t length = reading - ring->last;
    if (length != 0)
        ring->step_count++;
    if (length < 0)
        ring->back_count++;
    if (length < ring->back_worst)
        ring->back_worst = length;
}

/* The measuring thread, first in each round, ends the ring. */
static void pass_token(void *argument)
{
    struct clock_ring_member *member = argument;
    struct clock_ring *ring = member->ring;
    for (int round = 0;; round++) {
        int mine = round * ring->count + member->place;
        while (atomic_load_explicit(&ring->turn, memory_order_acquire) != mine)
            if (atomic_load_explicit(&ring->is_over, memory_order_relaxed) || run_should_stop())
                return;
        if (member->place == 0 && has_compared_enough(ring, round))
            break;
        int64_t reading = clock_subject_read(&ring->run->clock, ring->subject);
        if (mine > 0)
            compare(ring, reading);
        ring->last = reading;
        atomic_store_explicit(&ring->turn, mine + 1, memory_order_release);
    }
    atomic_store(&ring->is_over, 1);
}

/* Starts a thread on each other CPU; the measuring thread is member 0. 0 or an errno value. */
static int start_members(struct clock_ring *ring, const int *cpus, int count)
{
    for (int i = 1; i < count; i++) {
        ring->members[i] = (struct clock_ring_member){.ring = ring, .place = i};
        struct rt_thread_setup setup = ring->run->setup;
        setup.cpu = cpus[i];
        int error =
            rt_thread_start(&ring->members[i].rt_thread, &setup, pass_token, &ring->members[i]);
        if (!error)
            continue;
        atomic_store(&ring->is_over, 1);
        for (int j = 1; j < i; j++) {
            rt_thread_go(&ring->members[j].rt_thread);
            rt_thread_join(&ring->members[j].rt_thread);
        }
        return error;
    }
    return 0;
}

static void report_ring(struct run *run, const struct clock_ring *ring)
{
    const struct clock_subject *subject = ring->subject;
    char name[ARENA_NAME_BYTES];
    if (ring->step_count == 0) {
        arena_event(run->arena, "clock_stands_still", -1,
                    DATA(data_text("clock", subject->name), data_integer("equal_count", ring->turn),
                         data_integer("cpu_count", ring->count)),
                    "%s: %d readings by CPUs in turn are all equal, so they cannot be compared",
                    subject->name, ring->turn);
        return;
    }
    snprintf(name, sizeof name, "monotonic_across_cpus/%.16s",
             subject->is_counter ? subject->name : subject->name + 6);
    arena_verdict(run->arena, ring->back_count == 0, (uint64_t)ring->turn, name,
                  "%d readings in turn, CPUs: %d; %llu steps back, the worst %lld ns", ring->turn,
                  ring->count, (unsigned long long)ring->back_count,
                  (long long)-clock_subject_ns(&run->clock, subject, ring->back_worst));
}

/* Lets `count` CPUs read the clock in turn, the measuring thread's first, and adds the verdict
 * monotonic_across_cpus, or an event that says why there is none. Not inlined: that would
 * change the registers of the timed loop above. */
static __attribute__((noinline)) void clock_ring_run(struct run *run, struct clock_ring *ring,
                                                     const struct clock_subject *subject,
                                                     const int *cpus, int count)
{
    memset(ring, 0, sizeof *ring);
    ring->run = run;
    ring->subject = subject;
    ring->count = count;
    int error = start_members(ring, cpus, count);
    if (error) {
        arena_event(run->arena, "ring_not_started", -1,
                    DATA(data_text("clock", subject->name), data_text("error", strerror(error))),
                    "%s across CPUs: %s", subject->name, strerror(error));
        return;
    }
    rt_budget_rest_ahead(&run->rt_budget, CLOCK_SUBJECT_STEPS_NS);
    ring->until_ns = clock_monotonic_ns() + CLOCK_SUBJECT_STEPS_NS;
    for (int i = 1; i < count; i++)
        rt_thread_go(&ring->members[i].rt_thread);
    ring->members[0] = (struct clock_ring_member){.ring = ring, .place = 0};
    pass_token(&ring->members[0]);
    for (int i = 1; i < count; i++)
        rt_thread_join(&ring->members[i].rt_thread);
    if (!run_should_stop())
        report_ring(run, ring);
}

/* ---- the step of expiries ---- */

/* The smallest step of expiries, which HP calls alarm resolution: timers of a system that counts
 * ticks of 10 ms expire on ticks, so two expiries are equal or at least 10 ms apart.
 *
 * The measuring thread asks for a one-shot and waits for it; when it has expired, it asks for a
 * second one at once. begin = the moment for which the first was asked, end = the first clock
 * reading after the second one's wait. Begin and end lie outside of the two expiries: whatever the
 * latency, a step is never taken for smaller than it is. It comes close to the true one where the
 * first request lies just before an expiry. Where that is, is known from the pair before; the
 * distance varies, irregularly, over powers of two. A value is the longest of GROUP pairs in a row,
 * so that one accident makes no step.
 *
 * A request for a moment that has passed expires at once, which is no step: the clock is read after
 * arming, a pair that came too late is left out, and the next request is further ahead. nanosleep
 * must be called earlier by the longest of some calls that return at once. A timer that expires
 * early breaks the bound: it is reported and left out. A step shows where the second expiry was
 * waited for during three quarters of the smallest value, since latency alone would delay both
 * alike. Else the event expiry_step_bounded says that the timer's own step may be smaller. */

enum { GROUP = 2 /* pairs in a value */, VALUES = 100, DISTANCES = 11, CALLS = 16 };

#define GIVE_UP_NS INT64_C(2000000000)
#define LEAD_LEAST_NS INT64_C(1000)
#define LEAD_MOST_NS INT64_C(10000000)

/* Of one mechanism: the values of all distances, unless that takes too long. */
#define ENOUGH_NS INT64_C(300000000)
#define LIMIT_NS INT64_C(1000000000)

/* A one-shot that has expired. */
struct expiry {
    int64_t asked_ns, seen_ns;
};

/* From the first request to the second expiry, and the lateness of the latter. */
struct pair {
    int64_t ns, late_ns;
};

struct expiry_look {
    enum timer_kind kind;
    int64_t lead_ns; /* a request is so far ahead, at least */
    int64_t call_ns; /* nanosleep: bound of the time from the call to its look at the clock */
    int64_t step_ns, last_ns; /* previous pair: time between its expiries; its end */
    int early_count, error;
    struct random random;
};

/* Requests an expiry at `at_ns` and waits for it. False if it does not count. */
static bool expire(struct expiry_look *look, int64_t at_ns, struct expiry *expiry)
{
    struct timer_armed timer;
    look->error = mechanism_arm(&timer, look->kind, at_ns, 0);
    if (look->error)
        return false;
    int64_t armed_ns = clock_monotonic_ns();
    int64_t count = mechanism_wait(&timer, GIVE_UP_NS, &expiry->seen_ns);
    look->error = count > 0 ? 0 : count == 0 ? ETIMEDOUT : errno;
    expiry->asked_ns = timer.base_ns;
    mechanism_release(&timer);
    bool is_early = count > 0 && expiry->seen_ns < expiry->asked_ns;
    bool is_too_late = armed_ns + look->call_ns >= expiry->asked_ns;
    look->early_count += is_early ? 1 : 0;
    look->lead_ns *= is_too_late ? 2 : 1;
    return count > 0 && !is_early && !is_too_late;
}

static int64_t longer(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

/* The time of the next expiry minus a fraction of a step: by `place` 1/16 to 1/2048, then 1/2 to
 * 1/8. */
static int64_t just_before_the_next(struct expiry_look *look, int place)
{
    int64_t part_ns = look->step_ns >> (1 + (place + DISTANCES - 8) % DISTANCES);
    int64_t before_ns = part_ns / 2 + (int64_t)(random_share(&look->random) * (double)part_ns / 2);
    return longer(look->last_ns + look->step_ns - before_ns, clock_monotonic_ns() + look->lead_ns);
}

static bool take_pair(struct expiry_look *look, int place, struct pair *pair)
{
    struct expiry first, second;
    if (!expire(look, just_before_the_next(look, place), &first) ||
        !expire(look, clock_monotonic_ns() + look->lead_ns, &second))
        return false;
    look->step_ns = second.seen_ns - first.seen_ns;
    look->last_ns = second.seen_ns;
    pair->ns = second.seen_ns - first.asked_ns;
    pair->late_ns = second.seen_ns - second.asked_ns;
    return true;
}

static bool is_over(const struct expiry_look *look, int64_t until_ns)
{
    return look->error || look->lead_ns > LEAD_MOST_NS || run_should_stop() ||
           clock_monotonic_ns() >= until_ns;
}

/* The longest of GROUP pairs; false if there are fewer until `until_ns`. */
static bool take_group(struct expiry_look *look, int place, int64_t until_ns, struct pair *longest)
{
    *longest = (struct pair){0};
    for (int i = 0; i < GROUP;) {
        struct pair pair;
        if (is_over(look, until_ns))
            return false;
        if (!take_pair(look, place, &pair))
            continue;
        if (pair.ns > longest->ns)
            *longest = pair;
        i++;
    }
    return true;
}

/* The longest of some calls that return at once, after one with cold caches. */
static int64_t call_ns(void)
{
    int64_t longest_ns = 0;
    for (int i = 0; i <= CALLS; i++) {
        int64_t begin_ns = clock_monotonic_ns();
        struct timespec passed = clock_ns_timespec(begin_ns);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &passed, NULL);
        longest_ns = i == 0 ? 0 : longer(longest_ns, clock_monotonic_ns() - begin_ns);
    }
    return longest_ns;
}

/* Records the values; returns the smallest. */
static struct pair look_at_mechanism(const struct run *run, struct expiry_look *look,
                                     struct record *record)
{
    int64_t begin_ns = clock_monotonic_ns();
    struct pair pair, smallest = {.ns = INT64_MAX};
    for (int i = 0; i < VALUES; i++) {
        bool is_enough = i >= DISTANCES && clock_monotonic_ns() >= begin_ns + ENOUGH_NS;
        if (is_enough || !take_group(look, i, begin_ns + LIMIT_NS, &pair))
            break;
        record_value(record, pair.ns, run_at_ns(run, look->last_ns));
        if (pair.ns < smallest.ns)
            smallest = pair;
    }
    return smallest;
}

static void report_mechanism(const struct run *run, const struct expiry_look *look,
                             const struct record *record)
{
    const char *name = mechanism_names[look->kind];
    if (look->early_count > 0)
        arena_event(
            run->arena, "early_expirations", -1,
            DATA(data_text("mechanism", name), data_integer("early_count", look->early_count)),
            "%s: %d one-shots expired before they were due: not counted", name, look->early_count);
    if (look->error == ENOTSUP || look->error == ENOSYS)
        arena_event(run->arena, "mechanism_unsupported", -1,
                    DATA(data_text("mechanism", name), data_text("error", strerror(look->error))),
                    "%s: %s", name, strerror(look->error));
    else if (look->error)
        arena_event(run->arena, "expiry_step_cut", -1,
                    DATA(data_text("mechanism", name), data_text("error", strerror(look->error))),
                    "%s: %s", name, strerror(look->error));
    else if (record->count == 0 && !run_should_stop())
        arena_event(run->arena, "expiry_step_unseen", -1,
                    DATA(data_text("mechanism", name), data_integer("looking_ns", LIMIT_NS),
                         data_integer("lead_ns", look->lead_ns)),
                    "%s: no expiry step found in %lld ms; requests up to %lld ns ahead", name,
                    (long long)(LIMIT_NS / 1000000), (long long)look->lead_ns);
}

/* Returns whether no step shows in what was seen. */
static bool measure_one(const struct run *run, enum timer_kind kind, struct record *record)
{
    int64_t longest_call_ns = kind == TIMER_NANOSLEEP ? call_ns() : 0;
    struct expiry_look look = {
        .kind = kind, .lead_ns = LEAD_LEAST_NS + longest_call_ns, .call_ns = longest_call_ns};
    random_start(&look.random, (uint64_t)kind << 16 | (uint16_t)run->seed);
    struct pair smallest = look_at_mechanism(run, &look, record);
    report_mechanism(run, &look, record);
    return record->count > 0 && smallest.late_ns < smallest.ns / 4 * 3;
}

/* Series of each mechanism, in their order. They share the slot of the earlier series `share`. */
static int expiry_step_declare(struct arena_plan *plan, int share)
{
    for (int kind = 0; kind < TIMER_KINDS; kind++) {
        int added = arena_plan_series(plan, "expiry_step", "ns", NULL);
        if (added < 0)
            return -1;
        arena_plan_label_text(plan, added, "mechanism", mechanism_names[kind]);
        arena_plan_share(plan, share);
    }
    return 0;
}

/* `first_series`: index of the first. Not inlined, as clock_ring_run. */
static __attribute__((noinline)) void expiry_step_measure(struct run *run, int first_series)
{
    char bounded[ARENA_TEXT_BYTES] = "";
    const char *mechanisms[TIMER_KINDS];
    size_t used = 0;
    int count = 0;
    for (int kind = 0; kind < TIMER_KINDS && !run_should_stop(); kind++)
        if (measure_one(run, (enum timer_kind)kind, arena_record(run->arena, first_series + kind)))
            mechanisms[count++] = mechanism_names[kind];
    for (int i = 0; i < count && used < sizeof bounded; i++)
        used += (size_t)snprintf(bounded + used, sizeof bounded - used, "%s%s", i > 0 ? ", " : "",
                                 mechanisms[i]);
    if (count > 0)
        arena_event(run->arena, "expiry_step_bounded", -1,
                    DATA(data_texts("mechanisms", mechanisms, count)),
                    "wake-up latency and arming time hide the expiry step of %s, which is at "
                    "most the smallest value",
                    bounded);
}

/* ---- the steps of the test ---- */

struct own {
    int subject_count;
    int expiry_series; /* the first of expiry_step */
    struct clock_subject subjects[CLOCKS];
    struct clock_ring ring;
};

static int list_subjects(struct clock_subject subjects[CLOCKS])
{
    const struct port_clock *clocks;
    int count = port_clocks(&clocks);
    if (count > CLOCKS - 1)
        count = CLOCKS - 1;
    for (int i = 0; i < count; i++)
        subjects[i] = (struct clock_subject){.name = clocks[i].name,
                                             .id = clocks[i].id,
                                             .is_system_wide = clocks[i].is_system_wide,
                                             .is_steerable = clocks[i].is_steerable,
                                             .may_stand = !clocks[i].is_system_wide &&
                                                          !HS_HAS_RUNNING_CPU_CLOCKS};
    subjects[count] =
        (struct clock_subject){.name = "counter", .is_counter = true, .is_system_wide = true};
    return count + 1;
}

/* Clocks are measured one after another, so their series share the records of the first clock. */
static int add_series(struct arena_plan *plan, const char *name, const char *clock, int place)
{
    int added = arena_plan_series(plan, name, "ns", NULL);
    if (added < 0)
        return -1;
    arena_plan_label_text(plan, added, "clock", clock);
    if (added >= SERIES)
        arena_plan_share(plan, place);
    return 0;
}

static int declare(struct run *run)
{
    struct arena_plan *plan = &run->plan;
    struct clock_subject subjects[CLOCKS];
    int count = list_subjects(subjects);
    int cpus = shield_run_allowed_cpus(run, &run->uses_cpu);
    if (cpus > 1 && plan->duration_ns < RUN_LONGEST_NS / cpus)
        plan->duration_ns *= cpus; /* one after another */
    for (int i = 0; i < count; i++) {
        if (add_series(plan, "claimed", subjects[i].name, CLAIMED) != 0 ||
            add_series(plan, "step", subjects[i].name, STEP) != 0)
            return outcome_set_errno(&run->outcome, ENOMEM, "memory for the series", "free memory");
        arena_plan_derived(plan, SERIES * i + CLAIMED, series[CLAIMED].derived);
        arena_plan_range(plan, SERIES * i + STEP, &series[STEP].range);
    }
    if (expiry_step_declare(plan, STEP) != 0)
        return outcome_set_errno(&run->outcome, ENOMEM, "memory for the series", "free memory");
    return 0;
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->subject_count = list_subjects(own->subjects);
    own->expiry_series = SERIES * own->subject_count;
    if (!run->clock.use_counter)
        own->subject_count--;
    return 0;
}

static bool go_to_cpu(struct run *run, int cpu)
{
    int error = port_pin_self(cpu);
    if (error)
        arena_event_once(run->arena, "cpu_not_looked_at",
                         DATA(data_integer("cpu", cpu), data_text("error", strerror(error))),
                         "CPU %d: %s", cpu, strerror(error));
    return error == 0;
}

static void find_absent(struct run *run)
{
    struct own *own = run->own;
    for (int i = 0; i < own->subject_count; i++) {
        struct clock_subject *subject = &own->subjects[i];
        struct timespec now;
        subject->is_absent = !subject->is_counter && clock_gettime(subject->id, &now) != 0;
        if (subject->is_absent)
            arena_event(
                run->arena, "clock_unsupported", -1,
                DATA(data_text("clock", subject->name), data_text("error", strerror(errno))),
                "%s cannot be read: %s", subject->name, strerror(errno));
    }
}

/* Reads one clock on each CPU in turn. */
static void read_everywhere(struct run *run, int place, const int *cpus, int count)
{
    struct own *own = run->own;
    struct record *step = arena_record(run->arena, SERIES * place + STEP);
    if (own->subjects[place].is_absent)
        return;
    for (int i = 0; i < count && !run_should_stop(); i++)
        if (count == 1 || go_to_cpu(run, cpus[i]))
            read_steps(run, &own->subjects[place], step, run->samples);
}

static void claim(struct run *run)
{
    struct own *own = run->own;
    for (int i = 0; i < own->subject_count; i++) {
        struct timespec step;
        if (!own->subjects[i].is_counter && clock_getres(own->subjects[i].id, &step) == 0)
            record_value(arena_record(run->arena, SERIES * i + CLAIMED), clock_timespec_ns(&step),
                         0);
    }
}

static void compare_cpus(struct run *run, const int *cpus, int count)
{
    struct own *own = run->own;
    for (int i = 0; i < own->subject_count && !run_should_stop(); i++) {
        const struct clock_subject *subject = &own->subjects[i];
        if (subject->is_system_wide && !subject->is_steerable && !subject->is_absent &&
            subject->still_count == 0)
            clock_ring_run(run, &own->ring, subject, cpus, count);
    }
}

static void report_still(struct run *run, const struct clock_subject *subject, const char *when)
{
    arena_event(run->arena, "clock_stands_still", -1,
                DATA(data_text("clock", subject->name),
                     data_integer("equal_count", (int64_t)subject->still_read_count),
                     data_integer("looking_ns", subject->still_ns),
                     data_integer("cpu_count", subject->still_count)),
                "%s does not advance%s: %llu equal readings in %.1f s on %d CPUs", subject->name,
                when, (unsigned long long)subject->still_read_count,
                (double)subject->still_ns / 1e9, subject->still_count);
}

/* Somebody may set such a clock back at any time: report an event and no verdict. */
static void report_steerable(struct run *run, const struct clock_subject *subject)
{
    if (subject->back_count > 0)
        arena_event(run->arena, "steerable_clock_went_back", -1,
                    DATA(data_text("clock", subject->name),
                         data_integer("back_count", (int64_t)subject->back_count)),
                    "%s: %llu steps back", subject->name, (unsigned long long)subject->back_count);
    if (subject->still_count > 0)
        report_still(run, subject, "");
}

/* A clock of CPU time may be counted at switches only. No step was seen then, so none went back. */
static bool is_undecided(const struct clock_subject *subject)
{
    return subject->still_count > 0 && subject->back_count == 0 &&
           (subject->may_stand || subject->has_moved_at_rest);
}

static void report_monotonic(struct run *run, const struct clock_subject *subject)
{
    char name[ARENA_NAME_BYTES];
    if (subject->cpu_count == 0)
        return;
    if (subject->is_steerable) {
        report_steerable(run, subject);
        return;
    }
    if (is_undecided(subject)) {
        report_still(run, subject, " while a thread runs, so there is no verdict");
        return;
    }
    snprintf(name, sizeof name, "monotonic/%.28s",
             subject->is_counter ? subject->name : subject->name + 6);
    if (subject->still_count > 0 && subject->back_count == 0) {
        arena_verdict(run->arena, false, subject->still_read_count, name,
                      "does not advance: %llu equal readings in %.1f s of running; CPUs: %d of %d",
                      (unsigned long long)subject->still_read_count,
                      (double)subject->still_ns / 1e9, subject->still_count, subject->cpu_count);
        return;
    }
    arena_verdict(run->arena, subject->back_count == 0, subject->read_count, name,
                  "%llu readings, CPUs in turn: %d; %llu steps back, the worst %lld ns",
                  (unsigned long long)subject->read_count, subject->cpu_count,
                  (unsigned long long)subject->back_count, (long long)-subject->back_worst_ns);
}

static int list_cpus(const struct run *run, int cpus[CLOCK_RING_CPUS])
{
    struct cpus allowed;
    cpus[0] = run->setup.cpu;
    int count = 1;
    if (shield_run_allowed_cpus(run, &allowed) < 2)
        return 1;
    for (int cpu = cpus_first(&allowed); cpu >= 0 && count < CLOCK_RING_CPUS;
         cpu = cpus_next(&allowed, cpu))
        if (cpu != run->setup.cpu)
            cpus[count++] = cpu;
    return count;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    int cpus[CLOCK_RING_CPUS];
    int count = list_cpus(run, cpus);
    find_absent(run);
    claim(run);
    expiry_step_measure(run, own->expiry_series);
    for (int i = 0; i < own->subject_count && !run_should_stop(); i++)
        read_everywhere(run, i, cpus, count);
    if (count > 1 && go_to_cpu(run, cpus[0])) {
        compare_cpus(run, cpus, count);
    } else if (count == 1) {
        arena_event(run->arena, "one_cpu", -1, NO_DATA,
                    "the CPUs cannot be compared: there is only one, or this port cannot bind "
                    "threads to a CPU");
    }
    for (int i = 0; i < own->subject_count; i++)
        report_monotonic(run, &own->subjects[i]);
    return 0;
}

/* Compares CPUs without TEST_COMPARES_CPUS: with it the run would drop a counter whose CPUs
 * disagree, and this test could not report that. */
const struct test clk_b_res = {
    .id = "CLK-B-RES",
    .title = "Clock resolution and monotonicity",
    .source = "[O] Obenland 2000; [H] HP 1987",
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_A_CPU | TEST_CHANGES_CPU,
    .default_samples = READS,
    .counts_rounds = true,
    .setup_ns = 1000000000 + EXPIRY_STEP_NS,
    .sample_ns = 2000,
    .declare = declare,
    .prepare = prepare,
    .measure = measure,
};

/* The parts of wake-ups, from events of a kernel that is made up. What its rings hold comes when
 * they are stopped, or when a test says so: nothing depends on the reader's pace. */
#include "base/posix_source.h"

#include "family/timer/part_match.h"
#include "family/timer/wakeup_parts.h"
#include "made_up_tracing.h"
#include "record/tables.h"
#include "run/shield_run.h"
#include "run/trace_ring.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { MOST = 100, PARTIES = 2, FIRST_CPU = 3, FIRST_THREAD = 77, OTHER_THREAD = 5 };
enum { WAKEUP, RELEASE, MISSED, FIRST_PART, SERIES = FIRST_PART + PARTS };
enum { INTERVAL, WISH, CPUS };

#define START_NS INT64_C(1000000000)
#define INTERVAL_NS INT64_C(100000)

static struct {
    bool lacks_all, is_never_empty;
    atomic_bool is_given; /* the events */
    atomic_int reads;
    int read_error;
    struct {
        int cpu;
        struct port_tracing_event event;
    } events[MOST];
    int event_count;
    char filters[2][64];
    atomic_int reader_policy, reader_priority; /* -1: it has not read yet */
} kernel;

static pthread_t first_thread;

/* ---- in the place of the port's ---- */

ANSWERS(int, port_tracing_look, (const struct port_tracing_wish *wish, struct outcome *outcome),
        kernel.lacks_all ? outcome_set(outcome, STATUS_DENIED, "a remedy", "no events") : 0);

int port_tracing_filter(struct port_tracing *tracing, int kind, const char *expression)
{
    if (CHECK(kind == KIND_WAKING || kind == KIND_SWITCH))
        snprintf(kernel.filters[kind - KIND_WAKING], sizeof kernel.filters[0], "%s", expression);
    return 0;
}

int port_tracing_stop(struct port_tracing *tracing)
{
    atomic_store(&kernel.is_given, true);
    return 0;
}

static void note_reader(void)
{
    struct sched_param parameters;
    int policy = -1;
    if (pthread_equal(pthread_self(), first_thread) ||
        pthread_getschedparam(pthread_self(), &policy, &parameters) != 0)
        return;
    atomic_store(&kernel.reader_priority, parameters.sched_priority);
    atomic_store(&kernel.reader_policy, policy);
}

int port_tracing_read(struct port_tracing *tracing, int cpu, port_tracing_visit visit,
                      void *context)
{
    note_reader();
    atomic_fetch_add(&kernel.reads, 1);
    if (!atomic_load(&kernel.is_given))
        return 1; /* more may be left */
    for (int i = 0; i < kernel.event_count; i++)
        if (kernel.events[i].cpu == cpu) {
            kernel.events[i].cpu = -1;
            visit(&kernel.events[i].event, context);
        }
    errno = kernel.read_error;
    return kernel.read_error ? -1 : kernel.is_never_empty;
}

/* By the linker: timerlat's settings are those of the machine. */
WRAP_IF(true, 0, int, shield_run_set_timerlat,
        (struct run * run, int64_t period_us, struct outcome *outcome), (run, period_us, outcome));

static int lock_count;

WRAP(int, mlockall, int flags)
{
    lock_count++;
    return 0;
}

static const struct param_spec params[] = {
    [INTERVAL] = {"interval_ns", PARAM_NS, false, "100us", 1, INT64_MAX, NULL, ""},
    [WISH] = {"parts", PARAM_NAME, false, "none", 0, 0, parts_wishes, ""},
    [CPUS] = {"cpus", PARAM_CPU, true, "", 0, 9, NULL, "", "cpu"},
    {0},
};

#include "made_up_run.h" /* behind functions whose parameter is named `run` */

static struct test test = {.id = "INVENTED", .params = params};
static struct sleeper sleepers[PARTIES];
static struct wakeup_parts *parts;

static void begin(enum parts_wish wish)
{
    memset(&kernel, 0, sizeof kernel);
    memset(&traced, 0, sizeof traced);
    first_thread = pthread_self();
    kernel.reader_policy = kernel.reader_priority = -1;
    run_of(&test);
    memset(sleepers, 0, sizeof sleepers);
    parts = NULL;
    request.params[INTERVAL] = (struct param_value){1, {INTERVAL_NS}};
    request.params[WISH] = (struct param_value){1, {wish}};
    run.setup.cpu = FIRST_CPU;
    run.start_ns = START_NS;
    run_make_series(PARTIES * SERIES);
    for (int i = 0; i < PARTIES; i++) {
        struct sleeper *sleeper = &sleepers[i];
        sleeper->run = &run;
        sleeper->cpu = FIRST_CPU + i;
        sleeper->interval_ns = INTERVAL_NS;
        sleeper->wakeup = arena_record(run.arena, i * SERIES + WAKEUP);
        sleeper->release = arena_record(run.arena, i * SERIES + RELEASE);
        sleeper->missed = arena_record(run.arena, i * SERIES + MISSED);
        for (int j = 0; j < PARTS; j++)
            sleeper->parts[j] = arena_record(run.arena, i * SERIES + FIRST_PART + j);
    }
}

static int open_parts(int count)
{
    void *memory = tap_memory(wakeup_parts_bytes(&run, count));
    return wakeup_parts_open(&run, memory, sleepers, count, &parts);
}

/* As far as one thread measures. */
static bool enter_alone(void)
{
    if (!CHECK_SAME(open_parts(1), 0) || !CHECK(parts != NULL))
        return false;
    wakeup_parts_start(parts);
    own_id = FIRST_THREAD;
    return wakeup_parts_enter(parts, &sleepers[0]);
}

static void end(void)
{
    wakeup_parts_end(parts);
    wakeup_parts_end(parts);
    CHECK_SAME(traced.close_count, parts ? 1 : 0);
    run_free();
}

static void add(int cpu, struct port_tracing_event event)
{
    if (!CHECK(kernel.event_count < MOST))
        return;
    kernel.events[kernel.event_count].cpu = cpu;
    kernel.events[kernel.event_count++].event = event;
}

static void add_plain(int cpu, int kind, int64_t at_ns, int64_t first, int64_t second)
{
    add(cpu, (struct port_tracing_event){.at_ns = at_ns,
                                         .kind = kind,
                                         .is_in_interrupt = true,
                                         .field = {first, second},
                                         .text = "hog",
                                         .text_bytes = 3});
}

/* Two interrupts, of which the second, after 10 ns, wakes the thread; dispatch 40, return
 * `return_ns`. Another thread is woken, and has its turn, too. */
static void wake_up(int party, int64_t release_ns, int64_t return_ns)
{
    int cpu = FIRST_CPU + party;
    add_plain(cpu, KIND_ENTRY, release_ns + 3, 0, 0);
    add_plain(cpu, KIND_EXIT, release_ns + 6, 0, 0);
    add_plain(cpu, KIND_ENTRY, release_ns + 10, 0, 0);
    add_plain(cpu, KIND_WAKING, release_ns + 20, FIRST_THREAD + party, 0);
    add_plain(cpu, KIND_EXIT, release_ns + 30, 0, 0);
    add_plain(cpu, KIND_SWITCH, release_ns + 40, OTHER_THREAD, 1);
    add_plain(cpu, KIND_SWITCH, release_ns + 50, FIRST_THREAD + party, OTHER_THREAD);
    add_plain(cpu, KIND_WAKING, release_ns + 55, OTHER_THREAD, 0);
    part_ring_put(wakeup_parts_ring(parts, &sleepers[party]), release_ns,
                  release_ns + 50 + return_ns);
}

static void expect(int party, int64_t count, int64_t most_return_ns)
{
    struct record *const *of = sleepers[party].parts;
    for (int i = 0; i < PARTS; i++)
        CHECK_SAME(of[i]->count, count);
    CHECK_SAME(of[PART_INTERRUPT]->max, 10);
    CHECK_SAME(of[PART_DISPATCH]->max, 40);
    CHECK_SAME(of[PART_RETURN]->max, most_return_ns);
}

/* ---- tracepoints ---- */

#define RUN_TEST(what, ...) TEST_IN((begin(__VA_ARGS__), true), end(), what)
#define ALONE_TEST(what) TEST_IN((begin(PARTS_WISH_TRACEPOINTS), CHECK(enter_alone())), end(), what)

ALONE_TEST(wake_ups)
{
    wake_up(0, START_NS + 1000, 500);
    wake_up(0, START_NS + 2000, 700);
    wake_up(0, START_NS + 3000, 600);
    wakeup_parts_end(parts);
    CHECK(cpus_has(&traced.cpus, FIRST_CPU) && cpus_count(&traced.cpus) == 1);
    CHECK_TEXT(kernel.filters[0], "pid == 77");
    CHECK_TEXT(kernel.filters[1], "next_pid == 77");
    expect(0, 3, 700);
    CHECK_SAME(sleepers[0].parts[PART_RETURN]->worst[0].at_ns, 2750);
    CHECK_SAME(sleepers[0].wakeup->count, 0); /* the sleeper itself records the total */
    expect_event("parts_seen", "CPU 3: the parts of 3 of 3 wake-ups were seen by tracepoints");
    expect_event("parts_worst", "750 ns, is 10 ns to the interrupt, 40 ns of dispatch, 700 ns of "
                                "return; hog (5) ran before");
    CHECK(!event("parts_stopped") && !event("parts_not_read") && !event("parts_not_removed"));
}

/* Until the reader has read everything once more. */
static void wait_for_reads(void)
{
    static const struct timespec rest = {0, 1000000};
    int before = atomic_load(&kernel.reads);
    while (atomic_load(&kernel.reads) < before + 2)
        nanosleep(&rest, NULL);
}

/* Whether the system lets this process have the reader that real-time threads get. */
static bool may_be_realtime(void)
{
    struct cpus others;
    struct rt_thread_setup setup = {SCHED_FIFO, sched_get_priority_min(SCHED_FIFO), -1};
    if (port_allowed_cpus(&others) <= 0)
        return false;
    cpus_remove(&others, FIRST_CPU);
    setup.cpu = cpus_first(&others);
    return setup.cpu >= 0 && rt_thread_try(&setup) == 0;
}

static void expect_reader(int policy_of_threads, int policy, int priority)
{
    begin(PARTS_WISH_TRACEPOINTS);
    run.setup.policy = policy_of_threads;
    CHECK(enter_alone());
    wait_for_reads();
    CHECK_SAME(atomic_load(&kernel.reader_policy), policy);
    CHECK_SAME(atomic_load(&kernel.reader_priority), priority);
    end();
}

/* Load cannot starve it beside threads that are real-time. */
TEST(the_reader)
{
    int ordinary = rt_thread_ordinary_priority();
    bool is_above = may_be_realtime();
    expect_reader(SCHED_OTHER, SCHED_OTHER, ordinary);
    expect_reader(SCHED_RR, is_above ? SCHED_FIFO : SCHED_OTHER,
                  is_above ? sched_get_priority_min(SCHED_FIFO) : ordinary);
}

static void expect_before(int64_t value_ns, int64_t at_ns, const char *name)
{
    const struct record_worst worst = {value_ns, at_ns, 0};
    const struct before *before = before_table_find(run.befores, WAKEUP, &worst);
    if (!name)
        CHECK(!before);
    else if (CHECK(before != NULL))
        CHECK_TEXT(before->name, name);
}

/* Each of the worst totals has it, also where the interrupt is not certain. */
ALONE_TEST(what_ran_before)
{
    wake_up(0, START_NS + 1000, 500);
    wake_up(0, START_NS + 2000, 700);
    add_plain(FIRST_CPU, KIND_WAKING, START_NS + 3020, FIRST_THREAD, 0);
    add_plain(FIRST_CPU, KIND_SWITCH, START_NS + 3050, FIRST_THREAD, OTHER_THREAD);
    part_ring_put(wakeup_parts_ring(parts, &sleepers[0]), START_NS + 3000, START_NS + 3600);
    wake_up(0, START_NS + 4000, 600);
    /* preempted after the stamp: nothing of the value before */
    add_plain(FIRST_CPU, KIND_SWITCH, START_NS + 4700, FIRST_THREAD, OTHER_THREAD);
    part_ring_put(wakeup_parts_ring(parts, &sleepers[0]), START_NS + 5000, START_NS + 5400);
    wakeup_parts_end(parts);
    expect(0, 3, 700);
    expect_before(550, 1550, "hog");
    expect_before(750, 2750, "hog");
    expect_before(600, 3600, "hog");
    expect_before(650, 4650, "hog");
    expect_before(400, 5400, NULL);
}

/* A sample stays until its events have come. */
ALONE_TEST(while_it_measures)
{
    wake_up(0, START_NS + 1000, 500);
    wait_for_reads();
    atomic_store(&kernel.is_given, true);
    wait_for_reads();
    CHECK(!part_ring_first(wakeup_parts_ring(parts, &sleepers[0])));
    wakeup_parts_end(parts);
    expect(0, 1, 500);
}

/* As where the last read takes as many events as one takes at most. */
ALONE_TEST(a_ring_that_is_never_empty)
{
    kernel.is_never_empty = true;
    wake_up(0, START_NS + 1000, 500);
    wakeup_parts_end(parts);
    expect(0, 1, 500);
}

static void *enter_second(void *argument)
{
    own_id = FIRST_THREAD + 1;
    CHECK(wakeup_parts_enter(argument, &sleepers[1]));
    return NULL;
}

RUN_TEST(two_threads, PARTS_WISH_AUTO)
{
    pthread_t second;
    if (CHECK_SAME(open_parts(PARTIES), 0) && CHECK(parts != NULL)) {
        wakeup_parts_start(parts);
        own_id = FIRST_THREAD;
        if (pthread_create(&second, NULL, enter_second, parts) != 0)
            abort();
        CHECK(wakeup_parts_enter(parts, &sleepers[0])); /* once both have come */
        pthread_join(second, NULL);
        wake_up(0, START_NS + 1000, 500);
        wake_up(1, START_NS + 1003, 800);
    }
    wakeup_parts_end(parts);
    CHECK_TEXT(kernel.filters[1], "next_pid == 77 || next_pid == 78");
    expect(0, 1, 500);
    expect(1, 1, 800);
}

ALONE_TEST(lost_events)
{
    part_ring_put(wakeup_parts_ring(parts, &sleepers[0]), START_NS + 1000, START_NS + 1400);
    add_plain(FIRST_CPU, PORT_TRACING_LOST, START_NS + 1500, 0, 0);
    wake_up(0, START_NS + 2000, 500);
    traced.is_switched_off = true;
    kernel.read_error = EIO;
    traced.close_error = EBUSY;
    wakeup_parts_end(parts);
    expect(0, 1, 500);
    expect_event("parts_seen", "the parts of 1 of 2 wake-ups were seen by tracepoints; 1 have none "
                               "(events lost 1,");
    CHECK(event("parts_stopped") != NULL);
    expect_event("parts_not_read", strerror(EIO));
    expect_event("parts_not_removed", "/instances/mine");
}

/* What is not asked for does not fail the run. */
TEST(a_refused_start)
{
    for (int is_asked_for = 0; is_asked_for < 2; is_asked_for++) {
        begin(is_asked_for ? PARTS_WISH_TRACEPOINTS : PARTS_WISH_AUTO);
        traced.start_error = EPERM;
        CHECK(enter_alone()); /* the totals are measured all the same */
        wakeup_parts_end(parts);
        CHECK(!event("parts_seen"));
        CHECK_SAME(run.outcome.reason[0] != '\0', is_asked_for);
        if (is_asked_for)
            CHECK_HOLDS(run.outcome.reason, "does not start");
        else
            expect_event("parts_not_seen", "does not start");
        end();
    }
}

/* The run ends before anybody measured. */
RUN_TEST(without_a_start, PARTS_WISH_TRACEPOINTS)
{
    CHECK_SAME(open_parts(1), 0);
    wakeup_parts_end(parts);
    CHECK_SAME(run.arena->event_count, 0);
}

TEST(what_is_asked_for)
{
    begin(PARTS_WISH_NONE);
    CHECK_SAME(wakeup_parts_check(&run), 0);
    CHECK_SAME(run.series_left_out, PARTS);
    CHECK_SAME(wakeup_parts_bytes(&run, 1), 0);
    CHECK_SAME(open_parts(1), 0);
    CHECK(!parts && run.arena->event_count == 0);
    end();
    begin(PARTS_WISH_AUTO);
    CHECK_SAME(wakeup_parts_check(&run), 0);
    CHECK_SAME(run.series_left_out, 0);
    CHECK(wakeup_parts_bytes(&run, 1) > 0);
    kernel.lacks_all = true;
    CHECK_SAME(wakeup_parts_check(&run), 0);
    CHECK_SAME(run.series_left_out, PARTS);
    CHECK_SAME(open_parts(1), 0);
    CHECK(!parts);
    expect_event("parts_not_seen", "no events");
    end();
    begin(PARTS_WISH_TRACEPOINTS);
    kernel.lacks_all = true;
    CHECK_SAME(wakeup_parts_check(&run), -1);
    CHECK_SAME(run.outcome.status, STATUS_DENIED);
    CHECK_TEXT(run.outcome.remedy, "a remedy");
    end();
}

/* A page that the guard of the instance shares would fault at its first write. */
TEST_IN(tap_is_wrapped() && (begin(PARTS_WISH_TRACEPOINTS), true), end(), memory_is_locked_again)
{
    run.is_locked = true;
    lock_count = 0;
    CHECK_SAME(open_parts(1), 0);
    CHECK_SAME(lock_count, 1);
}

RUN_TEST(a_breach_stops_the_trace, PARTS_WISH_NONE)
{
    struct cpus cpus;
    cpus_clear(&cpus);
    cpus_add(&cpus, FIRST_CPU);
    run.trace_ring = trace_ring_open(&cpus, &run.outcome);
    if (CHECK(run.trace_ring != NULL)) {
        CHECK(!atomic_load(&kernel.is_given));
        (void)sleeper_cross(&sleepers[0], 700, 5, FIRST_CPU);
        CHECK(atomic_load(&kernel.is_given));
        CHECK(run_should_stop());
    }
    trace_ring_close(run.trace_ring);
    traced.close_count = 0;
}

/* ---- timerlat ---- */

static bool can_do_timerlat(void)
{
    if (!HS_SHIELD)
        tap_skip("this build cannot restore timerlat's settings");
    return HS_SHIELD && tap_is_wrapped();
}

#define TIMERLAT_TEST(what)                                                                        \
    TEST_IN(can_do_timerlat() && (begin(PARTS_WISH_TIMERLAT), true), end(), what)

static void cycle(int number, int64_t late_ns)
{
    int64_t release_ns = START_NS + number * INTERVAL_NS;
    static const int64_t latencies_ns[] = {10, 50};
    for (int i = 0; i < 2; i++)
        add(FIRST_CPU, (struct port_tracing_event){.at_ns = release_ns + latencies_ns[i],
                                                   .kind = KIND_TIMERLAT,
                                                   .field = {number, i, latencies_ns[i]}});
    part_ring_put(wakeup_parts_ring(parts, &sleepers[0]), 0, release_ns + late_ns);
}

/* The reader has the totals too. */
TIMERLAT_TEST(timerlat)
{
    sleepers[0].threshold_ns = 2 * INTERVAL_NS;
    if (CHECK(enter_alone())) {
        CHECK(wakeup_parts_is_timerlat(parts));
        for (int i = 1; i <= TIMERLAT_LOCATE; i++)
            cycle(i, 500);
        cycle(30, 2 * INTERVAL_NS); /* misses two releases, and is at the threshold */
    }
    wakeup_parts_end(parts);
    expect(0, TIMERLAT_LOCATE + 1, 2 * INTERVAL_NS - 50);
    CHECK_SAME(sleepers[0].wakeup->count, TIMERLAT_LOCATE + 1);
    CHECK_SAME(sleepers[0].wakeup->max, 2 * INTERVAL_NS);
    CHECK_SAME(sleepers[0].release->count, TIMERLAT_LOCATE + 3);
    CHECK_SAME(sleepers[0].missed->max, 2);
    CHECK_SAME(sleepers[0].crossed_ns, 0);
    CHECK(!run_should_stop());
    expect_event("parts_seen", "the parts of 17 of 17 wake-ups were seen by timerlat");
    CHECK(event("parts_checked") != NULL);
}

TIMERLAT_TEST(the_threshold)
{
    sleepers[0].threshold_ns = 600;
    if (CHECK(enter_alone())) {
        cycle(1, 500);
        cycle(2, 601);
        cycle(3, 602);
    }
    wakeup_parts_end(parts);
    CHECK_SAME(sleepers[0].crossed_ns, 601); /* the first one */
    CHECK(run_should_stop());
}

/* Nothing can be measured then. */
TIMERLAT_TEST(timerlat_that_does_not_start)
{
    traced.start_error = EPERM;
    CHECK(!enter_alone());
    wakeup_parts_end(parts);
    CHECK_HOLDS(run.outcome.reason, "does not start");
}

/* The step `calibrate` of a test: when it runs, with what, and how it ends. Each run is that of a
 * process of its own, and tells in its stream what the steps of an invented test saw. */
#include "base/posix_source.h"

#include "child_run.h"
#include "load/element.h"
#include "load/load.h"
#include "patient_stop.h"
#include "run/run.h"
#include "tap.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/* ---- what the steps see ---- */

/* How many processes of the load are in this state or a later one. */
static int count_from(const struct run *run, int state)
{
    int count = 0;
    for (int i = 0; i < run->load->map->slot_count; i++)
        count += atomic_load(&run->load->map->slots[i].state) >= state ? 1 : 0;
    return count;
}

static void tell(const struct run *run, const char *step)
{
    struct sched_param own;
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &own);
    bool is_as_set = policy == run->setup.policy && own.sched_priority == run->setup.priority;
    bool has_load = run->load->map != NULL;
    arena_event(run->arena, step, run_event_at_ns(run, clock_monotonic_ns()), NO_DATA,
                "ready %d, working %d, scheduled as set %d, after locking %d",
                has_load ? count_from(run, WORKER_READY) : 0,
                has_load ? count_from(run, WORKER_WORKS) : 0, is_as_set,
                run->arena->conditions_json[0] != '\0');
}

/* ---- a load that has the time to begin, also on a busy host ---- */

WRAP(void, load_wait_ready, struct load *load)
{
    static const struct timespec rest = {0, 1000000};
    __real_load_wait_ready(load);
    for (int i = 0; load->map && i < load->map->slot_count; i++)
        while (atomic_load(&load->map->slots[i].state) < WORKER_READY)
            nanosleep(&rest, NULL);
}

WRAP(bool, load_settle, struct load *load, bool (*should_stop)(void))
{
    while (!__real_load_settle(load, should_stop))
        if (should_stop && should_stop())
            return false;
    return true;
}

/* ---- a signal at the end of the first thread, when the supervisor waits for it no more ---- */

static bool is_joined_late;

WRAP(void, rt_thread_join, struct rt_thread *rt_thread)
{
    if (is_joined_late && rt_thread->body)
        kill(getpid(), SIGTERM);
    __real_rt_thread_join(rt_thread);
}

/* ---- invented tests ---- */

static int look(struct run *run)
{
    tell(run, "calibrating");
    arena_calibrated(run->arena, "turns", 4711);
    return 0;
}

static int measure(struct run *run)
{
    tell(run, "measuring");
    record_value(arena_record(run->arena, 0), 1, 0);
    return 0;
}

static int past_the_end(struct run *run)
{
    static const struct timespec rest = {0, 1000000};
    static atomic_bool has_ended;
    (void)run;
    while (!atomic_load(&has_ended))
        nanosleep(&rest, NULL);
    return 0;
}

static int refuse(struct run *run)
{
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL, "cannot be calibrated");
}

/* Each takes more than half of the deadline. */
static int take_half(struct run *run)
{
    struct timespec half = clock_ns_timespec(run->deadline_ns * 3 / 5);
    nanosleep(&half, NULL);
    return 0;
}

static int take_half_again(struct run *run)
{
    int64_t until_ns = clock_monotonic_ns() + run->deadline_ns * 3 / 5;
    static const struct timespec rest = {0, 1000000};
    while (clock_monotonic_ns() < until_ns && !run_should_stop())
        nanosleep(&rest, NULL);
    return 0;
}

static int64_t calibrated_at_ns;

static int spin(struct run *run)
{
    int64_t until_ns = clock_monotonic_ns() + run->rt_budget.burst_ns / 2;
    while (clock_monotonic_ns() < until_ns)
        ;
    calibrated_at_ns = clock_monotonic_ns();
    return 0;
}

/* Says whether a whole rest lay between. */
static int look_for_rest(struct run *run)
{
    int64_t between_ns = run->start_ns - calibrated_at_ns;
    arena_event(run->arena, "between", -1, NO_DATA, "a rest: %d",
                between_ns >= run->rt_budget.rest_ns);
    return measure(run);
}

/* ---- stops of the program, noted as its thread for that does ---- */

static int calibrations, stops_left, instrument_stops_left;
static struct arena *calibrated_arena;

static int be_stopped(struct run *run)
{
    calibrations++;
    calibrated_arena = run->arena;
    arena_calibrated(run->arena, "turns", calibrations);
    if (stops_left-- <= 0)
        return 0;
    arena_event(run->arena, "spoilt", -1, NO_DATA, "what a stopped one says");
    stops_add(run->arena, clock_monotonic_ns());
    return outcome_set(&run->outcome, STATUS_FAILED, NULL, "what follows from a stop");
}

/* All of a pair that the program was stopped in is above what a pair takes. */
WRAP(void, instrument_measure, struct instrument *instrument, const struct clock *clock,
     struct record *scratch)
{
    if (instrument_stops_left > 0)
        record_value(scratch, 1000000000, 0);
    __real_instrument_measure(instrument, clock, scratch);
    if (instrument_stops_left-- > 0)
        stops_add(calibrated_arena, clock_monotonic_ns());
}

static int (*calibrate_with)(struct run *run), (*measure_with)(struct run *run);

static bool wants_text;

static void take_test(struct request *request)
{
    static struct test invented = {
        .id = "INVENTED", .title = "is calibrated", .setup_ns = 1000000, .series = child_series};
    invented.calibrate = calibrate_with;
    invented.measure = measure_with;
    request->test = &invented;
    request->json = !wants_text;
}

static const char *stream_of(int (*calibrate)(struct run *run), int (*then)(struct run *run),
                             int code, char *const words[])
{
    calibrate_with = calibrate;
    measure_with = then;
    const char *text = child_run(words, take_test);
    CHECK_SAME(child_code, code);
    return text;
}

#define REALTIME_STREAM(calibrate, measure, code, ...)                                             \
    stream_of(calibrate, measure, code,                                                            \
              (char *const[]){"hardstone-probe", "run", "SEM-P-SIG", "--clock", "monotonic",       \
                              __VA_ARGS__, NULL})

/* Of an ordinary thread, from which a busy machine may take the CPU without a failure. */
#define STREAM(calibrate, measure, code, ...)                                                      \
    REALTIME_STREAM(calibrate, measure, code, "--policy", "other", __VA_ARGS__)

/* All processes are there, so that their start does not disturb, and none works. */
static void check_before_the_load_works(const char *text)
{
    CHECK_HOLDS(text, "\"at_ns\":null,\"data\":{},"
                      "\"text\":\"ready 3, working 0, scheduled as set 1, after locking 1\"");
    CHECK_HOLDS(text, "\"text\":\"ready 3, working 3, scheduled as set 1, after locking 1\"",
                "\"calibrated\":{\"turns\":4711}");
    CHECK(strstr(text, "\"calibrating\"") < strstr(text, "\"measuring\""));
}

TEST(before_the_load_works)
{
    check_before_the_load_works(STREAM(look, measure, 0, "--load", "storm=3"));
}

HOST_TEST(real_time_before_the_load_works)
{
    check_before_the_load_works(REALTIME_STREAM(look, measure, 0, "--load", "storm=3"));
}

TEST(without_load)
{
    const char *text = STREAM(look, measure, 0, "--load", "none");
    CHECK_HOLDS(text, "\"calibrating\"", "\"measuring\"", "\"calibrated\":{\"turns\":4711}");
    CHECK(!strstr(STREAM(NULL, measure, 0, "--load", "none"), "\"calibrated\""));
    wants_text = true;
    CHECK_HOLDS(STREAM(look, measure, 0, "--load", "none"), "calibrated  turns 4711\n");
    wants_text = false;
}

static void check_not_measured(const char *text, const char *status)
{
    CHECK_HOLDS(text, status);
    CHECK_HOLDS(text, "\"footer\"");
    CHECK_LACKS(text, "\"measuring\"");
}

WRAP_TEST(stopped_when_nobody_waits)
{
    is_joined_late = true;
    check_not_measured(STREAM(look, measure, 3, "--load", "none"), "\"status\":\"skipped\"");
    is_joined_late = false;
}

TEST(what_ends_it)
{
    check_not_measured(STREAM(child_until_signal, measure, 3, "--load", "storm=3"),
                       "\"status\":\"skipped\"");
    check_not_measured(STREAM(refuse, measure, 5, "--load", "storm=3"),
                       "\"status\":\"unsupported\",\"reason\":\"cannot be calibrated\"");
    check_not_measured(STREAM(child_until_stopped, measure, 3, "--deadline-ns", "50ms"),
                       "\"status\":\"timeout\"");
    is_impatient = true;
    check_not_measured(STREAM(past_the_end, measure, 3, "--deadline-ns", "50ms"),
                       "\"status\":\"timeout\"");
    is_impatient = false;
    CHECK_HOLDS(STREAM(take_half, take_half_again, 3, "--deadline-ns", "500ms"),
                "\"status\":\"timeout\"");
}

/* What both take together may be more than the budget of one burst. */
HOST_TEST(a_rest_between)
{
    CHECK_HOLDS(REALTIME_STREAM(spin, look_for_rest, 0, "--load", "none"), "a rest: 1");
}

TEST(a_stopped_one_is_made_again)
{
    stops_left = 2;
    const char *text = STREAM(be_stopped, measure, 0, "--load", "none");
    stops_left = 0;
    CHECK_HOLDS(text, "\"calibrated\":{\"turns\":3}",
                "\"name\":\"calibration_repeated\",\"at_ns\":null,\"data\":"
                "{\"what\":\"work\"}",
                "\"status\":\"measured\",\"reason\":null");
    CHECK_LACKS(text, "what a stopped one says", "\"name\":\"stopped\"");
}

TEST(stops_in_each)
{
    stops_left = 3;
    check_not_measured(
        STREAM(be_stopped, measure, 3, "--load", "none"),
        "\"status\":\"failed\",\"reason\":\"the program was stopped during each of 3 "
        "calibrations\"");
    stops_left = 0;
}

WRAP_TEST(the_instrument_is_measured_again)
{
    instrument_stops_left = 1;
    const char *text = STREAM(be_stopped, measure, 0, "--load", "none");
    instrument_stops_left = 0;
    CHECK_HOLDS(text, "\"data\":{\"what\":\"instrument\"}");
    CHECK_LACKS(text, "\"max\":1000000000", "\"name\":\"stopped\"");
}

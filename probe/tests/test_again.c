/* Several runs in one process, as on a system with one address space: no state of a run reaches
 * the next. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "child_run.h"
#include "patient_stop.h"
#include "run/run.h"
#include "tap.h"

#include <dirent.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 500, MOST_BYTES = 400000, TRIES = 8 };

/* ---- a test that stops when it is told to, and one that measures ---- */

static int count_up(struct run *run)
{
    struct run_budget budget = run_budget(run, 1);
    struct record *record = arena_record(run->arena, 0);
    while (run_budget_left(&budget, record->count, clock_monotonic_ns()))
        record_value(record, (int64_t)record->count, 0);
    return 0;
}

static int count_and_signal(struct run *run)
{
    count_up(run);
    kill(getpid(), SIGINT); /* comes when nobody waits for it any more, or just before */
    return 0;
}

/* It is no interruption, also where the supervisor looks just then. */
static int end_itself(struct run *run)
{
    static const struct timespec rest = {0, 20000000};
    count_up(run);
    run_request_stop();
    kill(getpid(), SIGCHLD);
    nanosleep(&rest, NULL);
    return 0;
}

#define INVENTED(name, act)                                                                        \
    static const struct test name = {.id = "INVENTED",                                             \
                                     .title = #name,                                               \
                                     .setup_ns = 1000000,                                          \
                                     .series = child_series,                                       \
                                     .measure = (act)}
INVENTED(stays, child_until_stopped);
INVENTED(signals, child_until_signal);
INVENTED(ends, end_itself);
INVENTED(counts, count_up);
INVENTED(signals_late, count_and_signal);

static const struct test *invented; /* in place of that of the words; NULL: that one */

static void take_invented(struct request *request)
{
    if (!invented)
        return;
    request->test = invented;
    if (invented != &stays)
        request->deadline_ns = LONG_DEADLINE_NS;
}

static const char *stream_of(const struct test *test, char *const words[], int *code)
{
    static char text[MOST_BYTES];
    FILE *file = tmpfile();
    if (!file)
        abort();
    invented = test;
    *code = run_here(words, take_invented, fileno(file));
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* The stream of `test`, which would end with `code`. */
static const char *run_invented(const struct test *test, int code)
{
    int ended;
    const char *text = stream_of(test,
                                 (char *const[]){"hardstone-probe", "run", "SEM-P-SIG", "--clock",
                                                 "monotonic", "--samples", "500", "--policy",
                                                 "other", "--deadline-ns", "50ms", NULL},
                                 &ended);
    CHECK_SAME(ended, code);
    return text;
}

static void check_full_count(const char *text)
{
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK_HOLDS(text, "\"interrupted\":false", "\"count\":500,", "\"type\":\"footer\"");
}

TEST(after_a_timeout)
{
    CHECK_HOLDS(run_invented(&stays, 3), "\"status\":\"timeout\"");
    check_full_count(run_invented(&counts, 0));
}

TEST(after_a_signal)
{
    const char *text = run_invented(&signals, 3);
    CHECK_HOLDS(text, "\"interrupted\":true", "\"status\":\"skipped\"");
    check_full_count(run_invented(&counts, 0));
}

TEST(one_that_ends_itself)
{
    check_full_count(run_invented(&ends, 0));
    check_full_count(run_invented(&counts, 0));
}

/* It is neither the next run's nor does it end the process. */
TEST(after_a_late_signal)
{
    CHECK_HOLDS(run_invented(&signals_late, 0), "\"status\":\"measured\"");
    check_full_count(run_invented(&counts, 0));
}

/* ---- what a run leaves in the process ---- */

TEST(descriptors)
{
    run_invented(&counts, 0);
    int before = tap_open_files();
    for (int i = 0; i < 3; i++) {
        run_invented(&counts, 0);
        run_invented(&stays, 3);
    }
    CHECK_SAME(tap_open_files(), before);
}

static int timer_count;

WRAP(int, timer_create, clockid_t clock, struct sigevent *event, timer_t *timer)
{
    int answer = __real_timer_create(clock, event, timer);
    timer_count += answer == 0 ? 1 : 0;
    return answer;
}

WRAP(int, timer_delete, timer_t timer)
{
    timer_count--;
    return __real_timer_delete(timer);
}

WRAP_TEST(timers)
{
    run_invented(&counts, 0);
    run_invented(&stays, 3);
    CHECK_SAME(timer_count, 0);
}

/* Its threads and its memory lie where the first one's lay. From one that is real-time others may
 * take the CPU, and it fails by that: then both again. */
HOST_TEST(a_second_process_after_another_test)
{
    char *const first[] = {"hardstone-probe", "run",       "TMR-P-LAT", "--clock",
                           "monotonic",       "--samples", "20",        NULL};
    char *const second[] = {
        "hardstone-probe",     "run", "SEM-P-RTP", "--clock",        "monotonic",
        "--samples",           "20",  "-p",        "scopes=process", "-p",
        "kinds=unnamed,futex", NULL};
    int code;
    static const struct timespec moment = {.tv_nsec = 300000000};
    const char *text = "";
    for (int i = 0; i == 0 || (i < TRIES && strstr(text, "\"throttled\"")); i++) {
        if (i > 0)
            nanosleep(&moment, NULL);
        stream_of(NULL, first, &code);
        text = stream_of(NULL, second, &code);
    }
    if (strstr(text, "\"status\":\"denied\"") || strstr(text, "\"status\":\"unsupported\""))
        tap_skip("no right to real-time scheduling here, or no second process");
    else
        CHECK_HOLDS(text, "\"status\":\"measured\"");
}

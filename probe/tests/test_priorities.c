/* Priorities that a system refuses: measuring at another priority is reported, or is a failure.
 * And a system where SCHED_OTHER has a priority other than 0. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "child_run.h"
#include "port/port.h"
#include "tap.h"

#include <sched.h>
#include <unistd.h>

enum { ORDINARY = 1, NO_LIMIT = 1000, ATTEMPTS = 10, REFUSED_LEVEL = 4 };

/* ---- the system ---- */

static struct {
    bool keeps_down;   /* a thread that has lowered itself is not raised again */
    bool keeps_up;     /* a thread that was raised by another is not lowered again */
    int limit;         /* of priorities that threads give themselves */
    bool has_ordinary; /* SCHED_OTHER has one priority, ORDINARY */
    bool grants_less;  /* a thread that asks for SCHED_FIFO gets the priority below */
    bool has_few;      /* of the threads of THR-B-PRI this one is not started: REFUSED_LEVEL */
} fake;

/* Threads with a stack of the test's: `s` when one was started, `j` when it was joined. */
static int told[2];
static int started_count;
static struct rt_thread *levels[REFUSED_LEVEL];

static void reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.limit = NO_LIMIT;
}

WRAP_IF(fake.has_ordinary &&policy == SCHED_OTHER, ORDINARY, int, sched_get_priority_min,
        (int policy), (policy));
WRAP_IF(fake.has_ordinary &&policy == SCHED_OTHER, ORDINARY, int, sched_get_priority_max,
        (int policy), (policy));

WRAP(int, pthread_getschedparam, pthread_t thread, int *policy, struct sched_param *found)
{
    int error = __real_pthread_getschedparam(thread, policy, found);
    if (error == 0 && fake.has_ordinary && *policy == SCHED_OTHER)
        found->sched_priority = ORDINARY;
    return error;
}

/* As the real system takes it. */
static struct sched_param translated(int policy, const struct sched_param *wanted)
{
    struct sched_param real = *wanted;
    if (fake.has_ordinary && policy == SCHED_OTHER)
        real.sched_priority = wanted->sched_priority == ORDINARY ? 0 : -1;
    return real;
}

static int priority_of(pthread_t thread)
{
    struct sched_param own;
    int policy;
    return pthread_getschedparam(thread, &policy, &own) == 0 ? own.sched_priority : 0;
}

WRAP(int, pthread_setschedparam, pthread_t thread, int policy, const struct sched_param *wanted)
{
    static __thread bool has_lowered;
    bool is_self = pthread_equal(thread, pthread_self());
    int before = priority_of(thread), after = wanted->sched_priority;
    if ((fake.keeps_down && is_self && has_lowered && after > before) ||
        (fake.keeps_up && !is_self && after < before) || (is_self && after > fake.limit))
        return EPERM;
    struct sched_param real = translated(policy, wanted);
    if (fake.grants_less && is_self && policy == SCHED_FIFO && real.sched_priority > 1)
        real.sched_priority--;
    int error = __real_pthread_setschedparam(thread, policy, &real);
    has_lowered = has_lowered || (error == 0 && is_self && after < before);
    return error;
}

WRAP(int, pthread_attr_setschedparam, pthread_attr_t *attributes, const struct sched_param *wanted)
{
    int policy = SCHED_OTHER;
    pthread_attr_getschedpolicy(attributes, &policy);
    struct sched_param real = translated(policy, wanted);
    return real.sched_priority < 0 ? EINVAL : __real_pthread_attr_setschedparam(attributes, &real);
}

WRAP(int, rt_thread_start_on_stack, struct rt_thread *rt_thread,
     const struct rt_thread_setup *setup, void *stack, size_t bytes, void (*body)(void *),
     void *argument)
{
    if (fake.has_few && started_count + 1 == REFUSED_LEVEL)
        return EAGAIN;
    int error = __real_rt_thread_start_on_stack(rt_thread, setup, stack, bytes, body, argument);
    if (fake.has_few && error == 0 && write(told[1], "s", 1) == 1)
        levels[started_count++] = rt_thread;
    return error;
}

WRAP(void, rt_thread_join, struct rt_thread *rt_thread)
{
    __real_rt_thread_join(rt_thread);
    for (int i = 0; fake.has_few && i < started_count; i++)
        if (levels[i] == rt_thread)
            (void)!write(told[1], "j", 1);
}

static bool can_test(void)
{
    struct rt_thread_setup setup = {SCHED_FIFO, 50, -1};
    reset();
    if (!tap_is_wrapped())
        return false;
    if (rt_thread_try(&setup) == 0)
        return true;
    tap_skip("no right to real-time scheduling here");
    return false;
}

/* Tests on one CPU need a port that binds threads to it. */
static bool can_test_on_one_cpu(void)
{
    struct cpus allowed;
    bool can = can_test(), binds = port_allowed_cpus(&allowed) > 0;
    if (can && !binds)
        tap_skip("this port cannot bind threads to a CPU");
    return can && binds;
}

#define STREAM(...)                                                                                \
    child_run(                                                                                     \
        (char *const[]){"hardstone-probe", "run", __VA_ARGS__, "--clock", "monotonic", NULL},      \
        NULL)

#define NOT_RESTORED "could not be restored to priority"

/* The first of some streams that say so: a test into which somebody cuts has failed by that. */
static const char *failing_stream_of(char *const words[])
{
    const char *text = child_run(words, NULL);
    for (int i = 1; i < ATTEMPTS && !strstr(text, NOT_RESTORED); i++)
        text = child_run(words, NULL);
    return text;
}

#define FAILING_STREAM(...)                                                                        \
    failing_stream_of(                                                                             \
        (char *const[]){"hardstone-probe", "run", __VA_ARGS__, "--clock", "monotonic", NULL})

#define FEW "--samples", "20", "--priority", "50"

/* Who waits for the end of a process does so without priority. */
HOST_TEST_IN(can_test_on_one_cpu(), reset(), a_measuring_thread_that_stays_low)
{
    static char *const runs[][4] = {{"THR-P-NEW"},
                                    {"THR-B-NEW"},
                                    {"THR-P-SLS", "threads=2"},
                                    {"SEM-B-LCK", "scopes=thread"},
                                    {"SEM-B-REL", "scopes=thread"},
                                    {"SEM-P-ARC", "scopes=thread"},
                                    {"SEM-P-RTP", "kinds=unnamed", "-p", "scopes=process"}};
    fake.keeps_down = true;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        const char *text = FAILING_STREAM(
            runs[i][0], FEW, runs[i][1] ? "-p" : "--clock", runs[i][1] ? runs[i][1] : "monotonic",
            runs[i][2] ? "-p" : "--clock", runs[i][2] ? runs[i][3] : "monotonic");
        tap_row(runs[i][0]);
        CHECK_HOLDS(text, "\"status\":\"failed\"", "measuring thread", NOT_RESTORED " 50",
                    "\"interrupted\":false", "\"type\":\"footer\"");
    }
}

/* A spin lock locks up: the watchdog lends its owner a priority, and takes it back. */
HOST_TEST_IN(can_test_on_one_cpu(), reset(), a_lent_priority_that_stays)
{
    fake.keeps_up = true;
    const char *text = FAILING_STREAM("MUT-B-INV", FEW, "-p", "primitives=spin");
    if (strstr(text, "\"status\":\"unsupported\"")) {
        tap_skip("no spin locks here");
        return;
    }
    CHECK_HOLDS(text, "\"status\":\"failed\"");
    CHECK_HOLDS(text, "the thread low " NOT_RESTORED);
}

TEST_IN(can_test(), reset(), nothing_is_refused)
{
    const char *text = STREAM("SEM-P-RTP", FEW, "-p", "kinds=unnamed", "-p", "scopes=process");
    CHECK_LACKS(text, "could not be restored to", "supervisor_not_above");
}

TEST_IN(can_test(), reset(), a_supervisor_that_is_not_above)
{
    static const char *const reasons[] = {"is not scheduled as real-time", "has priority 50 too"};
    for (int i = 0; i < 3; i++) {
        fake.limit = 49 + i;
        const char *text = STREAM("SEM-P-SIG", FEW, "-p", "kinds=unnamed");
        if (i < 2)
            CHECK_HOLDS(text, "\"supervisor_not_above\"", reasons[i]);
        else
            CHECK_LACKS(text, "supervisor_not_above"); /* just above */
    }
}

/* ---- SCHED_OTHER ---- */

TEST(an_ordinary_priority_that_is_not_0)
{
    reset();
    if (!tap_is_wrapped())
        return;
    fake.has_ordinary = true;
    CHECK_SAME(rt_thread_ordinary_priority(), ORDINARY);
    CHECK_SAME(rt_thread_set_self_ordinary(), 0);
    const char *text = STREAM("SEM-P-SIG", "--samples", "20", "--policy", "other");
    CHECK_HOLDS(text, "\"priority\":1,");
    CHECK_LACKS(text, "starting the measuring thread");
    CHECK_HOLDS(text, "\"type\":\"instrument\""); /* the thread has been there */
}

TEST_IN(can_test(), reset(), threads_that_step_down_to_it)
{
    fake.has_ordinary = true;
    const char *text = STREAM("SEM-P-RTP", FEW, "-p", "kinds=unnamed", "-p", "scopes=process");
    CHECK_LACKS(text, "could not be");
    text = STREAM("THR-B-PRI", "--samples", "1", "--priority", "50");
    CHECK_LACKS(text, "Invalid argument");
    text = STREAM("THR-P-SLS", "--samples", "20", "--priority", "1", "-p", "threads=2");
    CHECK_HOLDS(text, "\"type\":\"footer\"");
    CHECK_LACKS(text, "lower itself", "lowering the measuring thread");
}

/* That the call returned 0 is no proof. */
TEST_IN(can_test(), reset(), a_priority_that_is_granted_lower)
{
    static const char granted[] = "\"name\":\"granted/cap_sys_nice\",\"pass\":";
    const char *text = STREAM("PRV-B-GRP", "--samples", "1");
    if (!strstr(text, granted)) {
        tap_skip("no process can be given only the right to real-time scheduling here");
        return;
    }
    CHECK_HOLDS(strstr(text, granted), "true");
    fake.grants_less = true;
    text = STREAM("PRV-B-GRP", "--samples", "1");
    const char *verdict = strstr(text, granted);
    CHECK(verdict && strncmp(verdict + strlen(granted), "false", 5) == 0);
}

/* Their stacks are freed. */
TEST_IN(can_test_on_one_cpu(), reset(), threads_beside_one_that_cannot_be_started_end)
{
    char said[4 * REFUSED_LEVEL] = "";
    if (!CHECK_SAME(pipe(told), 0))
        return;
    fake.has_few = true;
    const char *text = STREAM("THR-B-PRI", "--samples", "1", "--priority", "50");
    CHECK_HOLDS(text, "\"status\":\"denied\"", "a thread at each priority");
    close(told[1]);
    CHECK(read(told[0], said, sizeof said - 1) >= 0);
    CHECK_TEXT(said, "sssjjj");
    close(told[0]);
}

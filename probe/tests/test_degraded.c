/* The probe on systems that lack something: it reports the reason and makes up no figure. The port
 * is a fake. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "child_run.h"
#include "fake_port.h"
#include "run/instrument.h"
#include "run/run.h"
#include "tap.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

static const struct test *invented; /* in place of the one that the words say; NULL: that one */

static bool reset(void)
{
    fake_port = (struct fake_port){.is_counter_trusted = true, .cpu_count = 1};
    invented = NULL;
    return true;
}

#define PORT_TEST(what) TEST_IN(reset(), (void)0, what)

static void take_fake_test(struct request *request)
{
    request->test = invented ? invented : request->test;
}

/* The exit code that belongs to the status of a stream. */
static int code_of(const char *text)
{
    bool is_missing =
        strstr(text, "\"status\":\"denied\"") || strstr(text, "\"status\":\"unsupported\"");
    return is_missing ? 5 : strstr(text, "\"status\":\"measured\"") ? 0 : 3;
}

static const char *stream_of(char *const words[])
{
    const char *text = child_run(words, take_fake_test);
    CHECK_SAME(child_code, code_of(text));
    return text;
}

/* As an ordinary thread, from which a busy machine may take the CPU without a failure. */
#define STREAM(...)                                                                                \
    stream_of((char *const[]){"hardstone-probe", "run", __VA_ARGS__, "--policy", "other", NULL})
#define SIGNALS() STREAM("SEM-P-SIG", "--samples", "100", "--clock", "monotonic")

PORT_TEST(untrusted_counter_is_told)
{
    fake_port.is_counter_trusted = false;
    const char *text = STREAM("SEM-P-SIG", "--samples", "100");
    CHECK_HOLDS(text, "\"counter_not_used\"", "\"trusted\":false", "\"counter_hz\":null",
                "\"status\":\"measured\"");
}

PORT_TEST(one_cpu)
{
    static struct instrument instrument;
    struct clock clock;
    clock_open(&clock, false, 0);
    instrument_measure_skew(&instrument, &clock, 0);
    CHECK_SAME(instrument.skew_count, 0);
    const char *text = STREAM("CLK-B-RES", "--samples", "100", "--clock", "monotonic");
    CHECK_HOLDS(text, "\"one_cpu\"");
    CHECK_LACKS(text, "monotonic_across_cpus");
    CHECK_HOLDS(text, "\"status\":\"measured\"");
}

PORT_TEST(cpu_that_is_not_there)
{
    const char *text = STREAM("SEM-P-SIG", "--samples", "100", "--cpu", "1");
    CHECK_HOLDS(text, "\"status\":\"denied\"", "CPU 1 does not exist");
}

PORT_TEST(cpus_cannot_be_told_apart)
{
    fake_port.cpu_count = -1;
    fake_port.pin_error = ENOTSUP;
    const char *text = STREAM("SEM-P-ARN", "--samples", "100", "--clock", "monotonic");
    CHECK_HOLDS(text, "\"cpu\":null", "\"status\":\"measured\"");
    /* two threads without a CPU of their own mean something only where there is but one */
    text = STREAM("SEM-P-SHF", "-p", "kinds=unnamed", "--samples", "100", "--clock", "monotonic");
    CHECK(sysconf(_SC_NPROCESSORS_ONLN) == 1 || strstr(text, "\"status\":\"denied\"") ||
          strstr(text, "\"status\":\"unsupported\""));
    text = STREAM("THR-P-SLS", "-p", "threads=2", "--samples", "100", "--clock", "monotonic");
    CHECK(sysconf(_SC_NPROCESSORS_ONLN) == 1
              ? strstr(text, "\"status\":\"unsupported\"") == NULL
              : strstr(text, "\"status\":\"denied\"") ||
                    strstr(text, "threads that run simultaneously would falsify the test"));
    text = STREAM("SEM-P-SIG", "--samples", "100", "--cpu", "0");
    CHECK_HOLDS(text, "\"status\":\"unsupported\"", "this port cannot choose a CPU");
}

PORT_TEST(binding_fails)
{
    struct rt_thread_setup setup = {SCHED_OTHER, 0, 0};
    fake_port.pin_error = EPERM;
    for (int i = 0; i < 100; i++)
        CHECK_SAME(rt_thread_try(&setup), EPERM);
    const char *text = SIGNALS();
    CHECK_HOLDS(text, "\"status\":\"denied\"", "starting the measuring thread",
                "\"type\":\"footer\"");
}

PORT_TEST(no_system_call)
{
    const char *text =
        STREAM("CLK-P-BIN", "--samples", "5000", "-p", "via=syscall", "--clock", "monotonic");
    CHECK_HOLDS(text, "\"via_unsupported\"", "\"status\":\"unsupported\"", "\"min\":null");
}

PORT_TEST(no_event_timer)
{
    const char *text = STREAM("TMR-P-JIT", "--samples", "3", "-p", "mechanisms=timerfd,nanosleep",
                              "-p", "periods_ns=1ms", "--clock", "monotonic");
    CHECK_HOLDS(text, "\"mechanism_unsupported\"", "\"status\":\"measured\"");
    text = STREAM("TMR-B-EDGE", "-p", "mechanisms=timerfd", "--clock", "monotonic");
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    CHECK_LACKS(text, "\"pass\"");
    text = STREAM("CLK-B-RES", "--samples", "1", "--clock", "monotonic");
    CHECK_HOLDS(text,
                "\"mechanism_unsupported\",\"at_ns\":null,\"data\":{\"mechanism\":\"timerfd\",");
    CHECK_HOLDS(
        text,
        "\"labels\":{\"mechanism\":\"timerfd\"},\"unit\":\"ns\",\"derived\":null,\"count\":0");
    CHECK_HOLDS(text, "\"status\":\"measured\"");
}

static int64_t rested_ns(char *samples)
{
    reset();
    fake_port.has_budget = true;
    fake_port.runtime_ns = 20000000;
    fake_port.period_ns = 40000000;
    const char *text = STREAM("SEM-P-SIG", "--samples", samples, "--clock", "monotonic");
    const char *rested = strstr(text, "\"rested_ns\":");
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    return rested ? strtoll(rested + 12, NULL, 10) : -1;
}

/* Work of more than three bursts of 16 ms has three rests of 24 ms, on a machine of any speed. */
TEST(realtime_budget_is_rested)
{
    static char *const samples[] = {"20000", "80000", "320000", "1280000", "5120000", "20480000"};
    bool has_rested = false;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0] && !has_rested; i++)
        has_rested = rested_ns(samples[i]) >= 3 * INT64_C(24000000);
    CHECK(has_rested);
}

TEST(a_stack_that_is_too_small)
{
    static const int64_t sizes[] = {16 * 1024, 64 * 1024, 100 * 1024, 256 * 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        reset();
        fake_port.stack_bytes = sizes[i];
        const char *text = STREAM("SEM-P-SIG", "--samples", "5");
        CHECK_HOLDS(text, "\"status\":\"denied\"", "the stack is limited to",
                    "\"remedy\":\"raise ulimit -s\"", "\"type\":\"footer\"");
    }
    reset();
    fake_port.stack_bytes = 1024 * 1024;
    CHECK_HOLDS(SIGNALS(), "\"status\":\"measured\"");
}

/* RLIMIT_STACK is of a system where it says how large this stack may be. */
PORT_TEST(a_stack_that_is_not_known)
{
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    rlim_t own = limit.rlim_cur;
    limit.rlim_cur = 64 * 1024;
    if (setrlimit(RLIMIT_STACK, &limit) != 0)
        abort();
    CHECK_HOLDS(SIGNALS(), "\"status\":\"measured\"");
    limit.rlim_cur = own;
    setrlimit(RLIMIT_STACK, &limit);
}

PORT_TEST(counts_that_are_not_known)
{
    static const char *const names[] = {"steal_ns", "interrupts_count", "faults_count",
                                        "switches_count"};
    fake_port.lacks_usage = true;
    const char *text = SIGNALS();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        CHECK(strstr(text, names[i]) == NULL);
    CHECK_HOLDS(text, "\"environment\":{\"rested_ns\":");
}

static int refuse(struct run *run)
{
    return outcome_set(&run->outcome, STATUS_FAILED, NULL, "refused");
}

static int never_end(struct run *run)
{
    (void)run;
    while (pause() != 0)
        ;
    return 0;
}

static int end_at_once(struct run *run)
{
    (void)run;
    return 0;
}

static const char *stream_of_test(const struct test *test, char *deadline)
{
    reset();
    invented = test;
    return STREAM("SEM-P-SIG", "--clock", "monotonic", "--deadline-ns", deadline);
}

/* What it measured is read although its thread is still there: a race, and none to mend. */
TEST(a_test_that_stays)
{
#ifdef __SANITIZE_THREAD__
    (void)never_end;
    tap_skip("what is sent of a test that does not end is read without a lock");
#else
    static const struct test stays = {
        .id = "STAYS", .title = "stays", .setup_ns = 1000000, .measure = never_end};
    const char *text = stream_of_test(&stays, "1ms");
    CHECK_HOLDS(text, "\"status\":\"timeout\"", "\"environment\":{}");
#endif
}

/* Counters are told when they were read before and after, and only then. */
TEST(counters_that_were_not_read)
{
    static const struct test ends = {
        .id = "ENDS", .title = "ends", .setup_ns = 1000000, .measure = end_at_once};
    struct test refuses = ends;
    refuses.prepare = refuse;
    CHECK_HOLDS(stream_of_test(&ends, "60s"), "\"environment\":{\"minor_faults_count\":");
    const char *text = stream_of_test(&refuses, "60s");
    CHECK_HOLDS(text, "\"status\":\"failed\"", "\"environment\":{}");
    reset();
    fake_port.pin_error = EPERM;
    CHECK_HOLDS(SIGNALS(), "\"environment\":{}");
    reset();
    CHECK_HOLDS(STREAM("SEM-P-SIG", "--samples", "5", "--cpu", "1"), "\"environment\":{}");
}

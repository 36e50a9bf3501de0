/* SIM-S-RT and SIM-P-RF where the system refuses something, or does not end in time. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "child_run.h"
#include "family/simulate/team.h"
#include "port/port.h"
#include "tap.h"

#include <signal.h>
#include <sys/mman.h>

#define DENIED "\"status\":\"denied\""
#define UNSUPPORTED "\"status\":\"unsupported\""

enum { ATTEMPTS = 10, MOST_LEFT = 30 };

/* What the calls answer; as the tests set it before each run, in the process that they fork. */
static struct fake {
    int deadline_error;
    int64_t available;
    bool is_short; /* of memory */
    int lock_error;
    int refused_start; /* the thread of this number is not started */
    int starts;
    int counted_again;  /* how often the step that is late on purpose is counted again */
    int stopping_start; /* after this one the run is told to stop, and threads end slowly */
} fake;

WRAP(int, port_deadline_self, int64_t runtime_ns, int64_t period_ns)
{
    bool is_asked_right = period_ns == 1000000 && runtime_ns <= 900000 && runtime_ns > 0;
    return is_asked_right ? fake.deadline_error : EDOM;
}

WRAP_IF(fake.is_short, fake.available, int64_t, port_available_bytes, (int64_t * of), (of));
WRAP_IF(fake.lock_error, tap_fail(fake.lock_error), int, mlockall, (int flags), (flags));
WRAP_IF(fake.lock_error, tap_fail(fake.lock_error), int, mlock, (const void *memory, size_t bytes),
        (memory, bytes));

WRAP(int, rt_thread_start_with_stack, struct rt_thread *rt_thread,
     const struct rt_thread_setup *setup, size_t stack_bytes, void (*body)(void *), void *argument)
{
    bool notes_stops = setup->priority == sched_get_priority_max(SCHED_FIFO);
    if (notes_stops) /* no thread of the test */
        return __real_rt_thread_start_with_stack(rt_thread, setup, stack_bytes, body, argument);
    if (++fake.starts == fake.refused_start)
        return EAGAIN;
    if (fake.starts == fake.stopping_start)
        kill(getpid(), SIGINT);
    return __real_rt_thread_start_with_stack(rt_thread, setup, stack_bytes, body, argument);
}

WRAP(void, step_ring_close, struct step_ring *ring, uint64_t planned, int64_t now_ns)
{
    __real_step_ring_close(ring, planned, now_ns);
    ring->counts.watched_missed += (uint64_t)fake.counted_again;
}

WRAP(void, rt_thread_join, struct rt_thread *rt_thread)
{
    if (fake.stopping_start > 0 && fake.starts >= fake.stopping_start)
        nanosleep(&(struct timespec){0, 30000000}, NULL);
    __real_rt_thread_join(rt_thread);
}

/* Ordinary threads: no right is needed. */
#define RUN(ID, ...)                                                                               \
    child_run((char *const[]){"hardstone-probe", "run", ID, "--policy", "other", "--clock",        \
                              "monotonic", "-p", "step_ns=1ms", "-p", "masses=8", __VA_ARGS__,     \
                              NULL},                                                               \
              NULL)

static void check_refused(const char *text, const char *status, const char *why)
{
    tap_row(why);
    CHECK_SAME(child_code, 5);
    CHECK_HOLDS(text, status);
    CHECK_HOLDS(text, why);
}

/* Nine tenths of the CPUs, of which no thread has more than one. */
TEST(deadline_runtime)
{
    CHECK_SAME(policy_runtime_ns(1000000, 1, 2), 900000);
    CHECK_SAME(policy_runtime_ns(1000000, 2, 2), 900000);
    CHECK_SAME(policy_runtime_ns(1000000, 3, 2), 600000);
    CHECK_SAME(policy_runtime_ns(10000000, 256, 64), 2249984); /* rounded down, for each */
    CHECK_SAME(policy_runtime_ns(1000000, 3, 0), 300000);      /* CPUs not known: one */
}

static const char *run_deadline(int error)
{
    fake = (struct fake){.deadline_error = error};
    return RUN("SIM-S-RT", "-p", "policy=deadline", "-p", "threads=3", "--samples", "4");
}

WRAP_TEST(deadline)
{
    const char *text = run_deadline(0);
    CHECK_SAME(child_code, 0);
    CHECK_HOLDS(text, "\"policy\":\"deadline\"");
    CHECK_HOLDS(text, "\"released_count\":4");
    static const struct {
        int error;
        const char *status, *remedy;
    } rows[] = {{EBUSY, DENIED, "end other threads under SCHED_DEADLINE"},
                {EBUSY, DENIED, "1000 us for 3 threads was refused: admission control"},
                {EPERM, DENIED, "let the threads use all CPUs"},
                {EINVAL, UNSUPPORTED, "choose a longer period"},
                {ENOTSUP, UNSUPPORTED, "choose another policy"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_refused(run_deadline(rows[i].error), rows[i].status, rows[i].remedy);
}

/* Nothing is allocated that the machine has not. */
WRAP_TEST(too_little_memory)
{
    fake = (struct fake){.is_short = true, .available = 100000};
    check_refused(RUN("SIM-P-RF", "-p", "simulated_s=1"), UNSUPPORTED,
                  "choose fewer masses, or free memory");
    fake.available = -1; /* not known */
    RUN("SIM-P-RF", "-p", "simulated_s=1", "-p", "threads=1");
    CHECK_SAME(child_code, 0);
}

WRAP_TEST(memory_that_cannot_be_locked)
{
    fake = (struct fake){.lock_error = ENOMEM};
    const char *text = RUN("SIM-S-RT", "--samples", "2");
    check_refused(text, DENIED, "which cannot be locked");
    CHECK_HOLDS(text, "ulimit -l");
}

/* Those that were started end. */
WRAP_TEST(a_thread_that_cannot_be_started)
{
    for (int which = 1; which <= 3; which += 2) {
        fake = (struct fake){.refused_start = which};
        check_refused(RUN("SIM-S-RT", "--samples", "2", "-p", "threads=3", "-p", "solver=barrier"),
                      DENIED, "starting the threads of the simulation");
    }
}

static long number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static void check_late_once(int counted_again, const char *verdict)
{
    char words[60] = "";
    tap_row(verdict);
    fake = (struct fake){.counted_again = counted_again};
    const char *text = RUN("SIM-S-RT", "--samples", "3", "-p", "delay_step=2", "-p", "threads=1",
                           "-p", "period_ns=50ms");
    CHECK_SAME(child_code, 0);
    const char *told = strstr(text, "\"name\":\"late_once\"");
    snprintf(words, sizeof words, "%s", told ? told : "");
    CHECK_HOLDS(words, verdict);
}

/* Whatever else makes a step late. */
WRAP_TEST(late_twice)
{
    check_late_once(1, "false");
}

HOST_TEST_IN(tap_is_wrapped(), (void)0, late_once)
{
    check_late_once(0, "true");
    check_late_once(-1, "false");
}

/* The sum of a series' values; 0 if it is not there or has none. */
static double sum_of(const char *text, const char *series)
{
    char key[60];
    snprintf(key, sizeof key, "\"name\":\"%s\"", series);
    const char *at = strstr(text, key);
    const char *mean = at ? strstr(at, "\"mean\":") : NULL;
    long count = at ? number_of(at, "\"count\":") : 0;
    return mean && count > 0 ? strtod(mean + strlen("\"mean\":"), NULL) * (double)count : 0;
}

/* Each period is dispatch, step and idle, less the lateness of those that missed. */
HOST_TEST_IN(tap_is_wrapped(), (void)0, parts_of_a_period)
{
    fake = (struct fake){0};
    const char *text = RUN("SIM-S-RT", "--samples", "20", "-p", "threads=1", "-p", "delay_step=5");
    CHECK_SAME(child_code, 0);
    double sum = sum_of(text, "dispatch") + sum_of(text, "step_time") + sum_of(text, "idle") -
                 sum_of(text, "lateness");
    double error = sum - 20 * 1e6;
    CHECK(sum_of(text, "lateness") > 0);
    CHECK(error > -100 && error < 100); /* of means that are rounded */
}

/* The solver `semaphore` has its costs once a variant, the other none. Alone they are repeated. */
WRAP_TEST(costs)
{
    fake = (struct fake){0};
    const char *text = RUN("SIM-S-RT", "-p", "costs_only=1", "-p", "threads=1,2");
    CHECK_SAME(child_code, 0);
    CHECK_HOLDS(text, "\"status\":\"measured\"");
    CHECK(!strstr(text, "\"name\":\"step_time\"") && !strstr(text, "\"type\":\"series\""));
    const char *first = strstr(text, "\"name\":\"tire_costs\"");
    const char *second = first ? strstr(first + 1, "\"name\":\"tire_costs\"") : NULL;
    int count = 0; /* three of each variant, in turn */
    for (const char *at = first; at; at = strstr(at + 1, "\"name\":\"tire_costs\""))
        count++;
    CHECK_SAME(count, 6);
    CHECK(first && number_of(first, "\"threads_count\":") == 1);
    CHECK(second && number_of(second, "\"threads_count\":") == 2);
    CHECK_HOLDS(text, "\"dispatch_high_ns\":");
    text = RUN("SIM-P-RF", "-p", "simulated_s=1", "-p", "threads=1", "--samples", "3");
    first = strstr(text, "\"name\":\"tire_costs\"");
    CHECK(first && !strstr(first + 1, "\"name\":\"tire_costs\""));
    CHECK(!strstr(text, "\"dispatch_ns\":"));
    text = RUN("SIM-P-RF", "-p", "simulated_s=1", "-p", "solver=barrier");
    CHECK(!strstr(text, "\"name\":\"tire_costs\""));
}

/* Steps that a stopped simulation says were due and not done; -1 if it says nothing. */
static long left_by_a_stop(void)
{
    fake = (struct fake){.stopping_start = 2};
    const char *text = RUN("SIM-S-RT", "-p", "threads=2", "--samples", "10000");
    CHECK_HOLDS(text, "\"interrupted\":true");
    CHECK_HOLDS(text, "\"name\":\"simulation\"");
    long released = number_of(text, "\"released_count\":");
    return released < 0 ? -1 : released - number_of(text, "\"steps_count\":");
}

/* What passes while threads end is nobody's deadline: 60 releases here, in each attempt. Others who
 * have the CPU before the stop make steps late, too: then again. */
HOST_TEST_IN(tap_is_wrapped(), (void)0, stopped)
{
    long left = left_by_a_stop();
    for (int i = 1; i < ATTEMPTS && left >= MOST_LEFT; i++) {
        printf("# again: %ld steps were late before the stop\n", left);
        left = left_by_a_stop();
    }
    CHECK(left >= 0 && left < MOST_LEFT);
}

TEST(bad_input)
{
    fake = (struct fake){0};
    check_refused(RUN("SIM-S-RT", "-p", "masses=8,42"), UNSUPPORTED,
                  "masses=42 is not a multiple of 4, as 40 and 44 are");
    check_refused(RUN("SIM-P-RF", "-p", "threads=1,9"), UNSUPPORTED, "9 threads for 8 masses");
    check_refused(RUN("SIM-S-RT", "-p", "stiffness_per_s2=1000000", "-p", "step_ns=10ms"),
                  UNSUPPORTED, "at most 408248 ns are stable");
    check_refused(RUN("SIM-S-RT", "--samples", "5", "-p", "delay_step=6"), UNSUPPORTED,
                  "delay_step=6 is not among the 5 steps");
    check_refused(RUN("SIM-S-RT", "-p", "policy=fifo"), DENIED, "need a supervisor above them");
    RUN("SIM-S-RT", "-p", "stiffness_per_s2=1000000", "-p", "step_ns=408248", "--samples", "3");
    CHECK_SAME(child_code, 0);
}

/* The same policy by two names is measured once. */
TEST(policies)
{
    fake = (struct fake){0};
    const char *text =
        RUN("SIM-S-RT", "-p", "policy=run,other", "-p", "threads=1", "--samples", "2");
    CHECK_SAME(child_code, 0);
    const char *first = strstr(text, "\"name\":\"missed\"");
    CHECK(first && !strstr(first + 1, "\"name\":\"missed\""));
    CHECK_HOLDS(text, "\"policy\":\"other\"}");
}

/* SIM-S-RT and SIM-P-RF where the system refuses something, or does not end in time. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "child_run.h"
#include "family/simulate/policy.h"
#include "family/simulate/step_ring.h"
#include "port/own_thread.h"
#include "port/port.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ATTEMPTS = 10, MOST_LEFT = 30 };

/* What the calls answer; as the tests set it before each run, in the process that they fork. */
static struct {
    int deadline_error;
    int64_t available;
    bool is_short; /* of memory */
    int lock_error;
    int refused_start; /* the thread of this number is not started */
    int starts;
    int counted_again;  /* how often the step that is late on purpose is counted again */
    int stopping_start; /* after this one the run is told to stop, and threads end slowly */
} fake;

#ifdef WRAPPED
int __wrap_port_deadline_self(int64_t runtime_ns, int64_t period_ns);
int __wrap_port_deadline_self(int64_t runtime_ns, int64_t period_ns)
{
    bool is_asked_right = period_ns == 1000000 && runtime_ns <= 900000 && runtime_ns > 0;
    return is_asked_right ? fake.deadline_error : EDOM;
}

int64_t __real_port_available_bytes(int64_t *of_bytes);
int64_t __wrap_port_available_bytes(int64_t *of_bytes);
int64_t __wrap_port_available_bytes(int64_t *of_bytes)
{
    return fake.is_short ? fake.available : __real_port_available_bytes(of_bytes);
}

int __real_mlockall(int flags);
int __wrap_mlockall(int flags);
int __wrap_mlockall(int flags)
{
    errno = fake.lock_error;
    return fake.lock_error ? -1 : __real_mlockall(flags);
}

int __real_mlock(const void *memory, size_t bytes);
int __wrap_mlock(const void *memory, size_t bytes);
int __wrap_mlock(const void *memory, size_t bytes)
{
    errno = fake.lock_error;
    return fake.lock_error ? -1 : __real_mlock(memory, bytes);
}

int __real_rt_thread_start_with_stack(struct rt_thread *rt_thread,
                                      const struct rt_thread_setup *setup, size_t stack_bytes,
                                      void (*body)(void *), void *argument);
int __wrap_rt_thread_start_with_stack(struct rt_thread *rt_thread,
                                      const struct rt_thread_setup *setup, size_t stack_bytes,
                                      void (*body)(void *), void *argument);
int __wrap_rt_thread_start_with_stack(struct rt_thread *rt_thread,
                                      const struct rt_thread_setup *setup, size_t stack_bytes,
                                      void (*body)(void *), void *argument)
{
    if (++fake.starts == fake.refused_start)
        return EAGAIN;
    if (fake.starts == fake.stopping_start)
        kill(getpid(), SIGINT);
    return __real_rt_thread_start_with_stack(rt_thread, setup, stack_bytes, body, argument);
}

void __real_step_ring_close(struct step_ring *ring, uint64_t planned, int64_t now_ns);
void __wrap_step_ring_close(struct step_ring *ring, uint64_t planned, int64_t now_ns);
void __wrap_step_ring_close(struct step_ring *ring, uint64_t planned, int64_t now_ns)
{
    __real_step_ring_close(ring, planned, now_ns);
    ring->counts.watched_missed += (uint64_t)fake.counted_again;
}

void __real_rt_thread_join(struct rt_thread *rt_thread);
void __wrap_rt_thread_join(struct rt_thread *rt_thread);
void __wrap_rt_thread_join(struct rt_thread *rt_thread)
{
    if (fake.stopping_start > 0 && fake.starts >= fake.stopping_start)
        nanosleep(&(struct timespec){0, 30000000}, NULL);
    __real_rt_thread_join(rt_thread);
}
#endif

/* Ordinary threads: no right is needed. */
#define RUN(ID, ...)                                                                               \
    child_run((char *const[]){"hardstone-probe", "run", ID, "--policy", "other", "--clock",        \
                              "monotonic", "-p", "step_ns=1ms", "-p", "masses=8", __VA_ARGS__,     \
                              NULL},                                                               \
              NULL, &code)

/* Nine tenths of the CPUs, of which no thread has more than one. */
TEST(deadline_runtime)
{
    CHECK_SAME(policy_runtime_ns(1000000, 1, 2), 900000);
    CHECK_SAME(policy_runtime_ns(1000000, 2, 2), 900000);
    CHECK_SAME(policy_runtime_ns(1000000, 3, 2), 600000);
    CHECK_SAME(policy_runtime_ns(10000000, 256, 64), 2249984); /* rounded down, for each */
    CHECK_SAME(policy_runtime_ns(1000000, 3, 0), 300000);      /* CPUs not known: one */
}

static const char *run_deadline(int error, int wanted)
{
    int code;
    memset(&fake, 0, sizeof fake);
    fake.deadline_error = error;
    const char *text =
        RUN("SIM-S-RT", "-p", "policy=deadline", "-p", "threads=3", "--samples", "4");
    CHECK_SAME(code, wanted);
    return text;
}

TEST(deadline)
{
    if (!tap_is_wrapped())
        return;
    const char *text = run_deadline(0, 0);
    CHECK_HOLDS(text, "\"policy\":\"deadline\"");
    CHECK_HOLDS(text, "\"released_count\":4");
}

TEST(deadline_refused)
{
    if (!tap_is_wrapped())
        return;
    const char *text = run_deadline(EBUSY, 5);
    CHECK_HOLDS(text, "\"status\":\"denied\"");
    CHECK_HOLDS(text, "us of each 1000 us for 3 threads was refused: admission control");
    CHECK_HOLDS(text, "end other threads under SCHED_DEADLINE");
    text = run_deadline(EPERM, 5);
    CHECK_HOLDS(text, "\"status\":\"denied\"");
    CHECK_HOLDS(text, "let the threads use all CPUs");
    text = run_deadline(EINVAL, 5);
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    CHECK_HOLDS(text, "choose a longer period");
    text = run_deadline(ENOTSUP, 5);
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    CHECK_HOLDS(text, "choose another policy");
}

/* Nothing is allocated that the machine has not. */
TEST(too_little_memory)
{
    int code;
    if (!tap_is_wrapped())
        return;
    memset(&fake, 0, sizeof fake);
    fake.is_short = true;
    fake.available = 100000;
    const char *text = RUN("SIM-P-RF", "-p", "simulated_s=1");
    CHECK_SAME(code, 5);
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    CHECK_HOLDS(text, "choose fewer masses, or free memory");
    fake.available = -1; /* not known */
    RUN("SIM-P-RF", "-p", "simulated_s=1", "-p", "threads=1");
    CHECK_SAME(code, 0);
}

TEST(memory_that_cannot_be_locked)
{
    int code;
    if (!tap_is_wrapped())
        return;
    memset(&fake, 0, sizeof fake);
    fake.lock_error = ENOMEM;
    const char *text = RUN("SIM-S-RT", "--samples", "2");
    CHECK_SAME(code, 5);
    CHECK_HOLDS(text, "\"status\":\"denied\"");
    CHECK_HOLDS(text, "which cannot be locked");
    CHECK_HOLDS(text, "ulimit -l");
}

/* Those that were started end. */
TEST(a_thread_that_cannot_be_started)
{
    int code;
    if (!tap_is_wrapped())
        return;
    for (int which = 1; which <= 3; which += 2) {
        memset(&fake, 0, sizeof fake);
        fake.refused_start = which;
        const char *text =
            RUN("SIM-S-RT", "--samples", "2", "-p", "threads=3", "-p", "solver=barrier");
        CHECK_SAME(code, 5);
        CHECK_HOLDS(text, "starting the threads of the simulation");
    }
}

static long number_of(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

static void check_late_once(int counted_again, const char *passed)
{
    int code;
    memset(&fake, 0, sizeof fake);
    fake.counted_again = counted_again;
    const char *text = RUN("SIM-S-RT", "--samples", "3", "-p", "delay_step=2", "-p", "threads=1",
                           "-p", "period_ns=50ms");
    CHECK_SAME(code, 0);
    const char *verdict = strstr(text, "\"name\":\"late_once\"");
    char words[60];
    if (!CHECK(verdict != NULL))
        return;
    snprintf(words, sizeof words, "%s", verdict);
    CHECK_HOLDS(words, passed);
}

TEST(late_once)
{
    if (!tap_is_wrapped())
        return;
    check_late_once(0, "true");
    check_late_once(1, "false");
    check_late_once(-1, "false");
}

/* Steps that a stopped simulation says were due and not done; -1 if it says nothing. */
static long left_by_a_stop(void)
{
    int code;
    memset(&fake, 0, sizeof fake);
    fake.stopping_start = 2;
    const char *text = RUN("SIM-S-RT", "-p", "threads=2", "--samples", "10000");
    CHECK_HOLDS(text, "\"interrupted\":true");
    CHECK_HOLDS(text, "\"name\":\"simulation\"");
    long released = number_of(text, "\"released_count\":");
    return released < 0 ? -1 : released - number_of(text, "\"steps_count\":");
}

/* What passes while threads end is nobody's deadline: 60 releases here, in each attempt. Others who
 * have the CPU before the stop make steps late, too: then again. */
HOST_TEST(stopped)
{
    if (!tap_is_wrapped())
        return;
    long left = left_by_a_stop();
    for (int i = 1; i < ATTEMPTS && left >= MOST_LEFT; i++) {
        printf("# again: %ld steps were late before the stop\n", left);
        left = left_by_a_stop();
    }
    CHECK(left >= 0 && left < MOST_LEFT);
}

static void check_refused(int code, const char *text, const char *why)
{
    CHECK_SAME(code, 5);
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    CHECK_HOLDS(text, why);
}

TEST(bad_input)
{
    int code;
    memset(&fake, 0, sizeof fake);
    const char *text = RUN("SIM-S-RT", "-p", "masses=8,42");
    check_refused(code, text, "masses=42 is no multiple of 4, as 40 and 44 are");
    text = RUN("SIM-P-RF", "-p", "threads=1,9");
    check_refused(code, text, "9 threads for 8 masses");
    text = RUN("SIM-S-RT", "-p", "stiffness_per_s2=1000000", "-p", "step_ns=10ms");
    check_refused(code, text, "at most 408248 ns are stable");
    text =
        RUN("SIM-S-RT", "-p", "stiffness_per_s2=1000000", "-p", "step_ns=408248", "--samples", "3");
    CHECK_SAME(code, 0);
    text = RUN("SIM-S-RT", "--samples", "5", "-p", "delay_step=6");
    check_refused(code, text, "delay_step=6 is not among the 5 steps");
    text = RUN("SIM-S-RT", "-p", "policy=fifo");
    CHECK_SAME(code, 5);
    CHECK_HOLDS(text, "need a supervisor above them");
}

/* The same policy by two names is measured once. */
TEST(policies)
{
    int code;
    memset(&fake, 0, sizeof fake);
    const char *text =
        RUN("SIM-S-RT", "-p", "policy=run,other", "-p", "threads=1", "--samples", "2");
    CHECK_SAME(code, 0);
    const char *first = strstr(text, "\"name\":\"missed\"");
    CHECK(first && !strstr(first + 1, "\"name\":\"missed\""));
    CHECK_HOLDS(text, "\"policy\":\"other\"}");
}

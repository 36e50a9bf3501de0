/* Breaches of clocks, sleeps and timers, and causes of late wake-ups. */
#define _GNU_SOURCE
#include "shim.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* ---- clocks ---- */

static void move(struct timespec *time, int64_t ns)
{
    ns += ns_of(time);
    *time = timespec_of(ns > 0 ? ns : 1);
}

/* back: CLOCK_MONOTONIC steps back by 1 ms at every 1000th reading of a thread; back_cpu: it is
 * 1 ms behind on odd CPUs */
static __thread unsigned reading;

BREACH_AFTER("back", "clock_gettime", int_at(call, 0) == CLOCK_MONOTONIC && ++reading % 1000 == 0,
             move(at(call, 1), -NS_PER_MS));
BREACH_AFTER("back_cpu", "clock_gettime",
             int_at(call, 0) == CLOCK_MONOTONIC && sched_getcpu() % 2 == 1,
             move(at(call, 1), -NS_PER_MS));

/* still: these clocks do not move */
static bool is_stopped(int id)
{
    return id == CLOCK_THREAD_CPUTIME_ID || id == CLOCK_MONOTONIC_RAW || id == CLOCK_TAI;
}

BREACH_AFTER("still", "clock_gettime", is_stopped(int_at(call, 0)),
             *(struct timespec *)at(call, 1) = timespec_of(NS_PER_S));

/* stops: CLOCK_BOOTTIME stops once a second thread has read it */
BREACH("stops", "clock_gettime")
{
    static _Atomic int64_t last_ns;
    static atomic_int threads;
    static __thread bool is_known;
    long answer = pass(call);
    if (int_at(call, 0) != CLOCK_BOOTTIME)
        return answer;
    if (!is_known)
        atomic_fetch_add(&threads, 1);
    is_known = true;
    if (atomic_load(&threads) == 1)
        atomic_store(&last_ns, ns_of(at(call, 1)));
    *(struct timespec *)at(call, 1) = timespec_of(atomic_load(&last_ns));
    return answer;
}

/* taken: each reading of the CPU time of the process is another 2 ms too low */
static atomic_int looks;

BREACH_AFTER("taken", "clock_gettime", int_at(call, 0) == CLOCK_PROCESS_CPUTIME_ID,
             move(at(call, 1), NS_PER_S - atomic_fetch_add(&looks, 1) * 2 * NS_PER_MS));

/* ---- sleeps and timers ---- */

static bool is_zero(struct timespec time)
{
    return time.tv_sec == 0 && time.tv_nsec == 0;
}

/* early: sleeps and timers end 1 ms early */
BREACH("early", "clock_nanosleep,nanosleep")
{
    OWN(struct timespec, time, call->id == CALL_nanosleep ? 0 : 2);
    if (!is_zero(time))
        move(&time, -NS_PER_MS);
    return pass(call);
}

/* early; drift: an interval is 1/500 too long; twice: a timer that fires once does it again after
 * 20 ms */
static void bend(struct itimerspec *when)
{
    bool has_interval = !is_zero(when->it_interval);
    if (breaks("early") && !is_zero(when->it_value))
        move(&when->it_value, -NS_PER_MS);
    if (breaks("drift") && has_interval)
        when->it_interval = timespec_of(ns_of(&when->it_interval) / 500 * 501);
    if (breaks("twice") && !is_zero(when->it_value) && !has_interval)
        when->it_interval = timespec_of(20 * NS_PER_MS);
}

/* disarm: disarming does nothing */
BREACH("early,drift,twice,disarm", "timer_settime,timerfd_settime")
{
    OWN(struct itimerspec, when, 2);
    bend(&when);
    return breaks("disarm") && is_zero(when.it_value) ? 0 : pass(call);
}

BREACH("early,drift,twice,disarm", "setitimer")
{
    OWN(struct itimerval, timer, 1);
    struct itimerspec when;
    TIMEVAL_TO_TIMESPEC(&timer.it_value, &when.it_value);
    TIMEVAL_TO_TIMESPEC(&timer.it_interval, &when.it_interval);
    if (breaks("disarm") && is_zero(when.it_value))
        return 0;
    bend(&when);
    when.it_value.tv_nsec += 999; /* not to be rounded to a time before */
    TIMESPEC_TO_TIMEVAL(&timer.it_value, &when.it_value);
    TIMESPEC_TO_TIMEVAL(&timer.it_interval, &when.it_interval);
    return pass(call);
}

/* overrun: one too few is counted */
BREACH_AFTER("overrun", "timer_getoverrun", (int)answer > 0, answer--);

BREACH("overrun", "read")
{
    uint64_t count;
    long got = pass(call);
    if (got != sizeof count || call->word[2] != sizeof count)
        return got;
    memcpy(&count, at(call, 1), sizeof count);
    count -= count > 1 ? 1 : 0;
    memcpy(at(call, 1), &count, sizeof count);
    return got;
}

/* ---- late wake-ups ---- */

/* Of all processes. */
static _Atomic int64_t *sent_ns, *blocked_until_ns;

__attribute__((constructor)) static void share(void)
{
    sent_ns = shared_memory(2 * sizeof *sent_ns);
    blocked_until_ns = sent_ns + 1;
}

/* flooded_late: sleeps until a time end 2 ms late while a process sends packets */
BREACH_BEFORE("flooded_late", "send", true, atomic_store(sent_ns, real_now_ns()));

BREACH("flooded_late", "clock_nanosleep")
{
    OWN(struct timespec, time, 2);
    if (call->word[1] & TIMER_ABSTIME && real_now_ns() - atomic_load(sent_ns) < 3 * NS_PER_MS)
        move(&time, 2 * NS_PER_MS);
    return pass(call);
}

/* blocks_in_rename: for 5 ms from each rename on nobody who waits for a time is woken, as if the
 * kernel could not be preempted for that long */
BREACH("blocks_in_rename", "rename")
{
    long answer = pass(call);
    int64_t end_ns = real_now_ns() + 5 * NS_PER_MS;
    atomic_store(blocked_until_ns, end_ns);
    while (real_now_ns() < end_ns)
        ;
    return answer;
}

BREACH_AFTER("blocks_in_rename", "clock_nanosleep", true,
             sleep_ns(atomic_load(blocked_until_ns) - real_now_ns()));

/* files: after locking its memory a process can open no file */
static const struct rlimit three = {.rlim_cur = 3, .rlim_max = 3};

BREACH_BEFORE("files", "mlockall", true, setrlimit(RLIMIT_NOFILE, &three));

/* Fault injection: a libc that breaches POSIX, loaded before the real one (LD_PRELOAD). Each
 * verdict of a behaviour test must fail on a breach. HARDSTONE_BROKEN names them, with commas:
 *   back          CLOCK_MONOTONIC steps back by 1 ms at every 1000th reading of a thread
 *   back_cpu      CLOCK_MONOTONIC is 1 ms behind on odd CPUs
 *   still         CLOCK_THREAD_CPUTIME_ID, CLOCK_MONOTONIC_RAW and CLOCK_TAI stand still
 *   absent        CLOCK_PROCESS_CPUTIME_ID cannot be read
 *   stops         CLOCK_BOOTTIME stops once a second thread has read it
 *   early         sleeps until an absolute time end 1 ms early
 *   drift         a periodic timer's interval is 1/500 too long
 *   overrun       timer_getoverrun and timerfd count one too few
 *   twice         a one-shot timer fires again
 *   disarm        disarming does nothing
 *   files         after locking its memory a process can open no file
 *   unseen        the CPU time of the process includes pauses of the machine, as in a guest
 *                 without steal time
 *   taken         each reading of the CPU time of the process is another 2 ms too low
 * and those of broken_async.c, broken_files.c, broken_floods.c, broken_kernel.c, broken_locks.c,
 * broken_memory.c, broken_messages.c, broken_semaphores.c and broken_threads.c.
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { EARLY_NS = 1000000, NS_PER_S = 1000000000 };

static int64_t to_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * NS_PER_S + time.tv_nsec;
}

static struct timespec from_ns(int64_t ns)
{
    if (ns < 1)
        ns = 1;
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static bool is_zero(struct timespec time)
{
    return time.tv_sec == 0 && time.tv_nsec == 0;
}

/* `now_ns` until a second thread asks, then the last such time for good. */
static int64_t until_shared(int64_t now_ns)
{
    static _Atomic int64_t last_ns;
    static atomic_int threads;
    static __thread bool is_known;
    if (!is_known)
        atomic_fetch_add(&threads, 1);
    is_known = true;
    if (atomic_load(&threads) == 1)
        atomic_store(&last_ns, now_ns);
    return atomic_load(&last_ns);
}

/* Breaches of clocks other than CLOCK_MONOTONIC; 0 or -1 with errno, as clock_gettime. */
static int break_clock(clockid_t id, struct timespec *time)
{
    bool is_stopped = id == CLOCK_THREAD_CPUTIME_ID || id == CLOCK_MONOTONIC_RAW || id == CLOCK_TAI;
    if (is_stopped && breaks("still"))
        *time = from_ns(NS_PER_S);
    if (id == CLOCK_BOOTTIME && breaks("stops"))
        *time = from_ns(until_shared(to_ns(*time)));
    if (id != CLOCK_PROCESS_CPUTIME_ID || !breaks("absent"))
        return 0;
    errno = EINVAL;
    return -1;
}

static struct timespec with_less(struct timespec used)
{
    static atomic_int looks;
    return from_ns(NS_PER_S + to_ns(used) - atomic_fetch_add(&looks, 1) * INT64_C(2000000));
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    static __thread unsigned reading;
    static __thread int broken = -1;
    static int (*next)(clockid_t, struct timespec *);
    if (!next)
        next = REAL(clock_gettime);
    int answer = next(id, time);
    if (id == CLOCK_PROCESS_CPUTIME_ID && breaks("unseen"))
        return next(CLOCK_MONOTONIC, time);
    if (id == CLOCK_PROCESS_CPUTIME_ID && breaks("taken"))
        *time = with_less(*time);
    if (id != CLOCK_MONOTONIC)
        return answer == 0 ? break_clock(id, time) : answer;
    if (broken < 0)
        broken = breaks("back") ? 1 : breaks("back_cpu") ? 2 : 0;
    broken_look_at_spinner(to_ns(*time));
    if (broken == 0)
        return answer;
    if ((broken == 1 && ++reading % 1000 == 0) || (broken == 2 && sched_getcpu() % 2 == 1))
        *time = from_ns(to_ns(*time) - EARLY_NS);
    return answer;
}

static struct timespec earlier(struct timespec time)
{
    return breaks("early") && !is_zero(time) ? from_ns(to_ns(time) - EARLY_NS) : time;
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    struct timespec time = earlier(*wanted);
    if (flags & TIMER_ABSTIME)
        time = from_ns(to_ns(time) + broken_lateness_ns());
    int answer = REAL(clock_nanosleep)(id, flags, &time, left);
    broken_wait_for_kernel();
    return answer;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    struct timespec time = earlier(*wanted);
    return REAL(nanosleep)(&time, left);
}

static struct itimerspec bent(const struct itimerspec *wanted)
{
    struct itimerspec when = *wanted;
    when.it_value = earlier(when.it_value);
    if (breaks("drift") && !is_zero(when.it_interval))
        when.it_interval = from_ns(to_ns(when.it_interval) / 500 * 501);
    if (breaks("twice") && !is_zero(when.it_value) && is_zero(when.it_interval))
        when.it_interval = from_ns(20000000);
    return when;
}

static bool ignores(const struct itimerspec *wanted)
{
    return breaks("disarm") && is_zero(wanted->it_value);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *wanted,
                  struct itimerspec *before)
{
    struct itimerspec when = bent(wanted);
    return ignores(wanted) ? 0 : REAL(timer_settime)(timer, flags, &when, before);
}

int timerfd_settime(int file, int flags, const struct itimerspec *wanted, struct itimerspec *before)
{
    struct itimerspec when = bent(wanted);
    return ignores(wanted) ? 0 : REAL(timerfd_settime)(file, flags, &when, before);
}

static struct timespec of_timeval(struct timeval time)
{
    return (struct timespec){.tv_sec = time.tv_sec, .tv_nsec = time.tv_usec * 1000};
}

static struct timeval to_timeval(struct timespec time)
{
    return (struct timeval){.tv_sec = time.tv_sec, .tv_usec = (time.tv_nsec + 999) / 1000};
}

int setitimer(__itimer_which_t which, const struct itimerval *wanted, struct itimerval *before)
{
    struct itimerspec spec = {.it_value = of_timeval(wanted->it_value),
                              .it_interval = of_timeval(wanted->it_interval)};
    struct itimerspec when = bent(&spec);
    struct itimerval value = {.it_value = to_timeval(when.it_value),
                              .it_interval = to_timeval(when.it_interval)};
    return ignores(&spec) ? 0 : REAL(setitimer)(which, &value, before);
}

int timer_getoverrun(timer_t timer)
{
    int count = REAL(timer_getoverrun)(timer);
    return breaks("overrun") && count > 0 ? count - 1 : count;
}

ssize_t read(int file, void *buffer, size_t bytes)
{
    if (broken_read(file))
        return (ssize_t)bytes;
    ssize_t got;
    if (broken_read_channel(file, buffer, bytes, &got))
        return got;
    got = REAL(read)(file, buffer, bytes);
    broken_harm_read(buffer, got);
    if (got == sizeof(uint64_t) && bytes == sizeof(uint64_t) && breaks("overrun")) {
        uint64_t count;
        memcpy(&count, buffer, sizeof count);
        count -= count > 1 ? 1 : 0;
        memcpy(buffer, &count, sizeof count);
    }
    return got;
}

int mlockall(int flags)
{
    struct rlimit three = {.rlim_cur = 3, .rlim_max = 3};
    if (breaks("files"))
        setrlimit(RLIMIT_NOFILE, &three);
    int answer;
    return broken_lock(flags, &answer) ? answer : REAL(mlockall)(flags);
}

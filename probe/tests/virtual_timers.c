/* The timers of the libc with virtual time: one POSIX timer with SIGRTMIN, one timerfd, or
 * setitimer's, as the probe uses them, one at a time and by one thread. A timer that is set for a
 * time that has passed expires at once, as POSIX says. Other timers, signals and waits are real.
 *
 * HARDSTONE_RETURN_NS: the way back from a handler to the code that waited. */
#define _GNU_SOURCE
#include "virtual_time.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

static struct {
    bool is_set;
    int64_t due_ns, period_ns; /* of the next expiry, as asked for */
    int signal;
    void *pointer; /* in the signal's information */
    int overruns;
    int descriptor; /* of the timerfd; 0: none */
} timer;

static void set(const struct itimerspec *wanted, bool is_absolute)
{
    virtual_call();
    int64_t value_ns = virtual_ns(&wanted->it_value);
    timer.is_set = value_ns != 0;
    timer.due_ns = value_ns + (is_absolute ? 0 : virtual_now_ns());
    timer.period_ns = virtual_ns(&wanted->it_interval);
}

/* Waits for the next expiry: 1 and more are the expirations since the last, 0 is a time-out. */
static int64_t expirations(int64_t timeout_ns)
{
    int64_t limit_ns = virtual_now_ns() + timeout_ns;
    if (!timer.is_set || (timeout_ns >= 0 && virtual_expiry_ns(timer.due_ns) > limit_ns &&
                          timer.due_ns > virtual_now_ns())) {
        virtual_pass(timeout_ns > 0 ? timeout_ns : 0);
        return 0;
    }
    virtual_expire(timer.due_ns);
    int64_t late_ns = virtual_now_ns() - timer.due_ns;
    int64_t count = timer.period_ns > 0 && late_ns > 0 ? late_ns / timer.period_ns + 1 : 1;
    timer.is_set = timer.period_ns > 0;
    timer.due_ns += count * timer.period_ns;
    return count;
}

/* ---- POSIX timer ---- */

int timer_create(clockid_t id, struct sigevent *event, timer_t *made)
{
    if (event->sigev_signo != SIGRTMIN)
        return REAL(timer_create)(id, event, made);
    memset(&timer, 0, sizeof timer);
    timer.signal = SIGRTMIN;
    timer.pointer = event->sigev_value.sival_ptr;
    *made = (timer_t)&timer;
    return 0;
}

int timer_settime(timer_t which, int flags, const struct itimerspec *wanted,
                  struct itimerspec *before)
{
    if (which != (timer_t)&timer)
        return REAL(timer_settime)(which, flags, wanted, before);
    set(wanted, flags & TIMER_ABSTIME);
    return 0;
}

int timer_delete(timer_t which)
{
    if (which != (timer_t)&timer)
        return REAL(timer_delete)(which);
    timer.is_set = false;
    return 0;
}

int timer_getoverrun(timer_t which)
{
    if (which != (timer_t)&timer)
        return REAL(timer_getoverrun)(which);
    virtual_call();
    return timer.overruns;
}

/* ---- setitimer ---- */

static struct timespec of_timeval(struct timeval time)
{
    return (struct timespec){.tv_sec = time.tv_sec, .tv_nsec = time.tv_usec * 1000};
}

int setitimer(__itimer_which_t which, const struct itimerval *wanted, struct itimerval *before)
{
    (void)which, (void)before;
    struct itimerspec spec = {of_timeval(wanted->it_interval), of_timeval(wanted->it_value)};
    memset(&timer, 0, sizeof timer);
    timer.signal = SIGALRM;
    set(&spec, false);
    return 0;
}

int getitimer(__itimer_which_t which, struct itimerval *left)
{
    (void)which;
    int64_t left_us = (timer.due_ns - virtual_now_ns() + 999) / 1000;
    memset(left, 0, sizeof *left);
    if (timer.is_set)
        left->it_value = (struct timeval){left_us / 1000000, left_us % 1000000};
    return 0;
}

/* ---- their signals ---- */

static int take(int64_t timeout_ns)
{
    int64_t count = expirations(timeout_ns);
    timer.overruns = (int)count - 1;
    errno = EAGAIN;
    return count > 0 ? timer.signal : -1;
}

static bool is_ours(const sigset_t *set)
{
    return timer.signal && sigismember(set, timer.signal) == 1;
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    return is_ours(set) ? take(-1) : REAL(sigwaitinfo)(set, info);
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    return is_ours(set) ? take(virtual_ns(timeout)) : REAL(sigtimedwait)(set, info, timeout);
}

static int deliver(int64_t timeout_ns)
{
    struct sigaction action;
    siginfo_t info;
    if (take(timeout_ns) < 0)
        return 0;
    memset(&info, 0, sizeof info);
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = timer.pointer;
    sigaction(timer.signal, NULL, &action);
    action.sa_sigaction(timer.signal, &info, NULL);
    virtual_pass(virtual_number("HARDSTONE_RETURN_NS", 0));
    errno = EINTR;
    return -1;
}

int sigsuspend(const sigset_t *mask)
{
    return sigismember(mask, SIGRTMIN) == 0 ? deliver(-1) : REAL(sigsuspend)(mask);
}

int pselect(int count, fd_set *input, fd_set *output, fd_set *error, const struct timespec *timeout,
            const sigset_t *mask)
{
    if (mask && sigismember(mask, SIGRTMIN) == 0)
        return deliver(virtual_ns(timeout));
    return REAL(pselect)(count, input, output, error, timeout, mask);
}

/* ---- timerfd ---- */

int timerfd_create(int id, int flags)
{
    (void)id, (void)flags;
    memset(&timer, 0, sizeof timer);
    timer.descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return timer.descriptor;
}

int timerfd_settime(int file, int flags, const struct itimerspec *wanted, struct itimerspec *before)
{
    (void)file, (void)before;
    set(wanted, flags & TFD_TIMER_ABSTIME);
    return 0;
}

static bool is_timer(int file)
{
    return file > 0 && file == timer.descriptor;
}

ssize_t read(int file, void *data, size_t bytes)
{
    if (!is_timer(file))
        return REAL(read)(file, data, bytes);
    int64_t count = expirations(-1);
    memcpy(data, &count, sizeof count);
    return sizeof count;
}

/* Only the thread of the timer polls while there is one. */
int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
    if (timer.descriptor == 0)
        return REAL(ppoll)(files, count, timeout, mask);
    int64_t limit_ns = virtual_now_ns() + virtual_ns(timeout);
    if (timer.is_set && virtual_expiry_ns(timer.due_ns) <= limit_ns)
        return 1;
    virtual_pass(virtual_ns(timeout));
    return 0;
}

int close(int file)
{
    if (is_timer(file))
        timer.descriptor = 0;
    return REAL(close)(file);
}

#include "base/posix_source.h"

#if !HS_HAS_CLOCK_NANOSLEEP || !HS_HAS_TIMERS || !HS_HAS_MLOCKALL || !HS_HAS_PSELECT

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#if !HS_HAS_CLOCK_NANOSLEEP
int missing_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                            struct timespec *left)
{
    enum { SECOND_NS = 1000000000 };
    struct timespec now;
    (void)left;
    if (flags != TIMER_ABSTIME || until->tv_nsec < 0 || until->tv_nsec >= SECOND_NS)
        return EINVAL;
    for (;;) {
        if (clock_gettime(clock, &now) != 0)
            return errno;
        struct timespec rest = {.tv_sec = until->tv_sec - now.tv_sec,
                                .tv_nsec = until->tv_nsec - now.tv_nsec};
        if (rest.tv_nsec < 0) {
            rest.tv_sec--;
            rest.tv_nsec += SECOND_NS;
        }
        if (rest.tv_sec < 0 || (rest.tv_sec == 0 && rest.tv_nsec == 0))
            return 0;
        if (nanosleep(&rest, NULL) != 0)
            return errno;
    }
}
#endif

#if !HS_HAS_TIMERS
static int no_timers(void)
{
    errno = ENOSYS;
    return -1;
}

int missing_timer_create(clockid_t clock, struct sigevent *event, missing_timer_t *timer)
{
    (void)clock, (void)event, (void)timer;
    return no_timers();
}

int missing_timer_settime(missing_timer_t timer, int flags, const struct missing_itimerspec *when,
                          struct missing_itimerspec *before)
{
    (void)timer, (void)flags, (void)when, (void)before;
    return no_timers();
}

int missing_timer_gettime(missing_timer_t timer, struct missing_itimerspec *left)
{
    (void)timer, (void)left;
    return no_timers();
}

int missing_timer_getoverrun(missing_timer_t timer)
{
    (void)timer;
    return no_timers();
}

int missing_timer_delete(missing_timer_t timer)
{
    (void)timer;
    return no_timers();
}
#endif

#if !HS_HAS_MLOCKALL
int missing_mlockall(int flags)
{
    (void)flags;
    errno = ENOSYS;
    return -1;
}

int missing_munlockall(void)
{
    errno = ENOSYS;
    return -1;
}
#endif

#if !HS_HAS_PSELECT
int missing_pselect(int count, fd_set *readers, fd_set *writers, fd_set *others,
                    const struct timespec *timeout, const sigset_t *mask)
{
    enum { TURN_US = 50000 };
    struct timeval wait = {.tv_usec = TURN_US};
    if (timeout && (!mask || (timeout->tv_sec == 0 && timeout->tv_nsec <= TURN_US * 1000L)))
        wait =
            (struct timeval){.tv_sec = timeout->tv_sec, .tv_usec = (timeout->tv_nsec + 999) / 1000};
    else if (mask)
        timeout = NULL; /* its end does not come in this turn */
    if (wait.tv_usec == 1000000)
        wait = (struct timeval){.tv_sec = wait.tv_sec + 1};
    if (!mask)
        return select(count, readers, writers, others, timeout ? &wait : NULL);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, mask, &before);
    int ready = select(count, readers, writers, others, &wait);
    int error = ready == 0 && !timeout ? EINTR : errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return ready == 0 && !timeout ? -1 : ready;
}
#endif

#else
typedef int nothing_is_missing; /* a file is not empty */
#endif

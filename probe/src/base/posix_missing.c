#include "base/posix_source.h"

#if !HS_HAS_CLOCK_NANOSLEEP || !HS_HAS_TIMERS || !HS_HAS_MLOCKALL || !HS_HAS_PSELECT ||            \
    !HS_HAS_UNNAMED_SEMAPHORES || !HS_HAS_SETSCHEDPRIO

#include "base/options.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>

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
#if HS_HAS_SELECT
#define wait_for_readers select
#else
static int readable(int count, const fd_set *readers, fd_set *ready)
{
    int ready_count = 0;
    FD_ZERO(ready);
    for (int descriptor = 0; descriptor < count; descriptor++) {
        int bytes = 0;
        if (!FD_ISSET(descriptor, readers))
            continue;
        if (ioctl(descriptor, FIONREAD, &bytes) != 0)
            return -1;
        if (bytes > 0) {
            FD_SET(descriptor, ready);
            ready_count++;
        }
    }
    return ready_count;
}

static int wait_for_readers(int count, fd_set *readers, fd_set *writers, fd_set *others,
                            const struct timeval *wait)
{
    enum { STEP_US = 10000 };
    int64_t left_us = wait ? (int64_t)wait->tv_sec * 1000000 + wait->tv_usec : INT64_MAX;
    fd_set none, ready;
    FD_ZERO(&none);
    if (writers || others) {
        errno = ENOSYS;
        return -1;
    }
    for (;;) {
        int ready_count = readable(count, readers ? readers : &none, &ready);
        if (ready_count != 0 || left_us <= 0) {
            if (readers)
                *readers = ready;
            return ready_count;
        }
        int64_t step_us = left_us < STEP_US ? left_us : STEP_US;
        nanosleep(&(struct timespec){.tv_nsec = (long)step_us * 1000}, NULL);
        left_us -= step_us;
    }
}
#endif

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
        return wait_for_readers(count, readers, writers, others, timeout ? &wait : NULL);
    sigset_t before;
    pthread_sigmask(SIG_SETMASK, mask, &before);
    int ready = wait_for_readers(count, readers, writers, others, &wait);
    int error = ready == 0 && !timeout ? EINTR : errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return ready == 0 && !timeout ? -1 : ready;
}
#endif

#if !HS_HAS_SETSCHEDPRIO
int missing_pthread_setschedprio(pthread_t thread, int priority)
{
    struct sched_param param;
    int policy, error = pthread_getschedparam(thread, &policy, &param);
    param.sched_priority = priority;
    return error ? error : pthread_setschedparam(thread, policy, &param);
}
#endif

#if !HS_HAS_UNNAMED_SEMAPHORES
/* With inheritance, a thread that is preempted within a call delays no other one. */
static int init_sem_mutex(pthread_mutex_t *mutex, int is_shared)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error)
        return error;
#if HS_HAS_PROCESS_SHARED
    if (is_shared)
        error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#else
    error = is_shared ? ENOSYS : 0;
#endif
#if HS_HAS_PRIO_INHERIT
    (void)pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
#endif
    if (!error)
        error = pthread_mutex_init(mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static int init_sem_condition(pthread_cond_t *condition, int is_shared)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error)
        return error;
#if HS_HAS_PROCESS_SHARED
    if (is_shared)
        error = pthread_condattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
#else
    error = is_shared ? ENOSYS : 0;
#endif
    if (!error)
        error = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
}

static int with_errno(int error)
{
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

int missing_sem_init(missing_sem_t *semaphore, int is_shared, unsigned value)
{
    if (value > INT_MAX)
        return with_errno(EINVAL);
    semaphore->value = value;
    semaphore->is_shared = is_shared;
    int error = init_sem_mutex(&semaphore->mutex, is_shared);
    if (error)
        return with_errno(error);
    error = init_sem_condition(&semaphore->is_posted, is_shared);
    if (error)
        pthread_mutex_destroy(&semaphore->mutex);
    return with_errno(error);
}

/* pthread_cond_destroy may wait for ever for a waiter of a process that was killed. */
int missing_sem_destroy(missing_sem_t *semaphore)
{
    if (semaphore->is_shared)
        return 0;
    pthread_cond_destroy(&semaphore->is_posted);
    return with_errno(pthread_mutex_destroy(&semaphore->mutex));
}

/* Signals with the mutex locked: the waiter may destroy the semaphore as soon as it has passed. */
int missing_sem_post(missing_sem_t *semaphore)
{
    int error = pthread_mutex_lock(&semaphore->mutex);
    if (error)
        return with_errno(error);
    if (semaphore->value < INT_MAX) {
        semaphore->value++;
        pthread_cond_signal(&semaphore->is_posted);
    } else {
        error = EOVERFLOW;
    }
    pthread_mutex_unlock(&semaphore->mutex);
    return with_errno(error);
}

/* Until NULL: without a limit. */
static int wait_until(missing_sem_t *semaphore, const struct timespec *until)
{
    int error = pthread_mutex_lock(&semaphore->mutex);
    if (error)
        return with_errno(error);
    while (semaphore->value == 0 && !error)
        error = until ? pthread_cond_timedwait(&semaphore->is_posted, &semaphore->mutex, until)
                      : pthread_cond_wait(&semaphore->is_posted, &semaphore->mutex);
    if (semaphore->value > 0) {
        semaphore->value--;
        error = 0;
    }
    pthread_mutex_unlock(&semaphore->mutex);
    return with_errno(error);
}

int missing_sem_wait(missing_sem_t *semaphore)
{
    return wait_until(semaphore, NULL);
}

int missing_sem_timedwait(missing_sem_t *semaphore, const struct timespec *until)
{
    return wait_until(semaphore, until);
}

int missing_sem_trywait(missing_sem_t *semaphore)
{
    int error = pthread_mutex_lock(&semaphore->mutex);
    if (error)
        return with_errno(error);
    if (semaphore->value > 0)
        semaphore->value--;
    else
        error = EAGAIN;
    pthread_mutex_unlock(&semaphore->mutex);
    return with_errno(error);
}

int missing_sem_getvalue(missing_sem_t *semaphore, int *value)
{
    int error = pthread_mutex_lock(&semaphore->mutex);
    if (error)
        return with_errno(error);
    *value = (int)semaphore->value;
    pthread_mutex_unlock(&semaphore->mutex);
    return 0;
}
#endif

#else
typedef int nothing_is_missing; /* a file is not empty */
#endif

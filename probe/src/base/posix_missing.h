/* What stands for calls of POSIX that this system lacks (posix_source.h, which includes this). */
#ifndef HS_BASE_POSIX_MISSING_H
#define HS_BASE_POSIX_MISSING_H

#include "base/posix_source.h"

#include <sys/mman.h>
#include <sys/select.h>
#include <time.h>

#if !HS_HAS_SETSCHEDPRIO || !HS_HAS_UNNAMED_SEMAPHORES
#include <pthread.h>
#endif
#if !HS_HAS_UNNAMED_SEMAPHORES
#include <semaphore.h>
#endif

/* Sleeps for what is left until `until`, never shorter, with the errors of clock_nanosleep; `flags`
 * has to be TIMER_ABSTIME. The sleep begins later than the reading of the clock: for waiting, not
 * for measuring a wake-up. What measures one says LACKS_CLOCK_NANOSLEEP. */
#if !HS_HAS_CLOCK_NANOSLEEP
#ifndef TIMER_ABSTIME
#define TIMER_ABSTIME 1
#endif
#define clock_nanosleep missing_clock_nanosleep
int missing_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until,
                            struct timespec *left);
#endif

/* No timer can be created: -1 with ENOSYS. */
#if !HS_HAS_TIMERS
struct sigevent;
struct missing_itimerspec {
    struct timespec it_interval, it_value;
};
typedef int missing_timer_t;
#define itimerspec missing_itimerspec
#define timer_t missing_timer_t
#define timer_create missing_timer_create
#define timer_settime missing_timer_settime
#define timer_getoverrun missing_timer_getoverrun
#define timer_delete missing_timer_delete
int missing_timer_create(clockid_t clock, struct sigevent *event, missing_timer_t *timer);
int missing_timer_settime(missing_timer_t timer, int flags, const struct missing_itimerspec *when,
                          struct missing_itimerspec *before);
int missing_timer_getoverrun(missing_timer_t timer);
int missing_timer_delete(missing_timer_t timer);
#endif

/* No memory can be locked as a whole: -1 with ENOSYS. */
#if !HS_HAS_MLOCKALL
#ifndef MCL_CURRENT
#define MCL_CURRENT 1
#define MCL_FUTURE 2
#endif
#define mlockall missing_mlockall
#define munlockall missing_munlockall
int missing_mlockall(int flags);
int missing_munlockall(void);
#endif

/* Where there is no select either, it asks every 10 ms how many bytes can be read (FIONREAD);
 * writers: -1 with ENOSYS.
 *
 * select with the signals of `mask`, in two steps: a signal in between does not end the wait. So
 * with a mask it waits for 50 ms at most, and then returns -1 with EINTR, as after a signal. */
#if !HS_HAS_PSELECT
#define pselect missing_pselect
int missing_pselect(int count, fd_set *readers, fd_set *writers, fd_set *others,
                    const struct timespec *timeout, const sigset_t *mask);
#endif

/* Sets the priority by pthread_setschedparam, which puts a thread that lowers itself behind its new
 * equals, not before them: THR-B-NEW leaves out what would show that. */
#if !HS_HAS_SETSCHEDPRIO
#define pthread_setschedprio missing_pthread_setschedprio
int missing_pthread_setschedprio(pthread_t thread, int priority);
#endif

/* A counter with a mutex and a condition variable: for parking threads and letting them start, not
 * for what is timed, which says LACKS_UNNAMED_SEMAPHORES. Differences from POSIX: missing_sem_post
 * must not be called in a signal handler, a signal does not end a wait, and a thread that waits
 * must not be cancelled. Between processes: ENOSYS where mutexes cannot be shared.
 *
 * system_sem_t and its calls are what sem_t is without this: for named semaphores. */
#if !HS_HAS_UNNAMED_SEMAPHORES
typedef sem_t system_sem_t;
static inline int system_sem_post(system_sem_t *semaphore)
{
    return sem_post(semaphore);
}
static inline int system_sem_wait(system_sem_t *semaphore)
{
    return sem_wait(semaphore);
}

struct missing_sem {
    pthread_mutex_t mutex;
    pthread_cond_t is_posted;
    unsigned value; /* protected by `mutex` */
    int is_shared;
};
typedef struct missing_sem missing_sem_t;
#define sem_t missing_sem_t
#define sem_init missing_sem_init
#define sem_destroy missing_sem_destroy
#define sem_post missing_sem_post
#define sem_wait missing_sem_wait
#define sem_trywait missing_sem_trywait
#define sem_timedwait missing_sem_timedwait
#define sem_getvalue missing_sem_getvalue
int missing_sem_init(missing_sem_t *semaphore, int is_shared, unsigned value);
int missing_sem_destroy(missing_sem_t *semaphore);
int missing_sem_post(missing_sem_t *semaphore);
int missing_sem_wait(missing_sem_t *semaphore);
int missing_sem_trywait(missing_sem_t *semaphore);
int missing_sem_timedwait(missing_sem_t *semaphore, const struct timespec *until);
int missing_sem_getvalue(missing_sem_t *semaphore, int *value);
#endif

#endif

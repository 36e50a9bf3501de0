/* Fault injection for POS-B-INV: a libc that claims what it does not do, loaded before the real one
 * (LD_PRELOAD). HARDSTONE_BROKEN names the breaches, with commas.
 *
 * What sysconf and the scheduler say:
 *   claims         typed memory, sporadic server and tracing are there
 *   denies         timers are not there
 *   low_limits     TIMER_MAX is 3, RTSIG_MAX 4, STREAM_MAX 7
 *   few_timers     no more than 3 timers can be created
 *   levels         there are 16 real-time priorities
 *   stuck          setting a priority changes nothing
 * What calls do, each of one option:
 *   timers_silent, timers_early, signals_single, signals_bare, semaphores_open, semaphores_lose,
 *   queue_loses, queue_unordered, memory_apart, lock_nothing, range_nothing, protect_nothing,
 *   sync_dropped, fsync_nothing, aio_nothing, aio_unordered, spawn_other, barrier_open,
 *   barrier_no_serial, readers_open, spin_open, timeout_hangs, clock_of_wall, protocol_nothing,
 *   signal_nothing, stack_ignored, stack_size_ignored, policy_nothing, thread_policy_nothing,
 *   clock_ignored, allocate_nothing, mutex_open, files_open, regexp_wrong
 *   ends_process   a reader-writer lock ends the process
 *   bound_late     a process that is to end with its parent is bound to it 20 ms later; one that is
 *                  not bound is not stopped
 *   refused        locking memory is refused
 */
#define _GNU_SOURCE
#include "broken.h"

#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <regex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* ---- what is said ---- */

long sysconf(int name)
{
    bool is_lie =
        name == _SC_TYPED_MEMORY_OBJECTS || name == _SC_SPORADIC_SERVER || name == _SC_TRACE;
    if (is_lie && breaks("claims"))
        return 200809;
    if (name == _SC_TIMERS && breaks("denies"))
        return -1;
    if (breaks("low_limits") && name == _SC_TIMER_MAX)
        return 3;
    if (breaks("low_limits") && name == _SC_RTSIG_MAX)
        return 4;
    if (breaks("low_limits") && name == _SC_STREAM_MAX)
        return 7;
    return REAL(sysconf)(name);
}

int sched_get_priority_max(int policy)
{
    int highest = REAL(sched_get_priority_max)(policy);
    return breaks("levels") && policy != SCHED_OTHER ? 16 : highest;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
    if (breaks("stuck") && policy != SCHED_OTHER)
        return 0;
    return REAL(pthread_setschedparam)(thread, policy, param);
}

/* ---- 1003.1b ---- */

int timer_create(clockid_t clock, struct sigevent *restrict event, timer_t *restrict timer)
{
    static __thread int made;
    if (breaks("few_timers") && event && event->sigev_notify == SIGEV_NONE && ++made > 3)
        return errno = EINVAL, -1;
    return REAL(timer_create)(clock, event, timer);
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict wanted,
                  struct itimerspec *restrict before)
{
    struct itimerspec when = *wanted;
    bool is_of_call = when.it_value.tv_sec == 0 && when.it_value.tv_nsec == 5000000;
    if (is_of_call && breaks("timers_silent"))
        return 0;
    if (is_of_call && breaks("timers_early"))
        when.it_value.tv_nsec = 1000;
    return REAL(timer_settime)(timer, flags, &when, before);
}

int sigqueue(pid_t process, int number, const union sigval value)
{
    static __thread int sent;
    if (breaks("signals_single") && number == SIGRTMIN && sent++ > 0)
        return 0;
    return breaks("signals_bare") ? kill(process, number) : REAL(sigqueue)(process, number, value);
}

int sem_trywait(sem_t *semaphore)
{
    return breaks("semaphores_open") ? 0 : REAL(sem_trywait)(semaphore);
}

static pid_t first_process;

__attribute__((constructor)) static void note_first_process(void)
{
    first_process = getpid();
}

/* The probe itself uses some of these calls too: only the processes of calls are broken. */
static bool is_call(void)
{
    return getpid() != first_process;
}

static _Atomic pid_t *bound; /* the last process that was, of all that are forked */

__attribute__((constructor)) static void share_bound(void)
{
    void *page =
        mmap(NULL, sizeof *bound, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bound = page == MAP_FAILED ? NULL : page;
}

int prctl(int option, ...)
{
    static const struct timespec moment = {.tv_nsec = 20000000};
    unsigned long words[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        words[i] = va_arg(list, unsigned long);
    va_end(list);
    bool is_late = option == PR_SET_PDEATHSIG && breaks("bound_late");
    if (is_late)
        nanosleep(&moment, NULL);
    int answer = REAL(prctl)(option, words[0], words[1], words[2], words[3]);
    if (is_late && bound)
        atomic_store(bound, getpid());
    return answer;
}

int kill(pid_t process, int number)
{
    if (number == SIGSTOP && breaks("bound_late") && bound && atomic_load(bound) != -process)
        return errno = EPERM, -1;
    return REAL(kill)(process, number);
}

int sem_post(sem_t *semaphore)
{
    return breaks("semaphores_lose") && is_call() ? 0 : REAL(sem_post)(semaphore);
}

int mq_send(mqd_t queue, const char *bytes, size_t count, unsigned priority)
{
    if (breaks("queue_loses") && count == 1 && bytes[0] == 'b')
        return 0;
    return REAL(mq_send)(queue, bytes, count, breaks("queue_unordered") ? 0 : priority);
}

void *mmap(void *place, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (file >= 0 && (flags & MAP_SHARED) && breaks("memory_apart"))
        flags = (flags & ~MAP_SHARED) | MAP_PRIVATE;
    return REAL(mmap)(place, bytes, protection, flags, file, offset);
}

int mlockall(int flags)
{
    if (breaks("refused"))
        return errno = EPERM, -1;
    return breaks("lock_nothing") ? 0 : REAL(mlockall)(flags);
}

int mlock(const void *memory, size_t bytes)
{
    return breaks("range_nothing") ? 0 : REAL(mlock)(memory, bytes);
}

int mprotect(void *memory, size_t bytes, int protection)
{
    return breaks("protect_nothing") ? 0 : REAL(mprotect)(memory, bytes, protection);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    mode_t mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(more, mode_t) : 0;
    va_end(more);
    if (breaks("sync_dropped"))
        flags &= ~O_SYNC;
    return REAL(open)(path, flags, mode);
}

int fsync(int file)
{
    return breaks("fsync_nothing") ? 0 : REAL(fsync)(file);
}

int aio_write(struct aiocb *request)
{
    if (!breaks("aio_nothing"))
        return REAL(aio_write)(request);
    request->aio_nbytes = 0; /* ends well, having written nothing */
    return REAL(aio_write)(request);
}

int aio_read(struct aiocb *request)
{
    if (breaks("aio_unordered"))
        request->aio_reqprio = 0;
    return REAL(aio_read)(request);
}

/* ---- 1003.1c ---- */

int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attributes, int protocol)
{
    return breaks("protocol_nothing") ? 0
                                      : REAL(pthread_mutexattr_setprotocol)(attributes, protocol);
}

int pthread_mutexattr_setprioceiling(pthread_mutexattr_t *attributes, int ceiling)
{
    return breaks("protocol_nothing") ? 0
                                      : REAL(pthread_mutexattr_setprioceiling)(attributes, ceiling);
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    return breaks("signal_nothing") ? 0 : REAL(pthread_cond_signal)(condition);
}

int pthread_attr_setstack(pthread_attr_t *attributes, void *stack, size_t bytes)
{
    return breaks("stack_ignored") ? 0 : REAL(pthread_attr_setstack)(attributes, stack, bytes);
}

int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes)
{
    bool is_broken = breaks("stack_size_ignored") && is_call();
    return is_broken ? 0 : REAL(pthread_attr_setstacksize)(attributes, bytes);
}

int pthread_attr_setschedpolicy(pthread_attr_t *attributes, int policy)
{
    bool is_broken = breaks("thread_policy_nothing") && is_call();
    return is_broken ? 0 : REAL(pthread_attr_setschedpolicy)(attributes, policy);
}

int pthread_attr_setschedparam(pthread_attr_t *restrict attributes,
                               const struct sched_param *restrict param)
{
    bool is_broken = breaks("thread_policy_nothing") && is_call();
    return is_broken ? 0 : REAL(pthread_attr_setschedparam)(attributes, param);
}

int sched_setscheduler(pid_t process, int policy, const struct sched_param *param)
{
    return breaks("policy_nothing") ? 0 : REAL(sched_setscheduler)(process, policy, param);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    return breaks("mutex_open") && is_call() ? 0 : REAL(pthread_mutex_trylock)(mutex);
}

int ftrylockfile(FILE *stream)
{
    return breaks("files_open") ? 0 : REAL(ftrylockfile)(stream);
}

/* ---- 1003.1d and 1003.1j ---- */

int posix_spawn(pid_t *restrict process, const char *restrict path,
                const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *restrict attributes, char *const arguments[restrict],
                char *const environment[restrict])
{
    char shell[] = "/bin/sh", option[] = "-c", words[] = "exit 0";
    char *const others[] = {shell, option, words, NULL};
    return REAL(posix_spawn)(process, path, actions, attributes,
                             breaks("spawn_other") ? others : arguments, environment);
}

int clock_getcpuclockid(pid_t process, clockid_t *clock)
{
    int error = REAL(clock_getcpuclockid)(process, clock);
    if (breaks("clock_of_wall"))
        *clock = CLOCK_MONOTONIC; /* it moves while the process sleeps */
    return error;
}

int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict end)
{
    while (breaks("timeout_hangs"))
        pause();
    return REAL(pthread_mutex_timedlock)(mutex, end);
}

int posix_fallocate(int file, off_t begin, off_t bytes)
{
    return breaks("allocate_nothing") ? 0 : REAL(posix_fallocate)(file, begin, bytes);
}

int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    if (breaks("barrier_open"))
        return 0;
    int result = REAL(pthread_barrier_wait)(barrier);
    return breaks("barrier_no_serial") ? 0 : result;
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    return breaks("readers_open") ? 0 : REAL(pthread_rwlock_trywrlock)(lock);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    if (breaks("ends_process"))
        raise(SIGKILL);
    return REAL(pthread_rwlock_rdlock)(lock);
}

int pthread_spin_trylock(pthread_spinlock_t *lock)
{
    return breaks("spin_open") ? 0 : REAL(pthread_spin_trylock)(lock);
}

int pthread_condattr_setclock(pthread_condattr_t *attributes, clockid_t clock)
{
    return breaks("clock_ignored") ? 0 : REAL(pthread_condattr_setclock)(attributes, clock);
}

int regexec(const regex_t *restrict expression, const char *restrict text, size_t count,
            regmatch_t matches[restrict count], int flags)
{
    int result = REAL(regexec)(expression, text, count, matches, flags);
    return breaks("regexp_wrong") ? 0 : result;
}

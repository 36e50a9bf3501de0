/* Breaches of mutexes and other locks; broken.c says how they are used.
 *   no_protocol  the protocol of a mutex is accepted and ignored
 *   boost_stays  the owner of a mutex keeps the priority of a waiter that timed out
 *   lends        priority inheritance where none is promised: mutexes without a protocol, spin
 *                locks, reader-writer locks, semaphores of value 1
 *   spin_sleeps  a waiter for a spin lock sleeps in between
 *   mutex_spins  a waiter for a mutex, whatever its protocol, spins
 *   impatient    a timed wait for a mutex returns at once
 *   cond_fails   each 100th wait for a condition variable fails
 * No breaches, but effects of a host that runs a guest late:
 *   late_watchdog   each 29th timed wait for a semaphore times out, whatever the value, and so do
 *                   all others in the next LATE_MS
 *   cond_early      each second wait for a condition variable returns at once
 *   late_patience   each third timed wait for a mutex ends at once or 80 ms late, in turn
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum {
    OWNERS = 64,
    LENT = 16,
    SLEEP_NS = 100000,
    LATE_EACH = 29,
    COND_EACH = 100,
    LATE_MS = 140, /* more than the watchdog's first limit, less than its second */
    NS_PER_MS = 1000000,
    NS_PER_S = 1000000000
};

static int own_priority(void)
{
    struct sched_param own;
    int policy;
    return pthread_getschedparam(pthread_self(), &policy, &own) == 0 ? own.sched_priority : 0;
}

static struct {
    pthread_mutex_t *_Atomic mutex;
    _Atomic pthread_t owner;
} owners[OWNERS];

int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attributes, int protocol)
{
    if (protocol == PTHREAD_PRIO_NONE && breaks("lends"))
        protocol = PTHREAD_PRIO_INHERIT;
    return breaks("no_protocol") ? 0 : REAL(pthread_mutexattr_setprotocol)(attributes, protocol);
}

static void note_owner(pthread_mutex_t *mutex)
{
    for (int i = 0; i < OWNERS; i++) {
        pthread_mutex_t *none = NULL;
        if (atomic_load(&owners[i].mutex) == mutex ||
            atomic_compare_exchange_strong(&owners[i].mutex, &none, mutex)) {
            atomic_store(&owners[i].owner, pthread_self());
            return;
        }
    }
}

static int spin_for(pthread_mutex_t *mutex)
{
    int error;
    do
        error = pthread_mutex_trylock(mutex);
    while (error == EBUSY);
    return error;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int error = breaks("mutex_spins") ? spin_for(mutex) : REAL(pthread_mutex_lock)(mutex);
    if (!error && breaks("boost_stays"))
        note_owner(mutex);
    return error;
}

static long long ns_of(const struct timespec *time)
{
    return (long long)time->tv_sec * NS_PER_S + time->tv_nsec;
}

static struct timespec later(const struct timespec *time, long long ms)
{
    long long ns = ns_of(time) + ms * NS_PER_MS;
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

/* How late a host lets a waiter's time run out: ms, or -1 for before it waits at all. */
static long long lateness_ms(void)
{
    static atomic_uint count;
    if (!breaks("late_patience"))
        return breaks("impatient") ? -1 : 0;
    unsigned call = atomic_fetch_add(&count, 1) % 6;
    return call == 2 ? -1 : call == 5 ? 80 : 0;
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *wanted)
{
    long long late_ms = lateness_ms();
    struct timespec until = later(wanted, late_ms);
    int error = late_ms < 0 ? ETIMEDOUT : REAL(pthread_mutex_timedlock)(mutex, &until);
    struct sched_param boosted = {.sched_priority = own_priority()};
    for (int i = 0; error == ETIMEDOUT && breaks("boost_stays") && i < OWNERS; i++)
        if (atomic_load(&owners[i].mutex) == mutex)
            REAL(pthread_setschedparam)(atomic_load(&owners[i].owner), SCHED_FIFO, &boosted);
    return error;
}

static bool is_late_host(void)
{
    static atomic_uint count;
    static _Atomic long long until_ns;
    struct timespec now;
    if (!breaks("late_watchdog"))
        return false;
    REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
    if (ns_of(&now) < atomic_load(&until_ns))
        return true;
    if (atomic_fetch_add(&count, 1) % LATE_EACH != LATE_EACH - 1)
        return false;
    atomic_store(&until_ns, ns_of(&now) + LATE_MS * (long long)NS_PER_MS);
    return true;
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
    if (!is_late_host())
        return REAL(sem_timedwait)(semaphore, until);
    while (REAL(clock_nanosleep)(CLOCK_REALTIME, TIMER_ABSTIME, until, NULL) == EINTR)
        ;
    errno = ETIMEDOUT;
    return -1;
}

/* Others that are ready get the CPU before a return at once: they may have the same priority. */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    static atomic_uint count;
    unsigned call = atomic_fetch_add(&count, 1);
    if (breaks("cond_fails") && call % COND_EACH == COND_EACH - 1)
        return EINVAL;
    if (!breaks("cond_early") || call % 2 == 0)
        return REAL(pthread_cond_wait)(condition, mutex);
    pthread_mutex_unlock(mutex);
    sched_yield();
    return pthread_mutex_lock(mutex);
}

/* ---- mutexes in the place of what lends nothing ---- */

static struct {
    const void *_Atomic object;
    pthread_mutex_t mutex;
} lent[LENT];

static pthread_mutex_t *find_lent(const void *object)
{
    for (int i = 0; i < LENT; i++)
        if (atomic_load(&lent[i].object) == object)
            return &lent[i].mutex;
    return NULL;
}

static bool lend(const void *object)
{
    pthread_mutexattr_t attributes;
    for (int i = 0; breaks("lends") && i < LENT; i++) {
        const void *none = NULL;
        if (!atomic_compare_exchange_strong(&lent[i].object, &none, object))
            continue;
        pthread_mutexattr_init(&attributes);
        REAL(pthread_mutexattr_setprotocol)(&attributes, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&lent[i].mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
        return true;
    }
    return false;
}

bool broken_drop_lent(const void *object)
{
    for (int i = 0; i < LENT; i++)
        if (atomic_load(&lent[i].object) == object) {
            atomic_store(&lent[i].object, NULL);
            return true;
        }
    return false;
}

bool broken_take_lent(const void *object)
{
    pthread_mutex_t *mutex = find_lent(object);
    return mutex && REAL(pthread_mutex_lock)(mutex) == 0;
}

bool broken_let_go_lent(const void *object)
{
    pthread_mutex_t *mutex = find_lent(object);
    return mutex && pthread_mutex_unlock(mutex) == 0;
}

/* Gates are of value 0. */
bool broken_lends_semaphore(sem_t *semaphore, unsigned value)
{
    return value == 1 && lend(semaphore);
}

int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
    return lend((void *)lock) ? 0 : REAL(pthread_spin_init)(lock, shared);
}

int pthread_spin_destroy(pthread_spinlock_t *lock)
{
    return broken_drop_lent((void *)lock) ? 0 : REAL(pthread_spin_destroy)(lock);
}

int pthread_spin_lock(pthread_spinlock_t *lock)
{
    struct timespec moment = {.tv_nsec = SLEEP_NS};
    if (broken_take_lent((void *)lock))
        return 0;
    if (!breaks("spin_sleeps"))
        return REAL(pthread_spin_lock)(lock);
    while (pthread_spin_trylock(lock) != 0)
        REAL(nanosleep)(&moment, NULL);
    return 0;
}

int pthread_spin_unlock(pthread_spinlock_t *lock)
{
    return broken_let_go_lent((void *)lock) ? 0 : REAL(pthread_spin_unlock)(lock);
}

int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
    return lend(lock) ? 0 : REAL(pthread_rwlock_init)(lock, attributes);
}

int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    return broken_drop_lent(lock) ? 0 : REAL(pthread_rwlock_destroy)(lock);
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return broken_take_lent(lock) ? 0 : REAL(pthread_rwlock_rdlock)(lock);
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return broken_take_lent(lock) ? 0 : REAL(pthread_rwlock_wrlock)(lock);
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    return broken_let_go_lent(lock) ? 0 : REAL(pthread_rwlock_unlock)(lock);
}

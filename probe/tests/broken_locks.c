/* Breaches of what semaphores and mutexes promise; broken.c says how they are used.
 *   sem_zero     P passes at value 0
 *   sem_lost     V at zero without a waiter does nothing
 *   sem_later    V with a waiter wakes it some milliseconds later
 *   sem_lowest   V wakes the waiter of the lowest priority
 *   sem_fifo     V wakes the longest waiting, whatever its priority
 *   sem_lifo     V wakes the newest among those of the highest priority
 *   no_protocol  the protocol of a mutex is accepted and ignored
 *   boost_stays  the owner of a mutex keeps the priority of a waiter that timed out
 * Those of semaphores act on named ones, between threads: gates of the tests are unnamed.
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

enum { FAKES = 8, OWNERS = 64, LATER_NS = 3000000 };

struct waiting {
    sem_t wake;
    int priority;
    struct waiting *next; /* the one that came after it */
};

struct fake {
    sem_t handle; /* what the program holds; never used as one */
    pthread_mutex_t lock;
    int value;
    struct waiting *first;
};

static struct fake *_Atomic fakes[FAKES];

static bool breaks_semaphores(void)
{
    static const char *const words[] = {"sem_zero",   "sem_lost", "sem_later",
                                        "sem_lowest", "sem_fifo", "sem_lifo"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (breaks(words[i]))
            return true;
    return false;
}

static struct fake *find_fake(const sem_t *semaphore)
{
    for (int i = 0; i < FAKES; i++) {
        struct fake *fake = atomic_load(&fakes[i]);
        if (fake && &fake->handle == semaphore)
            return fake;
    }
    return NULL;
}

static int own_priority(void)
{
    struct sched_param own;
    int policy;
    return pthread_getschedparam(pthread_self(), &policy, &own) == 0 ? own.sched_priority : 0;
}

sem_t *sem_open(const char *name, int flags, ...)
{
    if (!breaks_semaphores())
        return REAL(sem_open)(name, flags, 0700, 0); /* as the probe asks */
    struct fake *fake = calloc(1, sizeof *fake);
    pthread_mutex_init(&fake->lock, NULL);
    for (int i = 0; i < FAKES; i++) {
        struct fake *none = NULL;
        if (atomic_compare_exchange_strong(&fakes[i], &none, fake))
            return &fake->handle;
    }
    free(fake);
    errno = ENFILE;
    return SEM_FAILED;
}

int sem_close(sem_t *semaphore)
{
    struct fake *fake = find_fake(semaphore);
    if (!fake)
        return REAL(sem_close)(semaphore);
    for (int i = 0; i < FAKES; i++)
        if (atomic_load(&fakes[i]) == fake)
            atomic_store(&fakes[i], NULL);
    free(fake);
    return 0;
}

static int fake_wait(struct fake *fake)
{
    struct waiting own = {.priority = own_priority()};
    pthread_mutex_lock(&fake->lock);
    bool passes = fake->value > 0 || breaks("sem_zero");
    if (fake->value > 0)
        fake->value--;
    if (!passes) {
        struct waiting **last = &fake->first;
        while (*last)
            last = &(*last)->next;
        sem_init(&own.wake, 0, 0);
        *last = &own;
    }
    pthread_mutex_unlock(&fake->lock);
    while (!passes && REAL(sem_wait)(&own.wake) != 0)
        ;
    return 0;
}

/* Whether `other`, which came later, is to be woken before `one`. */
static bool comes_first(const struct waiting *other, const struct waiting *one)
{
    if (breaks("sem_fifo"))
        return false;
    if (breaks("sem_lowest"))
        return other->priority < one->priority;
    return other->priority > one->priority ||
           (other->priority == one->priority && breaks("sem_lifo"));
}

static struct waiting *take_waiter(struct fake *fake)
{
    struct waiting **chosen = &fake->first;
    if (!*chosen)
        return NULL;
    for (struct waiting **at = &fake->first->next; *at; at = &(*at)->next)
        if (comes_first(*at, *chosen))
            chosen = at;
    struct waiting *waiter = *chosen;
    *chosen = waiter->next;
    return waiter;
}

static void *wake_later(void *argument)
{
    struct timespec later = {.tv_nsec = LATER_NS};
    REAL(clock_nanosleep)(CLOCK_MONOTONIC, 0, &later, NULL);
    REAL(sem_post)(argument);
    return NULL;
}

static void wake(struct waiting *waiter)
{
    pthread_t helper;
    if (!breaks("sem_later") ||
        REAL(pthread_create)(&helper, NULL, wake_later, &waiter->wake) != 0) {
        REAL(sem_post)(&waiter->wake);
        return;
    }
    pthread_detach(helper);
}

static int fake_post(struct fake *fake)
{
    pthread_mutex_lock(&fake->lock);
    struct waiting *waiter = take_waiter(fake);
    if (!waiter && !breaks("sem_lost"))
        fake->value++;
    pthread_mutex_unlock(&fake->lock);
    if (waiter)
        wake(waiter);
    return 0;
}

bool broken_post(sem_t *semaphore)
{
    struct fake *fake = find_fake(semaphore);
    return fake && fake_post(fake) == 0;
}

bool broken_wait(sem_t *semaphore)
{
    struct fake *fake = find_fake(semaphore);
    return fake && fake_wait(fake) == 0;
}

/* ---- mutexes ---- */

static struct {
    pthread_mutex_t *_Atomic mutex;
    _Atomic pthread_t owner;
} owners[OWNERS];

int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attributes, int protocol)
{
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

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int error = REAL(pthread_mutex_lock)(mutex);
    if (!error && breaks("boost_stays"))
        note_owner(mutex);
    return error;
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    int error = REAL(pthread_mutex_timedlock)(mutex, until);
    struct sched_param boosted = {.sched_priority = own_priority()};
    for (int i = 0; error == ETIMEDOUT && breaks("boost_stays") && i < OWNERS; i++)
        if (atomic_load(&owners[i].mutex) == mutex)
            REAL(pthread_setschedparam)(atomic_load(&owners[i].owner), SCHED_FIFO, &boosted);
    return error;
}

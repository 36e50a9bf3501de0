#include "base/posix_source.h"

#include "family/mutex/lock_kind.h"

#include "base/libc.h"
#include "base/rt_thread.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const lock_kind_names[] = {
    "none",           "inherit", "protect", "semaphore", "robust",
    "robust-inherit", "spin",    "rwlock",  "condition", NULL};
const char *const lock_kind_protocol_names[] = {"none", "inherit", "protect", NULL};
const char *const lock_kind_delay_names[] = {"none", "inherit", "protect", "semaphore", NULL};

static int set_ceiling(pthread_mutexattr_t *attributes, int ceiling)
{
#if HS_HAS_PRIO_PROTECT
    int error = pthread_mutexattr_setprotocol(attributes, PTHREAD_PRIO_PROTECT);
    return error ? error : pthread_mutexattr_setprioceiling(attributes, ceiling);
#else
    (void)attributes, (void)ceiling;
    return ENOTSUP;
#endif
}

/* Without protocols in the system, every mutex has PTHREAD_PRIO_NONE. */
static int set_inheritance(pthread_mutexattr_t *attributes, bool is_inherited)
{
#if HS_HAS_PRIO_INHERIT
    return pthread_mutexattr_setprotocol(attributes,
                                         is_inherited ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
#else
    (void)attributes;
    return is_inherited ? ENOTSUP : 0;
#endif
}

static int set_protocol(pthread_mutexattr_t *attributes, enum lock_kind kind, int ceiling)
{
    if (kind == LOCK_KIND_PROTECT)
        return set_ceiling(attributes, ceiling);
    return set_inheritance(attributes,
                           kind == LOCK_KIND_INHERIT || kind == LOCK_KIND_ROBUST_INHERIT);
}

static int set_robust(pthread_mutexattr_t *attributes)
{
#if HS_HAS_ROBUST_MUTEXES
    return pthread_mutexattr_setrobust(attributes, PTHREAD_MUTEX_ROBUST);
#else
    (void)attributes;
    return ENOTSUP;
#endif
}

#if HS_HAS_SPIN_LOCKS
static int open_spin(lock_spin *spin)
{
    return pthread_spin_init(spin, PTHREAD_PROCESS_PRIVATE);
}

static void close_spin(lock_spin *spin)
{
    pthread_spin_destroy(spin);
}

static int take_spin(lock_spin *spin)
{
    return pthread_spin_lock(spin);
}

static void let_go_spin(lock_spin *spin)
{
    pthread_spin_unlock(spin);
}
#else
static int open_spin(lock_spin *spin)
{
    (void)spin;
    return ENOTSUP;
}

static void close_spin(lock_spin *spin)
{
    (void)spin;
}

static int take_spin(lock_spin *spin)
{
    (void)spin;
    return ENOTSUP;
}

static void let_go_spin(lock_spin *spin)
{
    (void)spin;
}
#endif

static int open_mutex(struct lock *lock, int ceiling)
{
    pthread_mutexattr_t attributes;
    enum lock_kind kind = lock->kind;
    int error = pthread_mutexattr_init(&attributes);
    if (error)
        return error;
    error = set_protocol(&attributes, kind, ceiling);
    if (!error && (kind == LOCK_KIND_ROBUST || kind == LOCK_KIND_ROBUST_INHERIT))
        error = set_robust(&attributes);
    if (!error)
        error = pthread_mutex_init(&lock->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static int open_condition(struct lock *lock)
{
    int error = pthread_mutex_init(&lock->mutex, NULL);
    if (error)
        return error;
    error = pthread_cond_init(&lock->condition, NULL);
    if (error)
        pthread_mutex_destroy(&lock->mutex);
    return error;
}

int lock_open(struct lock *lock, enum lock_kind kind, int ceiling)
{
    lock->kind = kind;
    lock->is_taken = false;
    switch (kind) {
    case LOCK_KIND_SEMAPHORE:
        if (!HS_HAS_UNNAMED_SEMAPHORES)
            return ENOTSUP;
        return sem_init(&lock->semaphore, 0, 1) == 0 ? 0 : errno;
    case LOCK_KIND_SPIN:
        return open_spin(&lock->spin);
    case LOCK_KIND_RWLOCK:
        return pthread_rwlock_init(&lock->rwlock, NULL);
    case LOCK_KIND_CONDITION:
        return open_condition(lock);
    default:
        return open_mutex(lock, ceiling);
    }
}

void lock_close(struct lock *lock)
{
    switch (lock->kind) {
    case LOCK_KIND_SEMAPHORE:
        sem_destroy(&lock->semaphore);
        break;
    case LOCK_KIND_SPIN:
        close_spin(&lock->spin);
        break;
    case LOCK_KIND_RWLOCK:
        pthread_rwlock_destroy(&lock->rwlock);
        break;
    case LOCK_KIND_CONDITION:
        pthread_cond_destroy(&lock->condition);
        pthread_mutex_destroy(&lock->mutex);
        break;
    default:
        pthread_mutex_destroy(&lock->mutex);
    }
}

static int take_semaphore(struct lock *lock)
{
    while (sem_wait(&lock->semaphore) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static int take_flag(struct lock *lock)
{
    int error = pthread_mutex_lock(&lock->mutex);
    while (!error && lock->is_taken)
        error = pthread_cond_wait(&lock->condition, &lock->mutex);
    lock->is_taken = true;
    return error ? error : pthread_mutex_unlock(&lock->mutex);
}

int lock_take(struct lock *lock, bool is_first)
{
    switch (lock->kind) {
    case LOCK_KIND_SEMAPHORE:
        return take_semaphore(lock);
    case LOCK_KIND_SPIN:
        return take_spin(&lock->spin);
    case LOCK_KIND_RWLOCK:
        return is_first ? pthread_rwlock_rdlock(&lock->rwlock)
                        : pthread_rwlock_wrlock(&lock->rwlock);
    case LOCK_KIND_CONDITION:
        return take_flag(lock);
    default:
        return pthread_mutex_lock(&lock->mutex);
    }
}

int lock_take_until(struct lock *lock, const struct timespec *until)
{
    return pthread_mutex_timedlock(&lock->mutex, until);
}

static void lower_flag(struct lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
    lock->is_taken = false;
    pthread_mutex_unlock(&lock->mutex);
    pthread_cond_signal(&lock->condition);
}

void lock_let_go(struct lock *lock)
{
    switch (lock->kind) {
    case LOCK_KIND_SEMAPHORE:
        sem_post(&lock->semaphore);
        break;
    case LOCK_KIND_SPIN:
        let_go_spin(&lock->spin);
        break;
    case LOCK_KIND_RWLOCK:
        pthread_rwlock_unlock(&lock->rwlock);
        break;
    case LOCK_KIND_CONDITION:
        lower_flag(lock);
        break;
    default:
        pthread_mutex_unlock(&lock->mutex);
    }
}

/* The other kinds are still tried; the result says that this one exists but was denied. */
static void deny_kind(struct run *run, const char *name, int error)
{
    char what[STATUS_TEXT_BYTES / 2];
    struct port_refusal refusal;
    struct rt_thread_setup ceiling = {SCHED_FIFO, sched_get_priority_min(SCHED_FIFO), -1};
    struct remedy remedy = {NULL, NULL};
    snprintf(what, sizeof what, "making or taking a lock of the kind %s", name);
    arena_event_once(run->arena, "protocol_denied",
                     DATA(data_text("protocol", name), data_text("error", strerror(error))),
                     "%s: %s", name, strerror(error));
    if (error == EPERM) { /* the ceiling is a real-time priority */
        rt_thread_refusal(error, &ceiling, &refusal);
        remedy = rt_thread_remedy(&refusal);
    }
    outcome_set_errno_remedy(&run->outcome, error, what, remedy);
}

/* Whether the build found what the kind needs in the C library. */
static bool library_has(enum lock_kind kind)
{
    switch (kind) {
    case LOCK_KIND_PROTECT:
        return HS_HAS_PRIO_PROTECT;
    case LOCK_KIND_INHERIT:
        return HS_HAS_PRIO_INHERIT;
    case LOCK_KIND_ROBUST:
        return HS_HAS_ROBUST_MUTEXES;
    case LOCK_KIND_ROBUST_INHERIT:
        return HS_HAS_ROBUST_MUTEXES ? HS_HAS_PRIO_INHERIT : false;
    case LOCK_KIND_SPIN:
        return HS_HAS_SPIN_LOCKS;
    default:
        return true;
    }
}

bool lock_kind_is_here(struct run *run, enum lock_kind kind)
{
    struct lock lock;
    int least = sched_get_priority_min(SCHED_FIFO);
    int error = lock_open(&lock, kind, run->is_realtime ? run->setup.priority : least);
    if (!error) {
        error = lock_take(&lock, true);
        if (!error)
            lock_let_go(&lock);
        lock_close(&lock);
    }
    if (error && !library_has(kind)) {
        run->lacks = LIBC_LACKS;
        arena_event_once(
            run->arena, "protocol_unsupported",
            DATA(data_text("protocol", lock_kind_names[kind]), data_text("error", strerror(error))),
            "%s: %s, so no verdict on it and no figure", lock_kind_names[kind], LIBC_LACKS);
    } else if (error && status_is_missing(error))
        arena_event_once(
            run->arena, "protocol_unsupported",
            DATA(data_text("protocol", lock_kind_names[kind]), data_text("error", strerror(error))),
            "%s: %s, so no verdict on it and no figure (%s)", lock_kind_names[kind],
            error == ENOTSUP ? "the system or its C library has no such lock"
                             : "such a lock cannot be made or taken",
            strerror(error));
    else if (error)
        deny_kind(run, lock_kind_names[kind], error);
    return error == 0;
}

bool lock_kind_is_promised(enum lock_kind kind)
{
    return kind == LOCK_KIND_INHERIT || kind == LOCK_KIND_PROTECT ||
           kind == LOCK_KIND_ROBUST_INHERIT;
}

int lock_kind_require_any(struct run *run, int tried_count)
{
    if (tried_count > 0)
        return 0;
    return outcome_set(
        &run->outcome, STATUS_UNSUPPORTED, "choose others", "%s",
        run->lacks ? run->lacks : "this system has none of the requested protocols or primitives");
}

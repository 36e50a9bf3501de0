#include "base/posix_source.h"

#include "family/mutex/lock_kind.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const primitive_names[] = {
    "none",           "inherit", "protect", "semaphore", "robust",
    "robust-inherit", "spin",    "rwlock",  "condition", NULL};
const char *const primitive_protocol_names[] = {"none", "inherit", "protect", NULL};
const char *const primitive_delay_names[] = {"none", "inherit", "protect", "semaphore", NULL};

/* An option of POSIX that a C library may lack to the last function, as musl does. */
static int set_ceiling(pthread_mutexattr_t *attributes, int ceiling)
{
#if defined(_POSIX_THREAD_PRIO_PROTECT) && _POSIX_THREAD_PRIO_PROTECT > 0
    int error = pthread_mutexattr_setprotocol(attributes, PTHREAD_PRIO_PROTECT);
    return error ? error : pthread_mutexattr_setprioceiling(attributes, ceiling);
#else
    (void)attributes, (void)ceiling;
    return ENOTSUP;
#endif
}

static int set_protocol(pthread_mutexattr_t *attributes, enum primitive_kind kind, int ceiling)
{
    if (kind == PRIMITIVE_PROTECT)
        return set_ceiling(attributes, ceiling);
    if (kind == PRIMITIVE_INHERIT || kind == PRIMITIVE_ROBUST_INHERIT)
        return pthread_mutexattr_setprotocol(attributes, PTHREAD_PRIO_INHERIT);
    if (kind == PRIMITIVE_NONE || kind == PRIMITIVE_ROBUST)
        return pthread_mutexattr_setprotocol(attributes, PTHREAD_PRIO_NONE);
    return 0;
}

static int open_mutex(struct primitive *primitive, int ceiling)
{
    pthread_mutexattr_t attributes;
    enum primitive_kind kind = primitive->kind;
    int error = pthread_mutexattr_init(&attributes);
    if (error)
        return error;
    error = set_protocol(&attributes, kind, ceiling);
    if (!error && (kind == PRIMITIVE_ROBUST || kind == PRIMITIVE_ROBUST_INHERIT))
        error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (!error)
        error = pthread_mutex_init(&primitive->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static int open_condition(struct primitive *primitive)
{
    int error = pthread_mutex_init(&primitive->mutex, NULL);
    if (error)
        return error;
    error = pthread_cond_init(&primitive->condition, NULL);
    if (error)
        pthread_mutex_destroy(&primitive->mutex);
    return error;
}

int primitive_open(struct primitive *primitive, enum primitive_kind kind, int ceiling)
{
    primitive->kind = kind;
    primitive->is_taken = false;
    switch (kind) {
    case PRIMITIVE_SEMAPHORE:
        return sem_init(&primitive->semaphore, 0, 1) == 0 ? 0 : errno;
    case PRIMITIVE_SPIN:
        return pthread_spin_init(&primitive->spin, PTHREAD_PROCESS_PRIVATE);
    case PRIMITIVE_RWLOCK:
        return pthread_rwlock_init(&primitive->rwlock, NULL);
    case PRIMITIVE_CONDITION:
        return open_condition(primitive);
    default:
        return open_mutex(primitive, ceiling);
    }
}

void primitive_close(struct primitive *primitive)
{
    switch (primitive->kind) {
    case PRIMITIVE_SEMAPHORE:
        sem_destroy(&primitive->semaphore);
        break;
    case PRIMITIVE_SPIN:
        pthread_spin_destroy(&primitive->spin);
        break;
    case PRIMITIVE_RWLOCK:
        pthread_rwlock_destroy(&primitive->rwlock);
        break;
    case PRIMITIVE_CONDITION:
        pthread_cond_destroy(&primitive->condition);
        pthread_mutex_destroy(&primitive->mutex);
        break;
    default:
        pthread_mutex_destroy(&primitive->mutex);
    }
}

static int take_semaphore(struct primitive *primitive)
{
    while (sem_wait(&primitive->semaphore) != 0)
        if (errno != EINTR)
            return errno;
    return 0;
}

static int take_flag(struct primitive *primitive)
{
    int error = pthread_mutex_lock(&primitive->mutex);
    while (!error && primitive->is_taken)
        error = pthread_cond_wait(&primitive->condition, &primitive->mutex);
    primitive->is_taken = true;
    return error ? error : pthread_mutex_unlock(&primitive->mutex);
}

int primitive_take(struct primitive *primitive, bool is_first)
{
    switch (primitive->kind) {
    case PRIMITIVE_SEMAPHORE:
        return take_semaphore(primitive);
    case PRIMITIVE_SPIN:
        return pthread_spin_lock(&primitive->spin);
    case PRIMITIVE_RWLOCK:
        return is_first ? pthread_rwlock_rdlock(&primitive->rwlock)
                        : pthread_rwlock_wrlock(&primitive->rwlock);
    case PRIMITIVE_CONDITION:
        return take_flag(primitive);
    default:
        return pthread_mutex_lock(&primitive->mutex);
    }
}

int primitive_take_until(struct primitive *primitive, const struct timespec *until)
{
    return pthread_mutex_timedlock(&primitive->mutex, until);
}

static void lower_flag(struct primitive *primitive)
{
    pthread_mutex_lock(&primitive->mutex);
    primitive->is_taken = false;
    pthread_mutex_unlock(&primitive->mutex);
    pthread_cond_signal(&primitive->condition);
}

void primitive_let_go(struct primitive *primitive)
{
    switch (primitive->kind) {
    case PRIMITIVE_SEMAPHORE:
        sem_post(&primitive->semaphore);
        break;
    case PRIMITIVE_SPIN:
        pthread_spin_unlock(&primitive->spin);
        break;
    case PRIMITIVE_RWLOCK:
        pthread_rwlock_unlock(&primitive->rwlock);
        break;
    case PRIMITIVE_CONDITION:
        lower_flag(primitive);
        break;
    default:
        pthread_mutex_unlock(&primitive->mutex);
    }
}

/* The others are tried all the same; the result says that this one was to be had. */
static void deny_kind(struct run *run, const char *name, int error)
{
    char what[STATUS_TEXT_BYTES / 2], remedy[STATUS_TEXT_BYTES] = "";
    snprintf(what, sizeof what, "making or taking a lock of the kind %s", name);
    arena_event(run->arena, "protocol_denied", -1, "%s: %s", name, strerror(error));
    if (error == EPERM) /* the ceiling is a real-time priority */
        port_realtime_remedy(remedy, sizeof remedy);
    outcome_set_errno(&run->outcome, error, what, remedy[0] ? remedy : NULL);
}

bool primitive_is_here(struct run *run, enum primitive_kind kind)
{
    struct primitive primitive;
    int least = sched_get_priority_min(SCHED_FIFO);
    int error = primitive_open(&primitive, kind, run->is_realtime ? run->setup.priority : least);
    if (!error) {
        error = primitive_take(&primitive, true);
        if (!error)
            primitive_let_go(&primitive);
        primitive_close(&primitive);
    }
    if (error && status_is_missing(error))
        arena_event(run->arena, "protocol_unsupported", -1,
                    "%s: %s, so no verdict on it and no figure (%s)", primitive_names[kind],
                    error == ENOTSUP ? "the system or its C library has no such lock"
                                     : "such a lock cannot be made or taken",
                    strerror(error));
    else if (error)
        deny_kind(run, primitive_names[kind], error);
    return error == 0;
}

bool primitive_is_promised(enum primitive_kind kind)
{
    return kind == PRIMITIVE_INHERIT || kind == PRIMITIVE_PROTECT ||
           kind == PRIMITIVE_ROBUST_INHERIT;
}

int primitive_require_any(struct run *run, int tried_count)
{
    if (tried_count > 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose others",
                       "none of the protocols or primitives asked for is on this system");
}

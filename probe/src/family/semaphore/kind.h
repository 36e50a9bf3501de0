/* The kinds of semaphore behind one interface. */
#ifndef HS_FAMILY_SEMAPHORE_KIND_H
#define HS_FAMILY_SEMAPHORE_KIND_H

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"
#include "port/port.h"
#include "run/variant.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

enum semaphore_kind {
    SEMAPHORE_UNNAMED,
    SEMAPHORE_NAMED,
    SEMAPHORE_SYSV,
    SEMAPHORE_EVENTFD,   /* file descriptor, EFD_SEMAPHORE */
    SEMAPHORE_FUTEX,     /* atomic value in user space, and the kernel's futex wait */
    SEMAPHORE_MUTEX,     /* pthread mutex, held while closed: V unlocks, P locks; one thread only */
    SEMAPHORE_CONDITION, /* counter, with a pthread mutex and a condition variable */
    SEMAPHORE_KINDS
};

/* Names for parameters, NULL-terminated: with the mutex, which only its owner may unlock; without
 * it; also without the futex, which is not created. */
extern const char *const semaphore_and_mutex_names[];
extern const char *const semaphore_kind_names[];
extern const char *const semaphore_object_names[];

#define SEMAPHORE_KINDS_DEFAULT "unnamed,named,sysv,eventfd,futex"

/* Parameters of a test: kinds of semaphore_and_mutex_names. */
#define SEMAPHORE_AND_MUTEX_PARAM(about)                                                           \
    {                                                                                              \
        "kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT ",mutex", 0, 0,                         \
            semaphore_and_mutex_names, about, "kind"                                               \
    }

/* Parameters of a test: kinds of semaphore_kind_names, and scopes. */
#define SEMAPHORE_KIND_PARAM                                                                       \
    {                                                                                              \
        "kinds", PARAM_NAME, true, SEMAPHORE_KINDS_DEFAULT, 0, 0, semaphore_kind_names,            \
            "kinds of semaphore", "kind"                                                           \
    }
#define SEMAPHORE_SCOPE_PARAM(about)                                                               \
    {                                                                                              \
        "scopes", PARAM_NAME, true, "thread,process", 0, 0, peer_scope_names, about, "scope"       \
    }

/* In memory that both parties share. */
struct semaphore {
    enum semaphore_kind kind;
    bool is_shared;
    system_sem_t *posix; /* unnamed and named */
    sem_t unnamed;
    int handle; /* System V set, or file descriptor */
    atomic_int value, waiter_count;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int given_count;   /* number of Vs not yet taken by a waiter; protected by `mutex` */
    bool is_abandoned; /* a party died in it */
    const struct ipc_cleanup_place *place;
    atomic_int error; /* errno of the first V or P that failed; 0: none */
};

/* The kind of run->variant, in a test with the parameter `kinds`. */
enum semaphore_kind semaphore_kind_of(const struct run *run);

/* The kind by which two parties wake each other: a mutex does so with a condition variable. */
enum semaphore_kind semaphore_between_two(enum semaphore_kind kind);

/* For messages. */
const char *semaphore_kind_name(enum semaphore_kind kind);

/* Whether the kind has a process-private and a process-shared form. The other kinds have one form,
 * which processes can share. */
bool semaphore_has_forms(enum semaphore_kind kind);

/* Makes a semaphore of value 0, and undoes it: only the calls that this needs, so that SEM-P-NEW
 * can time them. is_shared: between processes. `place`: name and key, for kinds that have one. 0 or
 * an errno value (ENOSYS, ENOTSUP: not on this system). */
int semaphore_make(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                   const struct ipc_cleanup_place *place);
void semaphore_unmake(struct semaphore *semaphore);

/* The same, but the name of a named semaphore is unlinked at once: only processes that have it open
 * can use it. */
int semaphore_open(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                   const struct ipc_cleanup_place *place);
void semaphore_close(struct semaphore *semaphore);

/* Call it before semaphore_close if a process that used the semaphore died. semaphore_close then
 * does not destroy a condition variable: pthread_cond_destroy may wait for ever for the dead
 * waiter. */
void semaphore_abandon(struct semaphore *semaphore);

/* Opens `ipc_cleanup`; with a guard process if one of the test's `kinds` has a name or key, or if
 * has_process is true on a system with processes. 0, or -1 with the outcome. */
int semaphore_guard(struct run *run, struct ipc_cleanup *ipc_cleanup, bool has_process);

/* Whether a semaphore of this kind can be made here. If not, an event says why. A kind that the
 * system lacks leaves the outcome as it is; a limit or a missing right sets it (denied). */
bool semaphore_is_here(struct run *run, enum semaphore_kind kind, bool is_shared,
                       const struct ipc_cleanup_place *place);

/* Reports, as an event, a kind that this system lacks. 0. */
int semaphore_report_missing(struct run *run, enum semaphore_kind kind, bool is_shared, int error);

/* Reports a kind that a limit or a missing right denies, and sets the outcome. */
void semaphore_deny(struct run *run, enum semaphore_kind kind, bool is_shared, int error);

/* For a test's `judge`: 0, or -1 with STATUS_UNSUPPORTED if there is no value and no verdict. */
int semaphore_require_any(struct run *run);

/* 0, or -1 with the outcome if a V or P failed, for instance because the set was removed. */
int semaphore_check(struct run *run, const struct semaphore *semaphore);

/* V and P outside of timed sections: of any kind. */
void semaphore_signal(struct semaphore *semaphore);
void semaphore_wait(struct semaphore *semaphore);

/* ---- V and P between two stamps ----
 *
 * semaphore_signal_of and semaphore_wait_of are the only calls there. `kind` is a constant for each
 * caller, so that nothing but the calls of this kind is left. EINTR is retried; any other error is
 * kept and ends the call. What follows a failed call is out of line. */

/* Keeps the first error; that V or P did not happen. */
__attribute__((cold)) void semaphore_keep_error(struct semaphore *semaphore, int error);

/* After a failed call: true for EINTR (retry). Other errors are kept. */
__attribute__((cold)) bool semaphore_try_again(struct semaphore *semaphore);

#define SEMAPHORE_INLINE static inline __attribute__((always_inline))

/* For calls that return their error: whether there was none. */
SEMAPHORE_INLINE bool semaphore_is_good(struct semaphore *semaphore, int error)
{
    if (error != 0)
        semaphore_keep_error(semaphore, error);
    return error == 0;
}

/* Futex semaphore. It enters the kernel only to wait and to wake waiters. */
SEMAPHORE_INLINE void semaphore_word_signal(struct semaphore *semaphore)
{
    atomic_fetch_add(&semaphore->value, 1);
    if (atomic_load(&semaphore->waiter_count) > 0)
        port_futex_wake(&semaphore->value, semaphore->is_shared);
}

SEMAPHORE_INLINE void semaphore_word_wait(struct semaphore *semaphore)
{
    int value = atomic_load(&semaphore->value);
    for (;;) {
        while (value > 0)
            if (atomic_compare_exchange_weak(&semaphore->value, &value, value - 1))
                return;
        atomic_fetch_add(&semaphore->waiter_count, 1);
        port_futex_wait(&semaphore->value, 0, semaphore->is_shared);
        atomic_fetch_sub(&semaphore->waiter_count, 1);
        value = atomic_load(&semaphore->value);
    }
}

SEMAPHORE_INLINE void semaphore_set_operation(struct semaphore *semaphore, short step)
{
    while (ipc_set_step(semaphore->handle, step) != 0 && semaphore_try_again(semaphore))
        ;
}

SEMAPHORE_INLINE void semaphore_descriptor_signal(struct semaphore *semaphore)
{
    uint64_t one = 1;
    while (write(semaphore->handle, &one, sizeof one) < 0 && semaphore_try_again(semaphore))
        ;
}

SEMAPHORE_INLINE void semaphore_descriptor_wait(struct semaphore *semaphore)
{
    uint64_t taken;
    while (read(semaphore->handle, &taken, sizeof taken) < 0 && semaphore_try_again(semaphore))
        ;
}

/* Signals with the mutex locked. On one CPU, at equal priorities, a waiter runs after the unlock
 * and finds the mutex free. */
SEMAPHORE_INLINE void semaphore_condition_signal(struct semaphore *semaphore)
{
    if (!semaphore_is_good(semaphore, pthread_mutex_lock(&semaphore->mutex)))
        return;
    semaphore->given_count++;
    semaphore_is_good(semaphore, pthread_cond_signal(&semaphore->condition));
    semaphore_is_good(semaphore, pthread_mutex_unlock(&semaphore->mutex));
}

SEMAPHORE_INLINE void semaphore_condition_wait(struct semaphore *semaphore)
{
    if (!semaphore_is_good(semaphore, pthread_mutex_lock(&semaphore->mutex)))
        return;
    int error = 0;
    while (semaphore->given_count == 0 && error == 0)
        error = pthread_cond_wait(&semaphore->condition, &semaphore->mutex);
    if (semaphore_is_good(semaphore, error))
        semaphore->given_count--;
    semaphore_is_good(semaphore, pthread_mutex_unlock(&semaphore->mutex));
}

SEMAPHORE_INLINE void semaphore_signal_of(struct semaphore *semaphore, enum semaphore_kind kind)
{
    switch (kind) {
    case SEMAPHORE_SYSV:
        semaphore_set_operation(semaphore, 1);
        break;
    case SEMAPHORE_EVENTFD:
        semaphore_descriptor_signal(semaphore);
        break;
    case SEMAPHORE_FUTEX:
        semaphore_word_signal(semaphore);
        break;
    case SEMAPHORE_MUTEX:
        semaphore_is_good(semaphore, pthread_mutex_unlock(&semaphore->mutex));
        break;
    case SEMAPHORE_CONDITION:
        semaphore_condition_signal(semaphore);
        break;
    default:
        if (ipc_posix_post(semaphore->posix) != 0)
            semaphore_try_again(semaphore);
    }
}

SEMAPHORE_INLINE void semaphore_wait_of(struct semaphore *semaphore, enum semaphore_kind kind)
{
    switch (kind) {
    case SEMAPHORE_SYSV:
        semaphore_set_operation(semaphore, -1);
        break;
    case SEMAPHORE_EVENTFD:
        semaphore_descriptor_wait(semaphore);
        break;
    case SEMAPHORE_FUTEX:
        semaphore_word_wait(semaphore);
        break;
    case SEMAPHORE_MUTEX:
        semaphore_is_good(semaphore, pthread_mutex_lock(&semaphore->mutex));
        break;
    case SEMAPHORE_CONDITION:
        semaphore_condition_wait(semaphore);
        break;
    default:
        while (ipc_posix_wait(semaphore->posix) != 0 && semaphore_try_again(semaphore))
            ;
    }
}

/* Records one value for `series`. 0. */
int signal_wait_keep(struct run *run, int series, uint64_t begin, uint64_t end);

/* One value for `series`: begin = before V, end = after P, which does not block. 0. */
SEMAPHORE_INLINE int signal_wait_take(struct run *run, struct semaphore *semaphore,
                                      enum semaphore_kind kind, int series)
{
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal_of(semaphore, kind);
    semaphore_wait_of(semaphore, kind);
    uint64_t end = clock_end(&run->clock);
    return signal_wait_keep(run, series, begin, end);
}

/* For a function of each kind, which calls an always-inline one with the kind as a constant, and
 * for a table of them by kind, from which a test takes one before its loop: DEFINE(word, kind) is
 * called for each kind of semaphore_kind_names, FUNCTION_word are the entries of the table. A named
 * semaphore has the calls of an unnamed one. */
#define SEMAPHORE_EACH(DEFINE)                                                                     \
    DEFINE(posix, SEMAPHORE_UNNAMED)                                                               \
    DEFINE(sysv, SEMAPHORE_SYSV)                                                                   \
    DEFINE(eventfd, SEMAPHORE_EVENTFD)                                                             \
    DEFINE(futex, SEMAPHORE_FUTEX)
#define SEMAPHORE_TABLE(FUNCTION)                                                                  \
    [SEMAPHORE_UNNAMED] = FUNCTION##_posix, [SEMAPHORE_NAMED] = FUNCTION##_posix,                  \
    [SEMAPHORE_SYSV] = FUNCTION##_sysv, [SEMAPHORE_EVENTFD] = FUNCTION##_eventfd,                  \
    [SEMAPHORE_FUTEX] = FUNCTION##_futex

#endif

/* The kinds of semaphore, behind one interface. */
#ifndef HS_SEMAPHORE_KIND_H
#define HS_SEMAPHORE_KIND_H

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"
#include "port/port.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/sem.h>
#include <unistd.h>

enum semaphore_kind {
    SEMAPHORE_UNNAMED,
    SEMAPHORE_NAMED,
    SEMAPHORE_SYSV,
    SEMAPHORE_EVENTFD, /* a descriptor of the kernel with the meaning of a semaphore */
    SEMAPHORE_FUTEX,   /* an integer of this process, and the kernel's wait on a word */
    SEMAPHORE_MUTEX,   /* pthread mutex, held while closed: V unlocks, P locks */
    SEMAPHORE_KINDS
};

/* Names for parameters: all; without the mutex, which another thread may not release; and
 * without the futex too, which is no object that is made. NULL-terminated. */
extern const char *const semaphore_and_mutex_names[];
extern const char *const semaphore_kind_names[];
extern const char *const semaphore_object_names[];

#define SEMAPHORE_KINDS_DEFAULT "unnamed,named,sysv,eventfd,futex"

/* Lies in memory that both parties share. */
struct semaphore {
    enum semaphore_kind kind;
    bool is_shared;
    sem_t *posix; /* unnamed and named */
    sem_t unnamed;
    int handle; /* set of System V, or a descriptor */
    atomic_int value, waiter_count;
    pthread_mutex_t mutex;
    const struct leftover_place *place;
    atomic_int error; /* errno of the first V or P that failed; 0: none did */
};

/* Whether what only one process uses is made in another way than what processes share; the
 * other kinds have one form, which processes share. */
bool semaphore_has_forms(enum semaphore_kind kind);

/* What makes a semaphore that can be used, value 0, and what undoes it: nothing else, so
 * that SEM-P-NEW may time them. is_shared: among processes. `place`: where a kind has a
 * name or key. 0 or an errno value (ENOSYS, ENOTSUP: not on this system). */
int semaphore_create(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                     const struct leftover_place *place);
void semaphore_delete(struct semaphore *semaphore);

/* The same, and the name of a named one is gone at once: only who has it can use it. */
int semaphore_open(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                   const struct leftover_place *place);
void semaphore_close(struct semaphore *semaphore);

/* Opens `leftover` with a guard where one of the test's `kinds` has a name or key, or
 * has_process. 0, or -1 with the outcome. */
int semaphore_guard(struct run *run, struct leftover *leftover, bool has_process);

/* Whether this system has the kind and lets the test make one. A kind that it has not is told
 * as an event, which is an answer; one that a limit or a missing right keeps from the test is
 * told too, and sets the outcome (denied). */
bool semaphore_is_here(struct run *run, enum semaphore_kind kind, bool is_shared,
                       const struct leftover_place *place);

/* A kind that something keeps from the test: tells it and sets the outcome. */
void semaphore_deny(struct run *run, enum semaphore_kind kind, bool is_shared, int error);

/* For a test's `judge`: unsupported when nothing was measured and nothing judged. */
int semaphore_require_any(struct run *run);

/* Sets the outcome where a V or a P failed, as when somebody removes a set: -1 then. */
int semaphore_check(struct run *run, const struct semaphore *semaphore);

/* After a call that failed: whether to make it again. Any other error than EINTR is kept, and
 * the call is over: what it was to bring about did not happen. */
static inline bool semaphore_try_again(struct semaphore *semaphore)
{
    int none = 0, error = errno;
    if (error != EINTR)
        atomic_compare_exchange_strong(&semaphore->error, &none, error);
    return error == EINTR;
}

/* A semaphore made of an integer and the kernel's wait on a word. */
static inline void semaphore_word_signal(struct semaphore *semaphore)
{
    atomic_fetch_add(&semaphore->value, 1);
    if (atomic_load(&semaphore->waiter_count) > 0)
        port_word_wake(&semaphore->value, semaphore->is_shared);
}

static inline void semaphore_word_wait(struct semaphore *semaphore)
{
    int value = atomic_load(&semaphore->value);
    for (;;) {
        while (value > 0)
            if (atomic_compare_exchange_weak(&semaphore->value, &value, value - 1))
                return;
        atomic_fetch_add(&semaphore->waiter_count, 1);
        port_word_wait(&semaphore->value, 0, semaphore->is_shared);
        atomic_fetch_sub(&semaphore->waiter_count, 1);
        value = atomic_load(&semaphore->value);
    }
}

static inline void semaphore_set_operation(struct semaphore *semaphore, short step)
{
    struct sembuf operation = {.sem_num = 0, .sem_op = step, .sem_flg = 0};
    while (semop(semaphore->handle, &operation, 1) != 0 && semaphore_try_again(semaphore))
        ;
}

static inline void semaphore_descriptor_signal(struct semaphore *semaphore)
{
    uint64_t one = 1;
    while (write(semaphore->handle, &one, sizeof one) < 0 && semaphore_try_again(semaphore))
        ;
}

static inline void semaphore_descriptor_wait(struct semaphore *semaphore)
{
    uint64_t taken;
    while (read(semaphore->handle, &taken, sizeof taken) < 0 && semaphore_try_again(semaphore))
        ;
}

/* One call: nothing else stands between two time stamps. EINTR is retried; another error ends
 * the call and is kept. */
static inline void semaphore_signal(struct semaphore *semaphore)
{
    switch (semaphore->kind) {
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
        pthread_mutex_unlock(&semaphore->mutex);
        break;
    default:
        if (sem_post(semaphore->posix) != 0)
            semaphore_try_again(semaphore);
    }
}

static inline void semaphore_wait(struct semaphore *semaphore)
{
    switch (semaphore->kind) {
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
        pthread_mutex_lock(&semaphore->mutex);
        break;
    default:
        while (sem_wait(semaphore->posix) != 0 && semaphore_try_again(semaphore))
            ;
    }
}

#endif

#include "base/posix_source.h"

#include "family/semaphore/kind.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 };

const char *const semaphore_and_mutex_names[] = {"unnamed", "named", "sysv", "eventfd",
                                                 "futex",   "mutex", NULL};
const char *const semaphore_kind_names[] = {"unnamed", "named", "sysv", "eventfd", "futex", NULL};
const char *const semaphore_object_names[] = {"unnamed", "named", "sysv", "eventfd", NULL};

bool semaphore_has_forms(enum semaphore_kind kind)
{
    return kind == SEMAPHORE_UNNAMED || kind == SEMAPHORE_FUTEX || kind == SEMAPHORE_MUTEX;
}

static int create_unnamed(struct semaphore *semaphore)
{
    semaphore->posix = &semaphore->unnamed;
    return sem_init(&semaphore->unnamed, semaphore->is_shared, 0) == 0 ? 0 : errno;
}

static int create_named(struct semaphore *semaphore)
{
    semaphore->posix = sem_open(semaphore->place->name, O_CREAT | O_EXCL, LEFTOVER_MODE, 0);
    return semaphore->posix != SEM_FAILED ? 0 : errno;
}

/* POSIX leaves the value of a new set open, so setting it is part of making one. */
static int create_set(struct semaphore *semaphore)
{
    union {
        int value;
        struct semid_ds *facts;
        unsigned short *values;
    } zero = {.value = 0};
    if (semaphore->place->key == 0)
        return ENOSYS;
    semaphore->handle = semget(semaphore->place->key, 1, IPC_CREAT | IPC_EXCL | 0600);
    if (semaphore->handle < 0)
        return errno;
    return semctl(semaphore->handle, 0, SETVAL, zero) == 0 ? 0 : errno;
}

static int create_descriptor(struct semaphore *semaphore)
{
    semaphore->handle = port_semaphore_descriptor();
    return semaphore->handle >= 0 ? 0 : errno;
}

static int create_word(struct semaphore *semaphore)
{
    atomic_store(&semaphore->value, 0);
    atomic_store(&semaphore->waiter_count, 0);
    return port_word_wake(&semaphore->value, semaphore->is_shared);
}

static int create_mutex(struct semaphore *semaphore)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error)
        return error;
    if (semaphore->is_shared)
        error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!error)
        error = pthread_mutex_init(&semaphore->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error ? error : pthread_mutex_lock(&semaphore->mutex);
}

int semaphore_create(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                     const struct leftover_place *place)
{
    semaphore->kind = kind;
    semaphore->is_shared = is_shared;
    semaphore->place = place;
    atomic_store(&semaphore->error, 0);
    switch (kind) {
    case SEMAPHORE_UNNAMED:
        return create_unnamed(semaphore);
    case SEMAPHORE_NAMED:
        return create_named(semaphore);
    case SEMAPHORE_SYSV:
        return create_set(semaphore);
    case SEMAPHORE_EVENTFD:
        return create_descriptor(semaphore);
    case SEMAPHORE_FUTEX:
        return create_word(semaphore);
    default:
        return create_mutex(semaphore);
    }
}

static void delete_rest(struct semaphore *semaphore)
{
    switch (semaphore->kind) {
    case SEMAPHORE_UNNAMED:
        sem_destroy(&semaphore->unnamed);
        break;
    case SEMAPHORE_NAMED:
        sem_close(semaphore->posix);
        break;
    case SEMAPHORE_SYSV:
        semctl(semaphore->handle, 0, IPC_RMID);
        break;
    case SEMAPHORE_EVENTFD:
        close(semaphore->handle);
        break;
    case SEMAPHORE_MUTEX:
        pthread_mutex_unlock(&semaphore->mutex);
        pthread_mutex_destroy(&semaphore->mutex);
        break;
    default:
        break;
    }
}

void semaphore_delete(struct semaphore *semaphore)
{
    delete_rest(semaphore);
    if (semaphore->kind == SEMAPHORE_NAMED)
        sem_unlink(semaphore->place->name);
}

int semaphore_open(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                   const struct leftover_place *place)
{
    int error = semaphore_create(semaphore, kind, is_shared, place);
    if (!error && kind == SEMAPHORE_NAMED)
        sem_unlink(place->name);
    return error;
}

void semaphore_close(struct semaphore *semaphore)
{
    delete_rest(semaphore);
}

int semaphore_check(struct run *run, const struct semaphore *semaphore)
{
    int error = atomic_load(&semaphore->error);
    if (error == 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "look who removes semaphores (ipcrm), and run it again",
                       "%s: a V or a P failed while it was measured: %s",
                       semaphore_and_mutex_names[semaphore->kind], strerror(error));
}

int semaphore_guard(struct run *run, struct leftover *leftover, bool has_process)
{
    const struct param_value *kinds = run_param(run, "kinds");
    bool is_needed = has_process;
    for (int i = 0; i < kinds->count; i++)
        is_needed =
            is_needed || kinds->number[i] == SEMAPHORE_NAMED || kinds->number[i] == SEMAPHORE_SYSV;
    return leftover_open(leftover, run, is_needed);
}

static void write_name(char name[NAME_BYTES], enum semaphore_kind kind, bool is_shared)
{
    snprintf(name, NAME_BYTES, "%s%s", semaphore_and_mutex_names[kind],
             is_shared && semaphore_has_forms(kind) ? " that processes share" : "");
}

/* The other kinds are measured all the same; the result says that this one was to be had. */
void semaphore_deny(struct run *run, enum semaphore_kind kind, bool is_shared, int error)
{
    char name[NAME_BYTES], what[STATUS_TEXT_BYTES / 2];
    write_name(name, kind, is_shared);
    snprintf(what, sizeof what, "making a semaphore of the kind %s", name);
    arena_event(run->arena, "kind_denied", -1, "%s: %s", name, strerror(error));
    outcome_set_errno(&run->outcome, error, what,
                      error == EACCES || error == EPERM
                          ? "grant what it needs (write access to /dev/shm on Linux), or choose "
                            "other kinds (-p kinds=...)"
                          : NULL);
}

bool semaphore_is_here(struct run *run, enum semaphore_kind kind, bool is_shared,
                       const struct leftover_place *place)
{
    struct semaphore semaphore;
    char name[NAME_BYTES];
    int error = semaphore_open(&semaphore, kind, is_shared, place);
    if (!error)
        semaphore_close(&semaphore);
    else if (!status_is_missing(error))
        semaphore_deny(run, kind, is_shared, error);
    else {
        write_name(name, kind, is_shared);
        arena_event(run->arena, "kind_unsupported", -1, "%s: %s", name, strerror(error));
    }
    return error == 0;
}

int semaphore_require_any(struct run *run)
{
    if (run->arena->verdict_count > 0)
        return 0;
    for (uint32_t i = 0; i < run->arena->series_count; i++)
        if (arena_record_view(run->arena, i)->count > 0)
            return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose other kinds (-p kinds=...)",
                       "none of the kinds asked for is on this system");
}

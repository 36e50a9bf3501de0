#include "base/posix_source.h"

#include "family/semaphore/kind.h"

#include "port/port.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 };

const char *const semaphore_and_mutex_names[] = {"unnamed", "named", "sysv", "eventfd",
                                                 "futex",   "mutex", NULL};
const char *const semaphore_kind_names[] = {"unnamed", "named", "sysv", "eventfd", "futex", NULL};
const char *const semaphore_object_names[] = {"unnamed", "named", "sysv", "eventfd", NULL};

enum semaphore_kind semaphore_kind_of(const struct run *run)
{
    return (enum semaphore_kind)variant_number(run, "kinds");
}

void semaphore_keep_error(struct semaphore *semaphore, int error)
{
    int none = 0;
    atomic_compare_exchange_strong(&semaphore->error, &none, error);
}

bool semaphore_try_again(struct semaphore *semaphore)
{
    int error = errno;
    if (error != EINTR)
        semaphore_keep_error(semaphore, error);
    return error == EINTR;
}

void semaphore_signal(struct semaphore *semaphore)
{
    semaphore_signal_of(semaphore, semaphore->kind);
}

void semaphore_wait(struct semaphore *semaphore)
{
    semaphore_wait_of(semaphore, semaphore->kind);
}

int signal_wait_keep(struct run *run, int series, uint64_t begin, uint64_t end)
{
    run_take(run, series, begin, end);
    return 0;
}

enum semaphore_kind semaphore_between_two(enum semaphore_kind kind)
{
    return kind == SEMAPHORE_MUTEX ? SEMAPHORE_CONDITION : kind;
}

const char *semaphore_kind_name(enum semaphore_kind kind)
{
    return kind == SEMAPHORE_CONDITION ? "mutex with condition variable"
                                       : semaphore_and_mutex_names[kind];
}

bool semaphore_has_forms(enum semaphore_kind kind)
{
    return kind == SEMAPHORE_UNNAMED || kind == SEMAPHORE_FUTEX || kind == SEMAPHORE_MUTEX ||
           kind == SEMAPHORE_CONDITION;
}

static int create_unnamed(struct semaphore *semaphore)
{
#if HS_HAS_UNNAMED_SEMAPHORES
    semaphore->posix = &semaphore->unnamed;
    return sem_init(&semaphore->unnamed, semaphore->is_shared, 0) == 0 ? 0 : errno;
#else
    (void)semaphore;
    return ENOSYS;
#endif
}

static int create_named(struct semaphore *semaphore)
{
    semaphore->posix = ipc_named_create(semaphore->place->name, IPC_CLEANUP_MODE);
    return semaphore->posix ? 0 : errno;
}

static int create_set(struct semaphore *semaphore)
{
    if (semaphore->place->key == 0)
        return ENOSYS;
    semaphore->handle = ipc_set_create(semaphore->place->key);
    return semaphore->handle >= 0 ? 0 : errno;
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
    return port_futex_wake(&semaphore->value, semaphore->is_shared);
}

static int share_attributes(pthread_mutexattr_t *attributes)
{
#if HS_HAS_PROCESS_SHARED
    return pthread_mutexattr_setpshared(attributes, PTHREAD_PROCESS_SHARED);
#else
    (void)attributes;
    return ENOTSUP;
#endif
}

static int share_condition_attributes(pthread_condattr_t *attributes)
{
#if HS_HAS_PROCESS_SHARED
    return pthread_condattr_setpshared(attributes, PTHREAD_PROCESS_SHARED);
#else
    (void)attributes;
    return ENOTSUP;
#endif
}

/* Of the default protocol, which lends no priority. */
static int create_free_mutex(struct semaphore *semaphore)
{
    pthread_mutexattr_t attributes;
    int error = pthread_mutexattr_init(&attributes);
    if (error)
        return error;
    if (semaphore->is_shared)
        error = share_attributes(&attributes);
    if (!error)
        error = pthread_mutex_init(&semaphore->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return error;
}

static int create_mutex(struct semaphore *semaphore)
{
    int error = create_free_mutex(semaphore);
    return error ? error : pthread_mutex_lock(&semaphore->mutex);
}

static int create_condition_variable(struct semaphore *semaphore)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error)
        return error;
    if (semaphore->is_shared)
        error = share_condition_attributes(&attributes);
    if (!error)
        error = pthread_cond_init(&semaphore->condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return error;
}

static int create_condition(struct semaphore *semaphore)
{
    semaphore->given_count = 0;
    int error = create_free_mutex(semaphore);
    if (error)
        return error;
    error = create_condition_variable(semaphore);
    if (error)
        pthread_mutex_destroy(&semaphore->mutex);
    return error;
}

int semaphore_make(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                   const struct ipc_cleanup_place *place)
{
    semaphore->kind = kind;
    semaphore->is_shared = is_shared;
    semaphore->place = place;
    semaphore->is_abandoned = false;
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
    case SEMAPHORE_CONDITION:
        return create_condition(semaphore);
    default:
        return create_mutex(semaphore);
    }
}

static void delete_condition(struct semaphore *semaphore)
{
    if (semaphore->is_abandoned)
        return;
    pthread_cond_destroy(&semaphore->condition);
    pthread_mutex_destroy(&semaphore->mutex);
}

static void delete_rest(struct semaphore *semaphore)
{
    switch (semaphore->kind) {
    case SEMAPHORE_UNNAMED:
        sem_destroy(&semaphore->unnamed);
        break;
    case SEMAPHORE_NAMED:
        ipc_named_close(semaphore->posix);
        break;
    case SEMAPHORE_SYSV:
        ipc_set_remove(semaphore->handle);
        break;
    case SEMAPHORE_EVENTFD:
        close(semaphore->handle);
        break;
    case SEMAPHORE_MUTEX:
        pthread_mutex_unlock(&semaphore->mutex);
        pthread_mutex_destroy(&semaphore->mutex);
        break;
    case SEMAPHORE_CONDITION:
        delete_condition(semaphore);
        break;
    default:
        break;
    }
}

void semaphore_unmake(struct semaphore *semaphore)
{
    delete_rest(semaphore);
    if (semaphore->kind == SEMAPHORE_NAMED)
        ipc_named_unlink(semaphore->place->name);
}

int semaphore_open(struct semaphore *semaphore, enum semaphore_kind kind, bool is_shared,
                   const struct ipc_cleanup_place *place)
{
    int error = semaphore_make(semaphore, kind, is_shared, place);
    if (!error && kind == SEMAPHORE_NAMED)
        ipc_named_unlink(place->name);
    return error;
}

void semaphore_close(struct semaphore *semaphore)
{
    delete_rest(semaphore);
}

void semaphore_abandon(struct semaphore *semaphore)
{
    semaphore->is_abandoned = true;
}

int semaphore_check(struct run *run, const struct semaphore *semaphore)
{
    int error = atomic_load(&semaphore->error);
    if (error == 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "find out what removes semaphores (ipcrm), then run the test again",
                       "%s: a V or a P failed while it was measured: %s",
                       semaphore_kind_name(semaphore->kind), strerror(error));
}

int semaphore_guard(struct run *run, struct ipc_cleanup *ipc_cleanup, bool has_process)
{
    const struct param_value *kinds = run_param(run, "kinds");
    bool is_needed = has_process && port_has_processes();
    for (int i = 0; i < kinds->count; i++)
        is_needed =
            is_needed || kinds->number[i] == SEMAPHORE_NAMED || kinds->number[i] == SEMAPHORE_SYSV;
    return ipc_cleanup_open(ipc_cleanup, run, is_needed);
}

static void write_name(char name[NAME_BYTES], enum semaphore_kind kind, bool is_shared)
{
    snprintf(name, NAME_BYTES, "%s%s", semaphore_kind_name(kind),
             is_shared && semaphore_has_forms(kind) ? " that processes share" : "");
}

/* The other kinds are still measured; the result says that this one exists but was denied. */
void semaphore_deny(struct run *run, enum semaphore_kind kind, bool is_shared, int error)
{
    char name[NAME_BYTES], what[STATUS_TEXT_BYTES / 2];
    write_name(name, kind, is_shared);
    snprintf(what, sizeof what, "making a semaphore of the kind %s", name);
    arena_event_once(run->arena, "kind_denied",
                     DATA(data_text("kind", semaphore_kind_name(kind)),
                          data_bool("is_shared", is_shared), data_text("error", strerror(error))),
                     "%s: %s", name, strerror(error));
    outcome_set_errno(&run->outcome, error, what,
                      error == EACCES || error == EPERM ? port_hint(PORT_HINT_SEMAPHORE_RIGHT)
                                                        : NULL);
}

int semaphore_report_missing(struct run *run, enum semaphore_kind kind, bool is_shared, int error)
{
    char name[NAME_BYTES];
    write_name(name, kind, is_shared);
    arena_event_once(run->arena, "kind_unsupported",
                     DATA(data_text("kind", semaphore_kind_name(kind)),
                          data_bool("is_shared", is_shared), data_text("error", strerror(error))),
                     "%s: %s", name, strerror(error));
    return 0;
}

bool semaphore_is_here(struct run *run, enum semaphore_kind kind, bool is_shared,
                       const struct ipc_cleanup_place *place)
{
    struct semaphore semaphore;
    int error = semaphore_open(&semaphore, kind, is_shared, place);
    if (!error)
        semaphore_close(&semaphore);
    else if (status_is_missing(error))
        semaphore_report_missing(run, kind, is_shared, error);
    else
        semaphore_deny(run, kind, is_shared, error);
    return error == 0;
}

int semaphore_require_any(struct run *run)
{
    if (run->arena->verdict_count > 0)
        return 0;
    if (arena_has_values(run->arena))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "choose other kinds or scopes",
                       "this system has none of the requested kinds in the requested scopes");
}

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEY_TRIES = 1000, KEY_STEP = 7919 };

/* ---- calls that only the cleanup makes ---- */

static void ipc_memory_unlink(const char *name)
{
#if HS_HAS_SHARED_MEMORY
    shm_unlink(name);
#else
    (void)name;
#endif
}

#if HS_HAS_SYSV_SEMAPHORES

/* Whether no set has `key`. False with errno 0 if one has it or `key` is IPC_PRIVATE, otherwise
 * with the error. */
static bool ipc_set_is_free(ipc_key key)
{
    errno = 0;
    return key != IPC_PRIVATE && semget(key, 0, 0) < 0 && errno == ENOENT;
}

/* Removes the set of `key` if this user created it, it has one semaphore, and it changed at or
 * after `since`. */
static void ipc_set_remove_own(ipc_key key, time_t since)
{
    struct semid_ds facts = {0};
    union ipc_set_argument argument = {.facts = &facts};
    int set = semget(key, 0, 0);
    if (set < 0 || semctl(set, 0, IPC_STAT, argument) != 0)
        return;
    if (facts.sem_perm.cuid == geteuid() && facts.sem_nsems == 1 && facts.sem_ctime >= since)
        semctl(set, 0, IPC_RMID);
}

#else

static bool ipc_set_is_free(ipc_key key)
{
    (void)key;
    errno = ENOSYS;
    return false;
}

static void ipc_set_remove_own(ipc_key key, time_t since)
{
    (void)key, (void)since;
}

#endif

#if HS_HAS_SYSV_MESSAGES

/* Whether no queue has `key`. False with errno 0 if one has it or `key` is IPC_PRIVATE, otherwise
 * with the error. */
static bool sysv_queue_is_free(ipc_key key)
{
    errno = 0;
    return key != IPC_PRIVATE && msgget(key, 0) < 0 && errno == ENOENT;
}
#else

static bool sysv_queue_is_free(ipc_key key)
{
    (void)key;
    errno = ENOSYS;
    return false;
}

#endif

/* Only the guard removes one, and it is a process of its own. */
#if HS_HAS_SYSV_MESSAGES && HS_HAS_FORK

/* Removes the queue of `key` if this user created it and it changed at or after `since`. */
static void sysv_queue_remove_own(ipc_key key, time_t since)
{
    struct msqid_ds facts;
    int queue = msgget(key, 0);
    if (queue < 0 || msgctl(queue, IPC_STAT, &facts) != 0)
        return;
    if (facts.msg_perm.cuid == geteuid() && facts.msg_ctime >= since)
        msgctl(queue, IPC_RMID, NULL);
}

#else

static void sysv_queue_remove_own(ipc_key key, time_t since)
{
    (void)key, (void)since;
}

#endif

/* ---- places ---- */

/* An unused key; 0 if System V objects of this kind are missing or no key is free. */
static ipc_key free_key(ipc_key start, bool (*is_free)(ipc_key key))
{
    for (int i = 0; i < KEY_TRIES; i++) {
        ipc_key key = (ipc_key)((start + i * KEY_STEP) & 0x7fffffff);
        if (is_free(key))
            return key;
        if (errno != 0)
            return 0;
    }
    return 0;
}

static void choose_places(struct ipc_cleanup *ipc_cleanup, uint64_t seed)
{
    /* Processes of two PID namespaces may have the same id, and share names and keys. */
    unsigned long mark = (unsigned long)((seed ^ (uint64_t)clock_monotonic_ns()) & 0xffffffffu);
    ipc_key start = (ipc_key)((mark ^ (uint64_t)getpid() * 2654435761u) & 0x7fffffff);
    for (int i = 0; i < IPC_CLEANUP_PLACES; i++) {
        snprintf(ipc_cleanup->places[i].name, IPC_CLEANUP_NAME_BYTES, "/hardstone-%ld-%08lx-%d",
                 (long)getpid(), mark, i);
        ipc_cleanup->places[i].key = free_key(start + i, ipc_set_is_free);
        ipc_cleanup->places[i].queue_key = free_key(start + i, sysv_queue_is_free);
    }
}

/* Another process may have taken a key before the probe used it: only a queue of this user, or a
 * set of one semaphore, changed since the start, counts as the probe's. */
static void remove_all(void *context)
{
    struct ipc_cleanup *ipc_cleanup = context;
    time_t since = ipc_cleanup->since;
    for (int i = 0; i < IPC_CLEANUP_PLACES; i++) {
        const struct ipc_cleanup_place *place = &ipc_cleanup->places[i];
        ipc_named_unlink(place->name);
        ipc_memory_unlink(place->name);
        queue_unlink(place->name);
        if (place->key)
            ipc_set_remove_own(place->key, since);
        if (place->queue_key)
            sysv_queue_remove_own(place->queue_key, since);
    }
    port_remove_semaphore_files(since, IPC_CLEANUP_MODE);
    scratch_remove(&ipc_cleanup->scratch);
    port_memory_group_remove(ipc_cleanup->memory_group);
}

static int refuse(struct run *run, int error)
{
    if (error == EMFILE || error == ENFILE)
        return outcome_set_errno(&run->outcome, error, "a pipe", "raise ulimit -n");
    return outcome_set_errno(&run->outcome, error,
                             "starting the process that cleans up if the probe is killed",
                             "raise ulimit -u, or choose kinds without names (-p kinds=...)");
}

/* It sleeps while the test measures, until the last process that has the pipe has ended. */
static int start_guard(struct ipc_cleanup *ipc_cleanup)
{
    const struct guard_duty duty = {.watch = GUARD_BY_PIPE,
                                    .keeps_folder = true, /* --dir may be a relative name */
                                    .kept = -1,
                                    .look_ms = -1,
                                    .undo = remove_all,
                                    .context = ipc_cleanup};
    ipc_cleanup->since = time(NULL) - 1;
    return guard_start(&ipc_cleanup->guard, &duty);
}

static void report_no_guard(struct ipc_cleanup *ipc_cleanup, struct run *run)
{
    ipc_cleanup->has_processes = false;
    arena_event(run->arena, "no_cleanup_process", -1,
                DATA(data_integer("process_id", (int64_t)getpid())),
                "this system cannot start a second process, so nothing cleans up if the probe is "
                "killed: semaphores and message queues named /hardstone-%ld-..., and System V "
                "sets and queues, would remain",
                (long)getpid());
}

static int open_places(struct ipc_cleanup *ipc_cleanup, struct run *run, bool is_needed)
{
    choose_places(ipc_cleanup, run->seed);
    ipc_cleanup->guard.pid = 0;
    ipc_cleanup->has_processes = port_has_processes();
    if (!is_needed)
        return 0;
    int error = ipc_cleanup->has_processes ? start_guard(ipc_cleanup) : ENOSYS;
    if (error == ENOSYS || error == ENOTSUP)
        report_no_guard(ipc_cleanup, run);
    else if (error)
        return refuse(run, error);
    if (run->is_locked && !error) /* take the copy-on-write faults now */
        mlockall(MCL_CURRENT | MCL_FUTURE);
    return 0;
}

int ipc_cleanup_open(struct ipc_cleanup *ipc_cleanup, struct run *run, bool is_needed)
{
    memset(&ipc_cleanup->scratch, 0, sizeof ipc_cleanup->scratch);
    return open_places(ipc_cleanup, run, is_needed);
}

int ipc_cleanup_open_with(struct ipc_cleanup *ipc_cleanup, struct run *run,
                          const struct scratch *scratch)
{
    ipc_cleanup->scratch = *scratch;
    return open_places(ipc_cleanup, run, true);
}

void ipc_cleanup_close(struct ipc_cleanup *ipc_cleanup)
{
    guard_dismiss(&ipc_cleanup->guard);
}

/* Calls of POSIX and System V that a small system may lack (posix_optional.h). There each one fails
 * with ENOSYS; those that only undo something do nothing. */
#ifndef HS_FAMILY_SHARED_IPC_CALLS_H
#define HS_FAMILY_SHARED_IPC_CALLS_H

#include "base/options.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifndef SEM_FAILED
#define SEM_FAILED ((sem_t *)0)
#endif

/* ---- named semaphores ---- */

/* Creates a semaphore of value 0 under a new name. SEM_FAILED with errno (EEXIST: the name is in
 * use). */
static inline sem_t *ipc_named_create(const char *name, mode_t mode)
{
#if HS_HAS_NAMED_SEMAPHORES
    return sem_open(name, O_CREAT | O_EXCL, mode, 0);
#else
    (void)name, (void)mode;
    errno = ENOSYS;
    return SEM_FAILED;
#endif
}

static inline void ipc_named_close(sem_t *semaphore)
{
#if HS_HAS_NAMED_SEMAPHORES
    sem_close(semaphore);
#else
    (void)semaphore;
#endif
}

static inline void ipc_named_unlink(const char *name)
{
#if HS_HAS_NAMED_SEMAPHORES
    sem_unlink(name);
#else
    (void)name;
#endif
}

/* ---- shared memory ---- */

static inline void ipc_memory_unlink(const char *name)
{
#if HS_HAS_SHARED_MEMORY
    shm_unlink(name);
#else
    (void)name;
#endif
}

/* ---- System V sets of one semaphore ---- */

#if HS_HAS_SYSV_SEMAPHORES
#include <sys/ipc.h>
#include <sys/sem.h>

typedef key_t ipc_key;

/* POSIX leaves this declaration to the program. */
union ipc_set_argument {
    int value;
    struct semid_ds *facts;
    unsigned short *values;
};

/* Whether no set has `key`. False with errno 0 if one has it or `key` is IPC_PRIVATE, otherwise
 * with the error. */
static inline bool ipc_set_is_free(ipc_key key)
{
    errno = 0;
    return key != IPC_PRIVATE && semget(key, 0, 0) < 0 && errno == ENOENT;
}

/* Creates a set of value 0 under a new key: its handle, or -1 with errno. POSIX leaves the value of
 * a new set open, so this sets it. */
static inline int ipc_set_create(ipc_key key)
{
    union ipc_set_argument zero = {.value = 0};
    int set = semget(key, 1, IPC_CREAT | IPC_EXCL | 0600);
    return set >= 0 && semctl(set, 0, SETVAL, zero) == 0 ? set : -1;
}

static inline int ipc_set_step(int set, short step)
{
    struct sembuf operation = {.sem_num = 0, .sem_op = step, .sem_flg = 0};
    return semop(set, &operation, 1);
}

static inline void ipc_set_remove(int set)
{
    semctl(set, 0, IPC_RMID);
}

/* Removes the set of `key` if this user created it, it has one semaphore, and it changed at or
 * after `since`. */
static inline void ipc_set_remove_own(ipc_key key, time_t since)
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

typedef int ipc_key;

static inline bool ipc_set_is_free(ipc_key key)
{
    (void)key;
    errno = ENOSYS;
    return false;
}

static inline int ipc_set_create(ipc_key key)
{
    (void)key;
    errno = ENOSYS;
    return -1;
}

static inline int ipc_set_step(int set, short step)
{
    (void)set, (void)step;
    errno = ENOSYS;
    return -1;
}

static inline void ipc_set_remove(int set)
{
    (void)set;
}

static inline void ipc_set_remove_own(ipc_key key, time_t since)
{
    (void)key, (void)since;
}

#endif

#endif

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEY_TRIES = 1000, KEY_STEP = 7919 };

/* A key that no set has. */
static key_t free_key(key_t start)
{
    for (int i = 0; i < KEY_TRIES; i++) {
        key_t key = (key_t)((start + i * KEY_STEP) & 0x7fffffff);
        if (key != IPC_PRIVATE && semget(key, 0, 0) < 0)
            return errno == ENOENT ? key : 0;
    }
    return 0;
}

static void choose_places(struct leftover *leftover, uint64_t seed)
{
    key_t start = (key_t)((seed ^ (uint64_t)getpid() * 2654435761u) & 0x7fffffff);
    for (int i = 0; i < LEFTOVER_PLACES; i++) {
        snprintf(leftover->places[i].name, LEFTOVER_NAME_BYTES, "/hardstone-%ld-%d", (long)getpid(),
                 i);
        leftover->places[i].key = free_key(start + i);
    }
}

/* Someone else may have taken a key that the probe did not come to use: only a set of this
 * user, made since, of one semaphore, is the probe's. */
static void remove_set(key_t key, time_t since)
{
    int set = key ? semget(key, 0, 0) : -1;
    struct semid_ds facts;
    union {
        int value;
        struct semid_ds *facts;
        unsigned short *values;
    } argument = {.facts = &facts};
    memset(&facts, 0, sizeof facts);
    if (set < 0 || semctl(set, 0, IPC_STAT, argument) != 0)
        return;
    if (facts.sem_perm.cuid == geteuid() && facts.sem_nsems == 1 && facts.sem_ctime >= since)
        semctl(set, 0, IPC_RMID);
}

static void remove_all(const struct leftover *leftover, time_t since)
{
    for (int i = 0; i < LEFTOVER_PLACES; i++) {
        sem_unlink(leftover->places[i].name);
        shm_unlink(leftover->places[i].name);
        remove_set(leftover->places[i].key, since);
    }
    port_remove_semaphore_files(since, LEFTOVER_MODE);
}

/* Async-signal-safe in its setting up; the rest has only this process to disturb. */
static void guard(const struct leftover *leftover, int end)
{
    static const int ours[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    time_t since = time(NULL) - 1;
    sigset_t all;
    char word;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        close(ours[i]);
    ssize_t got;
    while ((got = read(end, &word, 1)) < 0 && errno == EINTR)
        ;
    if (got != 1)
        remove_all(leftover, since);
    _exit(0);
}

static int refuse(struct run *run, int error)
{
    return outcome_set_errno(&run->outcome, error,
                             "starting the process that cleans up should the probe be killed",
                             "raise ulimit -u, or choose kinds without names: -p kinds=unnamed");
}

int leftover_open(struct leftover *leftover, struct run *run, bool is_needed)
{
    int ends[2];
    choose_places(leftover, run->request->seed);
    leftover->guard = 0;
    if (!is_needed)
        return 0;
    if (pipe(ends) != 0)
        return outcome_set_errno(&run->outcome, errno, "a pipe", "raise ulimit -n");
    leftover->guard = fork();
    if (leftover->guard == 0) {
        close(ends[1]);
        guard(leftover, ends[0]);
    }
    int error = errno;
    close(ends[0]);
    leftover->pipe = ends[1];
    if (leftover->guard < 0) {
        leftover->guard = 0;
        close(ends[1]);
        return refuse(run, error);
    }
    if (run->is_locked) /* takes the copies now that the first writes would take later */
        mlockall(MCL_CURRENT | MCL_FUTURE);
    return 0;
}

void leftover_close(struct leftover *leftover)
{
    char done = 1;
    if (leftover->guard <= 0)
        return;
    while (write(leftover->pipe, &done, 1) < 0 && errno == EINTR)
        ;
    close(leftover->pipe);
    while (waitpid(leftover->guard, NULL, 0) < 0 && errno == EINTR)
        ;
    leftover->guard = 0;
}

/* Removes objects that would stay in the system if the probe were killed: names of semaphores,
 * shared memory and message queues, and System V sets and queues, which the end of a process does
 * not remove; a folder of scratch files; and a control group of memory.
 *
 * A guard (base/guard.h) waits for the end of the probe on a pipe. If the probe ends without
 * telling it, the guard removes whatever exists under the names and keys, which were chosen before.
 * So a kill -9 at any moment leaves nothing. */
#ifndef HS_FAMILY_SHARED_IPC_CLEANUP_H
#define HS_FAMILY_SHARED_IPC_CLEANUP_H

#include "base/posix_source.h"

#include "base/guard.h"
#include "family/shared/ipc_calls.h"
#include "port/limits.h"
#include "run/run.h"
#include "work/scratch.h"

#include <time.h>

enum {
    IPC_CLEANUP_PLACES = 3,
    IPC_CLEANUP_NAME_BYTES = 40,
    IPC_CLEANUP_MODE =
        0700, /* of named semaphores: marks them as the probe's, since no others are executable */
};

/* One name and one key of each kind, unused when they were chosen. */
struct ipc_cleanup_place {
    char name[IPC_CLEANUP_NAME_BYTES];
    ipc_key key;       /* 0: no System V semaphores, or no free key */
    ipc_key queue_key; /* the same of System V message queues */
};

struct ipc_cleanup {
    struct scratch scratch;              /* empty: none */
    char memory_group[PORT_GROUP_BYTES]; /* chosen by the test before it opens; empty: none */
    struct ipc_cleanup_place places[IPC_CLEANUP_PLACES];
    bool has_processes; /* false: the test can use threads only */
    time_t since;       /* what was made or changed from then on may be the probe's */
    struct guard guard;
};

/* Chooses places and, if something may be left (is_needed), starts the guard. Call it before
 * measuring: fork makes the pages copy-on-write, and it calls mlockall again so that those page
 * faults come now. Without processes there is no guard, and an event says so. 0, or -1 with the
 * outcome (denied: no more processes or descriptors). */
int ipc_cleanup_open(struct ipc_cleanup *ipc_cleanup, struct run *run, bool is_needed);

/* The same with a folder of scratch files, which the caller makes later. */
int ipc_cleanup_open_with(struct ipc_cleanup *ipc_cleanup, struct run *run,
                          const struct scratch *scratch);

/* Ends the guard, which removes nothing. Call it when the test has removed its objects. */
void ipc_cleanup_close(struct ipc_cleanup *ipc_cleanup);

#endif

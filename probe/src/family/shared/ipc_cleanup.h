/* What a test might leave behind in the system when the probe is killed: names of
 * semaphores and shared memory, and System V sets, which no end of a process removes.
 *
 * A guard process, which the signals of a terminal do not reach, waits for the probe's end
 * on a pipe; when that end was not told, it removes what could be left under the names and
 * keys that were chosen before. So there is no moment at which a kill -9 leaves anything. */
#ifndef HS_LEFTOVER_H
#define HS_LEFTOVER_H

#include "base/posix_source.h"

#include "run/run.h"

#include <sys/ipc.h>
#include <sys/types.h>

enum {
    LEFTOVER_PLACES = 3,
    LEFTOVER_NAME_BYTES = 40,
    LEFTOVER_MODE = 0700, /* of named semaphores: a mark, since nobody else has them executable */
};

/* One name and one key that nothing else used when it was chosen. */
struct leftover_place {
    char name[LEFTOVER_NAME_BYTES];
    key_t key; /* 0: this system has no System V semaphores */
};

struct leftover {
    struct leftover_place places[LEFTOVER_PLACES];
    pid_t guard; /* 0: none */
    int pipe;    /* the guard's end is the other; open: the probe lives */
};

/* Chooses places and, where something may be left (is_needed), starts the guard. Call it
 * before the measurement: the memory that the fork made common with the guard is locked
 * again. 0, or -1 with the outcome (denied: no more processes). */
int leftover_open(struct leftover *leftover, struct run *run, bool is_needed);

/* Nothing is left: ends the guard. */
void leftover_close(struct leftover *leftover);

#endif

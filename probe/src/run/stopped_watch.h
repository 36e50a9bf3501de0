/* A thread that notes when the process was stopped and goes on (record/arena.h). It sleeps until
 * then, so it takes nothing from what is measured, also where all CPUs measure. */
#ifndef HS_RUN_STOPPED_WATCH_H
#define HS_RUN_STOPPED_WATCH_H

#include "base/rt_thread.h"
#include "record/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* Zeroed: there is none. */
struct stopped_watch {
    struct arena *arena;
    struct rt_thread rt_thread;
    bool is_there;
    int ends[2];      /* pipe: its end ends the thread */
    int stops;        /* of port_stops_open; -1: not open */
    _Atomic pid_t id; /* the kernel's; 0: there is none, or it is not told */
};

/* Starts it at the highest priority that is granted. If it cannot be started, or the port does not
 * tell of stops, there is no thread, and the event `stops_not_watched` tells why. */
void stopped_watch_start(struct stopped_watch *watch, struct arena *arena);

/* Ends it. Does nothing if there is none. */
void stopped_watch_end(struct stopped_watch *watch);

#endif

/* Whether the threads on the CPU under test lost it during a burst, for tests of which another
 * thread keeps the process running elsewhere: real-time throttling, a thread of higher priority,
 * the hypervisor. Such a pause fails the result (run/burst.h). */
#ifndef HS_FAMILY_INTERRUPT_PAUSE_WATCH_H
#define HS_FAMILY_INTERRUPT_PAUSE_WATCH_H

#include "run/run.h"

#include <pthread.h>

struct pause_watch {
    struct run *run;
    clockid_t other; /* CPU-time clock of a second thread on that CPU */
    bool has_other;
    int64_t wall_ns, cpu_ns; /* at the begin; cpu_ns -1: not known */
};

/* `other`: a thread beside the calling one, of which one is always ready to run; NULL: none. */
void pause_watch_open(struct pause_watch *watch, struct run *run, const pthread_t *other);

void pause_watch_begin(struct pause_watch *watch);

/* `idle_ns`: time since the begin in which none of them was ready. Requests a stop, with the
 * outcome, after a pause that nothing explains. */
void pause_watch_end(struct pause_watch *watch, int64_t idle_ns);

#endif

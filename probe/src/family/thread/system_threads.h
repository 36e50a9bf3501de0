/* Whether the system's own time-shared processes (on Linux its kernel threads too) get the CPU from
 * a real-time thread. For THR-B-PRI.
 *
 * Watched are those that may run on no other CPU than the run's. Their CPU time must stand still
 * from when the real-time thread is made ready until it blocks. That proves nothing of a process
 * that had nothing to do: one was ready if its run delay grew by more than the time around the
 * spinning. */
#ifndef HS_FAMILY_THREAD_SYSTEM_THREADS_H
#define HS_FAMILY_THREAD_SYSTEM_THREADS_H

#include "run/run.h"

#include <sys/types.h>

enum { SYSTEM_THREADS = 32 };

enum system_reading { MADE_READY, HAS_RUN, HAS_SPUN, SYSTEM_READINGS };

struct system_thread {
    pid_t id;
    clockid_t clock;                 /* its CPU time */
    int64_t cpu_ns[SYSTEM_READINGS]; /* -1: it has ended */
    int64_t waited_ns;               /* run delay before the burst; -1: not known */
};

struct system_threads {
    struct run *run;
    int count; /* -1: the system does not tell */
    struct system_thread threads[SYSTEM_THREADS];
    int64_t at_ns[SYSTEM_READINGS];
    int64_t begin_ns; /* when the run delays were read */
    uint64_t burst_count, ready_count, ran_count;
    int64_t longest_ran_ns;
};

/* For `prepare`: lists them. `system` is zeroed but for `run`. */
void system_threads_open(struct system_threads *system);

/* By the measuring thread, before and after a burst. It reads run delays at an ordinary priority:
 * files of /proc that it has preempted a reader of may make it wait. 0, or -1 with the outcome: its
 * priority could not be restored. */
int system_threads_begin(struct system_threads *system);
int system_threads_end(struct system_threads *system, bool is_doubtful);

/* At any priority: CPU times. */
void system_threads_read(struct system_threads *system, enum system_reading reading);

/* Gives the verdict system_processes, or an event not_seen with the reason. */
void system_threads_judge(struct system_threads *system);

#endif

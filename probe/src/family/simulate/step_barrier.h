/* A barrier that all threads of a simulation pass at the end of each step. Threads wait on a
 * counter for a moment, if each has a CPU of its own, then sleep: with FIFO threads that share a
 * CPU a thread that only spun would keep the one that it waits for from running. */
#ifndef HS_FAMILY_SIMULATE_STEP_BARRIER_H
#define HS_FAMILY_SIMULATE_STEP_BARRIER_H

#include "base/posix_source.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Those that arrive write the first cache line, those that wait read the second. */
struct step_barrier {
    _Alignas(64) atomic_int arrived;
    _Alignas(64) atomic_uint turn;
    atomic_bool is_broken;
    atomic_int sleepers;
    int threads, spins;
    pthread_mutex_t mutex;
    pthread_cond_t passed;
};

/* For `threads` threads on `cpus` CPUs (0: not known). 0, or an errno value. */
int step_barrier_open(struct step_barrier *barrier, int threads, int cpus);
void step_barrier_close(struct step_barrier *barrier);

/* Waits until all threads are here. What each wrote before is then seen by all. False: the barrier
 * was broken; not all of them need have come. */
bool step_barrier_wait(struct step_barrier *barrier);

/* Lets all threads go, now and at each later call. */
void step_barrier_break(struct step_barrier *barrier);

#endif

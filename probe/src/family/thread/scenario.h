/* Common to the tests of threads, which use priorities below the measuring thread's, on one CPU. */
#ifndef HS_FAMILY_THREAD_SCENARIO_H
#define HS_FAMILY_THREAD_SCENARIO_H

#include "record/order_log.h"
#include "run/run.h"
#include "run/scheduling.h"

/* Setup of a thread of `policy`, `below` priorities under the run's, on the run's CPU. */
struct rt_thread_setup thread_setup(const struct run *run, int policy, int below);

/* Creates a thread with pthread_create alone, without the gate of rt_thread.h; for tests of
 * creation. Its stack is RT_THREAD_STACK_BYTES. 0 or an errno value. */
int thread_create_bare(pthread_t *thread, const struct rt_thread_setup *setup,
                       void *(*body)(void *), void *argument);

/* For the measuring thread: lets every ready thread down to `below` priorities under the run's run
 * until it blocks. It lowers its own priority below theirs (below the lowest real-time priority:
 * SCHED_OTHER) and restores it; on one CPU all of them are then at their gates. 0, or EPERM with
 * the outcome: its priority could not be lowered or restored. */
int thread_settle(struct run *run, int below);

/* Waits on the semaphore; retries if a signal interrupts the wait (EINTR). */
void thread_wait(sem_t *semaphore);

/* Spins until `ns` have passed on CLOCK_MONOTONIC. */
void thread_spin(int64_t ns);

#endif

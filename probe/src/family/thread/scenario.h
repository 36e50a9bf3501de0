/* What the tests of threads share: priorities below the director, all on one CPU. */
#ifndef HS_THREAD_SCENARIO_H
#define HS_THREAD_SCENARIO_H

#include "run/run.h"

#include "record/order_log.h"

/* For `prepare`: the threads can be kept on one CPU (one_cpu.h), and there are `levels`
 * priorities from the run's downwards. 0, or -1 with the outcome. */
int thread_scenario_check(struct run *run, int levels);

/* A thread of `policy`, `below` priorities under the run's, on its CPU. */
struct actor_setup thread_setup(const struct run *run, int policy, int below);

/* The measuring time of `cells` parts of a test that counts or lasts; for expected_ns. */
int64_t thread_expected_ns(const struct run *run, int cells, int64_t sample_ns);

/* A thread as pthread_create makes it, without an actor's gate; for tests of creation.
 * `stack_bytes` as for an actor. */
int thread_create(pthread_t *thread, const struct actor_setup *setup, void *(*body)(void *),
                  void *argument);

/* For the director: lets every thread that is ready, down to `below` priorities under the
 * run's, run until it blocks. It steps below them (below the lowest real-time priority
 * that is SCHED_OTHER) and comes back, so on one CPU nobody is on the way to a gate any
 * more. 0, or an errno value. */
int thread_settle(const struct run *run, int below);

/* Waits whatever signals come. */
void thread_wait(sem_t *semaphore);

/* Keeps the CPU until `ns` have passed. */
void thread_spin(int64_t ns);

#endif

/* Scheduling policy of the threads of a simulation. */
#ifndef HS_FAMILY_SIMULATE_POLICY_H
#define HS_FAMILY_SIMULATE_POLICY_H

#include "run/run.h"

enum policy { POLICY_RUN, POLICY_FIFO, POLICY_RR, POLICY_OTHER, POLICY_DEADLINE };

/* Choices of the parameter, NULL-terminated, in the order of enum policy. */
extern const char *const policy_names[];

/* The policy that the measuring thread has, or will have once it is chosen: one that is refused
 * falls back to POLICY_OTHER where the run does (run/scheduling.h). */
enum policy policy_of_run(const struct run *run);

/* Has the calling thread, the measuring one, take over `policy` with a priority, for threads that
 * are to inherit both; they are in `setup`, with the run's CPU. POLICY_DEADLINE is inherited by
 * nobody: each thread sets itself (policy_enter_deadline), and `setup` is the run's. 0, or -1 with
 * the outcome: denied. policy_leave puts the run's back. */
int policy_take(struct run *run, enum policy policy, struct rt_thread_setup *setup);
int policy_leave(struct run *run);

/* What SCHED_DEADLINE is asked for: nine tenths of the CPUs in equal parts, at most nine tenths of
 * one CPU for each thread, in each period. */
int64_t policy_runtime_ns(int64_t period_ns, int threads, int cpus);

/* Sets the outcome (denied, unsupported) because the kernel has refused that with `error`. -1. */
int policy_refuse_deadline(struct run *run, int error, int64_t runtime_ns, int64_t period_ns,
                           int threads);

#endif

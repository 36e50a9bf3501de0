/* CPU, policy and priority of the measuring thread, and what happens if a request is refused. */
#ifndef HS_REALTIME_SCHEDULING_H
#define HS_REALTIME_SCHEDULING_H

#include "base/cpus.h"
#include "run/run.h"

/* Sets run->setup.cpu: the requested CPU, also an isolated one. Without a request -1 (not bound)
 * under `shared`, with run->uses_cpu set to the allowed CPUs, unless the test needs one CPU or
 * measures one; otherwise the last allowed CPU (the first serves most interrupts), under `shielded`
 * one isolated on the boot line if there is one, under `single` the one that cannot go offline if
 * there is just one. The only allowed CPU is set in any case. -1 with run->uses_cpu empty: CPUs
 * cannot be chosen. 0, or -1 with the outcome (denied, unsupported). */
int scheduling_choose_cpu(struct run *run);

/* Whether the boot line isolates `cpu` and the cpuset has it: the default affinity lacks it, but
 * who names it may use it. */
bool scheduling_has_isolated(int cpu);

/* Sets policy and priority after trying them. If the default is refused, takes the highest
 * priority that is granted, else SCHED_OTHER, and adds an event. If the priority was requested
 * or the test needs real-time scheduling, a refusal is denied. 0, or -1 with the outcome. */
int scheduling_choose(struct run *run);

/* Lowers the calling thread, the measuring one, by `below` priorities; below the lowest of its
 * policy it becomes SCHED_OTHER. 0, or -1 with the outcome. */
int scheduling_step_down(struct run *run, int below);

/* Restores the run's priority for the calling thread, the measuring one. If that is refused, later
 * values would be measured at another priority than the result says: the test fails and is asked
 * to stop. 0, or -1 with the outcome. */
int scheduling_step_up(struct run *run);

/* Fails a test that could not restore `priority` for the thread `who` because of `error` (errno
 * value), and asks it to stop. Returns -1. */
int scheduling_not_restored(struct run *run, const char *who, int priority, int error);

/* For the main thread: moves to the CPU under test to allocate, touch or lock memory that is used
 * there, and back, because first touch decides the NUMA node of a page. If it cannot move, an event
 * says so. scheduling_leave_cpu returns 0, or -1 with the outcome if the old affinity cannot be
 * restored: the test would see only one CPU. */
struct scheduling_visit {
    int error;
    struct cpus before;
};
void scheduling_visit_cpu(const struct run *run, struct scheduling_visit *visit);
int scheduling_leave_cpu(struct run *run, const struct scheduling_visit *visit);

/* Denies the run because `what` was refused; returns -1. */
int scheduling_deny(struct run *run, const char *what, const struct port_refusal *refusal);

#endif

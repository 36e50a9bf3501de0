/* CPU, policy and priority of the measuring thread, and what happens if a request is refused; tests
 * that need one CPU (one_cpu); whether threads are where they should be (placement). */
#ifndef HS_RUN_SCHEDULING_H
#define HS_RUN_SCHEDULING_H

#include "base/cpus.h"
#include "run/run.h"

#include <stdatomic.h>

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

/* ---- tests on one CPU ---- */

/* Tests of order, context switches and priority inversion are valid on one CPU only: two threads
 * that run at the same time need no switch and have no order. */

/* Whether the threads that a test does not bind itself share one CPU: that of the run, or the
 * machine's only one. */
bool one_cpu_is_certain(const struct run *run);

/* For a test with TEST_NEEDS_ONE_CPU: 0 if one_cpu_is_certain, else -1 with the outcome
 * STATUS_UNSUPPORTED. */
int one_cpu_require(struct run *run);

/* Number of priorities from the lowest of the requested policy to the requested one (to the one
 * in use once it is chosen), both included. */
int one_cpu_levels(const struct run *run);

/* For a test's `prepare`: 0 if one_cpu_levels is at least `wanted`, else -1 with the outcome
 * STATUS_DENIED. */
int one_cpu_require_levels(struct run *run, int wanted);

/* ---- placement ---- */

/* Whether the threads of a test are on the CPU that its figures are labelled with. A CPU can be
 * taken while a test measures: by the cpuset of its control group, by hotplug, or by a program that
 * changes affinities. The kernel then moves bound threads elsewhere, without a word.
 *
 * Before: a CPU is chosen among those allowed (scheduling_choose_cpu). During: each look at the
 * threads compares the affinity and the migrations of those that are bound (watch.h). After: the
 * last look, and run_check_place. A loss ends the test. Its figures are those that were there at
 * the last look that found each thread at its place (record/recovery.h); of what came later it is
 * not known which are of another CPU. */

/* Which of its threads have to stay where they are. */
enum watch_held placement_held(const struct run *run);

/* CPU + 1 that a thread found itself off (run_check_place); 0: none. */
atomic_int *placement_left(struct run *run);

/* Before the measurement, by the main thread. */
void placement_begin(struct run *run);

/* After the measurement, where the main thread is bound to nothing: a CPU of the run that this
 * process may not use any more. Of threads that are bound to none nothing else tells. One that was
 * given back is not found. */
struct cpu_taken placement_lost(const struct run *run);

/* Makes the arena what it was at the last look that found each thread at its place; false: there
 * was none. */
typedef bool (*placement_go_back)(struct run *run);

/* After the measurement, by the main thread: tells a loss that was found, with its cause, and keeps
 * the figures that `go_back` leaves; none with NULL, where the test still records. Replaces an
 * outcome that the test has set. */
void placement_report(struct run *run, placement_go_back go_back);

/* After a step that failed: replaces its outcome, if that follows from EINVAL and the CPU of the
 * run was allowed when it was chosen, and is not any more. */
void placement_explain(struct run *run);

#endif

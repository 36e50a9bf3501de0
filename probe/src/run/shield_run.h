/* CPU configurations of a run: the CPUs that its test may use, and the life-cycle steps that
 * reserve a CPU and restore everything. */
#ifndef HS_RUN_SHIELD_RUN_H
#define HS_RUN_SHIELD_RUN_H

#include "run/run.h"
#include "run/watch.h"

#include <stdbool.h>

/* Sets `allowed` to the CPUs that a test may use: under `single` and `shielded` only the measuring
 * one. Returns their number, or -1 if the port cannot tell CPUs apart. */
int shield_run_allowed_cpus(const struct run *run, struct cpus *allowed);

/* The lowest CPU that a test may use beside the run's, as for a thread that sends; -1: none. */
int shield_run_other_cpu(const struct run *run);

/* Whether the configuration keeps tests off `cpu`, although this process may use it; then sets the
 * outcome (unsupported). */
bool shield_run_excludes(struct run *run, int cpu);

/* Sets the outcome (denied) because this process may not use `cpu`. Returns -1. */
int shield_run_deny(struct run *run, int cpu);

/* Looks for what an earlier shield has left, before CPUs are counted. A run that itself changes the
 * machine restores it; any other run reports it. Always 0. */
int shield_run_look(struct run *run);

/* Reserves run->setup.cpu according to request->cpu_config and request->settings; under `single`
 * takes all other CPUs offline, or adds the event `not_offline` where the system refuses. Called
 * before any load starts. 0, or -1 with the outcome (denied, unsupported, failed). */
int shield_run_reserve(struct run *run);

/* Switches the kernel to request->preemption, if that names a model. Called before any load starts.
 * 0, or -1 with the outcome: another process holds a shield, or the system refused. */
int shield_run_switch_preemption(struct run *run);

/* Whether that model is still in force. Somebody else may switch it: then the outcome of a
 * measured run becomes `failed`. Called after the measurement, before the release. Always 0. */
int shield_run_check_preemption(struct run *run);

/* Moves this process onto the reserved CPU. Called after the load has started and before any thread
 * of the test. 0, or -1 with the outcome. */
int shield_run_enter(struct run *run);

/* Sets timerlat's period, and keeps the tracer from starting threads of its own; both are restored
 * with all else, also after a kill. Called after the load has started and before any thread of the
 * test. 0, or -1 with `outcome`: another process holds a shield, or the system refused. */
int shield_run_set_timerlat(struct run *run, int64_t period_us, struct outcome *outcome);

/* Frees the memory of shield_run_look. */
void shield_run_forget(struct run *run);

/* Restores everything; what could not be restored becomes an event. Also the undo of
 * shield_run_reserve: a second call does nothing. */
void shield_run_release(struct run *run);

/* ---- the look from outside ----
 *
 * A process that looks each second in place of the supervisor (watch.h, trace_ring.h),
 * where the whole probe moves to reserved CPUs. It is forked before, stays on the others, and
 * writes into the arena, which must be memory that both share.
 *
 * A measuring thread tells it when the measurement begins and ends, and waits for its answer. It
 * ends with the probe. */

struct outside_look;

/* What a measuring thread asks for. */
enum look_word { LOOK_BEGINS = 1, LOOK_AT_THREADS, LOOK_ENDS, LOOK_GOES_BACK };

/* Forks it, if the probe will leave the CPUs that do not measure. Without it the supervisor tells
 * that nobody looks. To be called before memory is locked, since a fork undoes that. Always 0. */
int outside_look_start(struct run *run);

/* Whether it is there. */
bool outside_look_is_there(const struct run *run);

/* Has it do what `word` says, and waits until it has. After LOOK_ENDS run->counter_totals are set.
 * Where it does not answer any more, the event `not_watched` tells so. */
void outside_look_ask(struct run *run, enum look_word word);

/* A measured CPU that was lost, as it found (counter_watch_taken). It sends SIGCHLD when it finds
 * one.
 */
struct cpu_taken outside_look_taken(const struct run *run);

/* As counter_watch_go_back. */
bool outside_look_go_back(struct run *run);

/* Ends it. */
void outside_look_stop(struct run *run);

#endif

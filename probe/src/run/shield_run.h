/* CPU configurations of a run: which CPUs its tests may use, and the steps of its life cycle that
 * reserve one and put everything back. */
#ifndef HS_SHIELD_RUN_H
#define HS_SHIELD_RUN_H

#include "run/run.h"

/* Marks the CPUs that a test may use: the measuring one alone under `single` and `shielded`;
 * returns how many, or -1 where CPUs cannot be told apart. */
int shield_run_allowed_cpus(const struct run *run, bool allowed[PORT_CPUS]);

/* Whether the configuration keeps the tests off `cpu`, which this process might use otherwise;
 * then the outcome is set (unsupported). */
bool shield_run_excludes(struct run *run, int cpu);

/* Sets the outcome (denied): this process may not use `cpu`. -1. */
int shield_run_deny(struct run *run, int cpu);

/* Reserves run->setup.cpu, as request->cpu_config and request->settings say, before any load
 * starts. 0, or -1 with the outcome (denied, unsupported, failed). */
int shield_run_reserve(struct run *run);

/* After the load has started, before any thread of the test has: this process goes onto the
 * reserved CPU. 0, or -1 with the outcome. */
int shield_run_enter(struct run *run);

/* Puts everything back and tells what was not, as events; also the undoing of
 * shield_run_reserve. Does nothing a second time. */
void shield_run_release(struct run *run);

#endif

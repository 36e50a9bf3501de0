/* Load as a part of a run: when it starts and ends, and on which CPUs. */
#ifndef HS_LOAD_RUN_H
#define HS_LOAD_RUN_H

#include "run/run.h"

/* Where the load runs, among the CPUs that the process may use. */
enum load_place {
    LOAD_EVERYWHERE,  /* cpu configuration shared */
    LOAD_ON_MEASURED, /* single: only on the CPU of the measuring thread */
    LOAD_OFF_MEASURED /* shielded: on all but that one */
};

/* Chooses the CPUs of `setup`. 0; -1 with the outcome: unsupported, when no CPU is left. */
int load_run_place(struct load_setup *setup, enum load_place place, int measured_cpu,
                   struct outcome *outcome);

/* Steps of the life cycle: start before the memory is locked and a thread is real-time (a
 * loader shares neither); stop once the measurement has ended: then what a reader must know
 * about the load is noted. */
int load_run_start(struct run *run);
int load_run_stop(struct run *run);
void load_run_free(struct run *run);

#endif

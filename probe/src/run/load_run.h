/* Load as part of a run: when it starts and stops, and on which CPUs it runs. */
#ifndef HS_RUN_LOAD_RUN_H
#define HS_RUN_LOAD_RUN_H

#include "run/run.h"

/* On which of the CPUs in the process's affinity the load runs. */
enum load_place {
    LOAD_EVERYWHERE,  /* cpu configuration shared */
    LOAD_ON_MEASURED, /* single: only on the CPU of the measuring thread */
    LOAD_OFF_MEASURED /* shielded: on all but that one */
};

/* Sets the CPUs of `setup`. 0, or -1 with the outcome: unsupported if no CPU is left. */
int load_run_place(struct load_setup *setup, enum load_place place, int measured_cpu,
                   struct outcome *outcome);

/* Life-cycle steps. The load starts before memory is locked and before any thread is real-time,
 * so that workers inherit neither. Its processes wait until load_run_settle, which comes after the
 * calibration. It stops after the measurement; what a reader must know about it becomes events. 0,
 * or -1 with the outcome. */
int load_run_start(struct run *run);
int load_run_settle(struct run *run);
int load_run_stop(struct run *run);
void load_run_free(struct run *run);

#endif

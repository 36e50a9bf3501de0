/* The life cycle of one test.
 *
 * restore what an earlier shield has left -> choose CPU -> check -> declare series -> allocate ->
 * send header -> open clock -> choose scheduling -> check the skew between CPUs -> reserve the CPU
 * -> start the load's processes, which wait -> enter the reserved CPU -> lock memory -> prepare ->
 * calibrate -> let the load work -> MEASURE -> stop load -> judge -> check the clock -> release the
 * CPU -> send -> undo in reverse.
 *
 * The main thread supervises. It runs above the test's priority if permitted, sleeps until the
 * test is done, asks it to stop at the deadline, on a signal or at the end of standard input, and
 * gives up on it after a grace time. If even that fails, a kernel timer ends the process.
 */
#ifndef HS_RUN_LIFE_CYCLE_H
#define HS_RUN_LIFE_CYCLE_H

struct load_setup;
struct outcome;
struct request;
struct run;

/* Runs the test of `request` and sends its result to standard output. Returns the probe's exit
 * code: that of the status (status_exit_code), or 70 if output failed. */
int run_test(const struct request *request);

/* On which of the CPUs in the process's affinity the load runs. */
enum load_place {
    LOAD_EVERYWHERE,  /* cpu configuration shared */
    LOAD_ON_MEASURED, /* single: only on the CPU of the measuring thread */
    LOAD_OFF_MEASURED /* shielded: on all but that one */
};

/* Sets the CPUs of `setup`. 0, or -1 with the outcome: unsupported if no CPU is left. */
int load_run_place(struct load_setup *setup, enum load_place place, int measured_cpu,
                   struct outcome *outcome);

/* --dma-latency-us: CPUs stay out of idle states that take longer to leave, while a test measures.
 * Steps of a run. */

/* Holds the requested bound; an event reports it if a lower one is in force. Sets run->dma_latency,
 * also where the shield holds a bound. 0, or -1 with the outcome (denied, unsupported, failed). */
int dma_latency_hold(struct run *run);

/* Releases the bound. A second call does nothing. */
void dma_latency_release(struct run *run);

#endif

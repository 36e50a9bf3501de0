/* A thread of low priority that keeps the CPU under test busy while others are measured there. It
 * counts its turns, and blocks between bursts. */
#ifndef HS_FAMILY_INTERRUPT_LOW_SPINNER_H
#define HS_FAMILY_INTERRUPT_LOW_SPINNER_H

#include "port/device.h"
#include "run/run.h"

struct low_spinner {
    struct run *run;
    struct rt_thread rt_thread;
    sem_t start, parked;
    atomic_bool is_over, is_resting;
    atomic_uint_fast64_t turns;
    const struct port_uio *device; /* whose interrupt it raises when it is asked to */
    atomic_bool is_asked;
    int64_t pause_ns;
    atomic_int_fast64_t sent_ns;
};

/* Starts it at the lowest priority of the run's policy, below the threads that handle interrupts on
 * PREEMPT_RT, on the run's CPU; it blocks. 0, or an errno value. */
int low_spinner_start(struct low_spinner *low, struct run *run);

/* Lets it spin whenever the CPU has nothing of higher priority; waits until it blocks again. */
void low_spinner_begin(struct low_spinner *low);
void low_spinner_end(struct low_spinner *low);

/* Has it raise the interrupt of `device` when it has run for `pause_ns`. For a caller that blocks
 * now: until then low does not run. low_spinner_sent_ns: CLOCK_MONOTONIC right before the last one.
 */
void low_spinner_ask(struct low_spinner *low, const struct port_uio *device, int64_t pause_ns);
int64_t low_spinner_sent_ns(struct low_spinner *low);

uint64_t low_spinner_turns(struct low_spinner *low);

void low_spinner_stop(struct low_spinner *low);

#endif

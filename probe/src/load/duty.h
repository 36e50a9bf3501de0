/* A share of the time: so much work in every period, the periods on a grid that never
 * moves. */
#ifndef HS_LOAD_DUTY_H
#define HS_LOAD_DUTY_H

#include "load/element.h"

/* Works in pieces (element->work) until the load ends. In each period until busy_ns are
 * used, or the period ends: what was not used by then is lost, and not caught up. What a
 * piece used beyond it is taken from the periods that follow. Used is CPU time of this
 * process, or time within the work where the element is judged by that (it waits for a
 * device and not for a CPU). Keeps COUNTER_BUSY_NS, COUNTER_CPU_NS and COUNTER_ROUNDS. */
void duty_keep(struct loader *loader);

/* Sleeps until CLOCK_MONOTONIC shows `until_ns`. */
void duty_sleep_until(int64_t until_ns);

/* CLOCK_MONOTONIC. */
int64_t duty_now_ns(void);

#endif

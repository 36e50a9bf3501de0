/* Duty cycle: busy_ns of work in every period_ns. The periods lie on a fixed grid. */
#ifndef HS_LOAD_DUTY_H
#define HS_LOAD_DUTY_H

#include "load/element.h"

/* Runs element->work piece by piece until the load ends. In each period it works until busy_ns are
 * used or the period ends. Unused time is lost. Time used beyond busy_ns is subtracted from the
 * following periods. Time used is CPU time of this process or, if the element is judged_by_wall (it
 * waits for a device), time within the work. Updates COUNTER_BUSY_NS, COUNTER_CPU_NS and
 * COUNTER_ROUNDS. */
void duty_keep(struct worker *worker);

/* Sleeps until `until_ns` of CLOCK_MONOTONIC; resumes after EINTR. */
void duty_sleep_until(int64_t until_ns);

/* CLOCK_MONOTONIC, ns. */
int64_t duty_now_ns(void);

#endif

/* For the thread that asks a test to stop no time passes until the test has ended: on a busy host
 * it may need more than the grace of run/supervise.c. Of a program that wraps run_request_stop,
 * pthread_join and clock_gettime. */
#ifndef HS_PATIENT_STOP_H
#define HS_PATIENT_STOP_H

#include "run/run.h"
#include "tap.h"

#include <pthread.h>
#include <time.h>

static bool is_impatient; /* the grace is as short as it is */
static _Thread_local bool has_asked;
static _Thread_local struct timespec asked_at;

WRAP(int, clock_gettime, clockid_t id, struct timespec *now)
{
    if (id != CLOCK_MONOTONIC || !has_asked)
        return __real_clock_gettime(id, now);
    *now = asked_at;
    return 0;
}

WRAP(void, run_request_stop, void)
{
    __real_run_request_stop();
    has_asked = !is_impatient && __real_clock_gettime(CLOCK_MONOTONIC, &asked_at) == 0;
}

WRAP(int, pthread_join, pthread_t thread, void **result)
{
    has_asked = false;
    return __real_pthread_join(thread, result);
}

#endif

#include "base/posix_source.h"

#include "run/stop.h"

#include "run/run.h"

#include <stdatomic.h>

/* Bits of stop_flag; a run is interrupted only by STOP_FROM_OUTSIDE. */
enum { STOP_BY_TEST = 1, STOP_FROM_OUTSIDE = 2 };

/* At file scope for the signal handler; stop_reset clears it for each run. */
static atomic_int stop_flag;

void stop_reset(void)
{
    atomic_store(&stop_flag, 0);
}

bool run_should_stop(void)
{
    return atomic_load_explicit(&stop_flag, memory_order_relaxed) != 0;
}

void run_request_stop(void)
{
    atomic_fetch_or_explicit(&stop_flag, STOP_BY_TEST, memory_order_relaxed);
}

void stop_from_outside(void)
{
    atomic_fetch_or_explicit(&stop_flag, STOP_FROM_OUTSIDE, memory_order_relaxed);
}

bool stop_came_from_outside(void)
{
    return (atomic_load_explicit(&stop_flag, memory_order_relaxed) & STOP_FROM_OUTSIDE) != 0;
}

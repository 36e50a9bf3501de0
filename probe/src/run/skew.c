#include "base/posix_source.h"

#include "run/skew.h"

#include "realtime/one_cpu.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool uses_one_cpu(const struct run *run)
{
    struct cpus used = run->uses_cpu;
    cpus_add(&used, run->setup.cpu);
    int count = cpus_count(&used);
    return count > 0 ? count == 1 : one_cpu_is_certain(run);
}

/* The run's policy and priority, on the CPU with which the others are compared: the run's, or the
 * first that its thread may use. */
static struct rt_thread_setup first_setup(const struct run *run)
{
    struct rt_thread_setup setup = run->setup;
    if (setup.cpu < 0)
        setup.cpu = cpus_first(&run->uses_cpu);
    return setup;
}

static const char *cause(int error)
{
    switch (error) {
    case ENOTSUP:
        return "this port cannot choose a CPU";
    case ETIMEDOUT:
        return "other threads kept one of the CPUs";
    case ENOSPC:
        return "too many CPUs";
    default:
        return strerror(error);
    }
}

bool skew_is_consistent(struct run *run, char *reason, size_t reason_bytes)
{
    struct instrument *instrument = &run->instrument;
    if (uses_one_cpu(run))
        return true;
    instrument->quantum_ns = clock_quantum_ns(&run->clock);
    struct rt_thread_setup first = first_setup(run);
    int error = first.cpu < 0
                    ? ENOTSUP
                    : instrument_measure_skew_of(instrument, &run->clock, &first, &run->uses_cpu);
    for (uint32_t i = 0; i < instrument->skew_count; i++) {
        const struct instrument_skew *skew = &instrument->skew[i];
        if (skew->is_consistent)
            continue;
        snprintf(reason, reason_bytes,
                 "the counters of CPU %d and %d differ by %.0f ns, and the measurement explains "
                 "%.0f ns at most",
                 skew->cpu_a, skew->cpu_b, skew->offset_ns, skew->bound_ns);
        return false;
    }
    if (error)
        snprintf(reason, reason_bytes,
                 "the skew between the counters of the CPUs in use could not be measured: %s",
                 cause(error));
    return error == 0;
}

/* IRQ-P-DLT: dispatch latency from the interrupt's handler back (Dedicated Systems 2012).
 *
 * As IRQ-P-LAT: the measuring thread spins on the CPU under test and is interrupted by another CPU,
 * by the CPU's own timer or by a device (interrupted.h).
 *
 *   service    begin = the thread's last reading before the gap, end = its first one after it: the
 *              whole time that an interrupt takes from the thread
 *   dispatch   begin = the kernel's stamp at the exit of the handler, end = the first reading after
 *              the gap. Only where the handler can be seen (parameter handler), which lengthens it
 *
 * How it could be wrong: whatever else took the CPU before the thread read the counter again is
 * part of both (other interrupts, softirqs, steal time). Up to two turns of the loop are in a gap.
 * A timer's work that is left to a softirq runs within the gap, on PREEMPT_RT after it.
 */
#include "base/posix_source.h"

#include "family/interrupt/interrupted.h"

enum { SAMPLES = 20000 };

#define SAMPLE_NS 150000

static const struct param_spec params[] = {INTERRUPT_SOURCE_PARAMS, HANDLER_PARAM, {0}};

static const struct series_spec series[] = {
    {"service", "ns", "source",
     "last counter reading of the running thread before it loses the CPU",
     "its first counter reading after the interrupt"},
    {"dispatch", "ns", "source", "exit of the interrupt's handler, stamped by the kernel",
     "first counter reading of the interrupted thread"},
    {0},
};
enum { SERVICE, DISPATCH };

static void record(struct run *run, const struct interruption *interruption)
{
    run_record_value(run, SERVICE, interruption->service_ns, interruption->end);
    if (interruption->has_handler)
        run_record_value(run, DISPATCH, interruption->dispatch_ns, interruption->end);
}

static int prepare(struct run *run)
{
    return interrupted_prepare(run, record);
}

const struct test irq_p_dlt = {
    .id = "IRQ-P-DLT",
    .title = "Dispatch latency from the interrupt handler back",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_A_CPU | TEST_COMPARES_CPUS,
    .default_samples = SAMPLES,
    .setup_ns = 500000000,
    .sample_ns = SAMPLE_NS,
    .warm_up_samples = 1,
    .check = interrupted_check,
    .has_variant = interrupt_source_has_variant,
    .prepare = prepare,
    .measure = interrupted_measure,
    .measure_variant = interrupted_measure_variant,
    .judge = interrupted_judge,
    .finish = interrupted_finish,
};

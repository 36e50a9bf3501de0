/* IRQ-P-LAT: interrupt latency (Dedicated Systems 2012).
 *
 * The measuring thread, at the run's priority, spins on the CPU under test, reads the counter and
 * notes every gap. Interrupts are sent to that CPU while it does (interrupted.h):
 *
 *   source=ipi       a thread of the same priority on another CPU, by membarrier. It pauses 20 to
 *                    100 us at random, so that the sends are in phase with nothing
 *   source=timer     a timer of the CPU under test, 50 to 150 us ahead at random
 *   source=external  the thread on the other CPU raises the interrupt of a UIO device
 *
 *   delivery   begin = the sender's fenced reading before the call that sends, or the programmed
 *              expiry; end = the thread's last reading before the gap: it loses the CPU
 *   latency    begin = that last reading, end = the kernel's stamp at the entry of the handler.
 *              Only where the handler can be seen (parameter handler), which lengthens it
 *
 * How it could be wrong: an interruption of the sender between its reading and the send is part of
 * delivery. Delivery by ipi compares the clocks of two CPUs, whose skew is printed beside; where
 * their counters differ, CLOCK_MONOTONIC is used. Both figures end or begin at a reading, so up to
 * one turn of the loop (some 20 ns) is in the wrong one. Interrupts that came while another
 * interruption had the CPU have no value: events tell how many, and the longest.
 */
#include "base/posix_source.h"

#include "family/interrupt/interrupted.h"

enum { SAMPLES = 20000 };

#define SAMPLE_NS 150000

static const struct param_spec params[] = {INTERRUPT_SOURCE_PARAMS, HANDLER_PARAM, {0}};

static const struct series_spec series[] = {
    {"delivery", "ns", "source",
     "ipi, external: the sender, right before the call that sends; timer: the programmed expiry",
     "last counter reading of the running thread before it loses the CPU"},
    {"latency", "ns", "source",
     "last counter reading of the running thread before it loses the CPU",
     "entry of the interrupt's handler, stamped by the kernel"},
    {0},
};
enum { DELIVERY, LATENCY };

static void record(struct run *run, const struct interruption *interruption)
{
    run_record_value(run, DELIVERY, interruption->delivery_ns, interruption->end);
    if (interruption->has_handler)
        run_record_value(run, LATENCY, interruption->latency_ns, interruption->end);
}

static int prepare(struct run *run)
{
    return interrupted_prepare(run, record);
}

const struct test irq_p_lat = {
    .id = "IRQ-P-LAT",
    .title = "Interrupt latency",
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

/* What the image was configured to be: NuttX tells a program little, and its configuration is known
 * when the probe is compiled with it. */
#include "base/posix_source.h"

#include "port/port.h"

#include <malloc.h>

#ifdef CONFIG_BUILD_KERNEL
#define BUILD "kernel"
#elif defined(CONFIG_BUILD_PROTECTED)
#define BUILD "protected"
#else
#define BUILD "flat"
#endif

static void kernel_facts(const struct port_fact_sink *sink)
{
    bool is_tickless = false, inherits = false, is_smp = false;
#ifdef CONFIG_SCHED_TICKLESS
    is_tickless = true;
#endif
#ifdef CONFIG_PRIORITY_INHERITANCE
    inherits = true;
#endif
#ifdef CONFIG_SMP
    is_smp = true;
#endif
    sink->number(sink->context, "kernel.tick_ns", (int64_t)CONFIG_USEC_PER_TICK * 1000);
    sink->truth(sink->context, "kernel.tickless", is_tickless);
    sink->truth(sink->context, "kernel.inheritance", inherits);
    sink->truth(sink->context, "kernel.smp", is_smp);
    sink->text(sink->context, "kernel.address_spaces", BUILD);
#if CONFIG_RR_INTERVAL > 0
    sink->number(sink->context, "kernel.rr_interval_ns", (int64_t)CONFIG_RR_INTERVAL * 1000000);
#endif
}

void port_facts(const struct port_fact_sink *sink)
{
    kernel_facts(sink);
    sink->text(sink->context, "machine.board", CONFIG_ARCH_BOARD);
#ifdef CONFIG_ARCH_CHIP
    sink->text(sink->context, "machine.chip", CONFIG_ARCH_CHIP);
#endif
    sink->number(sink->context, "memory.total_bytes", (int64_t)CONFIG_RAM_SIZE);
    sink->number(sink->context, "memory.heap_bytes", (int64_t)mallinfo().arena);
}

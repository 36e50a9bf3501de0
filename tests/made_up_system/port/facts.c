/* What Kestrel says of itself. */
#include "port/port.h"

#include <kestrel.h>

void port_facts(const struct port_fact_sink *sink)
{
    sink->text(sink->context, "os.name", "Kestrel " KES_VERSION);
    sink->text(sink->context, "machine.board", kes_board());
    sink->number(sink->context, "kernel.hz", 1000000 / kes_tick_us());
    sink->number(sink->context, "memory.total_bytes", kes_mem_total());
}

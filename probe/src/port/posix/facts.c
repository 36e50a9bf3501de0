/* POSIX reports no facts about the machine. */
#include "port/port.h"

void port_facts(const struct port_fact_sink *sink)
{
    (void)sink;
}

void port_sources(const struct port_source_sink *sink)
{
    (void)sink;
}

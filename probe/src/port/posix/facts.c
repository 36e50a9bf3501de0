/* POSIX reports no facts about the machine. */
#include "port/port.h"

void port_facts(const struct port_fact_sink *sink)
{
    (void)sink;
}

/* POSIX has no files that say what the machine is. */
#include "port/port.h"

void port_sources(const struct port_source_sink *sink)
{
    (void)sink;
}

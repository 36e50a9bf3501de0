/* The name of a port. Each has its own. */
#include "port/port.h"

const char *port_name(void)
{
    return "posix";
}

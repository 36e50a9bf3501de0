/* The name of this port. */
#include "port/port.h"

const char *port_name(void)
{
    return "rtems";
}

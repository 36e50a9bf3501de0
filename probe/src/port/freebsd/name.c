/* The name of this port. It compiles with FreeBSD's headers; nothing of it has run. */
#include "port/port.h"

const char *port_name(void)
{
    return "freebsd";
}

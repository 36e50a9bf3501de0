/* The name of this port. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

const char *port_name(void)
{
    return "linux";
}

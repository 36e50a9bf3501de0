#include "port/port.h"

const char *port_name(void)
{
    return "nuttx";
}

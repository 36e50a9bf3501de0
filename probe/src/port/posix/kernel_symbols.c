/* Names of places in the kernel on systems that do not tell them. */
#include "port/tracing.h"

#include <stdio.h>

void port_tracing_symbols(const int64_t *offsets, int count, char names[][PORT_SYMBOL_BYTES])
{
    for (int i = 0; i < count; i++)
        snprintf(names[i], PORT_SYMBOL_BYTES, "_stext+0x%llx", (unsigned long long)offsets[i]);
}

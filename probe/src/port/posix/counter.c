/* POSIX does not say how fast the counter of a processor runs. */
#include "port/port.h"

#include <stdio.h>

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
#if defined(__aarch64__) || defined(__riscv)
    (void)reason, (void)reason_bytes;
    return true; /* the architecture guarantees one rate; clock_open checks it against the clock */
#else
    snprintf(reason, reason_bytes,
             "POSIX does not say whether the counter runs at one rate on all CPUs");
    return false;
#endif
}

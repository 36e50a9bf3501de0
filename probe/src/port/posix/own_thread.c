#include "base/posix_source.h"

#include "port/port.h"

#include <errno.h>

int port_deadline_self(int64_t runtime_ns, int64_t period_ns)
{
    (void)runtime_ns, (void)period_ns;
    return ENOTSUP;
}

bool port_own_switches(int64_t *voluntary, int64_t *involuntary)
{
    *voluntary = *involuntary = -1;
    return false;
}

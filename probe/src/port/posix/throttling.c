/* POSIX knows no limit on the time of a CPU. */
#include "port/port.h"

#include <string.h>

bool port_realtime_budget(struct port_realtime_budget *budget)
{
    memset(budget, 0, sizeof *budget);
    return false;
}

bool port_throttling_group(char *group, size_t bytes)
{
    (void)group, (void)bytes;
    return false;
}

bool port_throttled(const char *group, int64_t *count, int64_t *ns)
{
    (void)group, (void)count, (void)ns;
    return false;
}

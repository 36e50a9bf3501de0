#include "base/posix_source.h"

#include "work/flood_way.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

int flood_refuse(struct flood *flood, int error, const char *what)
{
    snprintf(flood->reason, sizeof flood->reason, "%s: %s", what, strerror(error));
    return error;
}

void flood_keep(struct flood *flood, int descriptor)
{
    flood->descriptors[flood->descriptor_count++] = descriptor;
}

void flood_close_descriptors(struct flood *flood)
{
    while (flood->descriptor_count > 0)
        close(flood->descriptors[--flood->descriptor_count]);
}

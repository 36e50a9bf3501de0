/* What a file is stored on: NuttX names the file system. */
#include "base/posix_source.h"

#include "port/port.h"

#include <sys/statfs.h>

enum port_storage port_storage(int descriptor)
{
    struct statfs facts;
    if (fstatfs(descriptor, &facts) != 0)
        return PORT_STORAGE_UNKNOWN;
    return facts.f_type == TMPFS_MAGIC ? PORT_STORAGE_MEMORY : PORT_STORAGE_UNKNOWN;
}

/* What a file is stored on, on any POSIX system: not known. */
#include "base/posix_source.h"

#include "port/port.h"

enum port_storage port_storage(int descriptor)
{
    (void)descriptor;
    return PORT_STORAGE_UNKNOWN;
}

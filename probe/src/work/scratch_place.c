#include "base/posix_source.h"

#include "work/scratch_place.h"

#include "port/port.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LEAST_FREE_BYTES (INT64_C(256) << 20)

enum { FREE_PARTS = 20 };

bool scratch_is_disk(int descriptor)
{
    enum port_storage storage = port_storage(descriptor);
    return storage == PORT_STORAGE_DISK || storage == PORT_STORAGE_UNKNOWN;
}

static bool folder_is(const char *folder, bool wants_disk)
{
    if (access(folder, W_OK | X_OK) != 0)
        return false;
    int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
        return false;
    bool is_good = !wants_disk || scratch_is_disk(descriptor);
    close(descriptor);
    return is_good;
}

const char *scratch_place(void)
{
    static const char *const usual[] = {"/var/tmp", "/tmp"};
    const char *named = getenv("TMPDIR");
    if (named && *named == '/' && strlen(named) < SCRATCH_PLACE_BYTES - 64 &&
        folder_is(named, false))
        return named;
    for (int wants_disk = 1; wants_disk >= 0; wants_disk--)
        for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
            if (folder_is(usual[i], wants_disk))
                return usual[i];
    return NULL;
}

/* Free bytes for this user, less reserve / kept_parts; -1: not known. */
static int64_t room_bytes(int descriptor, int kept_parts)
{
    struct statvfs facts;
    if (fstatvfs(descriptor, &facts) != 0)
        return -1;
    int64_t unit = (int64_t)(facts.f_frsize ? facts.f_frsize : facts.f_bsize);
    int64_t kept = (int64_t)facts.f_blocks / FREE_PARTS * unit;
    kept = kept > LEAST_FREE_BYTES ? kept : LEAST_FREE_BYTES;
    return (int64_t)facts.f_bavail * unit - kept / kept_parts;
}

int64_t scratch_room_bytes(int descriptor)
{
    int64_t room = room_bytes(descriptor, 1);
    return room > 0 ? room : 0;
}

bool scratch_is_short(int descriptor)
{
    return room_bytes(descriptor, 1) < 0;
}

bool scratch_is_very_short(int descriptor)
{
    return room_bytes(descriptor, 2) < 0;
}

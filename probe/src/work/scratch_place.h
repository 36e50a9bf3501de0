/* Where scratch files go, and how much of its space stays free. */
#ifndef HS_WORK_SCRATCH_PLACE_H
#define HS_WORK_SCRATCH_PLACE_H

#include "base/posix_source.h"

#include <stdbool.h>
#include <stdint.h>

enum { SCRATCH_PLACE_BYTES = 256 };

/* $TMPDIR if it is an absolute path shorter than SCRATCH_PLACE_BYTES - 64 and writable, else the
 * first of /var/tmp and /tmp that is writable and on a disk, else the first that is writable. NULL:
 * there is none. */
const char *scratch_place(void);

/* True if the file lies on a disk, or on storage of unknown kind. */
bool scratch_is_disk(int descriptor);

/* Bytes that may still be written to the file system of `descriptor`: free space less the reserve.
 * The reserve is 256 MiB or 5 % of the file system, whichever is larger. At least 0. */
int64_t scratch_room_bytes(int descriptor);

/* True when less than the reserve is free, or the free space is not known. */
bool scratch_is_short(int descriptor);

/* True when less than half of the reserve is free, or the free space is not known. */
bool scratch_is_very_short(int descriptor);

#endif

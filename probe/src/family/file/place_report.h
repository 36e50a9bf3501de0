/* What is told about the place of the files. */
#ifndef HS_FAMILY_FILE_PLACE_REPORT_H
#define HS_FAMILY_FILE_PLACE_REPORT_H

#include "base/posix_source.h"

#include "port/file.h"
#include "run/run.h"

#include <stdbool.h>

struct place_report {
    struct run *run;
    const struct port_file_place *facts;
    const char *folder;
    bool can_direct;    /* direct I/O is possible */
    int64_t free_bytes; /* -1: not known */
};

/* Events: file_place; file_flush, unless the files are in memory; file_in_memory, file_on_network.
 */
void place_report_tell(const struct place_report *report);

#endif

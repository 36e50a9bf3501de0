/* What is told about the place of the files. */
#ifndef HS_FAMILY_FILE_PLACE_REPORT_H
#define HS_FAMILY_FILE_PLACE_REPORT_H

#include "family/file/place.h"

/* Events: file_place; file_flush where there is a device; file_in_memory, file_on_network. `file`:
 * an open file of the place. */
void file_place_tell(const struct file_place *place, int file);

#endif

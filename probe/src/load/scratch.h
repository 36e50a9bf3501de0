/* Files of a load: where they are made, how they vanish, how much room they may take. */
#ifndef HS_LOAD_SCRATCH_H
#define HS_LOAD_SCRATCH_H

#include "load/map.h"

#include <stdbool.h>
#include <stdint.h>

/* Chooses map->folder: $TMPDIR where it is set and can be written to, else the first of
 * /var/tmp and /tmp that lies on a disk, else the first that can be written to; and a name
 * below it in map->scratch, where `needs_names` or where files without names do not exist.
 * ENOENT: there is no such folder, and both are empty. */
int scratch_choose(struct load_map *map, bool needs_names, uint64_t seed);

/* Removes what loads of this user left in map->folder when all that would have removed it was
 * killed. */
void scratch_sweep(const struct load_map *map);

/* Makes the folder map->scratch, locked until the caller ends: 0 or errno. */
int scratch_make(const struct load_map *map);

/* Removes it with all that is in it; does nothing where there is none, or it is another's. */
void scratch_remove(const struct load_map *map);

/* A folder in map->scratch for what another program leaves: goes into it; 0 or errno. Removes
 * it with all that is in it: true when it is not (or no more) there. */
int scratch_enter_room(const struct load_map *map);
bool scratch_clear_room(const struct load_map *map);

/* A file without a name: descriptor, or -1 with errno. */
int scratch_file(const struct load_map *map);

/* Whether what the file lies on is a disk, as far as can be known. */
bool scratch_is_disk(int descriptor);

/* Bytes that may still be written where the file lies, when what must stay free is kept: the
 * larger of 256 MiB and 5 % of the file system. Not negative. */
int64_t scratch_room_bytes(int descriptor);

/* True when less is free than what must stay free. */
bool scratch_is_short(int descriptor);

/* True when less than half of that is free. */
bool scratch_is_very_short(int descriptor);

#endif

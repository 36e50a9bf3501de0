/* Scratch files of a load: their folder, their space limit, their removal. */
#ifndef HS_LOAD_SCRATCH_H
#define HS_LOAD_SCRATCH_H

#include "load/map.h"
#include "work/scratch_place.h"

#include <stdbool.h>
#include <stdint.h>

/* Sets map->folder to scratch_place(). Also sets map->scratch, a new name in that folder, if
 * `needs_names` or if the file system has no anonymous files.
 * 0; ENOENT: there is no such folder, and both names are empty. */
int scratch_choose(struct load_map *map, bool needs_names, uint64_t seed);

/* Removes scratch folders of this user in map->folder whose load was killed with its guard and
 * supervisor. */
void scratch_sweep(const struct load_map *map);

/* Makes the folder map->scratch, with a lock that the caller holds until it ends. 0, or the errno
 * of mkdir. Does nothing if no name was chosen. */
int scratch_make(const struct load_map *map);

/* Removes map->scratch with its contents; does nothing if it does not exist or belongs to another
 * user. */
void scratch_remove(const struct load_map *map);

/* The work folder: a folder in map->scratch for the files of the external stressor. `enter` makes
 * it and changes into it: 0, or an errno value (ENOENT: no scratch folder was chosen). `clear`
 * removes it with its contents: true if it no longer exists. */
int scratch_enter_room(const struct load_map *map);
bool scratch_clear_room(const struct load_map *map);

/* Opens an anonymous file: descriptor, or -1 with errno (ENOENT: no folder was chosen). */
int scratch_file(const struct load_map *map);

#endif

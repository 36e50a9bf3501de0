/* Scratch files of a load or a test: their folder, their space limit, their removal. */
#ifndef HS_WORK_SCRATCH_H
#define HS_WORK_SCRATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SCRATCH_BYTES = 256 };

struct scratch {
    char folder[SCRATCH_BYTES]; /* chosen by scratch_choose; empty: none */
    char own[SCRATCH_BYTES];    /* private folder in it; empty: none */
    int lock;                   /* a descriptor of `locked_by`, a process; 0: of none */
    pid_t locked_by;
};

/* Chooses scratch->folder: $TMPDIR if it is an absolute path and writable, else the first of
 * /var/tmp and /tmp that is writable and on a disk, else the first that is writable. Also sets
 * scratch->own, a new name in that folder, if `needs_names` or if the file system has no anonymous
 * files. 0; ENOENT: there is no such folder, and both names are empty. */
int scratch_choose(struct scratch *scratch, bool needs_names, uint64_t seed);

/* The same in the folder `folder`; NULL: scratch_choose. Otherwise errno of what is wrong with the
 * folder: ENOENT, ENOTDIR, EACCES, EROFS, ENAMETOOLONG. */
int scratch_choose_in(struct scratch *scratch, const char *folder, bool needs_names, uint64_t seed);

/* Removes scratch folders of this user in scratch->folder whose processes were all killed. */
void scratch_sweep(const struct scratch *scratch);

/* Makes the folder scratch->own, with a lock that the caller's process holds until it removes the
 * folder, or ends. 0, or the errno of mkdir. Does nothing if no name was chosen. */
int scratch_make(struct scratch *scratch);

/* Removes scratch->own with its contents; does nothing if it does not exist or belongs to another
 * user. */
void scratch_remove(struct scratch *scratch);

/* The work folder: a folder in scratch->own for the files of the external stressor. `enter` makes
 * it and changes into it: 0, or an errno value (ENOENT: no scratch folder was chosen). `clear`
 * removes it with its contents: true if it no longer exists. */
int scratch_enter_room(const struct scratch *scratch);
bool scratch_clear_room(const struct scratch *scratch);

/* Opens an anonymous file: descriptor, or -1 with errno (ENOENT: no folder was chosen). */
int scratch_file(const struct scratch *scratch);

/* The same, opened with `flags` (O_DSYNC, O_SYNC) too. */
int scratch_file_with(const struct scratch *scratch, int flags);

/* True if the file lies on a disk, or on storage of unknown kind. */
bool scratch_is_disk(int descriptor);

/* Bytes that a load may still write to the file system of `descriptor`: free space less the
 * reserve. The reserve is 256 MiB or 5 % of the file system, whichever is larger. At least 0. */
int64_t scratch_room_bytes(int descriptor);

/* True when less than the reserve is free, or the free space is not known. */
bool scratch_is_short(int descriptor);

/* True when less than half of the reserve is free, or the free space is not known. */
bool scratch_is_very_short(int descriptor);

#endif

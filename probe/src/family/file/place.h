/* The folder in which a test makes its files, and what is known about it. The files have no names,
 * so that nothing is left of them, however the test ends; where the system cannot do that they lie
 * in a folder of the probe's own, which a guard removes. */
#ifndef HS_FAMILY_FILE_PLACE_H
#define HS_FAMILY_FILE_PLACE_H

#include "base/posix_source.h"

#include "family/shared/ipc_cleanup.h"
#include "port/file.h"
#include "run/run.h"
#include "work/scratch.h"

#include <signal.h>

/* Direct I/O: sizes, places and memory are multiples of it. */
enum { FILE_BLOCK_BYTES = 4096, FILE_MOST_WRITE_BYTES = 1 << 20 };

struct file_place {
    struct run *run;
    struct scratch scratch;
    struct ipc_cleanup cleanup;
    struct port_file_place facts;
    bool can_direct;       /* reads and writes can go past the page cache */
    int64_t looked_ns;     /* of file_place_is_short */
    unsigned char *memory; /* aligned, of FILE_MOST_WRITE_BYTES, no page all alike */
    void *memory_block;
    uint64_t renewed_count;
    struct sigaction before; /* of SIGXFSZ */
    bool is_signal_ignored;
};

/* For a test's `check`: whether the folder of --dir can be used. 0, or -1 with the outcome. */
int file_place_check(struct run *run);

/* Finds the folder, looks at it and reports what was found (events file_place, ...). `has_process`:
 * the test starts a second process. 0, or -1 with the outcome. Call file_place_close in any case.
 */
int file_place_open(struct file_place *place, struct run *run, bool has_process);
void file_place_close(struct file_place *place);

/* Makes each block of the first `bytes` of memory another one than before, so that a device that
 * keeps equal blocks once has to write it. */
void file_place_renew(struct file_place *place, size_t bytes);

/* Opens an empty file with `flags` (0, O_DSYNC, O_SYNC). Descriptor, or -1 with the outcome. */
int file_place_file(const struct file_place *place, int flags);

/* The same with `bytes` of data that are on the device; memory is not used before. */
int file_place_filled(const struct file_place *place, int flags, int64_t bytes);

/* At most `wanted`, and at most a `parts`-th of the space that may be used there. -1 with the
 * outcome if that is less than `least`. */
int64_t file_place_room(const struct file_place *place, int64_t wanted, int64_t least, int parts);

/* Whether the space on the device has become short: then the outcome says so. Looks ten times a
 * second; `now_ns`: CLOCK_MONOTONIC. */
bool file_place_is_short(struct file_place *place, int file, int64_t now_ns);

/* Sets the outcome for a call that failed with `error`, with what to do about space, quota, a
 * read-only file system and a broken device. -1. */
int file_place_fail(struct run *run, int error, const char *what);

/* Forgets what the page cache holds of the file, as far as the system does that. */
void file_place_forget(int file);

/* fdatasync, or fsync where the system has only that. 0, or -1 with errno. */
int file_place_synchronise(int file);

/* ---- values ---- */

/* Values of a test that mostly waits for a device: a loop without bursts (run/run.h), which
 * are for threads that are always runnable. */

/* Takes values until the variant's share of samples or time is used up, a stop is requested or the
 * space on the device is short; the count is that of series `counted`. The first `warm_up` values
 * are not recorded. Rests as a thread must that does not block (run/run.h): in memory nothing
 * blocks. `take` returns 0, or -1 with the outcome. 0 or -1. */
int file_sample(struct file_place *place, int file, int counted, int warm_up,
                int (*take)(struct run *run));

#endif

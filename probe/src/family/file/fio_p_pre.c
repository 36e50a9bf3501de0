/* FIO-P-PRE: preallocation of disk space (Hewlett-Packard, real-time HP-UX, 1987).
 *
 * What: writes of size_bytes to the end of a file, each with an fdatasync behind it. appended: the
 *   file grows; preallocated: space for all of it was allocated before (on Linux by the system call
 *   itself, so that no library writes zeros instead). After file_bytes the file is cut to nothing
 *   and begun anew, which is in no value. The extents of each file are counted at its end (event
 *   file_extents). The verdict asks the file system (st_blocks) right after the call.
 * Begin, end: `write`: before and after the write; `synchronise`: before and after the fdatasync
 *   that follows. One thread, one clock.
 * Threads: the measuring one, at the run's policy, priority and CPU.
 * Wrong if: a file system writes each block to a new place (btrfs): the place is chosen later all
 *   the same. A preallocated block that is written for the first time has to be marked as written:
 *   that is part of `synchronise`. In memory nothing is synchronised (event file_in_memory).
 */
#include "base/posix_source.h"

#include "family/file/place.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SAMPLES = 300, WARM_UP = 2, MOST_SHORT = 16, BLOCK_UNIT_BYTES = 512, FILES = 2 };
enum { WRITE, SYNCHRONISE };
enum mode { APPENDED, PREALLOCATED, MODES };

static const char *const mode_names[] = {"appended", "preallocated", NULL};

static const struct param_spec params[] = {
    {"mode", PARAM_NAME, true, "appended,preallocated", 0, 0, mode_names,
     "whether space was allocated in advance", "mode"},
    {"size_bytes", PARAM_BYTES, false, "65536", 1, FILE_MOST_WRITE_BYTES, NULL, "bytes of a write"},
    {"file_bytes", PARAM_BYTES, false, "8388608", FILE_MOST_WRITE_BYTES, INT64_C(2) << 30, NULL,
     "length at which the file is started again; less if space is short"},
    {0},
};

static const struct series_spec series[] = {
    {"write", "ns", "mode", "before the write to the end of the file", "after it"},
    {"synchronise", "ns", "mode", "before the fdatasync that follows", "after it"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"preallocated_has_space", "a preallocated file has its space"},
    {0},
};

struct own {
    struct file_place place;
    enum mode mode;
    int file;
    int64_t file_bytes, at;
    size_t size_bytes;
    int short_count;
    int64_t least_allocated_bytes; /* right after preallocation; -1: never done */
    int64_t files_count;           /* whose extents were counted */
    struct port_extents sum, most;
    int extents_error;
};

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->size_bytes = (size_t)run_number(run, "size_bytes");
    own->least_allocated_bytes = -1;
    if (file_place_open(&own->place, run, false) != 0)
        return -1;
    own->file_bytes =
        file_place_room(&own->place, run_number(run, "file_bytes"), FILE_MOST_WRITE_BYTES, FILES);
    return own->file_bytes < 0 ? -1 : 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        file_place_close(&own->place);
}

/* ---- a file ---- */

static void count_extents(struct own *own)
{
    struct port_extents extents;
    own->extents_error = port_file_extents(own->file, &extents);
    if (own->extents_error)
        return;
    own->files_count++;
    own->sum.extents_count += extents.extents_count;
    own->sum.pieces_count += extents.pieces_count;
    if (extents.extents_count > own->most.extents_count)
        own->most.extents_count = extents.extents_count;
    if (extents.pieces_count > own->most.pieces_count)
        own->most.pieces_count = extents.pieces_count;
}

static void note_allocated(struct own *own)
{
    struct stat facts;
    if (fstat(own->file, &facts) != 0)
        return;
    int64_t bytes = (int64_t)facts.st_blocks * BLOCK_UNIT_BYTES;
    if (own->least_allocated_bytes < 0 || bytes < own->least_allocated_bytes)
        own->least_allocated_bytes = bytes;
}

/* 0; 1: this file system cannot preallocate, and an event says so; -1 with the outcome. */
static int preallocate(struct run *run)
{
    struct own *own = run->own;
    int error = port_preallocate(own->file, own->file_bytes);
    if (error == ENOTSUP) {
        arena_event(run->arena, "preallocation_unsupported", -1,
                    DATA(*own->place.facts.system ? data_text("system", own->place.facts.system)
                                                  : data_none()),
                    "preallocated: the system or the file system (%s) cannot allocate space in "
                    "advance",
                    *own->place.facts.system ? own->place.facts.system : "not known");
        return 1;
    }
    if (error)
        return file_place_fail(run, error, "allocating space in advance (posix_fallocate)");
    note_allocated(own);
    return 0;
}

/* Empty; what came before is on the device, so that nothing of it is written in a value. */
static int begin_file(struct run *run)
{
    struct own *own = run->own;
    own->at = 0;
    if (ftruncate(own->file, 0) != 0 || fsync(own->file) != 0)
        return file_place_fail(run, errno, "starting a new file");
    return own->mode == PREALLOCATED ? preallocate(run) : 0;
}

static int take(struct run *run)
{
    struct own *own = run->own;
    if (own->at + (int64_t)own->size_bytes > own->file_bytes) {
        count_extents(own);
        if (begin_file(run) != 0)
            return -1;
    }
    file_place_renew(&own->place, own->size_bytes);
    uint64_t begin = clock_begin(&run->clock);
    ssize_t done = pwrite(own->file, own->place.memory, own->size_bytes, (off_t)own->at);
    uint64_t middle = clock_end(&run->clock);
    int result = done > 0 ? file_place_synchronise(own->file) : 0;
    uint64_t end = clock_end(&run->clock);
    if ((done < 0 && errno != EINTR) || result != 0)
        return file_place_fail(run, errno, done < 0 ? "write" : "fdatasync");
    own->at += done > 0 ? done : 0;
    if (done == (ssize_t)own->size_bytes) {
        run_take(run, WRITE, begin, middle);
        run_take(run, SYNCHRONISE, middle, end);
        return 0;
    }
    own->short_count++;
    return own->short_count < MOST_SHORT
               ? 0
               : outcome_set(&run->outcome, STATUS_FAILED, "see ulimit -f, quota and free space",
                             "%d writes wrote less than requested", own->short_count);
}

/* ---- what is told ---- */

static void report_extents(struct run *run)
{
    const struct own *own = run->own;
    const char *mode = mode_names[own->mode];
    if (own->files_count == 0) {
        arena_event(run->arena, "file_extents_not_read", -1,
                    DATA(data_text("mode", mode), data_text("error", strerror(own->extents_error))),
                    "%s: the extents of the file cannot be read: %s", mode,
                    strerror(own->extents_error));
        return;
    }
    double files = (double)own->files_count;
    arena_event(run->arena, "file_extents", -1,
                DATA(data_text("mode", mode), data_integer("files_count", own->files_count),
                     data_integer("file_bytes", own->file_bytes),
                     data_number("mean_extents", (double)own->sum.extents_count / files),
                     data_integer("most_extents", own->most.extents_count),
                     data_number("mean_pieces", (double)own->sum.pieces_count / files),
                     data_integer("most_pieces", own->most.pieces_count)),
                "%s: %lld files of up to %lld KiB had %.1f extents on average (at most %lld), in "
                "%.1f pieces of the device (at most %lld)",
                mode, (long long)own->files_count, (long long)(own->file_bytes >> 10),
                (double)own->sum.extents_count / files, (long long)own->most.extents_count,
                (double)own->sum.pieces_count / files, (long long)own->most.pieces_count);
}

static void report_short(struct run *run)
{
    const struct own *own = run->own;
    if (own->short_count > 0)
        arena_event(
            run->arena, "short_writes", -1,
            DATA(data_text("mode", mode_names[own->mode]), data_integer("count", own->short_count)),
            "%s: %d writes wrote less than requested, and have no value", mode_names[own->mode],
            own->short_count);
}

static void begin_variant(struct run *run)
{
    struct own *own = run->own;
    own->mode = (enum mode)variant_number(run, "mode");
    own->short_count = 0;
    own->files_count = 0;
    own->extents_error = 0;
    memset(&own->sum, 0, sizeof own->sum);
    memset(&own->most, 0, sizeof own->most);
    own->file = file_place_file(&own->place, 0);
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    begin_variant(run);
    if (own->file < 0)
        return -1;
    int result = begin_file(run);
    if (result == 0) {
        result = file_sample(&own->place, own->file, WRITE, WARM_UP, take);
        if (own->files_count == 0)
            count_extents(own);
        report_extents(run);
        report_short(run);
    }
    close(own->file);
    return result < 0 ? -1 : 0;
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (own->least_allocated_bytes >= 0)
        arena_verdict(
            run->arena, own->least_allocated_bytes >= own->file_bytes, 1, verdicts[0].name,
            "right after the call the device held %lld KiB of the file's %lld KiB",
            (long long)(own->least_allocated_bytes >> 10), (long long)(own->file_bytes >> 10));
    if (arena_has_values(run->arena))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use -p mode=appended",
                       "space cannot be allocated in advance here");
}

const struct test fio_p_pre = {
    .id = "FIO-P-PRE",
    .title = "Preallocation of disk space",
    .source = "[H] Hewlett-Packard, real-time HP-UX, 1987",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_FILES,
    .default_samples = SAMPLES,
    .setup_ns = 200000000,
    .sample_ns = 2000000,
    .check = file_place_check,
    .prepare = prepare,
    .measure = variants_measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

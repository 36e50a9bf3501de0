/* FIO-P-SYN: synchronised writes (Hewlett-Packard, real-time HP-UX, 1987; Obenland 2000).
 *
 * What: writes of size_bytes to a file that was filled and synchronised before, so that none has to
 *   allocate, from its begin to its end and again. buffered: to the page cache; o_dsync, o_sync: it
 *   returns when data (and all about the file) are on the device; fdatasync: an ordinary write and
 *   fdatasync, both between the stamps. `rest`: an fdatasync after each value.
 * Begin, end: before and after the write (fdatasync: after that). One thread, one clock.
 * Threads: the measuring one, at the run's policy, priority and CPU.
 * Wrong if: the write did not go to the device. The device's own count of bytes written is read
 *   around each synchronised write, outside the stamps, and has to rise (writes_reach_device);
 *   there is a verdict only where that count shows direct writes to a file of one block device,
 *   else an event says why not. A write of somebody else hides one of ours, but not many. What the
 *   device did with a flush cannot be seen (event file_flush); in memory nothing is synchronised.
 */
#include "base/posix_source.h"

#include "base/options.h"
#include "family/file/figures.h"
#include "family/file/place.h"
#include "run/variant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 300, WARM_UP = 4, CONTROLS = 8, MOST_SHORT = 16 };
enum { WRITE, REST };
enum mode { WITHOUT, O_DSYNC_MODE, O_SYNC_MODE, WITH_FDATASYNC, MODES };

#define FILE_BYTES (INT64_C(4) << 20)

static const char *const mode_names[] = {"buffered", "o_dsync", "o_sync", "fdatasync", NULL};

static const struct param_spec params[] = {
    {"mode", PARAM_NAME, true, "buffered,o_dsync,o_sync,fdatasync", 0, 0, mode_names,
     "how a write is synchronised", "mode"},
    {"size_bytes", PARAM_BYTES, false, "4096", 1, FILE_MOST_WRITE_BYTES, NULL, "bytes of a write"},
    {0},
};

static const struct series_spec series[] = {
    {"write", "ns", "mode", "before the write",
     "after it; with fdatasync: after the fdatasync that follows"},
    {"rest", "ns", "mode", "before an fdatasync right after that", "after it"},
    {0},
};

static const struct verdict_spec verdicts[] = {
    {"writes_reach_device",
     "the device has counted new data for each synchronised write before it returns"},
    {0},
};

struct own {
    struct file_place place;
    enum mode mode;
    int file;
    size_t size_bytes;
    int64_t at; /* of the next write */
    int short_count;
    bool is_counted;         /* the device's count shows what is written to a file */
    const char *not_counted; /* why not */
    struct synchronised synchronised[MODES];
    int64_t flushes[MODES]; /* of the device in that variant; -1: not known */
    bool was_measured[MODES];
};

static bool has_variant(const struct run *run, struct variant *variant)
{
    bool is_plain = variant->number[variant_place(run, "mode")] == WITHOUT;
    return is_plain || HS_HAS_SYNCHRONIZED_FILES;
}

static int flags_of(enum mode mode)
{
#if HS_HAS_SYNCHRONIZED_FILES
    return mode == O_DSYNC_MODE ? O_DSYNC : (mode == O_SYNC_MODE ? O_SYNC : 0);
#else
    (void)mode;
    return 0;
#endif
}

static int64_t device_bytes(const struct own *own)
{
    return own->is_counted ? port_device_written_bytes(own->place.facts.number) : -1;
}

/* Whether direct writes, which nothing can hold back, are in the device's count. */
static bool count_shows_writes(const struct own *own, int file)
{
    struct synchronised control;
    dev_t device = own->place.facts.number;
    synchronised_begin(&control, port_device_written_bytes(device));
    for (int i = 0; i < CONTROLS; i++) {
        if (pwrite(file, own->place.memory, FILE_BLOCK_BYTES, (off_t)i * FILE_BLOCK_BYTES) !=
            FILE_BLOCK_BYTES)
            return false;
        synchronised_take(&control, port_device_written_bytes(device));
    }
    return synchronised_holds(&control);
}

static const char *why_not_counted(const struct own *own)
{
    const struct file_place *place = &own->place;
    if (place->facts.storage == PORT_STORAGE_MEMORY)
        return "the files are in memory";
    if (!place->facts.has_number)
        return "it is not known to be on one block device";
    if (port_device_written_bytes(place->facts.number) < 0)
        return "the device's writes are not counted";
    if (!place->can_direct)
        return "its file system has no direct I/O, which is needed to check the count";
    int file = file_place_file(place, 0);
    if (file < 0)
        return "no file could be made";
    bool is_shown = port_direct_io(file) == 0 && count_shows_writes(own, file);
    close(file);
    return is_shown ? NULL : "the device's count does not show direct writes to a file";
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->size_bytes = (size_t)run_number(run, "size_bytes");
    if (file_place_open(&own->place, run, false) != 0)
        return -1;
    own->not_counted = why_not_counted(own);
    own->is_counted = !own->not_counted;
    return 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        file_place_close(&own->place);
}

/* 0: all was written. A write may be cut by a signal or a limit; it has no value then. */
static int check_write(struct run *run, ssize_t done)
{
    struct own *own = run->own;
    if (done == (ssize_t)own->size_bytes)
        return 0;
    if (done < 0 && errno != EINTR)
        return file_place_fail(run, errno, "write");
    own->short_count++;
    return own->short_count < MOST_SHORT
               ? 1
               : outcome_set(&run->outcome, STATUS_FAILED, "see ulimit -f, quota and free space",
                             "%d writes wrote less than requested", own->short_count);
}

static int take_rest(struct run *run)
{
    const struct own *own = run->own;
    uint64_t begin = clock_begin(&run->clock);
    int result = file_place_synchronise(own->file);
    uint64_t end = clock_end(&run->clock);
    if (result != 0)
        return file_place_fail(run, errno, "fdatasync");
    run_take(run, REST, begin, end);
    return 0;
}

static int take(struct run *run)
{
    struct own *own = run->own;
    bool is_last = own->mode == WITH_FDATASYNC;
    if (own->at + (int64_t)own->size_bytes > FILE_BYTES)
        own->at = 0;
    file_place_renew(&own->place, own->size_bytes);
    uint64_t begin = clock_begin(&run->clock);
    ssize_t done = pwrite(own->file, own->place.memory, own->size_bytes, (off_t)own->at);
    int result = is_last && done >= 0 ? file_place_synchronise(own->file) : 0;
    uint64_t end = clock_end(&run->clock);
    if (result != 0)
        return file_place_fail(run, errno, "fdatasync");
    result = check_write(run, done);
    if (result != 0)
        return result < 0 ? -1 : 0;
    if (own->mode != WITHOUT && own->is_counted)
        synchronised_take(&own->synchronised[own->mode], device_bytes(own));
    run_take(run, WRITE, begin, end);
    own->at += (int64_t)own->size_bytes;
    result = take_rest(run);
    if (own->mode != WITHOUT && own->is_counted) /* what the rest has written is not the next's */
        own->synchronised[own->mode].bytes = device_bytes(own);
    return result;
}

static void report_counted(struct run *run)
{
    const struct own *own = run->own;
    const struct synchronised *counted = &own->synchronised[own->mode];
    int64_t flushes = own->flushes[own->mode];
    if (own->mode == WITHOUT || !synchronised_is_known(counted))
        return;
    arena_event(
        run->arena, "device_counted", -1,
        DATA(data_text("mode", mode_names[own->mode]),
             data_integer("writes_count", (int64_t)(counted->seen_count + counted->unseen_count)),
             data_integer("unseen_count", (int64_t)counted->unseen_count),
             data_integer("written_bytes", synchronised_device_bytes(counted)),
             flushes >= 0 ? data_integer("flushes_count", flushes) : data_none()),
        "%s: in %llu of %llu writes the device counted data; all programs together wrote %lld "
        "KiB to it meanwhile, with %lld flushes of its cache",
        mode_names[own->mode], (unsigned long long)counted->seen_count,
        (unsigned long long)counted->seen_count + counted->unseen_count,
        (long long)(synchronised_device_bytes(counted) >> 10), (long long)flushes);
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

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    own->mode = (enum mode)variant_number(run, "mode");
    own->at = 0;
    own->short_count = 0;
    own->file = file_place_filled(&own->place, flags_of(own->mode), FILE_BYTES);
    if (own->file < 0)
        return -1;
    int64_t flushes = own->is_counted ? port_device_flushes(own->place.facts.number) : -1;
    synchronised_begin(&own->synchronised[own->mode], device_bytes(own));
    int result = file_sample(&own->place, own->file, WRITE, WARM_UP, take);
    int64_t flushes_now = flushes < 0 ? -1 : port_device_flushes(own->place.facts.number);
    own->flushes[own->mode] = flushes_now < 0 ? -1 : flushes_now - flushes;
    own->was_measured[own->mode] = run->records[WRITE]->count > 0;
    close(own->file);
    report_counted(run);
    report_short(run);
    return result;
}

static void report_not_counted(struct run *run)
{
    const struct own *own = run->own;
    arena_event(run->arena, "synchronised_not_checked", -1,
                DATA(data_text("cause", own->not_counted)),
                "not checked whether synchronised writes reached the device of the file system: "
                "%s; compare the series rest of the modes",
                own->not_counted);
}

static void judge_mode(struct run *run, enum mode mode)
{
    struct own *own = run->own;
    const struct synchronised *counted = &own->synchronised[mode];
    char name[ARENA_NAME_BYTES];
    if (!own->was_measured[mode] || !synchronised_is_known(counted))
        return;
    snprintf(name, sizeof name, "%s/%s", verdicts[0].name, mode_names[mode]);
    arena_verdict(run->arena, synchronised_holds(counted),
                  counted->seen_count + counted->unseen_count, name,
                  "in %llu of %llu writes the device had counted new data when the call returned",
                  (unsigned long long)counted->seen_count,
                  (unsigned long long)counted->seen_count + counted->unseen_count);
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (own->not_counted)
        report_not_counted(run);
    for (int mode = O_DSYNC_MODE; mode < MODES; mode++)
        judge_mode(run, (enum mode)mode);
    return 0;
}

const struct test fio_p_syn = {
    .id = "FIO-P-SYN",
    .title = "Synchronised writes",
    .source = "[H] Hewlett-Packard, real-time HP-UX, 1987; [O] Obenland 2000",
    .params = params,
    .series = series,
    .verdicts = verdicts,
    .needs = TEST_NEEDS_FILES,
    .default_samples = SAMPLES,
    .setup_ns = 200000000,
    .sample_ns = 3000000,
    .check = file_place_check,
    .has_variant = has_variant,
    .prepare = prepare,
    .measure = variants_measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

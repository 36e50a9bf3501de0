#include "base/posix_source.h"

#include "family/file/place.h"

#include "base/options.h"
#include "run/variant.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- what is reported of it ---- */

struct place_report {
    struct run *run;
    const struct port_file_place *facts;
    const char *folder;
    bool can_direct;    /* direct I/O is possible */
    int64_t free_bytes; /* -1: not known */
};

static const char *const storage_names[] = {
    [PORT_STORAGE_UNKNOWN] = "unknown", [PORT_STORAGE_DISK] = "disk",
    [PORT_STORAGE_MEMORY] = "memory",   [PORT_STORAGE_NETWORK] = "network",
    [PORT_STORAGE_KERNEL] = "kernel",
};

static const char *or_unknown(const char *text)
{
    return *text ? text : "not known";
}

/* What lies below the folder, for people. */
static void describe(const struct port_file_place *facts, char *text, size_t bytes)
{
    if (!*facts->system)
        snprintf(text, bytes, "the file system, device and I/O scheduler are not known here");
    else
        snprintf(text, bytes, "file system %s on %s (%.80s%s), I/O scheduler %s%s", facts->system,
                 facts->device, facts->options, facts->are_options_cut ? "..." : "",
                 or_unknown(facts->scheduler),
                 facts->is_stacked ? " (of a device that consists of others with their own)" : "");
}

static void report_place(const struct place_report *report)
{
    const struct port_file_place *facts = report->facts;
    int64_t room = report->free_bytes;
    char below[ARENA_TEXT_BYTES];
    describe(facts, below, sizeof below);
    arena_event(report->run->arena, "file_place", -1,
                DATA(data_text("folder", report->folder),
                     *facts->system ? data_text("system", facts->system) : data_none(),
                     *facts->device ? data_text("device", facts->device) : data_none(),
                     data_text("storage", storage_names[facts->storage]),
                     *facts->options ? data_text("options", facts->options) : data_none(),
                     data_bool("options_cut", facts->are_options_cut),
                     *facts->scheduler ? data_text("scheduler", facts->scheduler) : data_none(),
                     data_bool("stacked", facts->is_stacked),
                     data_bool("direct", report->can_direct),
                     room >= 0 ? data_integer("free_bytes", room) : data_none()),
                "files in %.100s: %s, direct I/O %s, %lld MiB free", report->folder, below,
                report->can_direct ? "possible" : "not possible", (long long)(room >> 20));
}

static bool has_option(const char *options, const char *wanted)
{
    size_t length = strlen(wanted);
    for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == length && strncmp(at, wanted, length) == 0)
            return true;
    return false;
}

static bool keeps_flushes_back(const char *options)
{
    return has_option(options, "nobarrier") || has_option(options, "barrier=0");
}

/* Always told: it holds whatever the device says of its cache. */
static void report_flush(const struct place_report *report)
{
    const struct port_file_place *facts = report->facts;
    bool is_kept_back = keeps_flushes_back(facts->options);
    arena_event(
        report->run->arena, "file_flush", -1,
        DATA(*facts->write_cache ? data_text("write_cache", facts->write_cache) : data_none(),
             data_bool("kept_back", is_kept_back)),
        "write cache of the device: %s%s; it cannot be seen from here whether the device has "
        "written to its medium when it says so",
        or_unknown(facts->write_cache),
        is_kept_back ? " (the mount options keep flushes from it)" : "");
}

static void report_storage(const struct place_report *report)
{
    enum port_storage storage = report->facts->storage;
    if (storage == PORT_STORAGE_MEMORY)
        arena_event(
            report->run->arena, "file_in_memory", -1,
            DATA(*report->facts->system ? data_text("system", report->facts->system) : data_none()),
            "the files are in memory (%s): figures of synchronisation mean nothing, and the "
            "others are those of memory; name a folder on a disk with --dir",
            or_unknown(report->facts->system));
    if (storage == PORT_STORAGE_NETWORK)
        arena_event(
            report->run->arena, "file_on_network", -1,
            DATA(*report->facts->system ? data_text("system", report->facts->system) : data_none()),
            "the files may be on another machine (%s): the figures include the network and that "
            "machine",
            or_unknown(report->facts->system));
}

/* Events: file_place; file_flush, unless the files are in memory; file_in_memory, file_on_network.
 */
static void report_all(const struct place_report *report)
{
    report_place(report);
    if (report->facts->storage != PORT_STORAGE_MEMORY)
        report_flush(report);
    report_storage(report);
}

#define LOOK_NS INT64_C(100000000)
#define OTHER_FOLDER "name another folder: --dir PATH"

/* ---- what went wrong ---- */

static const struct {
    int error;
    enum status status;
    const char *remedy;
} known_errors[] = {
    {ENOSPC, STATUS_FAILED, "free space on the file system, or " OTHER_FOLDER},
#ifdef EDQUOT
    {EDQUOT, STATUS_DENIED, "raise the quota of this user (quota -s shows it), or " OTHER_FOLDER},
#endif
    {EFBIG, STATUS_DENIED, "raise the limit on file sizes (ulimit -f), or ask for smaller files"},
    {EROFS, STATUS_DENIED, "mount the file system for writing, or " OTHER_FOLDER},
    {EACCES, STATUS_DENIED, "allow this user to write there, or " OTHER_FOLDER},
    {EPERM, STATUS_DENIED, "allow this user to write there, or " OTHER_FOLDER},
    {ENOENT, STATUS_FAILED, "make the folder, or " OTHER_FOLDER},
    {ENOTDIR, STATUS_FAILED, OTHER_FOLDER},
    {ENAMETOOLONG, STATUS_FAILED, "name a folder by at most 180 characters: --dir PATH"},
    {EIO, STATUS_FAILED, "the device or its file system is damaged: see the kernel's log"},
};

int file_place_fail(struct run *run, int error, const char *what)
{
    for (size_t i = 0; i < sizeof known_errors / sizeof known_errors[0]; i++)
        if (known_errors[i].error == error)
            return outcome_set(&run->outcome, known_errors[i].status, known_errors[i].remedy,
                               "%s: %s", what, strerror(error));
    return outcome_set_errno(&run->outcome, error, what, OTHER_FOLDER);
}

static int refuse_folder(struct run *run, int error)
{
    char what[STATUS_TEXT_BYTES / 2];
    if (!run->folder)
        return outcome_set(&run->outcome, STATUS_DENIED, OTHER_FOLDER,
                           "no folder for files: $TMPDIR, /var/tmp and /tmp are not writable");
    snprintf(what, sizeof what, "--dir %.120s", run->folder);
    return file_place_fail(run, error, what);
}

int file_place_check(struct run *run)
{
    struct scratch scratch;
    int error = scratch_choose_in(&scratch, run->folder, false, 0);
    if (error)
        return refuse_folder(run, error);
    int folder = open(scratch.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool is_of_kernel = folder >= 0 && port_storage(folder) == PORT_STORAGE_KERNEL;
    if (folder >= 0)
        close(folder);
    return is_of_kernel ? outcome_set(&run->outcome, STATUS_FAILED, OTHER_FOLDER,
                                      "--dir %.120s: programs cannot create files there: it "
                                      "shows the kernel's own",
                                      scratch.folder)
                        : 0;
}

/* ---- files ---- */

int file_place_file(const struct file_place *place, int flags)
{
    int file = scratch_file_with(&place->scratch, flags);
    if (file < 0)
        file_place_fail(place->run, errno, "creating a file");
    return file;
}

int file_place_synchronise(int file)
{
#if HS_HAS_SYNCHRONIZED_FILES
    return fdatasync(file);
#else
    return fsync(file);
#endif
}

void file_place_forget(int file)
{
#if HS_HAS_ADVISORY_INFO && defined(POSIX_FADV_DONTNEED)
    (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
#else
    (void)file;
#endif
}

static int fill(const struct file_place *place, int file, int64_t bytes)
{
    for (int64_t at = 0; at < bytes;) {
        int64_t left = bytes - at;
        size_t part = left < FILE_MOST_WRITE_BYTES ? (size_t)left : FILE_MOST_WRITE_BYTES;
        ssize_t done = pwrite(file, place->memory, part, (off_t)at);
        if (done < 0 && errno != EINTR)
            return file_place_fail(place->run, errno, "filling a file");
        at += done > 0 ? done : 0;
        if (done == 0)
            return file_place_fail(place->run, ENOSPC, "filling a file");
    }
    if (fsync(file) != 0)
        return file_place_fail(place->run, errno, "synchronising a file (fsync)");
    return 0;
}

/* Written and not only allocated: a block that was never written is one of the file system's, of
 * which a read asks no device. */
int file_place_filled(const struct file_place *place, int flags, int64_t bytes)
{
    int file = file_place_file(place, flags);
    if (file < 0)
        return -1;
    (void)port_preallocate(file, bytes);
    if (fill(place, file, bytes) == 0)
        return file;
    close(file);
    return -1;
}

/* ---- space ---- */

int64_t file_place_room(const struct file_place *place, int64_t wanted, int64_t least, int parts)
{
    int file = file_place_file(place, 0);
    if (file < 0)
        return -1;
    int64_t room = scratch_room_bytes(file) / parts;
    close(file);
    int64_t bytes = room < wanted ? room : wanted;
    bytes -= bytes % FILE_MOST_WRITE_BYTES;
    if (bytes >= least)
        return bytes;
    return outcome_set(
        &place->run->outcome, STATUS_FAILED, "free space on the file system, or " OTHER_FOLDER,
        "too little space for the files in %.120s: %lld MiB are needed and %lld MiB may be used "
        "(256 MiB and 5 %% stay free)",
        place->scratch.folder, (long long)(least * parts >> 20), (long long)(room * parts >> 20));
}

bool file_place_is_short(struct file_place *place, int file, int64_t now_ns)
{
    if (now_ns - place->looked_ns < LOOK_NS)
        return false;
    place->looked_ns = now_ns;
    if (!scratch_is_short(file))
        return false;
    outcome_set(
        &place->run->outcome, STATUS_FAILED, "free space on the file system, or " OTHER_FOLDER,
        "stopped: %.120s ran short of space (256 MiB and 5 %% stay free)", place->scratch.folder);
    return true;
}

/* ---- begin and end ---- */

/* No two blocks are alike, and none is compressible. */
static void fill_memory(unsigned char *memory, uint64_t seed)
{
    uint64_t state = seed | 1;
    for (size_t i = 0; i < FILE_MOST_WRITE_BYTES; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memory[i] = (unsigned char)(state >> 32);
    }
}

void file_place_renew(struct file_place *place, size_t bytes)
{
    place->renewed_count++;
    for (size_t at = 0; at + sizeof place->renewed_count <= bytes; at += FILE_BLOCK_BYTES)
        memcpy(place->memory + at, &place->renewed_count, sizeof place->renewed_count);
}

static int make_memory(struct file_place *place)
{
    place->memory_block = malloc(FILE_MOST_WRITE_BYTES + FILE_BLOCK_BYTES);
    if (!place->memory_block)
        return outcome_set_errno(&place->run->outcome, ENOMEM, "memory to write", "free memory");
    uintptr_t over = (uintptr_t)place->memory_block % FILE_BLOCK_BYTES;
    place->memory = (unsigned char *)place->memory_block + (over ? FILE_BLOCK_BYTES - over : 0);
    fill_memory(place->memory, place->run->seed ^ (uint64_t)clock_monotonic_ns());
    return 0;
}

static bool try_direct(const struct file_place *place, int file)
{
    return port_direct_io(file) == 0 &&
           pwrite(file, place->memory, FILE_BLOCK_BYTES, 0) == FILE_BLOCK_BYTES &&
           pread(file, place->memory, FILE_BLOCK_BYTES, 0) == FILE_BLOCK_BYTES;
}

static int64_t free_bytes(int file)
{
    struct statvfs facts;
    if (fstatvfs(file, &facts) != 0)
        return -1;
    return (int64_t)facts.f_bavail * (int64_t)(facts.f_frsize ? facts.f_frsize : facts.f_bsize);
}

static int look(struct file_place *place)
{
    int file = file_place_file(place, 0);
    if (file < 0)
        return -1;
    if (file_place_room(place, FILE_MOST_WRITE_BYTES, FILE_MOST_WRITE_BYTES, 1) < 0) {
        close(file);
        return -1;
    }
    port_file_place(file, &place->facts);
    place->can_direct = try_direct(place, file);
    struct place_report report = {place->run, &place->facts, place->scratch.folder,
                                  place->can_direct, free_bytes(file)};
    report_all(&report);
    close(file);
    return 0;
}

/* A write beyond the limit on file sizes then fails with EFBIG, and does not end the process. */
static void ignore_limit_signal(struct file_place *place)
{
#ifdef SIGXFSZ
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    place->is_signal_ignored = sigaction(SIGXFSZ, &ignore, &place->before) == 0;
#else
    place->is_signal_ignored = false;
#endif
}

int file_place_open(struct file_place *place, struct run *run, bool has_process)
{
    place->run = run;
    ignore_limit_signal(place);
    uint64_t seed = run->seed ^ (uint64_t)clock_monotonic_ns();
    int error = scratch_choose_in(&place->scratch, run->folder, false, seed);
    if (error)
        return refuse_folder(run, error);
    scratch_sweep(&place->scratch);
    bool needs_guard = place->scratch.own[0] != '\0' || has_process;
    int result = needs_guard ? ipc_cleanup_open_with(&place->cleanup, run, &place->scratch)
                             : ipc_cleanup_open(&place->cleanup, run, false);
    if (result != 0)
        return -1;
    error = scratch_make(&place->scratch);
    if (error)
        return refuse_folder(run, error);
    return make_memory(place) == 0 ? look(place) : -1;
}

void file_place_close(struct file_place *place)
{
#ifdef SIGXFSZ
    if (place->is_signal_ignored)
        (void)sigaction(SIGXFSZ, &place->before, NULL);
#endif
    free(place->memory_block);
    if (place->run)
        scratch_remove(&place->scratch);
    ipc_cleanup_close(&place->cleanup);
}

/* ---- values ---- */

int file_sample(struct file_place *place, int file, int counted, int warm_up,
                int (*take)(struct run *run))
{
    struct run *run = place->run;
    const struct record *record = run->records[counted];
    struct run_budget budget = run_budget(run, variant_count(run));
    int result = 0;
    int64_t now_ns = run_anchor(run);
    run->is_warm_up = true;
    for (int i = 0; i < warm_up && result == 0 && !run_should_stop(); i++)
        result = take(run);
    run->is_warm_up = false;
    while (result == 0 && run_budget_left(&budget, record->count, now_ns)) {
        result = take(run);
        rt_budget_rest(&run->rt_budget);
        now_ns = run_anchor(run);
        if (result == 0 && file_place_is_short(place, file, now_ns))
            result = -1;
    }
    return result;
}

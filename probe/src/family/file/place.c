#include "base/posix_source.h"

#include "family/file/place.h"

#include "base/posix_optional.h"
#include "family/file/place_report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

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
    {EIO, STATUS_FAILED, "the device or its file system is broken: see the kernel's log"},
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
                           "no folder for files: $TMPDIR, /var/tmp and /tmp cannot be written");
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
                                      "--dir %.120s: there are no files of programs in it: it "
                                      "shows the kernel's own",
                                      scratch.folder)
                        : 0;
}

/* ---- files ---- */

int file_place_file(const struct file_place *place, int flags)
{
    int file = scratch_file_with(&place->scratch, flags);
    if (file < 0)
        file_place_fail(place->run, errno, "making a file");
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
        "too little space for the files in %.120s: %lld MiB are needed, and 256 MiB "
        "and 5 %% stay free; %lld MiB may be used",
        place->scratch.folder, (long long)(least * parts >> 20), (long long)(room * parts >> 20));
}

bool file_place_is_short(struct file_place *place, int file, int64_t now_ns)
{
    if (now_ns - place->looked_ns < LOOK_NS)
        return false;
    place->looked_ns = now_ns;
    if (!scratch_is_short(file))
        return false;
    outcome_set(&place->run->outcome, STATUS_FAILED,
                "free space on the file system, or " OTHER_FOLDER,
                "stopped: the space in %.120s became short (256 MiB and 5 %% stay free)",
                place->scratch.folder);
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
    place_report_tell(&report);
    close(file);
    return 0;
}

/* A write beyond the limit on file sizes then fails with EFBIG, and does not end the process. */
static void ignore_limit_signal(struct file_place *place)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    place->is_signal_ignored = sigaction(SIGXFSZ, &ignore, &place->before) == 0;
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
    if (place->is_signal_ignored)
        (void)sigaction(SIGXFSZ, &place->before, NULL);
    free(place->memory_block);
    if (place->run)
        scratch_remove(&place->scratch);
    ipc_cleanup_close(&place->cleanup);
}

/* disk: an anonymous file of FILE_BYTES on a disk, written once and then read past the page cache
 * (direct I/O), each read in another place, by FLOOD_HELPERS processes at once. Reads need no more
 * space and wear nothing. The flooding process itself only spins, behind its helpers. */
#include "base/posix_source.h"

#include "work/flood_way.h"
#include "work/scratch.h"

#include "port/port.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 4096, WRITE_BYTES = 65536 };

#define FILE_BYTES (INT64_C(16) << 20)
#define PAUSE_NS 1000000

static int open_file(struct flood *flood)
{
    struct scratch scratch;
    (void)scratch_choose(&scratch, false, 0);
    int file = scratch_file(&scratch);
    if (file < 0)
        return flood_refuse(flood, scratch.own[0] ? ENOTSUP : errno,
                            "no anonymous file in $TMPDIR, /var/tmp or /tmp");
    flood_keep(flood, file);
    if (!scratch_is_disk(file))
        return flood_refuse(flood, ENOTSUP,
                            "the scratch folder is not on a disk (set TMPDIR to one that is)");
    if (scratch_room_bytes(file) < FILE_BYTES)
        return flood_refuse(flood, ENOSPC,
                            "the scratch folder has too little space (256 MiB and 5 % stay free)");
    return 0;
}

static int fill(struct flood *flood)
{
    unsigned char block[WRITE_BYTES];
    memset(block, 0x5a, sizeof block);
    for (int64_t at = 0; at < FILE_BYTES; at += WRITE_BYTES)
        if (pwrite(flood->descriptors[0], block, WRITE_BYTES, (off_t)at) != WRITE_BYTES)
            return flood_refuse(flood, errno ? errno : EIO, "writing the scratch file");
    if (fsync(flood->descriptors[0]) != 0)
        return flood_refuse(flood, errno, "writing the scratch file");
    return 0;
}

static bool read_once(int file, uint64_t *random)
{
    unsigned char memory[2 * READ_BYTES];
    unsigned char *aligned = memory + (READ_BYTES - (uintptr_t)memory % READ_BYTES);
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    int64_t place = (int64_t)((*random >> 33) % (uint64_t)(FILE_BYTES / READ_BYTES));
    return pread(file, aligned, READ_BYTES, (off_t)(place * READ_BYTES)) == READ_BYTES;
}

static void help(struct flood *flood, int number, pid_t parent)
{
    uint64_t random = (uint64_t)number;
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    while (!atomic_load(&flood->is_over) && getppid() == parent) {
        if (!atomic_load(&flood->is_on))
            nanosleep(&pause, NULL);
        else if (read_once(flood->descriptors[0], &random))
            flood_count(&flood->done_count, 1);
        else
            flood_count(&flood->failed_count, 1);
    }
}

static int start_helper(struct flood *flood)
{
    pid_t parent = getpid();
    pid_t helper = port_fork();
    if (helper == 0) {
        int error = port_kill_with_parent(parent);
        if (error == 0 || error == ENOTSUP)
            help(flood, flood->helper_count + 1, parent);
        _exit(0);
    }
    if (helper < 0)
        return flood_refuse(flood, errno, "starting a process that reads");
    flood->helpers[flood->helper_count++] = helper;
    return 0;
}

static int prepare(struct flood *flood)
{
    uint64_t random = 0;
    int error = open_file(flood);
    if (!error)
        error = fill(flood);
    if (error)
        return error;
    error = port_direct_io(flood->descriptors[0]);
    if (error || !read_once(flood->descriptors[0], &random))
        return flood_refuse(flood, error ? error : errno, "direct reads of the scratch file");
    for (int i = 0; i < FLOOD_HELPERS && !error; i++)
        error = start_helper(flood);
    if (!error)
        (void)port_run_when_idle(); /* spins only while no helper is ready */
    return error;
}

const struct flood_way flood_disk = {.prepare = prepare};

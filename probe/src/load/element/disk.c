/* disk: writes to an anonymous file, each followed by fdatasync.
 *
 * The file is overwritten cyclically and never exceeds its quota. When free space falls below the
 * reserve (scratch.h), the file is truncated to 0 and the element sleeps. A write waits for the
 * device and not for a CPU, so the share counts time within the writes. */
#include "base/posix_source.h"

#include "load/element.h"
#include "work/scratch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_AGAIN = 16 };

#define QUOTA_BYTES (INT64_C(64) << 20)

struct disk {
    int file;
    int64_t quota_bytes, at;
    uint64_t turn;
    bool is_full;
    unsigned char block[DISK_BLOCK_BYTES];
};

static int64_t quota_bytes(const struct worker *worker, int file)
{
    int64_t share = scratch_room_bytes(file) / (2 * worker->peers);
    share = share < QUOTA_BYTES ? share : QUOTA_BYTES;
    return share / DISK_BLOCK_BYTES * DISK_BLOCK_BYTES;
}

static void report_shortage(struct worker *worker)
{
    worker_note(worker,
                "%.60s has too little free space (256 MiB and 5 %% must stay free): no writes "
                "until there is more",
                worker->map->scratch.folder);
}

static void note_device(const struct worker *worker, int file)
{
    struct stat facts;
    if (fstat(file, &facts) == 0)
        atomic_store(&worker->map->device, (uint64_t)facts.st_dev);
}

static int prepare(struct worker *worker)
{
    struct disk *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    worker->own = own;
    own->file = scratch_file(&worker->map->scratch);
    if (own->file < 0) {
        worker_note(worker, "no file could be created in %.60s: %s",
                    worker->map->scratch.folder[0] ? worker->map->scratch.folder
                                                   : "$TMPDIR, /var/tmp or /tmp",
                    strerror(errno));
        return errno;
    }
    note_device(worker, own->file);
    if (!scratch_is_disk(own->file))
        worker_note(worker,
                    "%.60s is not on a disk: writes reach no device (set TMPDIR to another folder)",
                    worker->map->scratch.folder);
    for (size_t i = 0; i < sizeof own->block; i++)
        own->block[i] = (unsigned char)worker_random(worker);
    own->quota_bytes = quota_bytes(worker, own->file);
    return 0;
}

/* False while free space is short, whoever uses it; then truncates the file. */
static bool has_room(struct worker *worker, struct disk *own)
{
    bool was_full = own->is_full;
    if (own->turn++ % LOOK_AGAIN == 0 || was_full)
        own->is_full =
            scratch_is_short(own->file) ||
            (own->quota_bytes == 0 && (own->quota_bytes = quota_bytes(worker, own->file)) == 0);
    if (own->is_full && !was_full) {
        report_shortage(worker);
        own->at = 0;
        if (ftruncate(own->file, 0) != 0)
            worker_count(worker, DISK_FAILED, 1);
    }
    return !own->is_full;
}

static void work(struct worker *worker)
{
    struct disk *own = worker->own;
    if (!has_room(worker, own)) {
        worker->is_idle = true;
        return;
    }
    memcpy(own->block, &own->turn, sizeof own->turn);
    ssize_t written = pwrite(own->file, own->block, DISK_BLOCK_BYTES, (off_t)own->at);
    if (written <= 0 || fdatasync(own->file) != 0) {
        worker_note(worker, "a write failed: %s", strerror(errno));
        worker_count(worker, DISK_FAILED, 1);
        worker->is_idle = true;
        return;
    }
    own->at = own->at + DISK_BLOCK_BYTES < own->quota_bytes ? own->at + DISK_BLOCK_BYTES : 0;
    worker_count(worker, DISK_WRITES, 1);
    worker_count(worker, DISK_WRITTEN_BYTES, (uint64_t)written);
}

const struct load_element load_disk = {
    .name = "disk",
    .title = "writes to a file, each followed by fdatasync",
    .kind = LOAD_SHARE,
    .default_degree = "10ms/100ms",
    .counters = {"busy_ns", "cpu_ns", NULL, NULL, "writes_count", "written_bytes", "failed_count"},
    .judged_by_wall = true,
    .prepare = prepare,
    .work = work,
};

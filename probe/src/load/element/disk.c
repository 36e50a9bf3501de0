/* disk: writes to a file without a name, each brought to the device before the next.
 *
 * The file is written round and round and never grows beyond its quota, nor into what must
 * stay free of the file system (scratch.h): then it is cut to nothing and the element rests.
 * A write waits for the device, so the share is one of time within the writes. */
#include "base/posix_source.h"

#include "load/element/disk.h"
#include "load/scratch.h"

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

static int64_t quota_bytes(const struct loader *loader, int file)
{
    int64_t share = scratch_room_bytes(file) / (2 * loader->peers);
    share = share < QUOTA_BYTES ? share : QUOTA_BYTES;
    return share / DISK_BLOCK_BYTES * DISK_BLOCK_BYTES;
}

static void tell_shortage(struct loader *loader)
{
    loader_note(loader,
                "%.60s has too little free space (256 MiB and 5 %% of it stay free): "
                "nothing is written while that is so",
                loader->map->folder);
}

static void note_device(const struct loader *loader, int file)
{
    struct stat facts;
    if (fstat(file, &facts) == 0)
        atomic_store(&loader->map->device, (uint64_t)facts.st_dev);
}

static int prepare(struct loader *loader)
{
    struct disk *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    loader->own = own;
    own->file = scratch_file(loader->map);
    if (own->file < 0) {
        loader_note(loader, "no file could be made in %.60s: %s",
                    loader->map->folder[0] ? loader->map->folder : "$TMPDIR, /var/tmp or /tmp",
                    strerror(errno));
        return errno;
    }
    note_device(loader, own->file);
    if (!scratch_is_disk(own->file))
        loader_note(loader,
                    "%.60s is no disk: what is written goes no further than there (TMPDIR "
                    "names another folder)",
                    loader->map->folder);
    for (size_t i = 0; i < sizeof own->block; i++)
        own->block[i] = (unsigned char)loader_random(loader);
    own->quota_bytes = quota_bytes(loader, own->file);
    return 0;
}

/* Gives all back while there is a shortage: of this load's or of anybody's making. */
static bool has_room(struct loader *loader, struct disk *own)
{
    bool was_full = own->is_full;
    if (own->turn++ % LOOK_AGAIN == 0 || was_full)
        own->is_full =
            scratch_is_short(own->file) ||
            (own->quota_bytes == 0 && (own->quota_bytes = quota_bytes(loader, own->file)) == 0);
    if (own->is_full && !was_full) {
        tell_shortage(loader);
        own->at = 0;
        if (ftruncate(own->file, 0) != 0)
            loader_count(loader, DISK_FAILED, 1);
    }
    return !own->is_full;
}

static void work(struct loader *loader)
{
    struct disk *own = loader->own;
    if (!has_room(loader, own)) {
        loader->is_idle = true;
        return;
    }
    memcpy(own->block, &own->turn, sizeof own->turn);
    ssize_t written = pwrite(own->file, own->block, DISK_BLOCK_BYTES, (off_t)own->at);
    if (written <= 0 || fdatasync(own->file) != 0) {
        loader_note(loader, "a write failed: %s", strerror(errno));
        loader_count(loader, DISK_FAILED, 1);
        loader->is_idle = true;
        return;
    }
    own->at = own->at + DISK_BLOCK_BYTES < own->quota_bytes ? own->at + DISK_BLOCK_BYTES : 0;
    loader_count(loader, DISK_WRITES, 1);
    loader_count(loader, DISK_WRITTEN_BYTES, (uint64_t)written);
}

const struct load_element load_disk = {
    .name = "disk",
    .title = "writes to a file, each brought to the device",
    .kind = LOAD_SHARE,
    .default_degree = "10ms/100ms",
    .counters = {"busy_ns", "cpu_ns", NULL, NULL, "writes_count", "written_bytes", "failed_count"},
    .judged_by_wall = true,
    .prepare = prepare,
    .work = work,
};

/* Where a file lies, on made-up machines: mounts, devices, queues. And what real files tell. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/file.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static int file = -1;

static void make_up(const char *mounts)
{
    char path[64];
    machine_open();
    file = open("/dev/null", O_RDWR | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", file);
    machine_put(path, "pos:\t0\nflags:\t02\nmnt_id:\t30\nino:\t4\n");
    machine_put("/proc/self/mountinfo", mounts);
}

static void take_away(void)
{
    machine_close();
    close(file);
}

static struct port_file_place place_of(const char *mounts)
{
    struct port_file_place place;
    make_up(mounts);
    port_file_place(file, &place);
    take_away();
    return place;
}

#define BEFORE "29 1 8:1 / / rw - ext4 /dev/other rw\n300 1 8:3 / /x rw - xfs /dev/x rw\n"

TEST(the_mount_of_the_file_is_found_by_its_id)
{
    struct port_file_place place =
        place_of(BEFORE "30 29 253:2 / /data rw,noatime shared:2 master:1 - xfs /dev/vdb1 "
                        "rw,attr2,inode64\n");
    CHECK_TEXT(place.system, "xfs");
    CHECK_TEXT(place.device, "/dev/vdb1");
    CHECK_TEXT(place.options, "rw,noatime,attr2,inode64");
    CHECK(place.has_number);
    CHECK_SAME(place.number, makedev(253, 2));
    CHECK_TEXT(place.scheduler, "");
    CHECK_SAME(place.heeds_io_priority, PORT_NOT_KNOWN);
}

TEST(optional_fields_may_be_missing_and_spaces_are_written_out)
{
    struct port_file_place place =
        place_of("30 29 0:44 / /mnt\\040x rw - cifs //host/a\\040b ro,vers=3\n");
    CHECK_TEXT(place.system, "cifs");
    CHECK_TEXT(place.device, "//host/a b");
    CHECK_TEXT(place.options, "rw,ro,vers=3"); /* read-only file system, mounted for writing */
    CHECK(!place.has_number);
}

TEST(a_damaged_table_tells_nothing)
{
    static const char *const tables[] = {"",
                                         "30\n",
                                         "30 29 8:1 / / rw\n",
                                         "30 29 8:1 / / rw -\n",
                                         "30 29 8:1 / / rw - ext4\n",
                                         "31 1 8:1 / / rw - a b rw\n"};
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        struct port_file_place place = place_of(tables[i]);
        CHECK_TEXT(place.system, "");
        CHECK_TEXT(place.device, "");
        CHECK(!place.has_number);
    }
}

TEST(long_options_are_cut_and_that_is_said)
{
    char line[2000], options[1200];
    memset(options, 'o', sizeof options - 1);
    options[sizeof options - 1] = '\0';
    snprintf(line, sizeof line, "30 29 8:1 / / rw - ext4 /dev/a rw,%s\n", options);
    struct port_file_place place = place_of(line);
    CHECK(place.are_options_cut);
    CHECK_SAME(strlen(place.options), PORT_FILE_OPTIONS_BYTES - 1);
    CHECK(!place_of("30 29 8:1 / / rw - ext4 /dev/a rw,x\n").are_options_cut);
}

TEST(the_queue_is_that_of_the_disk_of_a_partition)
{
    struct port_file_place place;
    make_up("30 29 8:17 / / rw - ext4 /dev/sdb1 rw\n");
    machine_put("/sys/dev/block/8:17/stat", "");
    machine_put("/sys/dev/block/queue/scheduler", "none [bfq] kyber\n");
    machine_put("/sys/dev/block/queue/write_cache", "write through\n");
    port_file_place(file, &place);
    take_away();
    CHECK_TEXT(place.scheduler, "bfq");
    CHECK_TEXT(place.write_cache, "write through");
    CHECK_SAME(place.heeds_io_priority, PORT_YES);
}

static struct port_file_place with_scheduler(const char *text, bool is_stacked)
{
    struct port_file_place place;
    make_up("30 29 8:16 / / rw - ext4 /dev/sdb rw\n");
    machine_put("/sys/dev/block/8:16/queue/scheduler", text);
    if (is_stacked)
        machine_put("/sys/dev/block/8:16/slaves/sda", "");
    port_file_place(file, &place);
    take_away();
    return place;
}

TEST(which_schedulers_heed_priorities)
{
    CHECK_SAME(with_scheduler("[none] mq-deadline\n", false).heeds_io_priority, PORT_NO);
    CHECK_SAME(with_scheduler("none\n", false).heeds_io_priority, PORT_NO);
    CHECK_SAME(with_scheduler("none [kyber]\n", false).heeds_io_priority, PORT_NO);
    CHECK_SAME(with_scheduler("[another]\n", false).heeds_io_priority, PORT_NOT_KNOWN);
    struct port_file_place stacked = with_scheduler("[none]\n", true);
    CHECK_SAME(stacked.heeds_io_priority, PORT_NOT_KNOWN);
    CHECK(stacked.is_stacked);
    CHECK(!with_scheduler("[none]\n", false).is_stacked);
}

TEST(a_disk_in_memory_is_memory)
{
    struct port_file_place place;
    make_up("30 29 1:0 / / rw - ext4 /dev/ram0 rw\n");
    machine_put("/sys/dev/block/1:0/uevent", "MAJOR=1\nMINOR=0\nDEVNAME=ram0\n");
    port_file_place(file, &place);
    CHECK_SAME(place.storage, PORT_STORAGE_MEMORY);
    take_away();
}

TEST(an_overlay_is_what_its_upper_layer_is)
{
    struct port_file_place place = place_of(
        "30 29 0:50 / / rw - overlay overlay rw,lowerdir=/a,upperdir=/proc/self,workdir=/c\n");
    CHECK_SAME(place.storage, PORT_STORAGE_KERNEL);
    place = place_of("30 29 0:50 / / rw - overlay overlay rw,upperdir=/not\\040here\n");
    CHECK_SAME(place.storage, PORT_STORAGE_UNKNOWN);
    CHECK(!place.has_number);
}

TEST(flushes_are_counted_since_5_5)
{
    make_up("");
    machine_put("/sys/dev/block/8:16/stat", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 77 17\n");
    machine_put("/sys/dev/block/8:17/stat", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");
    CHECK_SAME(port_device_flushes(makedev(8, 16)), 77);
    CHECK_SAME(port_device_flushes(makedev(8, 17)), -1);
    CHECK_SAME(port_device_flushes(makedev(8, 18)), -1);
    take_away();
}

TEST(the_io_priority_that_was_set_is_read_back)
{
    CHECK_SAME(port_set_io_class(PORT_IO_BEST_EFFORT), 0);
    CHECK_SAME(port_io_class(), PORT_IO_BEST_EFFORT);
    int error = port_set_io_class(PORT_IO_REAL_TIME);
    CHECK(error == 0 || error == EPERM);
    CHECK_SAME(port_io_class(), error ? PORT_IO_BEST_EFFORT : PORT_IO_REAL_TIME);
    CHECK_SAME(port_set_io_class(PORT_IO_BEST_EFFORT), 0);
}

static int real_file(void)
{
    char name[] = "/var/tmp/hardstone-test-XXXXXX";
    int descriptor = mkstemp(name);
    unlink(name);
    return descriptor;
}

TEST(space_is_allocated_and_extents_are_counted)
{
    struct port_extents extents;
    struct stat facts;
    int descriptor = real_file();
    if (!CHECK(descriptor >= 0))
        return;
    int error = port_preallocate(descriptor, 1 << 20);
    if (error == ENOTSUP || port_file_extents(descriptor, &extents) == ENOTSUP) {
        tap_skip("/var/tmp has no extents or cannot allocate in advance");
        close(descriptor);
        return;
    }
    CHECK_SAME(error, 0);
    CHECK_SAME(fstat(descriptor, &facts), 0);
    CHECK(facts.st_blocks * 512 >= 1 << 20);
    CHECK_SAME(port_file_extents(descriptor, &extents), 0);
    CHECK(extents.extents_count >= 1);
    CHECK(extents.pieces_count >= 1 && extents.pieces_count <= extents.extents_count);
    close(descriptor);
}

TEST(extents_beyond_one_call_are_counted)
{
    enum { HOLES = 100, BLOCK = 65536 };
    struct port_extents extents;
    int descriptor = real_file();
    for (int i = 0; i < HOLES; i++)
        CHECK_SAME(pwrite(descriptor, "x", 1, (off_t)i * 2 * BLOCK), 1);
    if (port_file_extents(descriptor, &extents) == ENOTSUP)
        tap_skip("/var/tmp does not tell extents");
    else
        CHECK_SAME(extents.extents_count, HOLES);
    close(descriptor);
}

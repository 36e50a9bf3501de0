/* Files on made-up machines: where one lies (mounts, devices, queues), write counters of block
 * devices, reading lines, the request to /dev/cpu_dma_latency. And what real files tell. */
#include "linux_machine.h"
#include "port/file.h"
#include "port/linux/files.h"
#include "port/port.h"

#include <fcntl.h>
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

/* By the id of the mount; optional fields may be missing, spaces are written out, and a damaged
 * table tells nothing. */
TEST(the_mount_of_a_file)
{
    static const struct {
        const char *mounts, *system, *device, *options;
        bool has_number;
    } rows[] = {
        {BEFORE "30 29 253:2 / /data rw,noatime shared:2 master:1 - xfs /dev/vdb1 rw,attr2\n",
         "xfs", "/dev/vdb1", "rw,noatime,attr2", true},
        {"30 29 0:44 / /mnt\\040x rw - cifs //host/a\\040b ro,vers=3\n", "cifs", "//host/a b",
         "rw,ro,vers=3"}, /* read-only file system, mounted for writing */
        {"", "", "", ""},
        {"30\n", "", "", ""},
        {"30 29 8:1 / / rw\n", "", "", ""},
        {"30 29 8:1 / / rw -\n", "", "", ""},
        {"30 29 8:1 / / rw - ext4\n", "", "", ""},
        {"31 1 8:1 / / rw - a b rw\n", "", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct port_file_place place = place_of(rows[i].mounts);
        tap_row(rows[i].mounts);
        CHECK_TEXT(place.system, rows[i].system);
        CHECK_TEXT(place.device, rows[i].device);
        CHECK_TEXT(place.options, rows[i].options);
        CHECK_TEXT(place.scheduler, "");
        CHECK_SAME(place.heeds_io_priority, PORT_NOT_KNOWN);
        CHECK_SAME(place.has_number, rows[i].has_number);
        CHECK(!place.has_number || place.number == makedev(253, 2));
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
    make_up("30 29 1:0 / / rw - ext4 /dev/ram0 rw\n");
    machine_put("/sys/dev/block/1:0/uevent", "MAJOR=1\nMINOR=0\nDEVNAME=ram0\n");
    port_file_place(file, &place);
    CHECK_SAME(place.storage, PORT_STORAGE_MEMORY);
    take_away();
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
    CHECK_SAME(with_scheduler("none\n", false).heeds_io_priority, PORT_NO);
    CHECK_SAME(with_scheduler("none [kyber]\n", false).heeds_io_priority, PORT_NO);
    CHECK_SAME(with_scheduler("[another]\n", false).heeds_io_priority, PORT_NOT_KNOWN);
    struct port_file_place stacked = with_scheduler("[none]\n", true);
    CHECK_SAME(stacked.heeds_io_priority, PORT_NOT_KNOWN);
    CHECK(stacked.is_stacked);
    CHECK(!with_scheduler("[none]\n", false).is_stacked);
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

/* ---- write counters ---- */

#define DISK "/sys/devices/disk"
#define STAT " 1 2 3 4 5 6 7000 8 0 9 10 1 2 900000 3\n"

/* A disk with the number 8:16 and its partition 8:17, as the kernel shows them. */
static bool make_up_disk(void)
{
    machine_open();
    machine_put("/sys/dev/block/others", "");
    CHECK_SAME(symlink("../../devices/disk", machine_path("/sys/dev/block/8:16")), 0);
    CHECK_SAME(symlink("../../devices/disk/part", machine_path("/sys/dev/block/8:17")), 0);
    machine_put(DISK "/stat", STAT);
    machine_put(DISK "/part/stat", " 1 2 3 4 5 6 6000 8\n"); /* as before Linux 4.18 */
    machine_put(DISK "/queue/iostats", "1\n");
    machine_put(DISK "/queue/dax", "0\n");
    return true;
}

TEST_IN(make_up_disk(), machine_close(), sectors_are_bytes)
{
    CHECK_SAME(port_device_written_bytes(makedev(8, 17)), 6000 * 512);
    CHECK_SAME(port_device_written_bytes(makedev(0, 27)), -1); /* no block device */
    CHECK_SAME(port_device_written_bytes(makedev(16, 8)), -1);
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 7000 * 512);
    unlink(machine_path(DISK "/queue/iostats")); /* as kernels without these switches */
    unlink(machine_path(DISK "/queue/dax"));
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 7000 * 512);
    machine_put(DISK "/stat", "1 2 3 4 5 6 9000000000 8\n"); /* more than 32 bits */
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 9000000000 * 512);
}

TEST(what_is_not_counted_is_not_known)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{DISK "/queue/iostats", "0\n"},
                 {DISK "/queue/dax", "1\n"},
                 {DISK "/stat", " 0 0 0 0 0 0 0 0\n"},
                 {DISK "/stat", "1 2 3\n"},
                 {DISK "/stat", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_up_disk();
        machine_put(cases[i].name, cases[i].text);
        CHECK_SAME(port_device_written_bytes(makedev(8, 16)), -1);
        int64_t of_part = port_device_written_bytes(makedev(8, 17));
        CHECK_SAME(of_part, i < 2 ? -1 : 6000 * 512);
        machine_close();
    }
}

/* ---- reading lines without stdio ---- */

MACHINE_TEST(lines_in_order)
{
    struct linux_lines lines;
    char line[16];
    machine_put("/lines", "one\n\nthree is too long for it\nlast");
    if (!CHECK(linux_lines_open(&lines, "/lines")))
        return;
    static const char *const wanted[] = {"one", "", "three is too lo", "last"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CHECK(linux_lines_next(&lines, line, sizeof line));
        CHECK_TEXT(line, wanted[i]);
    }
    CHECK(!linux_lines_next(&lines, line, sizeof line));
    linux_lines_close(&lines);
}

/* Lines that do not end where a part does that is read at once. */
MACHINE_TEST(lines_across_parts)
{
    enum { COUNT = 1000, DIGITS = 13 };
    char text[COUNT * (DIGITS + 1) + 1], line[32], wanted[32];
    struct linux_lines lines;
    for (int i = 0; i < COUNT; i++)
        snprintf(text + i * (DIGITS + 1), DIGITS + 2, "%0*d\n", DIGITS, i);
    machine_put("/lines", text);
    if (!CHECK(linux_lines_open(&lines, "/lines")))
        return;
    for (int i = 0; i < COUNT; i++) {
        snprintf(wanted, sizeof wanted, "%0*d", DIGITS, i);
        CHECK(linux_lines_next(&lines, line, sizeof line));
        if (!CHECK_TEXT(line, wanted))
            break;
    }
    CHECK(!linux_lines_next(&lines, line, sizeof line));
    linux_lines_close(&lines);
    CHECK(!linux_lines_open(&lines, "/nowhere/at/all"));
}

/* ---- a request that is held ---- */

#define DEVICE "/dev/cpu_dma_latency"

static int32_t content(void)
{
    int32_t value = -1;
    FILE *device = fopen(machine_path(DEVICE), "r");
    if (!device || fread(&value, sizeof value, 1, device) != 1)
        value = -1;
    if (device)
        fclose(device);
    return value;
}

MACHINE_TEST(a_dma_latency_is_held)
{
    int descriptor = -1;
    int32_t in_force_us = -1;
    machine_put(DEVICE, "!!!!"); /* a number in 4 bytes */
    CHECK_SAME(content(), 0x21212121);
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), 0);
    CHECK_SAME(content(), 7);
    CHECK_SAME(in_force_us, 7);
    CHECK(fcntl(descriptor, F_GETFD) & FD_CLOEXEC); /* programs of a load do not keep it */
    close(descriptor);
}

MACHINE_TEST(a_dma_latency_that_is_refused)
{
    int descriptor = -1;
    int32_t in_force_us;
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), ENOTSUP); /* not there */
    CHECK_SAME(descriptor, -1);
    machine_put(DEVICE "/inner", ""); /* a folder cannot be written */
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), EISDIR);
    CHECK_SAME(descriptor, -1);
}

/* Write counters of block devices, on made-up machines. */
#include "base/posix_source.h"

#include "port/port.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DISK "/sys/devices/disk"
#define STAT " 1 2 3 4 5 6 7000 8 0 9 10 1 2 900000 3\n"

static char root[64];

/* In the place of the port's. */
const char *linux_root(void);
const char *linux_root(void)
{
    return root;
}

static char *below(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s%s", root, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(below(name), "w");
    if (!CHECK(file != NULL))
        return;
    fputs(text, file);
    fclose(file);
}

static const char *const folders[] = {"/sys",         "/sys/dev",          "/sys/dev/block",
                                      "/sys/devices", "/sys/devices/disk", DISK "/queue",
                                      DISK "/part"};
static const char *const files[] = {"/sys/dev/block/8:16", "/sys/dev/block/8:17",
                                    DISK "/stat",          DISK "/part/stat",
                                    DISK "/queue/iostats", DISK "/queue/dax"};

enum { FOLDERS = sizeof folders / sizeof folders[0], FILES = sizeof files / sizeof files[0] };

/* A disk with the number 8:16 and its partition 8:17, as the kernel shows them. */
static void make_up(void)
{
    snprintf(root, sizeof root, "/tmp/hardstone-test-XXXXXX");
    CHECK(mkdtemp(root) != NULL);
    for (int i = 0; i < FOLDERS; i++)
        CHECK_SAME(mkdir(below(folders[i]), 0700), 0);
    CHECK_SAME(symlink("../../devices/disk", below(files[0])), 0);
    CHECK_SAME(symlink("../../devices/disk/part", below(files[1])), 0);
    put(DISK "/stat", STAT);
    put(DISK "/part/stat", " 1 2 3 4 5 6 6000 8\n"); /* as before Linux 4.18 */
    put(DISK "/queue/iostats", "1\n");
    put(DISK "/queue/dax", "0\n");
}

static void take_away(void)
{
    for (int i = 0; i < FILES; i++)
        unlink(below(files[i]));
    for (int i = FOLDERS - 1; i >= 0; i--)
        rmdir(below(folders[i]));
    CHECK_SAME(rmdir(root), 0);
}

static void test_sectors_are_bytes(void)
{
    make_up();
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 7000 * 512);
    CHECK_SAME(port_device_written_bytes(makedev(8, 17)), 6000 * 512);
    put(DISK "/stat", "1 2 3 4 5 6 9000000000 8\n"); /* more than 32 bits */
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 9000000000 * 512);
    take_away();
}

static void test_what_is_no_block_device_is_not_known(void)
{
    make_up();
    CHECK_SAME(port_device_written_bytes(makedev(0, 27)), -1);
    CHECK_SAME(port_device_written_bytes(makedev(16, 8)), -1);
    take_away();
}

static void test_what_is_not_counted_is_not_known(void)
{
    static const struct {
        const char *name, *text;
    } cases[] = {{DISK "/queue/iostats", "0\n"},
                 {DISK "/queue/dax", "1\n"},
                 {DISK "/stat", " 0 0 0 0 0 0 0 0\n"},
                 {DISK "/stat", "1 2 3\n"},
                 {DISK "/stat", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        make_up();
        put(cases[i].name, cases[i].text);
        CHECK_SAME(port_device_written_bytes(makedev(8, 16)), -1);
        int64_t of_part = port_device_written_bytes(makedev(8, 17));
        CHECK_SAME(of_part, i < 2 ? -1 : 6000 * 512);
        take_away();
    }
}

static void test_a_kernel_without_the_switches_counts(void)
{
    make_up();
    unlink(below(DISK "/queue/iostats"));
    unlink(below(DISK "/queue/dax"));
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 7000 * 512);
    take_away();
}

TAP_MAIN({"sectors are bytes", test_sectors_are_bytes},
         {"what is no block device is not known", test_what_is_no_block_device_is_not_known},
         {"what is not counted is not known", test_what_is_not_counted_is_not_known},
         {"a kernel without the switches counts", test_a_kernel_without_the_switches_counts})

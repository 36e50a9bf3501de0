/* Write counters of block devices, on made-up machines. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/port.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define DISK "/sys/devices/disk"
#define STAT " 1 2 3 4 5 6 7000 8 0 9 10 1 2 900000 3\n"

static char *below(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s%s", machine_root, name);
    return path;
}

/* A disk with the number 8:16 and its partition 8:17, as the kernel shows them. */
static void make_up(void)
{
    machine_open();
    machine_put("/sys/dev/block/others", "");
    CHECK_SAME(symlink("../../devices/disk", below("/sys/dev/block/8:16")), 0);
    CHECK_SAME(symlink("../../devices/disk/part", below("/sys/dev/block/8:17")), 0);
    machine_put(DISK "/stat", STAT);
    machine_put(DISK "/part/stat", " 1 2 3 4 5 6 6000 8\n"); /* as before Linux 4.18 */
    machine_put(DISK "/queue/iostats", "1\n");
    machine_put(DISK "/queue/dax", "0\n");
}

TEST(sectors_are_bytes)
{
    make_up();
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 7000 * 512);
    CHECK_SAME(port_device_written_bytes(makedev(8, 17)), 6000 * 512);
    machine_put(DISK "/stat", "1 2 3 4 5 6 9000000000 8\n"); /* more than 32 bits */
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 9000000000 * 512);
    machine_close();
}

TEST(what_is_no_block_device_is_not_known)
{
    make_up();
    CHECK_SAME(port_device_written_bytes(makedev(0, 27)), -1);
    CHECK_SAME(port_device_written_bytes(makedev(16, 8)), -1);
    machine_close();
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
        make_up();
        machine_put(cases[i].name, cases[i].text);
        CHECK_SAME(port_device_written_bytes(makedev(8, 16)), -1);
        int64_t of_part = port_device_written_bytes(makedev(8, 17));
        CHECK_SAME(of_part, i < 2 ? -1 : 6000 * 512);
        machine_close();
    }
}

TEST(a_kernel_without_the_switches_counts)
{
    make_up();
    unlink(below(DISK "/queue/iostats"));
    unlink(below(DISK "/queue/dax"));
    CHECK_SAME(port_device_written_bytes(makedev(8, 16)), 7000 * 512);
    machine_close();
}

/* The request to /dev/cpu_dma_latency, with a file in its place. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/linux/files.h"
#include "port/port.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICE "/dev/cpu_dma_latency"

static char path[128];

static void open_machine(void)
{
    machine_open();
    snprintf(path, sizeof path, "%s" DEVICE, machine_root);
}

static int32_t content(void)
{
    int32_t value = -1;
    FILE *file = fopen(path, "r");
    if (!file || fread(&value, sizeof value, 1, file) != 1)
        value = -1;
    if (file)
        fclose(file);
    return value;
}

TEST(held)
{
    const int32_t odd_us = 12345;
    int descriptor = -1;
    int32_t in_force_us = -1;
    open_machine();
    machine_put(DEVICE, "");
    FILE *file = fopen(path, "w");
    CHECK(file && fwrite(&odd_us, sizeof odd_us, 1, file) == 1);
    if (file)
        fclose(file);
    CHECK_SAME(content(), odd_us);
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), 0);
    CHECK_SAME(content(), 7);
    CHECK_SAME(in_force_us, 7);
    CHECK(fcntl(descriptor, F_GETFD) & FD_CLOEXEC); /* programs of a load do not keep it */
    close(descriptor);
    machine_close();
}

TEST(not_here)
{
    int descriptor = -1;
    int32_t in_force_us;
    open_machine();
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), ENOTSUP);
    CHECK_SAME(descriptor, -1);
    machine_close();
}

TEST(refused)
{
    int descriptor = -1;
    int32_t in_force_us;
    open_machine();
    machine_put(DEVICE "/inner", ""); /* a folder cannot be written */
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), EISDIR);
    CHECK_SAME(descriptor, -1);
    machine_close();
}

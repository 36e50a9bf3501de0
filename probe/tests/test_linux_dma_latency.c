/* The request to /dev/cpu_dma_latency, with a file in its place. */
#include "base/posix_source.h"

#include "made_up_files.h"
#include "port/linux/files.h"
#include "port/port.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define DEVICE "/dev/cpu_dma_latency"

static char root[64], path[128];

const char *linux_root(void);
const char *linux_root(void)
{
    return root;
}

static void open_machine(void)
{
    snprintf(root, sizeof root, "/tmp/hardstone-latency-XXXXXX");
    if (!mkdtemp(root))
        abort();
    snprintf(path, sizeof path, "%s" DEVICE, root);
}

static void close_machine(void)
{
    char folder[128];
    snprintf(folder, sizeof folder, "%s/dev", root);
    unlink(path);
    rmdir(folder);
    rmdir(root);
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

static void test_held(void)
{
    const int32_t odd_us = 12345;
    int descriptor = -1;
    int32_t in_force_us = -1;
    open_machine();
    made_up_file(root, DEVICE, "");
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
    close_machine();
}

static void test_not_here(void)
{
    int descriptor = -1;
    int32_t in_force_us;
    open_machine();
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), ENOTSUP);
    CHECK_SAME(descriptor, -1);
    close_machine();
}

static void test_refused(void)
{
    int descriptor = -1;
    int32_t in_force_us;
    open_machine();
    made_up_file(root, DEVICE "/inner", ""); /* a folder cannot be written */
    CHECK_SAME(port_hold_dma_latency(7, &descriptor, &in_force_us), EISDIR);
    CHECK_SAME(descriptor, -1);
    char inner[160];
    snprintf(inner, sizeof inner, "%s/inner", path);
    unlink(inner);
    rmdir(path);
    close_machine();
}

TAP_MAIN({"held", test_held}, {"not here", test_not_here}, {"refused", test_refused})

/* The writes of FIO-P-SYN without instrumentation: one SCHED_FIFO thread that writes 4096 bytes
 * after 4096 bytes to a file of 4 MiB that was filled before, with the fdatasync behind each that
 * the test times as `rest`. The clock is read only before and after the loop.
 *
 * hardstone-file-bench FOLDER buffered|o_dsync|o_sync|fdatasync PRIORITY COUNT
 * Prints ns per write with its fdatasync. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "work/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE_BYTES = 4096, FILE_BYTES = 4 << 20, MOST_COUNT = 100000 };

struct bench {
    int file, count, error;
    bool is_synchronised; /* fdatasync belongs to the write */
    double ns;
    uint64_t written_count;
    unsigned char data[SIZE_BYTES];
};

/* Each block is another one, and not compressible, as those of the test. */
static void fill(struct bench *bench)
{
    unsigned short state[3] = {1, 2, 3};
    for (int i = 0; i < SIZE_BYTES; i++)
        bench->data[i] = (unsigned char)(erand48(state) * 256);
}

static int write_at(struct bench *bench, long at)
{
    bench->written_count++;
    memcpy(bench->data, &bench->written_count, sizeof bench->written_count);
    return pwrite(bench->file, bench->data, SIZE_BYTES, (off_t)at) == SIZE_BYTES ? 0 : errno;
}

static int write_once(struct bench *bench, long at)
{
    int error = write_at(bench, at);
    if (!error && bench->is_synchronised && fdatasync(bench->file) != 0)
        error = errno;
    return !error && fdatasync(bench->file) != 0 ? errno : error;
}

static void write_on(void *argument)
{
    struct bench *bench = argument;
    fill(bench);
    for (long at = 0; at < FILE_BYTES && !bench->error; at += SIZE_BYTES)
        bench->error = write_at(bench, at);
    if (!bench->error && fsync(bench->file) != 0)
        bench->error = errno;
    int64_t begin_ns = clock_monotonic_ns();
    for (long i = 0; i < bench->count && !bench->error; i++)
        bench->error = write_once(bench, i * SIZE_BYTES % FILE_BYTES);
    bench->ns = (double)(clock_monotonic_ns() - begin_ns) / bench->count;
}

static int flags_of(const char *mode)
{
    return strcmp(mode, "o_dsync") == 0 ? O_DSYNC : strcmp(mode, "o_sync") == 0 ? O_SYNC : 0;
}

int main(int argc, char *argv[])
{
    struct scratch scratch;
    struct bench bench = {0};
    if (argc != 5 || (bench.count = (int)strtol(argv[4], NULL, 10)) < 1 ||
        bench.count > MOST_COUNT) {
        fprintf(stderr, "usage: hardstone-file-bench FOLDER MODE PRIORITY COUNT\n");
        return 2;
    }
    bench.error = scratch_choose_in(&scratch, argv[1], false, 0);
    bench.is_synchronised = strcmp(argv[2], "fdatasync") == 0;
    bench.file = bench.error ? -1 : scratch_file_with(&scratch, flags_of(argv[2]));
    if (!bench.error && bench.file < 0)
        bench.error = errno;
    struct rt_thread_setup setup = {SCHED_FIFO, (int)strtol(argv[3], NULL, 10), -1};
    struct rt_thread rt_thread;
    if (!bench.error)
        bench.error = rt_thread_start(&rt_thread, &setup, write_on, &bench);
    if (!bench.error) {
        rt_thread_go(&rt_thread);
        rt_thread_join(&rt_thread);
    }
    if (bench.error) {
        fprintf(stderr, "hardstone-file-bench: %s\n", strerror(bench.error));
        return 5;
    }
    printf("%.1f\n", bench.ns);
    return 0;
}

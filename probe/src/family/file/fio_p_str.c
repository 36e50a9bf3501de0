/* FIO-P-STR: streaming from a source to a file (Hewlett-Packard, real-time HP-UX, 1987: "how long
 * to push 2 GB").
 *
 * What: writes of size_bytes from memory to a new file. buffered: through the page cache, with one
 *   fdatasync at the end; direct: past it (O_DIRECT). What 2 GB would take is worked out from
 *   `total` (event streamed), if that is of 256 MiB or of a second.
 * Begin, end: `write`: before and after the write. `throughput`: bytes per second of a window of
 *   100 ms or longer that ends with a write. `total`: before the first write of a file, and after
 *   the fdatasync behind its last one. One thread, one clock.
 * Threads: the measuring one, at the run's policy, priority and CPU.
 * Wrong if: a stream is much shorter than memory: buffered then tells of the page cache. A thread
 *   that hardly blocks has to rest between two windows, so that it is not throttled: that is in
 *   `total` (rested_ns). A file that samples, time or space ended early is in `total` only if it is
 *   the first; one in which the program was stopped is in no rate. In memory there is no device.
 */
#include "base/posix_source.h"

#include "family/file/figures.h"
#include "family/file/place.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 64, MOST_SHORT = 16, FILES = 2 };
enum { WRITE, THROUGHPUT, TOTAL };
enum mode { BUFFERED, DIRECT };

#define TWO_GB INT64_C(2000000000)
#define LEAST_BYTES (INT64_C(256) << 20)
#define LEAST_NS INT64_C(1000000000)

static const char *const mode_names[] = {"buffered", "direct", NULL};

static const struct param_spec params[] = {
    {"mode", PARAM_NAME, true, "buffered,direct", 0, 0, mode_names,
     "through the page cache, or past it", "mode"},
    {"size_bytes", PARAM_BYTES, false, "1048576", FILE_BLOCK_BYTES, FILE_MOST_WRITE_BYTES, NULL,
     "bytes of a write; for direct a multiple of 4096"},
    {"file_bytes", PARAM_BYTES, false, "2147483648", FILE_MOST_WRITE_BYTES, INT64_C(64) << 30, NULL,
     "length at which a new file is started; less if space is short"},
    {0},
};

static const struct series_spec series[] = {
    {"write", "ns", "mode", "before the write", "after it"},
    {"throughput", "bytes_per_s", "mode",
     "bytes written in a window of 100 ms or longer, which ends with a write, over its length",
     NULL},
    {"total", "ns", "mode", "before the first write of a file",
     "after the fdatasync that follows its last one"},
    {0},
};

struct own {
    struct file_place place;
    enum mode mode;
    int file;
    size_t size_bytes;
    int64_t file_bytes, at;
    int64_t begin_ns, rested_ns; /* of this file; rests of the run before it */
    struct throughput window;
    struct cpu_share cpu_share;
    int short_count;
    /* Of all files of the variant. */
    int64_t window_count, streamed_bytes, streamed_ns, synchronised_ns, all_rested_ns;
};

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->size_bytes = (size_t)run_number(run, "size_bytes");
    if (file_place_open(&own->place, run, false) != 0)
        return -1;
    own->file_bytes =
        file_place_room(&own->place, run_number(run, "file_bytes"), FILE_MOST_WRITE_BYTES, FILES);
    return own->file_bytes < 0 ? -1 : 0;
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        file_place_close(&own->place);
}

/* ---- a file ---- */

/* 0; 1: this mode cannot be had, and an event says so; -1 with the outcome. */
static int begin_mode(struct run *run)
{
    struct own *own = run->own;
    own->mode = (enum mode)variant_number(run, "mode");
    own->short_count = 0;
    own->streamed_bytes = own->streamed_ns = own->synchronised_ns = own->all_rested_ns = 0;
    own->window_count = 0;
    bool is_aligned = own->size_bytes % FILE_BLOCK_BYTES == 0;
    if (own->mode == DIRECT && (!own->place.can_direct || !is_aligned)) {
        const char *cause = is_aligned ? "the system or the file system cannot do direct I/O"
                                       : "size_bytes is not a multiple of 4096";
        arena_event(run->arena, "direct_unsupported", -1, DATA(data_text("cause", cause)),
                    "direct: %s", cause);
        return 1;
    }
    own->file = file_place_file(&own->place, 0);
    if (own->file < 0)
        return -1;
    if (own->mode == DIRECT)
        (void)port_direct_io(own->file);
    return 0;
}

static int begin_file(struct run *run)
{
    struct own *own = run->own;
    own->at = 0;
    if (ftruncate(own->file, 0) != 0 || fsync(own->file) != 0)
        return file_place_fail(run, errno, "starting a new file");
    rt_budget_rest_now(&run->rt_budget);
    own->rested_ns = run->rt_budget.rested_ns;
    own->begin_ns = run_anchor(run);
    throughput_begin(&own->window, own->begin_ns);
    cpu_share_begin(&own->cpu_share, cpu_share_clock_ns(own->begin_ns), own->begin_ns);
    return 0;
}

static int end_file(struct run *run)
{
    struct own *own = run->own;
    if (own->at == 0)
        return 0;
    int64_t written_ns = clock_monotonic_ns();
    if (file_place_synchronise(own->file) != 0)
        return file_place_fail(run, errno, "fdatasync");
    int64_t end_ns = run_anchor(run), at_ns = run_at_ns(run, end_ns);
    int64_t total_ns = end_ns - own->begin_ns, bytes = own->at;
    struct record *total = run_record(run, TOTAL);
    bool is_whole = bytes + (int64_t)own->size_bytes > own->file_bytes;
    own->at = 0;
    if (is_whole || total->count == 0)
        record_value(total, total_ns, at_ns);
    if (stops_touch(run->arena, total_ns, at_ns))
        return 0;
    own->streamed_bytes += bytes;
    own->streamed_ns += total_ns;
    own->all_rested_ns += run->rt_budget.rested_ns - own->rested_ns;
    own->synchronised_ns += end_ns - written_ns;
    return 0;
}

static int take_write(struct run *run)
{
    struct own *own = run->own;
    uint64_t begin = clock_begin(&run->clock);
    ssize_t done = pwrite(own->file, own->place.memory, own->size_bytes, (off_t)own->at);
    uint64_t end = clock_end(&run->clock);
    if (done < 0 && errno != EINTR)
        return file_place_fail(run, errno, "write");
    own->at += done > 0 ? done : 0;
    if (done == (ssize_t)own->size_bytes) {
        run_take(run, WRITE, begin, end);
    } else if (++own->short_count >= MOST_SHORT) {
        return outcome_set(&run->outcome, STATUS_FAILED, "see ulimit -f, quota and free space",
                           "%d writes wrote less than requested", own->short_count);
    } else if (own->mode == DIRECT) {
        own->at -= own->at % FILE_BLOCK_BYTES;
    }
    int64_t now_ns = run_anchor(run), bytes = done > 0 ? done : 0;
    int64_t per_s = throughput_take(&own->window, bytes, now_ns);
    if (per_s < 0)
        return 0;
    own->window_count++;
    if (stops_touch(run->arena, now_ns - own->window.begin_ns, run_at_ns(run, now_ns)))
        record_count_stopped(run_record(run, THROUGHPUT), 1, per_s);
    else
        record_value(run_record(run, THROUGHPUT), per_s, run_at_ns(run, now_ns));
    if (cpu_share_is_used(&own->cpu_share, &run->rt_budget, cpu_share_clock_ns(now_ns), now_ns))
        rt_budget_rest_now(&run->rt_budget);
    throughput_begin(&own->window, clock_monotonic_ns());
    return 0;
}

static int stream(struct run *run)
{
    struct own *own = run->own;
    const struct record *record = run->records[WRITE];
    int result = begin_file(run);
    struct run_budget budget = run_budget(run, variant_count(run)); /* the rest is no part of it */
    while (result == 0 && run_budget_left(&budget, record->count, clock_monotonic_ns())) {
        if (own->at + (int64_t)own->size_bytes > own->file_bytes) {
            result = end_file(run);
            result = result == 0 ? begin_file(run) : result;
        }
        result = result == 0 ? take_write(run) : result;
        if (result == 0 && file_place_is_short(&own->place, own->file, clock_monotonic_ns()))
            result = -1;
    }
    return result == 0 ? end_file(run) : result;
}

/* ---- what is told ---- */

static void report_streamed(struct run *run)
{
    const struct own *own = run->own;
    if (own->streamed_bytes == 0 || own->streamed_ns <= 0)
        return;
    double per_s = (double)own->streamed_bytes / ((double)own->streamed_ns / 1e9);
    double two_gb_s = (double)TWO_GB / per_s;
    bool is_long = own->streamed_bytes >= LEAST_BYTES || own->streamed_ns >= LEAST_NS;
    char two_gb[64] = "too short to say how long 2 GB take";
    if (is_long)
        snprintf(two_gb, sizeof two_gb, "at that rate 2 GB take %.1f s", two_gb_s);
    arena_event(
        run->arena, "streamed", -1,
        DATA(data_text("mode", mode_names[own->mode]), data_integer("bytes", own->streamed_bytes),
             data_integer("total_ns", own->streamed_ns),
             data_integer("synchronising_ns", own->synchronised_ns),
             data_integer("rested_ns", own->all_rested_ns), data_number("bytes_per_s", per_s),
             is_long ? data_integer("two_gb_ns", (int64_t)(two_gb_s * 1e9)) : data_none(),
             data_integer("windows_count", own->window_count),
             data_integer("short_writes_count", own->short_count)),
        "%s: %lld MiB in %.3f s, of which the fdatasync at the end took %.3f s and pauses of the "
        "test %.3f s: %.1f MB/s; %s%s%s",
        mode_names[own->mode], (long long)(own->streamed_bytes >> 20),
        (double)own->streamed_ns / 1e9, (double)own->synchronised_ns / 1e9,
        (double)own->all_rested_ns / 1e9, per_s / 1e6, two_gb,
        own->window_count == 0 ? "; it ended before a window of 100 ms" : "",
        own->short_count > 0 ? "; some writes were short" : "");
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    int result = begin_mode(run);
    if (result != 0)
        return result < 0 ? -1 : 0;
    result = stream(run);
    close(own->file);
    report_streamed(run);
    return result;
}

static int judge(struct run *run)
{
    if (arena_has_values(run->arena))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use -p mode=buffered",
                       "there is no direct I/O here");
}

const struct test fio_p_str = {
    .id = "FIO-P-STR",
    .title = "Streaming to a file",
    .source = "[H] Hewlett-Packard, real-time HP-UX, 1987",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_FILES,
    .default_samples = SAMPLES,
    .setup_ns = 200000000,
    .sample_ns = 10000000,
    .check = file_place_check,
    .prepare = prepare,
    .measure = variants_measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

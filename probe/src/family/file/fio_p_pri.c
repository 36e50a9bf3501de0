/* FIO-P-PRI: I/O of real-time processes goes first (Hewlett-Packard, real-time HP-UX, 1987).
 *
 * The measuring thread reads blocks of size_bytes at random places of a file of file_bytes, while a
 * time-shared process writes 1 MiB after 1 MiB to another file of the same folder and synchronises
 * each. begin = before the read, end = after it. Between two reads it sleeps for 0 to 400 us at
 * random, so that the reads meet the writer in whatever it does.
 *
 *   alone        nobody writes: what a read costs anyway (at the run's priority)
 *   time_shared  the reader is time-shared, as the writer is
 *   rt_cpu       the reader has the run's real-time priority of the CPU, as HP's had
 *   rt_io        and the highest real-time priority of I/O
 *
 * In the first three the reader's I/O priority is set to the ordinary one, which the writer has
 * too: left alone, Linux gives a SCHED_FIFO thread the I/O class of real-time threads. Whether it
 * makes a difference is up to the device's I/O scheduler; the event io_priority says what is known
 * of it. The priority is read back after it was set.
 *
 * Reads go past the page cache (direct I/O). Where that cannot be done the page cache is asked to
 * forget the file before each read, and an event says so: it need not do it.
 *
 * Each variant is checked for whether the writer was at work while the reads were timed: it has to
 * complete the piece that it had begun then, or the result fails. The event writer_ran has what it
 * wrote meanwhile.
 *
 * How it could be wrong: a device has a cache and a queue of its own, in which it reorders as it
 * likes. The writer pauses while it prepares the next piece.
 */
#include "base/posix_source.h"

#include "family/file/background_writer.h"
#include "family/file/place.h"
#include "family/file/sampling.h"
#include "run/scheduling.h"
#include "run/variant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1000, WARM_UP = 4, FILES = 3, MOST_PAUSE_NS = 400000 };
enum { READ };
enum mode { ALONE, TIME_SHARED, RT_CPU, RT_IO };

static const char *const mode_names[] = {"alone", "time_shared", "rt_cpu", "rt_io", NULL};

static const struct param_spec params[] = {
    {"mode", PARAM_NAME, true, "alone,time_shared,rt_cpu,rt_io", 0, 0, mode_names,
     "priority of the reader; alone: nobody writes", "mode"},
    {"size_bytes", PARAM_BYTES, false, "4096", FILE_BLOCK_BYTES, FILE_MOST_WRITE_BYTES, NULL,
     "bytes of a read, a multiple of 4096"},
    {"file_bytes", PARAM_BYTES, false, "16777216", FILE_MOST_WRITE_BYTES, INT64_C(2) << 30, NULL,
     "length of each of the two files; less where space is short"},
    {0},
};

static const struct series_spec series[] = {
    {"read", "ns", "mode", "before the read of a random block", "after it"},
    {0},
};

struct own {
    struct file_place place;
    struct background_writer writer;
    enum mode mode;
    int file;
    int64_t file_bytes, size_bytes;
    unsigned char *memory; /* reads go there: the writer's must stay as it is */
    void *memory_block;
    unsigned short random[3];
};

static int check(struct run *run)
{
    if (run_number(run, "size_bytes") % FILE_BLOCK_BYTES != 0)
        return outcome_set(&run->outcome, STATUS_SKIPPED, "choose a multiple of 4096",
                           "size_bytes is no multiple of 4096");
    return file_place_check(run);
}

/* ---- begin and end ---- */

static const char *words_of(enum port_answer answer)
{
    static const char *const words[] = {
        [PORT_NOT_KNOWN] = "it is not known whether it serves real-time I/O first",
        [PORT_NO] = "it takes no notice of I/O priorities: rt_io can be no faster than rt_cpu",
        [PORT_YES] = "it serves real-time I/O first"};
    return words[answer];
}

static void tell_io_priority(const struct own *own)
{
    const struct port_file_place *facts = &own->place.facts;
    enum port_answer answer = facts->heeds_io_priority;
    arena_event(
        own->place.run->arena, "io_priority", -1,
        DATA(*facts->scheduler ? data_text("scheduler", facts->scheduler) : data_none(),
             answer != PORT_NOT_KNOWN ? data_bool("heeded", answer == PORT_YES) : data_none()),
        "I/O scheduler of the device %s: %s", *facts->scheduler ? facts->scheduler : "not known",
        words_of(answer));
}

static void tell_cached(const struct own *own)
{
    if (!own->place.can_direct)
        arena_event(own->place.run->arena, "read_may_be_cached", -1, NO_DATA,
                    "there is no direct I/O here: the page cache was asked to forget the file "
                    "before each read, and may have answered all the same");
}

static int make_memory(struct own *own)
{
    own->memory_block = calloc(1, (size_t)own->size_bytes + FILE_BLOCK_BYTES);
    if (!own->memory_block)
        return outcome_set_errno(&own->place.run->outcome, ENOMEM, "memory to read into",
                                 "free memory");
    uintptr_t over = (uintptr_t)own->memory_block % FILE_BLOCK_BYTES;
    own->memory = (unsigned char *)own->memory_block + (over ? FILE_BLOCK_BYTES - over : 0);
    return 0;
}

static int make_files(struct run *run)
{
    struct own *own = run->own;
    own->file_bytes =
        file_place_room(&own->place, run_number(run, "file_bytes"), FILE_MOST_WRITE_BYTES, FILES);
    if (own->file_bytes < 0)
        return -1;
    if (own->file_bytes < own->size_bytes)
        own->size_bytes = FILE_BLOCK_BYTES;
    own->file = file_place_filled(&own->place, 0, own->file_bytes);
    if (own->file < 0)
        return -1;
    if (own->place.can_direct)
        (void)port_direct_io(own->file);
    return background_writer_open(&own->writer, &own->place, own->file_bytes);
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->file = -1;
    own->size_bytes = run_number(run, "size_bytes");
    own->random[0] = 0x330e;
    own->random[1] = (unsigned short)run->seed;
    own->random[2] = (unsigned short)(run->seed >> 16);
    if (file_place_open(&own->place, run, true) != 0 || make_memory(own) != 0)
        return -1;
    tell_io_priority(own);
    tell_cached(own);
    return make_files(run);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    background_writer_close(&own->writer);
    if (own->file >= 0)
        close(own->file);
    free(own->memory_block);
    file_place_close(&own->place);
}

/* ---- reading ---- */

static void pause_at_random(struct own *own)
{
    struct timespec pause = {.tv_nsec = (long)(erand48(own->random) * (double)MOST_PAUSE_NS)};
    nanosleep(&pause, NULL);
}

static int take(struct run *run)
{
    struct own *own = run->own;
    pause_at_random(own);
    int64_t blocks = own->file_bytes / own->size_bytes;
    int64_t at = (int64_t)(erand48(own->random) * (double)blocks) * own->size_bytes;
    if (!own->place.can_direct)
        file_place_forget(own->file);
    uint64_t begin = clock_begin(&run->clock);
    ssize_t done = pread(own->file, own->memory, (size_t)own->size_bytes, (off_t)at);
    uint64_t end = clock_end(&run->clock);
    if (done < 0 && errno == EINTR)
        return 0;
    if (done != (ssize_t)own->size_bytes)
        return file_place_fail(run, done < 0 ? errno : EIO, "read");
    run_take(run, READ, begin, end);
    return 0;
}

/* 0; 1: this priority cannot be had, and an event says so; -1 with the outcome. */
static int set_io_priority(struct run *run, enum mode mode)
{
    enum port_io_class wanted = mode == RT_IO ? PORT_IO_REAL_TIME : PORT_IO_BEST_EFFORT;
    int error = port_set_io_class(wanted);
    if (error == ENOTSUP && mode != RT_IO)
        return 0; /* no I/O priorities: all alike */
    const char *cause = error ? strerror(error) : "the system did not keep it";
    if (!error && port_io_class() == (int)wanted)
        return 0;
    arena_event(run->arena, "io_priority_refused", -1,
                DATA(data_text("mode", mode_names[mode]), data_text("error", cause)),
                "%s: the I/O priority could not be set: %s%s", mode_names[mode], cause,
                error == EPERM ? "; it takes CAP_SYS_NICE, as root has it" : "");
    return 1;
}

static int read_at_priority(struct run *run, enum mode mode)
{
    struct own *own = run->own;
    int error = mode == TIME_SHARED ? rt_thread_set_self_ordinary() : 0;
    if (error)
        return outcome_set_errno(&run->outcome, error, "making the reader time-shared", NULL);
    int result = file_sample(&own->place, own->file, READ, WARM_UP, take);
    return mode == TIME_SHARED && scheduling_step_up(run) != 0 ? -1 : result;
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum mode mode = (enum mode)variant_number(run, "mode");
    int result = set_io_priority(run, mode);
    if (result != 0)
        return result < 0 ? -1 : 0;
    if (mode != ALONE)
        result = background_writer_start(&own->writer);
    if (result == 0)
        result = read_at_priority(run, mode);
    int stopped = background_writer_stop(&own->writer, mode_names[mode]);
    return result == 0 ? stopped : result;
}

static int judge(struct run *run)
{
    if (arena_has_values(run->arena))
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use -p mode=rt_cpu",
                       "I/O priorities cannot be set here");
}

const struct test fio_p_pri = {
    .id = "FIO-P-PRI",
    .title = "Reads of a real-time process beside a writer",
    .source = "[H] Hewlett-Packard, real-time HP-UX, 1987",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_FILES,
    .default_samples = SAMPLES,
    .setup_ns = 400000000,
    .sample_ns = 3000000,
    .check = check,
    .prepare = prepare,
    .measure = variants_measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

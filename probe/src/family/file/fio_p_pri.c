/* FIO-P-PRI: I/O of real-time processes goes first (Hewlett-Packard, real-time HP-UX, 1987).
 *
 * What: reads of size_bytes at random places of a file, while a process writes and synchronises
 *   another one of the same folder. alone: nobody writes; time_shared: the reader is as the writer
 *   is; rt_cpu: it has the run's priority of the CPU; rt_io: and the highest of I/O. In all but the
 *   last its I/O priority is set to the ordinary one, since Linux gives a SCHED_FIFO thread the I/O
 *   class of real-time threads; it is read back.
 * Begin, end: before and after the read, by the reader. One thread, one clock.
 * Threads: the reader is the measuring thread; the writer is a time-shared process. Between two
 *   reads the reader sleeps for 0 to 400 us at random, so that they meet the writer in whatever it
 *   does.
 * Wrong if: the page cache answers: reads are direct; where that cannot be done it is asked to
 *   forget the file (event read_may_be_cached). The writer has to complete the piece that it had
 *   begun, or the result fails; what it wrote is in writer_ran. Whether priorities count is up to
 *   the I/O scheduler (event io_priority), and a device reorders in its own queue.
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "family/file/place.h"
#include "family/shared/peer.h"
#include "port/port.h"
#include "run/scheduling.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- the background writer ---- */

/* A time-shared process that keeps a device busy: it writes a piece of a file, synchronises it, and
 * goes on with the next piece, from the begin of the file to its end and again. */

#define PARTY "background writer"
#define PATIENCE_NS INT64_C(10000000000)

enum { STEP_NS = 1000000, PIECE_BYTES = FILE_MOST_WRITE_BYTES };

struct background_table {
    int file;
    const unsigned char *memory; /* of the probe, at the same address after the fork */
    int64_t file_bytes;
    atomic_bool is_over;
    atomic_int error; /* errno value of what failed; 0: nothing */
    atomic_uint_fast64_t pieces_count;
};

struct background_writer {
    struct file_place *place;
    struct peer peer;
    struct background_table *table; /* shared with the process */
    int file;
    bool is_running;
    uint64_t begin_count;
    int64_t begin_ns;
};

/* ---- in the process ---- */

static int write_piece(const struct background_table *table, int64_t at)
{
    ssize_t done = pwrite(table->file, table->memory, PIECE_BYTES, (off_t)at);
    if (done != PIECE_BYTES)
        return done < 0 ? errno : ENOSPC;
    return file_place_synchronise(table->file) == 0 ? 0 : errno;
}

static void write_on(void *argument)
{
    struct background_table *table = argument;
    int error = port_set_io_class(PORT_IO_BEST_EFFORT); /* not the reader's, which it inherits */
    error = error == ENOTSUP ? 0 : error;
    for (int64_t at = 0; error == 0 && !atomic_load(&table->is_over); at += PIECE_BYTES) {
        if (at + PIECE_BYTES > table->file_bytes)
            at = 0;
        error = write_piece(table, at);
        if (error == 0)
            atomic_fetch_add(&table->pieces_count, 1);
    }
    atomic_store(&table->error, error);
}

/* ---- in the probe ---- */

static int make_table(struct background_writer *writer)
{
    struct run *run = writer->place->run;
    struct ipc_cleanup *cleanup = &writer->place->cleanup;
    if (!cleanup->has_processes)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system cannot start a second process (fork)");
    writer->table = peer_memory(sizeof *writer->table, &cleanup->places[0]);
    if (!writer->table)
        return outcome_set_errno(&run->outcome, errno, "memory for both processes",
                                 port_hint(PORT_HINT_SHARED_MEMORY));
    if (!peer_memory_is_shared(writer->table))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system has no shared memory (shm_open)");
    return 0;
}

/* Makes its file, of `file_bytes`. 0, or -1 with the outcome (unsupported: no processes). Call
 * background_writer_close in any case. */
static int background_writer_open(struct background_writer *writer, struct file_place *place,
                                  int64_t file_bytes)
{
    writer->place = place;
    writer->file = -1;
    if (make_table(writer) != 0)
        return -1;
    writer->file = file_place_filled(place, 0, file_bytes);
    if (writer->file < 0)
        return -1;
    writer->table->file = writer->file;
    writer->table->memory = place->memory;
    writer->table->file_bytes = file_bytes;
    return 0;
}

static void background_writer_close(struct background_writer *writer)
{
    if (!writer->place)
        return;
    if (writer->file >= 0)
        close(writer->file);
    peer_memory_free(writer->table, sizeof *writer->table);
    writer->table = NULL;
}

static int fail(const struct background_writer *writer)
{
    return file_place_fail(writer->place->run, atomic_load(&writer->table->error),
                           "the background writer");
}

/* Waits until more than `count` pieces are written. 0, or -1 with the outcome. */
static int wait_beyond(struct background_writer *writer, uint64_t count)
{
    struct timespec step = {.tv_nsec = STEP_NS};
    int64_t until_ns = clock_monotonic_ns() + PATIENCE_NS;
    while (atomic_load(&writer->table->pieces_count) <= count && !run_should_stop()) {
        if (atomic_load(&writer->table->error))
            return fail(writer);
        if (peer_is_gone(&writer->peer))
            return supervise_ended_early(writer->place->run, PARTY);
        if (clock_monotonic_ns() > until_ns)
            return outcome_set(&writer->place->run->outcome, STATUS_FAILED,
                               "find out what keeps it from the CPU or the device",
                               "the background writer did not write 1 MiB in 10 s");
        nanosleep(&step, NULL);
    }
    return 0;
}

/* Starts the process, and returns when it has written its first piece. 0, or -1 with the outcome.
 */
static int background_writer_start(struct background_writer *writer)
{
    struct run *run = writer->place->run;
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    atomic_store(&writer->table->is_over, false);
    atomic_store(&writer->table->error, 0);
    atomic_store(&writer->table->pieces_count, 0);
    int error = peer_start_process(&writer->peer, run, &writer->place->cleanup, &setup, NULL,
                                   write_on, writer->table);
    if (error)
        return peer_not_started(run, error, PARTY, NULL);
    writer->is_running = true;
    supervise_process(run, writer->peer.process, PARTY);
    if (wait_beyond(writer, 0) != 0)
        return -1;
    writer->begin_count = atomic_load(&writer->table->pieces_count);
    writer->begin_ns = clock_monotonic_ns();
    return 0;
}

static void report_written(const struct background_writer *writer, const char *mode,
                           int64_t pieces_count, int64_t elapsed_ns)
{
    double mb_per_s = elapsed_ns > 0
                          ? (double)(pieces_count * PIECE_BYTES) / 1e6 / ((double)elapsed_ns / 1e9)
                          : 0;
    arena_event(writer->place->run->arena, "writer_ran", -1,
                DATA(data_text("mode", mode),
                     data_integer("written_bytes", pieces_count * PIECE_BYTES),
                     data_integer("synchronised_count", pieces_count),
                     data_integer("elapsed_ns", elapsed_ns)),
                "%s: the background writer wrote and synchronised %lld MiB in %.2f s (%.1f MB/s)",
                mode, (long long)pieces_count, (double)elapsed_ns / 1e9, mb_per_s);
}

/* Ends it, and reports what it wrote since `start` returned (event writer_ran). The piece that was
 * begun when the reads began has to be written in the end: so there was one under way even if none
 * was completed meanwhile. */
static int background_writer_stop(struct background_writer *writer, const char *mode)
{
    struct run *run = writer->place->run;
    if (!writer->is_running)
        return 0;
    uint64_t count = atomic_load(&writer->table->pieces_count);
    int64_t elapsed_ns = clock_monotonic_ns() - writer->begin_ns;
    int result = wait_beyond(writer, writer->begin_count);
    writer->is_running = false;
    supervise_process(run, 0, NULL);
    atomic_store(&writer->table->is_over, true);
    if (peer_join(&writer->peer) != 0)
        return supervise_ended_early(run, PARTY);
    if (atomic_load(&writer->table->error))
        return fail(writer);
    report_written(writer, mode, (int64_t)(count - writer->begin_count), elapsed_ns);
    return result;
}

/* ---- the test ---- */

enum { SAMPLES = 1000, WARM_UP = 4, FILES = 3, MOST_PAUSE_NS = 400000 };
enum { READ };
enum mode { ALONE, TIME_SHARED, RT_CPU, RT_IO };

static const char *const mode_names[] = {"alone", "time_shared", "rt_cpu", "rt_io", NULL};

static const struct param_spec params[] = {
    {"mode", PARAM_NAME, true, "alone,time_shared,rt_cpu,rt_io", 0, 0, mode_names,
     "priority of the reader; alone: nothing writes", "mode"},
    {"size_bytes", PARAM_BYTES, false, "4096", FILE_BLOCK_BYTES, FILE_MOST_WRITE_BYTES, NULL,
     "bytes of a read, a multiple of 4096"},
    {"file_bytes", PARAM_BYTES, false, "16777216", FILE_MOST_WRITE_BYTES, INT64_C(2) << 30, NULL,
     "length of each of the two files; less if space is short"},
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
    struct random random;
};

static int check(struct run *run)
{
    if (run_number(run, "size_bytes") % FILE_BLOCK_BYTES != 0)
        return outcome_set(&run->outcome, STATUS_SKIPPED, "choose a multiple of 4096",
                           "size_bytes is not a multiple of 4096");
    return file_place_check(run);
}

/* ---- begin and end ---- */

static const char *words_of(enum port_answer answer)
{
    static const char *const words[] = {
        [PORT_NOT_KNOWN] = "it is not known whether it serves real-time I/O first",
        [PORT_NO] = "it ignores I/O priorities: rt_io cannot be faster than rt_cpu",
        [PORT_YES] = "it serves real-time I/O first"};
    return words[answer];
}

static void report_io_priority(const struct own *own)
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

static void report_cached(const struct own *own)
{
    if (!own->place.can_direct)
        arena_event(own->place.run->arena, "read_may_be_cached", -1, NO_DATA,
                    "there is no direct I/O here: the page cache was asked to drop the file "
                    "before each read, but may still have answered");
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
    random_start(&own->random, run->seed);
    if (file_place_open(&own->place, run, true) != 0 || make_memory(own) != 0)
        return -1;
    report_io_priority(own);
    report_cached(own);
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
    struct timespec pause = {.tv_nsec = (long)random_below(&own->random, MOST_PAUSE_NS)};
    nanosleep(&pause, NULL);
}

static int take(struct run *run)
{
    struct own *own = run->own;
    pause_at_random(own);
    int64_t blocks = own->file_bytes / own->size_bytes;
    int64_t at = random_below(&own->random, blocks) * own->size_bytes;
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
                error == EPERM ? "; it needs CAP_SYS_NICE, which root has" : "");
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
    .title = "Reads of a real-time process while another one writes",
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

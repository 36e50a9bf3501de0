#include "base/posix_source.h"

#include "family/file/background_writer.h"

#include "port/port.h"
#include "run/supervise.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

int background_writer_open(struct background_writer *writer, struct file_place *place,
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

void background_writer_close(struct background_writer *writer)
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
                               "find out what keeps it from the CPU or from the device",
                               "the background writer did not write 1 MiB in 10 s");
        nanosleep(&step, NULL);
    }
    return 0;
}

int background_writer_start(struct background_writer *writer)
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

static void tell(const struct background_writer *writer, const char *mode, int64_t pieces_count,
                 int64_t elapsed_ns)
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

/* The piece that was begun when the reads began has to be written in the end: so there was one
 * under way even if none was completed meanwhile. */
int background_writer_stop(struct background_writer *writer, const char *mode)
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
    tell(writer, mode, (int64_t)(count - writer->begin_count), elapsed_ns);
    return result;
}

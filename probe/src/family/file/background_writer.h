/* A time-shared process that keeps a device busy: it writes a piece of a file, synchronises it, and
 * goes on with the next piece, from the begin of the file to its end and again. */
#ifndef HS_FAMILY_FILE_BACKGROUND_WRITER_H
#define HS_FAMILY_FILE_BACKGROUND_WRITER_H

#include "family/file/place.h"
#include "family/shared/peer.h"

struct background_table;

struct background_writer {
    struct file_place *place;
    struct peer peer;
    struct background_table *table; /* shared with the process */
    int file;
    bool is_running;
    uint64_t begin_count;
    int64_t begin_ns;
};

/* Makes its file, of `file_bytes`. 0, or -1 with the outcome (unsupported: no processes). Call
 * background_writer_close in any case. */
int background_writer_open(struct background_writer *writer, struct file_place *place,
                           int64_t file_bytes);
void background_writer_close(struct background_writer *writer);

/* Starts the process, and returns when it has written its first piece. 0, or -1 with the outcome.
 */
int background_writer_start(struct background_writer *writer);

/* Ends it, and tells what it wrote since `start` returned (event writer_ran; `mode`: of the test).
 * -1 with the outcome: it failed, or did not get on. */
int background_writer_stop(struct background_writer *writer, const char *mode);

#endif

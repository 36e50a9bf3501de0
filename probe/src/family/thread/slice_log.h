/* Which of several threads of equal priority on one CPU got the CPU, and when. Each of them spins
 * and calls in every turn of its loop
 *
 *     unsigned turn = slice_log_look(log);
 *     if (slice_log_is_over(log, turn))
 *         return;
 *     slice_log_take(log, turn, place, clock_begin(clock));
 *
 * A thread that finds another one noted has been given the CPU, and notes itself. One atomic word
 * holds who is noted, how many notes there are and whether the log is closed; a note is a
 * compare-and-exchange on it. So a thread may be preempted anywhere in its turn: if the log has
 * changed, its note fails. The stamps are in the order of the notes. */
#ifndef HS_FAMILY_THREAD_SLICE_LOG_H
#define HS_FAMILY_THREAD_SLICE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SLICE_LOG_ENTRIES = 512, SLICE_LOG_PLACES = 128 };

struct slice_entry {
    uint64_t ticks;
    int place; /* of the thread that got the CPU */
};

struct slice_log {
    unsigned wanted_count;
    atomic_uint turn;
    struct slice_entry entries[SLICE_LOG_ENTRIES];
};

/* Empties the log, which is full after `wanted_count` notes (SLICE_LOG_ENTRIES at most). No thread
 * may use it meanwhile. */
void slice_log_clear(struct slice_log *log, unsigned wanted_count);

/* The state of the log, for slice_log_is_over and slice_log_take. */
unsigned slice_log_look(struct slice_log *log);

/* Whether the log was closed or full in the state `turn`. */
bool slice_log_is_over(const struct slice_log *log, unsigned turn);

/* Notes that thread `place` (below SLICE_LOG_PLACES) got the CPU at `ticks`, read after `turn`.
 * Does nothing if `place` is the last one noted, if the log is over, or if it has changed since
 * `turn`. */
void slice_log_take(struct slice_log *log, unsigned turn, int place, uint64_t ticks);

/* Closes the log: it takes no more notes. */
void slice_log_close(struct slice_log *log);

/* Opens a log that was closed before it was full. */
void slice_log_reopen(struct slice_log *log);

/* Number of notes, when no thread makes any more. */
unsigned slice_log_count(struct slice_log *log);

#endif

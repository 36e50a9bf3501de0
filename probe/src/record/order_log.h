/* A log that proves the order of events: who did what, at which reading of the counter. Threads
 * append to it while the scenario runs. When they have ended or are blocked, the log writes the
 * order as words and compares them with the promised words.
 *
 *     static const char promised[] = "low locked, high blocked, high got the lock";
 *     order_log_clear(&log, &run->clock);
 *     ... in the threads: order_log_add(&log, "low", "locked");
 *     ... when all are quiet:
 *     order_log_verdict(&log, run->arena, "inherit", promised);
 *
 * The order is that of the counter, not that of the places in the log: a thread may be preempted
 * between reading the counter and taking a place. The counter is read fenced, so a reading cannot
 * move across neighbouring instructions. The threads must run on one CPU: the skew between the
 * counters of two CPUs could change the order.
 *
 * Appending takes no lock, allocates nothing and never blocks; it costs about a pair of time
 * stamps. An entry that does not fit is counted, and the order then matches no promise. */
#ifndef HS_RECORD_ORDER_LOG_H
#define HS_RECORD_ORDER_LOG_H

#include "base/clock.h"
#include "record/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ORDER_LOG_ENTRIES = 512, ORDER_LOG_NO_NUMBER = -1 };

/* `who` and `what` are kept as pointers: string literals, or text that outlives the log. */
struct order_entry {
    uint64_t ticks;
    const char *who, *what;
    int number; /* which one of several that share a name; ORDER_LOG_NO_NUMBER */
};

struct order_log {
    const struct clock *clock;
    atomic_uint count; /* includes entries that did not fit */
    struct order_entry entries[ORDER_LOG_ENTRIES];
    atomic_bool is_written[ORDER_LOG_ENTRIES]; /* publishes the entry to readers */
};

/* Makes the log empty. No thread may append meanwhile. */
void order_log_clear(struct order_log *log, const struct clock *clock);

/* Adds an entry with an earlier reading (of clock_begin or clock_end of the same clock). */
static inline void order_log_add_at(struct order_log *log, uint64_t ticks, const char *who,
                                    int number, const char *what)
{
    unsigned place = atomic_fetch_add_explicit(&log->count, 1, memory_order_relaxed);
    if (place >= ORDER_LOG_ENTRIES)
        return;
    log->entries[place] = (struct order_entry){ticks, who, what, number};
    atomic_store_explicit(&log->is_written[place], true, memory_order_release);
}

/* "WHO WHAT", now. */
static inline void order_log_add(struct order_log *log, const char *who, const char *what)
{
    order_log_add_at(log, clock_begin(log->clock), who, ORDER_LOG_NO_NUMBER, what);
}

/* "WHO NUMBER WHAT", now. */
static inline void order_log_add_nth(struct order_log *log, const char *who, int number,
                                     const char *what)
{
    order_log_add_at(log, clock_begin(log->clock), who, number, what);
}

/* The functions below may be called when no thread appends any more. */

/* Sorts the entries by their readings; equal readings keep the order of appending. The functions
 * below call it. */
void order_log_sort(struct order_log *log);

/* Number of complete entries, up to the first that is not written yet. */
unsigned order_log_count(const struct order_log *log);

/* The order in words: "creator created it, new ran, creator went on"; "nothing happened"
 * for an empty log. What does not fit into `bytes` ends in "...". */
void order_log_render(struct order_log *log, char *text, size_t bytes);

/* Whether the order in words is `promised`, and nothing was lost. */
bool order_log_is(struct order_log *log, const char *promised);

/* Place, in the order of readings, of the first entry of `who` and `what`; -1: none. */
int order_log_place(struct order_log *log, const char *who, const char *what);

/* Adds the verdict `name`: passed when the order is `promised`. The evidence is the order
 * seen, and, where they differ, the one promised. Returns whether it passed. */
bool order_log_verdict(struct order_log *log, struct arena *arena, const char *name,
                       const char *promised);

#endif

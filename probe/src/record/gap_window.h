/* What a table of gaps consists of (gap_table.h). */
#ifndef HS_RECORD_GAP_WINDOW_H
#define HS_RECORD_GAP_WINDOW_H

#include <stdatomic.h>
#include <stdint.h>

enum { GAP_TABLE_WINDOWS = 4096, GAP_TABLE_MOST = 1000000 };

/* Since the start of the measurement. */
struct gap_entry {
    int64_t begin_ns, length_ns;
};

/* One watch of the loop, from its first reading to its last. The kernel's counters of the CPU were
 * read before and after it, counted_ns apart; -1: not known. */
struct gap_window {
    int64_t begin_ns, end_ns;
    int64_t counted_ns, interrupts, timer_interrupts;
    uint32_t gap_count;     /* that are in the table */
    uint32_t dropped_count; /* that are not */
};

struct gap_table {
    _Atomic uint32_t window_count; /* those that are whole */
    uint32_t gap_count;            /* of all of them */
};

#endif

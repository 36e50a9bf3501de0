/* Gaps in a loop that reads the counter, and the windows in which it did (CLK-P-DUR): what the
 * toolkit needs to tell a tick from a host's. In the arena behind the compact forms, so that a
 * killed probe leaves them: all of the windows that ended.
 *
 * A window has its gaps before it counts, and the head is the first part that a copy reads. */
#ifndef HS_RECORD_GAP_TABLE_H
#define HS_RECORD_GAP_TABLE_H

#include "record/arena.h"
#include "record/gap_window.h"

/* NULL: the test has none. */
const struct gap_table *gap_table_of(const struct arena *arena);
const struct gap_window *gap_table_windows(const struct arena *arena);
const struct gap_entry *gap_table_gaps(const struct arena *arena);

/* Places for the gaps of the next window, and how many there are. */
struct gap_entry *gap_table_free(struct arena *arena, uint32_t *count);

/* Adds a window whose gaps are in the first gap_count of those places. False: there is no room for
 * it, and none for later ones. */
bool gap_table_add(struct arena *arena, const struct gap_window *window);

/* Leaves out all windows but the first `window_count`. */
void gap_table_cut(struct arena *arena, uint32_t window_count);

/* For arena_open: keeps the windows before the first that is damaged. */
void gap_table_repair(struct arena *arena);

#endif

/* What a measurement has recorded until a moment, to go back to where what came later may not be
 * used: a CPU was taken away (run/placement.h). The thread or process that looks each second copies
 * the records while the test goes on, then judges, and confirms the copy or lets it be replaced.
 *
 * Two copies in turn, so that the one that is good stays until the next one is. What is only
 * appended (compact forms, gaps) is not copied: its end is noted. */
#ifndef HS_RECORD_CHECKPOINT_H
#define HS_RECORD_CHECKPOINT_H

#include "record/arena.h"

struct checkpoint;

/* Memory for both copies, touched, and not locked. To be called by who looks. NULL where there is
 * none, or where the records are too large to be copied each second. */
struct checkpoint *checkpoint_open(struct arena *arena);

/* Copies the records. Values that come meanwhile may be in the copy. */
void checkpoint_take(struct checkpoint *checkpoint);

/* The latest copy is good: what is in it may be used. Takes the counters of each second. */
void checkpoint_confirm(struct checkpoint *checkpoint);

/* Makes the arena what it was at the copy that was confirmed last, and that the end of the
 * measurement. Verdicts, tables, later events and traces of later values are left out. False, and
 * nothing is done, where no copy was confirmed or it has no value. To be called when nothing
 * records any more. */
bool checkpoint_restore(const struct checkpoint *checkpoint);

/* NULL does nothing. */
void checkpoint_close(struct checkpoint *checkpoint);

#endif

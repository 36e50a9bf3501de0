/* Whether the threads of a test are on the CPU that its figures are labelled with. A CPU can be
 * taken while a test measures: by the cpuset of its control group, by hotplug, or by a program that
 * changes affinities. The kernel then moves bound threads elsewhere, without a word.
 *
 * Before: a CPU is chosen among those allowed (scheduling.h). During: each look at the threads
 * compares the affinity and the migrations of those that are bound (thread_watch.h). After: the
 * last look, and run_check_place. A loss ends the test. Its figures are those that were there at
 * the last look that found each thread at its place (record/recovery.h); of what came later it is
 * not known which are of another CPU. */
#ifndef HS_RUN_PLACEMENT_H
#define HS_RUN_PLACEMENT_H

#include "run/thread_watch.h"

#include <stdatomic.h>

struct run;

/* Which of its threads have to stay where they are. */
enum watch_held placement_held(const struct run *run);

/* CPU + 1 that a thread found itself off (run_check_place); 0: none. */
atomic_int *placement_left(struct run *run);

/* Before the measurement, by the main thread. */
void placement_begin(struct run *run);

/* After the measurement, where the main thread is bound to nothing: a CPU of the run that this
 * process may not use any more. Of threads that are bound to none nothing else tells. One that was
 * given back is not found. */
struct cpu_taken placement_lost(const struct run *run);

/* Makes the arena what it was at the last look that found each thread at its place; false: there
 * was none. */
typedef bool (*placement_go_back)(struct run *run);

/* After the measurement, by the main thread: tells a loss that was found, with its cause, and keeps
 * the figures that `go_back` leaves; none with NULL, where the test still records. Replaces an
 * outcome that the test has set. */
void placement_tell(struct run *run, placement_go_back go_back);

/* After a step that failed: replaces its outcome, if that follows from EINVAL and the CPU of the
 * run was allowed when it was chosen, and is not any more. */
void placement_explain(struct run *run);

#endif

/* Whether the threads of a test are on the CPU that its figures are labelled with. A CPU can be
 * taken while a test measures: by the cpuset of its control group, by hotplug, or by a program that
 * changes affinities. The kernel then moves bound threads elsewhere, without a word.
 *
 * Before: a CPU is chosen among those allowed (scheduling.h). During: each look at the threads
 * compares the affinity and the migrations of those that are bound (thread_watch.h). After: the
 * last look, and run_check_place. A loss ends the test and leaves its figures out: which of them
 * are of another CPU is not known. */
#ifndef HS_RUN_PLACEMENT_H
#define HS_RUN_PLACEMENT_H

#include "run/thread_watch.h"

struct run;

/* Which of its threads have to stay where they are. */
enum watch_held placement_held(const struct run *run);

/* Before the measurement, by the main thread. */
void placement_begin(struct run *run);

/* After the measurement, by the main thread: tells a loss that was found, with its cause. Replaces
 * an outcome that the test has set. */
void placement_tell(struct run *run);

/* After a step that failed: replaces its outcome, if that follows from EINVAL and the CPU of the
 * run was allowed when it was chosen, and is not any more. */
void placement_explain(struct run *run);

#endif

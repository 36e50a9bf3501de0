/* Skew between CPUs in a run: a test that subtracts stamps of several CPUs (TEST_COMPARES_CPUS, or
 * a measuring thread that is not bound) may use the counter only if the counters of these CPUs
 * agree. */
#ifndef HS_RUN_SKEW_H
#define HS_RUN_SKEW_H

#include "run/run.h"

/* For a run whose clock is the counter. Measures the skew between run->setup.cpu (not bound: the
 * first CPU in run->uses_cpu) and each CPU in run->uses_cpu into run->instrument, with threads of
 * the run's policy and priority. True if every interval contains 0 or only one CPU is in use.
 * False: `reason` says whether an interval without 0 was measured or the skew could not be
 * measured. */
bool skew_is_consistent(struct run *run, char *reason, size_t reason_bytes);

#endif

/* The blocks of each step (read, compute, write, and the wait between them), for each thread: the
 * table `blocks` of a result. */
#ifndef HS_FAMILY_SIMULATE_STEP_BLOCKS_H
#define HS_FAMILY_SIMULATE_STEP_BLOCKS_H

#include "base/data.h"
#include "family/simulate/team.h"

enum { STEP_BLOCKS_THREADS = 32 }; /* of a variant, at most, that have a table */

/* Room for the tables of all variants of a run, where it keeps blocks: to be called by `declare`.
 */
void step_blocks_plan(struct run *run);

/* Adds a table for each thread of a team that has ended. All times count from its start, which is
 * the first release. */
void step_blocks_keep(const struct team *team, int64_t masses, const char *solver,
                      const char *policy);

#endif

/* A process that looks each second in place of the supervisor (watch.h, trace_ring.h),
 * where the whole probe moves to reserved CPUs. It is forked before, stays on the others, and
 * writes into the arena, which must be memory that both share.
 *
 * A measuring thread tells it when the measurement begins and ends, and waits for its answer. It
 * ends with the probe. */
#ifndef HS_RUN_OUTSIDE_LOOK_H
#define HS_RUN_OUTSIDE_LOOK_H

#include "run/watch.h"

#include <stdbool.h>

struct run;
struct outside_look;

/* What a measuring thread asks for. */
enum look_word { LOOK_BEGINS = 1, LOOK_AT_THREADS, LOOK_ENDS, LOOK_GOES_BACK };

/* Forks it, if the probe will leave the CPUs that do not measure. Without it the supervisor tells
 * that nobody looks. To be called before memory is locked, since a fork undoes that. Always 0. */
int outside_look_start(struct run *run);

/* Whether it is there. */
bool outside_look_is_there(const struct run *run);

/* Has it do what `word` says, and waits until it has. After LOOK_ENDS run->counter_totals are set.
 * Where it does not answer any more, the event `not_watched` tells so. */
void outside_look_ask(struct run *run, enum look_word word);

/* A measured CPU that was lost, as it found (counter_watch_taken). It sends SIGCHLD when it finds
 * one.
 */
struct cpu_taken outside_look_taken(const struct run *run);

/* As counter_watch_go_back. */
bool outside_look_go_back(struct run *run);

/* Ends it. */
void outside_look_stop(struct run *run);

#endif

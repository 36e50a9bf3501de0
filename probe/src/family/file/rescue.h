/* Ends a call that should have returned at once and waits instead: a second thread feeds or empties
 * what it waits for, after a time in which nothing but such a call can still be in the way. */
#ifndef HS_FAMILY_FILE_RESCUE_H
#define HS_FAMILY_FILE_RESCUE_H

#include "base/posix_source.h"

#include "base/rt_thread.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum rescue_action { RESCUE_FEEDS, RESCUE_EMPTIES };

enum rescue_state { RESCUE_RESTS, RESCUE_WAITS, RESCUE_ACTS };

struct rescue {
    struct rt_thread thread;
    atomic_int state; /* enum rescue_state; what follows is read in RESCUE_ACTS */
    enum rescue_action action;
    int file;
    int64_t armed_ns;
    atomic_bool was_needed, is_over;
};

/* Starts the thread: 0, or an errno value. */
int rescue_start(struct rescue *rescue);
void rescue_end(struct rescue *rescue);

/* From now on the thread waits RESCUE_NS, then writes to or reads from `file` until it is
 * disarmed. */
#define RESCUE_NS INT64_C(1000000000)
void rescue_arm(struct rescue *rescue, enum rescue_action action, int file);

/* Returns whether it had to act. */
bool rescue_disarm(struct rescue *rescue);

#endif

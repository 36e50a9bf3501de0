/* The process of MEM-B-LCK that eats memory: never more than it is told, never longer than its
 * deadline (peer.h), and the first that the kernel kills where memory is short. */
#ifndef HS_FAMILY_MEMORY_EATER_H
#define HS_FAMILY_MEMORY_EATER_H

#include "base/posix_source.h"

#include "family/shared/peer.h"
#include "port/limits.h"

#include <stdatomic.h>

/* Memory of both processes. */
struct eater_table {
    int64_t bytes;                /* to eat */
    pid_t parent;                 /* ends when that does */
    char group[PORT_GROUP_BYTES]; /* to enter; empty: none */
    _Atomic int64_t eaten_bytes;
    atomic_bool is_full, is_over;
};

struct eater {
    struct eater_table *table;
    struct peer peer;
    bool is_running, was_killed;
};

/* Starts it as an ordinary process and waits until it has eaten, or has been killed. 0, or -1 with
 * the outcome. */
int eater_start(struct eater *eater, struct run *run, const struct ipc_cleanup *cleanup);

/* Ends it, by its own id if it does not end by itself. It may have been killed before. */
void eater_stop(struct eater *eater);

#endif

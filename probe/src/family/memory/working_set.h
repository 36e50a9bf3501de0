/* A process of MEM-B-LCK with a working set: two mappings of a scratch file, whose pages it reads
 * in random order.
 *
 * Pages of a file can be taken back on every system that pages, with or without swap: they are
 * clean. The first half is mapped before mlockall, the second after it: MCL_CURRENT and MCL_FUTURE
 * each have their part. */
#ifndef HS_FAMILY_MEMORY_WORKING_SET_H
#define HS_FAMILY_MEMORY_WORKING_SET_H

#include "base/posix_source.h"

#include "family/shared/peer.h"
#include "port/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKING_SET_TURN = 256, WORKING_SET_HALVES = 2 };

/* Clock readings right before and after the read of one byte of a page. */
struct page_access {
    uint64_t begin_ticks, end_ticks;
};

/* Memory of both processes. */
struct working_set_table {
    /* for the process */
    bool is_to_lock;
    bool is_paged_out; /* before each round it asks the kernel to take the pages back */
    size_t bytes;
    int file;
    uint64_t seed;
    struct clock clock;
    char group[PORT_GROUP_BYTES]; /* to enter; empty: none */
    int asks[2], answers[2];      /* pipes */
    /* from the process, once */
    int enter_error;                          /* errno value; then it is in no group */
    int lock_error;                           /* errno value of mlockall or of a mapping after it */
    int64_t locked_bytes;                     /* -1: not known */
    int invalidate_error[WORKING_SET_HALVES]; /* of msync with MS_INVALIDATE; EBUSY: locked */
    /* of a turn */
    int page_out_error; /* errno value of the latest request */
    int count;
    int64_t minor_faults, major_faults; /* -1: not known */
    struct page_access accesses[WORKING_SET_TURN];
};

struct working_set {
    struct run *run;
    struct working_set_table *table; /* NULL: not started */
    struct peer peer;
    bool is_running;
    /* of all turns; -1: not known */
    int64_t minor_faults, major_faults, access_count;
};

/* Starts the process, at the run's priority and CPU; table->is_to_lock and the other fields for the
 * process are set. 0, or -1 with the outcome (denied: its memory cannot be locked). */
int working_set_start(struct working_set *set, struct run *run, const struct ipc_cleanup *cleanup);

/* Has it read up to `count` pages, at most WORKING_SET_TURN, and waits. Adds the faults. 0, or -1
 * with the outcome: the process has ended. */
int working_set_turn(struct working_set *set, int count);

/* Ends the process and waits for it. 0, or -1 with the outcome. */
int working_set_stop(struct working_set *set);

#endif

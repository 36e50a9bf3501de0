/* Whether threads that spin were given the CPU. Between begin and end of a burst some
 * thread of the test always wants to run, so what the process did not get was taken:
 * by real-time throttling, by a thread of higher priority, or by the hypervisor. Half of
 * what throttling takes at a time, missing in one burst, is told as the event
 * `throttled`, and the result then fails: its figures hold a pause that no kernel path
 * took.
 *
 * Called around bursts, outside all that is timed.
 */
#ifndef HS_OCCUPANCY_H
#define HS_OCCUPANCY_H

#include "run/run.h"

#include <sys/types.h>

struct occupancy {
    bool has_partner;
    clockid_t partner; /* CPU time of a second process of the test */
    bool is_limited;   /* there is throttling, as far as the port knows */
    int64_t pause_ns;  /* what throttling takes in each period, or as much as it usually does */
    int64_t begin_wall_ns, begin_cpu_ns; /* of the burst */
    int64_t most_lost_ns;
    int cut_count; /* bursts that lost too much */
};

void occupancy_open(struct occupancy *occupancy);

/* Counts the CPU time of `process` too: 0, or an errno value where it cannot be read. */
int occupancy_add_process(struct occupancy *occupancy, pid_t process);

/* Time since the burst began that nobody of the test was given; 0 where that is not known. */
int64_t occupancy_lost_ns(const struct occupancy *occupancy, int64_t now_ns);

/* Whether `lost_ns` of a burst are so much that throttling may have taken them. */
static inline bool occupancy_is_cut(const struct occupancy *occupancy, int64_t lost_ns)
{
    return lost_ns >= occupancy->pause_ns / 2;
}

void occupancy_begin(struct occupancy *occupancy);
void occupancy_end(struct occupancy *occupancy, struct run *run);

/* Notes a pause of a thread that was ready, where the process as a whole went on; `what`
 * names the thread. Shorter ones than throttling makes are ignored. */
void occupancy_note_pause(struct occupancy *occupancy, struct run *run, int64_t pause_ns,
                          const char *what);

/* Whether bursts that were cut after the first `cut_before` may be the work of throttling,
 * so that no verdict should rest on them. */
static inline bool occupancy_is_doubtful(const struct occupancy *occupancy, int cut_before)
{
    return occupancy->is_limited && occupancy->cut_count > cut_before;
}

/* Sets the outcome when a burst was cut; -1 then. Time that the hypervisor says to have
 * taken since the test began is told and does not fail the result: that is judged with
 * the conditions of the run. */
int occupancy_judge(const struct occupancy *occupancy, struct run *run);

#endif

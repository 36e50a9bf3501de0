/* A thread that is interrupted: it spins on the CPU under test and notes every gap
 * (family/shared/gap_log.h), while interrupts are sent to that CPU in bursts. After a burst each
 * interrupt is matched with its gap (sent_match.h) and, where the kernel shows it, with its
 * handler. The thread that spins is the measuring thread.
 *
 *   delivery   from the send (timer: the programmed expiry) to the thread's last reading before
 *              the gap: 0 where that came first (a timer that fires early, clocks of two CPUs that
 *              differ by less than their bound)
 *   service    the gap: from the last reading before it to the first one after it
 *   latency    from the last reading before the gap to the handler's entry
 *   dispatch   from the handler's exit to the first reading after the gap
 *
 * The readings are of the counter, the kernel's stamps of CLOCK_MONOTONIC; the largest error of a
 * conversion between them is told (event handler_seen).
 *
 * Each interrupt sent is accounted for (event interrupts_accounted). One that was sent while
 * another interruption had the CPU has no figure, and may be the one that waited longest: its
 * bound, from the send to the end of that interruption, is told there. One of a timer or device
 * that has not come after 10 ms is not waited for, and counts as not seen. */
#ifndef HS_FAMILY_INTERRUPT_INTERRUPTED_H
#define HS_FAMILY_INTERRUPT_INTERRUPTED_H

#include "family/interrupt/rig.h"

struct interruption {
    int64_t delivery_ns, service_ns;
    bool has_handler; /* the next two are known */
    int64_t latency_ns, dispatch_ns;
    uint64_t end; /* reading after the gap */
};

/* Records an interruption in the test's series; in warm-up they are the scratch record. */
typedef void (*interrupted_record)(struct run *run, const struct interruption *interruption);

/* Steps of a test, as in run/test.h. The first series of its table is that of all interruptions
 * seen, the last needs the handler. */
int interrupted_check(struct run *run);
int interrupted_prepare(struct run *run, interrupted_record record);
int interrupted_measure(struct run *run);
int interrupted_measure_variant(struct run *run);
int interrupted_judge(struct run *run);
void interrupted_finish(struct run *run);

#endif

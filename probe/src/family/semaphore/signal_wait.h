/* Signal and wait in one thread: the part that SEM-P-SIG and SEM-P-RTP time in the same way; its
 * mean SEM-P-RTP subtracts from half a round trip. */
#ifndef HS_FAMILY_SEMAPHORE_SIGNAL_WAIT_H
#define HS_FAMILY_SEMAPHORE_SIGNAL_WAIT_H

#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "realtime/burst.h"

/* One value for `series`: begin = before V, end = after P, which does not block. */
static inline void signal_wait_take(struct run *run, struct semaphore *semaphore, int series)
{
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal(semaphore);
    semaphore_wait(semaphore);
    uint64_t end = clock_end(&run->clock);
    run_take(run, series, begin, end);
}

#endif

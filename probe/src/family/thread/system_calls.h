/* Scenarios for THR-B-PRI: a real-time thread is made ready while a time-shared process is inside a
 * system call on the same CPU. */
#ifndef HS_FAMILY_THREAD_SYSTEM_CALLS_H
#define HS_FAMILY_THREAD_SYSTEM_CALLS_H

#include "family/shared/peer.h"
#include "family/thread/call_party.h"
#include "run/run.h"

/* What the party has done: steps, and CPU time (0: not known). */
struct call_progress {
    uint64_t step_count;
    int64_t cpu_ns, at_ns;
};

struct system_calls {
    struct run *run;
    struct cpu_loss cpu_loss;
    struct call_party *party;
    bool is_shared; /* the party is a process */
    struct peer peer;
    bool has_clock;
    clockid_t clock; /* CPU time of the party */
    struct rt_thread preferred;
    sem_t wake, done;
    atomic_bool is_over;
    struct call_progress before, first, last; /* made ready; it ran; it blocks */
    unsigned short random[3];
    uint64_t inside_count, delayed_count; /* rounds: the party was inside; it went on */
    int64_t longest_ns;                   /* that it went on */
};

/* Gives the verdict system_calls/KIND of each kind, or an event not_seen with the reason.
 * `calls` is zeroed but for `run`. 0, or -1 with the outcome if the parties could not be started.
 */
int system_calls_try(struct system_calls *calls);

#endif

/* Scenarios for THR-B-PRI: a real-time thread is made ready while a time-shared process is inside a
 * system call on the same CPU. */
#ifndef HS_FAMILY_THREAD_SYSTEM_CALLS_H
#define HS_FAMILY_THREAD_SYSTEM_CALLS_H

#include "base/random.h"
#include "family/shared/peer.h"
#include "run/run.h"

/* ---- the party ----
 *
 * A time-shared party that is inside one kind of system call nearly all the time. */

enum { CALL_KINDS = 5, CALL_BUFFER_BYTES = 16384 };

/* In memory that both sides share. */
struct call_party {
    int kind;
    atomic_bool is_over;             /* the party ends after its operation */
    atomic_int error;                /* errno value of a call; the party has ended */
    atomic_uint_fast64_t step_count; /* begins and ends of operations; odd: inside one */
    int pipe[2];
    size_t page_bytes;
    unsigned char buffer[CALL_BUFFER_BYTES];
};

struct call_kind {
    const char *name, *title;
    bool is_woken; /* it blocks until call_party_wake */
    int (*act)(struct call_party *party);
};
extern const struct call_kind call_kinds[CALL_KINDS];

/* Opens what the kind needs; `party` is zeroed. 0 or an errno value. */
int call_party_open(struct call_party *party, int kind);
void call_party_close(struct call_party *party);

/* The body of the party. */
void call_party_work(void *party);

/* Makes a party ready that blocks in its call. */
void call_party_wake(struct call_party *party);

/* Tells the party to end. */
void call_party_end(struct call_party *party);

/* Whether the party is between begin and end of an operation. */
bool call_party_is_inside(struct call_party *party);

/* ---- the scenario ---- */

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
    struct random random;
    uint64_t inside_count, delayed_count; /* rounds: the party was inside; it went on */
    int64_t longest_ns;                   /* that it went on */
};

/* Gives the verdict system_calls/KIND of each kind, or an event not_seen with the reason.
 * `calls` is zeroed but for `run`. 0, or -1 with the outcome if the parties could not be started.
 */
int system_calls_try(struct system_calls *calls);

#endif

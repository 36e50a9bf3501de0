/* Two parties, threads or processes, on one CPU with two semaphores between them: what
 * SEM-P-RTP and SEM-P-SHF have in common. The first party is the measuring thread. */
#ifndef HS_EXCHANGE_H
#define HS_EXCHANGE_H

#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "realtime/burst.h"

/* In memory that both parties see. The second party leaves when exchange_is_over. */
struct exchange_table {
    struct semaphore there, back;
    atomic_int is_over;
    const struct clock *clock;
    _Atomic uint64_t answer_count;                   /* of the second party */
    _Atomic uint64_t received_ticks, answered_ticks; /* its stamps, where a test takes them */
};

struct exchange {
    struct leftover leftover;
    struct exchange_table *table;
    struct partner partner;
    struct pace pace;
};

/* For the second party after each wait: whether to leave, at the end or when a call failed; the
 * first one is then let past its wait. */
static inline bool exchange_is_over(struct exchange_table *table)
{
    if (atomic_load_explicit(&table->is_over, memory_order_relaxed))
        return true;
    if (atomic_load_explicit(&table->there.error, memory_order_relaxed) == 0)
        return false;
    semaphore_signal(&table->back);
    return true;
}

/* What was timed did not take place: tells it and sets the outcome. `what`: what is missing. */
int exchange_refuse(struct run *run, int cell, const char *what);

/* Adds a series with the labels kind and scope of cell `cell`; `formula` NULL when it is
 * timed. 0, or -1 with the outcome. */
int exchange_add_series(struct run *run, int cell, const char *name, const char *formula);

/* Makes run->own an exchange; for `prepare` and `finish`. */
int exchange_prepare(struct run *run);
void exchange_finish(struct run *run);

/* For each cell: makes the semaphores, calls `alone` (may be NULL) with the place of the
 * cell, starts the second party on `answer(table)`, calls `together`, ends the party.
 * 0, or -1 with the outcome, which ends the test. */
struct exchange_body {
    void (*alone)(struct run *run, int cell);
    int (*together)(struct run *run, int cell);
    void (*answer)(void *table);
};
int exchange_measure(struct run *run, const struct exchange_body *body);

#endif

/* Two parties, threads or processes, of equal priority, with two semaphores between them: the
 * common part of SEM-P-RTP and SEM-P-SHF. The first party is the measuring thread. */
#ifndef HS_FAMILY_SEMAPHORE_PING_PONG_H
#define HS_FAMILY_SEMAPHORE_PING_PONG_H

#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "run/run.h"

/* In memory that both parties share. The second party returns when ping_pong_is_over. */
struct ping_pong_table {
    struct semaphore there, back;
    atomic_int is_over;
    const struct clock *clock;
    _Atomic uint64_t answer_count;                   /* of the second party */
    _Atomic uint64_t received_ticks, answered_ticks; /* its stamps, in tests that take them */
};

struct ping_pong {
    struct ipc_cleanup ipc_cleanup;
    struct ping_pong_table *table;
    struct peer peer;
    int second_cpu;         /* of the second party; from `prepare` on that of the run */
    int64_t signal_wait_ns; /* of SEM-P-RTP: its mean in the current variant */
};

enum { PING_PONG_WARM_UP = 64 }; /* values; their page faults are then over in both parties */

/* For the second party after each wait: whether to return, because the test is over or a call
 * failed. After a failed call it also signals `back`, so that the first party does not block. */
static inline bool ping_pong_is_over(struct ping_pong_table *table)
{
    if (atomic_load_explicit(&table->is_over, memory_order_relaxed))
        return true;
    if (atomic_load_explicit(&table->there.error, memory_order_relaxed) == 0)
        return false;
    semaphore_signal(&table->back);
    return true;
}

/* Reports that no hand-over took place and sets the outcome; `what` says why. -1. */
int ping_pong_refuse(struct run *run, const char *what);

/* For `prepare` and `finish`: run->own is a struct ping_pong. 0, or -1 with the outcome. */
int ping_pong_prepare(struct run *run);
void ping_pong_finish(struct run *run);

/* For measure_variant: calls `alone` (may be NULL) if the kind and scope are here, makes the
 * semaphores (of semaphore_between_two), starts the second party with `answers[kind](table)`, takes
 * values of `series` with `takes[kind]` (variant_sample; burst_count between two looks at the CPU
 * budget) and ends the second party. 0, also if the kind or scope is not here; -1 with the outcome,
 * which ends the test. */
struct ping_pong_body {
    int series, burst_count;
    int (*alone)(struct run *run);
    int (*const *takes)(struct run *run); /* by kind */
    void (*const *answers)(void *table);  /* by kind */
};
int ping_pong_measure(struct run *run, const struct ping_pong_body *body);

/* From a test's inline functions answer(table, kind) and take(run, kind): `answers` and `takes`,
 * with a function for each kind. */
#define PING_PONG_OF_KIND(word, kind)                                                              \
    static void answer_##word(void *table)                                                         \
    {                                                                                              \
        answer(table, kind);                                                                       \
    }                                                                                              \
    static int take_##word(struct run *run)                                                        \
    {                                                                                              \
        return take(run, kind);                                                                    \
    }
#define PING_PONG_KINDS                                                                            \
    SEMAPHORE_EACH(PING_PONG_OF_KIND)                                                              \
    PING_PONG_OF_KIND(condition, SEMAPHORE_CONDITION)                                              \
    static void (*const answers[])(void *table) = {                                                \
        SEMAPHORE_TABLE(answer), [SEMAPHORE_CONDITION] = answer_condition};                        \
    static int (*const takes[])(struct run * run) = {                                              \
        SEMAPHORE_TABLE(take), [SEMAPHORE_CONDITION] = take_condition};

#endif

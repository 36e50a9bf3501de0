/* Tests of one thread over several kinds of semaphore (SEM-P-SIG, -ARN, -NEW): their
 * life cycle but for what is timed.
 *
 * Kinds that have a form for one process and one that processes share are measured in each
 * of the test's `scopes`, the second in shared memory. The other kinds have one form for both,
 * and with nobody waiting a futex is an integer that no call is made for: those are measured
 * once, scope `both`. */
#ifndef HS_SEMAPHORE_SOLO_H
#define HS_SEMAPHORE_SOLO_H

#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "realtime/burst.h"

/* Values that go to run->scratch before the first that is kept: what the system or its
 * library makes at a first call, and code that is not in the caches, is in no figure. */
enum { SOLO_WARM_UP = 64 };

#define SOLO_SCOPES                                                                                \
    {                                                                                              \
        "scopes", PARAM_NAME, true, "thread,process", 0, 0, partner_scope_names,                   \
            "for one process, for several; once where a kind has one form for both"                \
    }

/* A kind in one form. */
struct solo_cell {
    enum semaphore_kind kind;
    bool is_shared;
    const char *kind_name, *scope_name;
};

struct solo {
    struct leftover leftover;
    struct pace pace;
    struct semaphore *semaphore; /* of the cell: `own`, or in shared memory */
    struct semaphore own, *shared;
    int shared_error; /* errno: why there is no shared memory */
};

/* How many cells the test's parameters make, and the one at `place`. */
int solo_cells(const struct run *run);
struct solo_cell solo_cell(const struct run *run, int place);

/* Expected time of `cells` cells that take `sample_ns` a value. */
int64_t solo_expected_ns(const struct run *run, int cells, int64_t sample_ns);

/* Makes run->own a solo; for `prepare` and `finish`. */
int solo_prepare(struct run *run);
void solo_finish(struct run *run);

/* For each cell that is here: `body` with its place. 0, or -1 with the outcome. */
int solo_measure(struct run *run, int (*body)(struct run *run, int place));

/* solo_measure with a semaphore that is open meanwhile. */
int solo_measure_open(struct run *run, void (*body)(struct run *run, int place));

#endif

/* The common life cycle of the tests that use a semaphore from one thread (SEM-P-SIG, -ARN, -NEW);
 * only the timed part differs.
 *
 * Kinds with a process-private and a process-shared form are measured in each of the test's
 * `scopes`, the shared form in shared memory. The other kinds have one form for both, and an
 * uncontended futex is an integer without a system call: those are measured once, scope `both`. */
#ifndef HS_FAMILY_SEMAPHORE_UNCONTENDED_H
#define HS_FAMILY_SEMAPHORE_UNCONTENDED_H

#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "run/run.h"
#include "run/variant.h"

/* Warm-up values: they take the cost of first calls, page faults and cold caches out of the
 * figures. */
enum { UNCONTENDED_WARM_UP = 64 };

#define UNCONTENDED_SCOPES                                                                         \
    SEMAPHORE_SCOPE_PARAM("for one process, for several; once where a kind has one form for both")

struct uncontended {
    struct ipc_cleanup ipc_cleanup;
    struct semaphore *semaphore; /* of the variant: &own or shared */
    struct semaphore own, *shared;
    int shared_error; /* errno: why there is no shared memory */
};

/* For has_variant: a kind with one form for both scopes is one variant, scope `both`. */
bool uncontended_has_variant(const struct run *run, struct variant *variant);

/* Whether the semaphore of run->variant is process-shared. */
bool uncontended_is_shared(const struct run *run);

/* For `prepare` and `finish`: run->own is a struct uncontended. 0, or -1 with the outcome. */
int uncontended_prepare(struct run *run);
void uncontended_finish(struct run *run);

/* For measure_variant, with a `take` that makes and deletes its semaphore. Does nothing if the kind
 * is not here. 0, or -1 with the outcome. */
int uncontended_measure(struct run *run, int burst_count, int (*take)(struct run *run));

/* The same with a semaphore that is opened before and closed after. */
int uncontended_measure_open(struct run *run, int burst_count, int (*take)(struct run *run));

#endif

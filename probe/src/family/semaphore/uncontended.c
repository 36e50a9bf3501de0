/* SEM-P-ARN, SEM-P-SIG, SEM-P-NEW: one thread uses a semaphore, without contention (Dedicated
 * Systems 2012; SEM-P-SIG is "sync test 1" of Obenland 2000).
 *
 * What: SEM-P-ARN one V and one P, each timed alone; SEM-P-SIG a V and the P that follows it;
 *   SEM-P-NEW the calls that make a semaphore of value 0, and those that undo it, with (case
 *   `used`) or without a V and a P in between, which are not timed.
 * Begin, end: before the first of these calls and after the last, by fenced reads of the counter.
 *   No batches: their mean would hide every slow call. Making shared memory is not timed.
 * Threads: the measuring thread alone, at the run's priority on the run's CPU if it has one.
 * Wrong if: a call stays in user space: its value is then close to the cost of a pair of stamps,
 *   which the instrument's figures state and which is never subtracted. First calls cost more: the
 *   first 64 values of a variant (4 of SEM-P-NEW) and after each rest are not recorded.
 *
 * An unnamed semaphore, and a mutex, is measured private to a process and shared between processes,
 * in shared memory. The other kinds have one form for both and are measured once, scope `both`.
 */
#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/peer.h"
#include "run/run.h"
#include "run/variant.h"

/* WARM_UP values take the cost of first calls, page faults and cold caches out of the figures. */
enum { SAMPLES = 100000, BURST = 64, WARM_UP = 64 };

#define SCOPES                                                                                     \
    SEMAPHORE_SCOPE_PARAM("for one process, for several; once if a kind has one form for both")

struct uncontended {
    struct ipc_cleanup ipc_cleanup;
    struct semaphore *semaphore; /* of the variant: &own or shared */
    struct semaphore own, *shared;
    int shared_error; /* errno: why there is no shared memory */
};

/* ---- the common life cycle ---- */

static bool has_forms(enum semaphore_kind kind)
{
    return semaphore_has_forms(kind) && kind != SEMAPHORE_FUTEX;
}

/* A kind with one form for both scopes is one variant, scope `both`. */
static bool has_variant(const struct run *run, struct variant *variant)
{
    int kinds = variant_place(run, "kinds"), scopes = variant_place(run, "scopes");
    if (has_forms((enum semaphore_kind)variant->number[kinds]))
        return peer_has_variant(run, variant);
    variant->text[scopes] = "both";
    return variant->number[scopes] == run_number(run, "scopes");
}

/* Whether the semaphore of run->variant is process-shared. */
static __attribute__((noinline)) bool is_for_processes(const struct run *run)
{
    return has_forms(semaphore_kind_of(run)) && peer_scope_of(run) == PEER_PROCESS;
}

/* Whether any kind is measured in its process-shared form. */
static bool has_shared(const struct run *run)
{
    const struct param_value *kinds = run_param(run, "kinds"), *scopes = run_param(run, "scopes");
    for (int i = 0; i < kinds->count * scopes->count; i++)
        if (has_forms((enum semaphore_kind)kinds->number[i / scopes->count]) &&
            scopes->number[i % scopes->count] == PEER_PROCESS)
            return true;
    return false;
}

/* Without shared memory, kinds that need none are still measured. */
static int prepare(struct run *run)
{
    struct uncontended *uncontended = run_own(run, sizeof *uncontended);
    if (!uncontended || semaphore_guard(run, &uncontended->ipc_cleanup, has_shared(run)) != 0)
        return -1;
    if (has_shared(run))
        uncontended->shared =
            peer_memory(sizeof *uncontended->shared, &uncontended->ipc_cleanup.places[0]);
    uncontended->shared_error = uncontended->shared ? 0 : errno;
    peer_report_scopes(run, &uncontended->ipc_cleanup, uncontended->shared);
    return 0;
}

static void finish(struct run *run)
{
    struct uncontended *uncontended = run->own;
    if (!uncontended)
        return;
    peer_memory_free(uncontended->shared, sizeof *uncontended->shared);
    ipc_cleanup_close(&uncontended->ipc_cleanup);
}

/* Also true if the memory was denied: is_here reports that for each kind. */
static bool can_share(const struct uncontended *uncontended)
{
    return !uncontended->shared ||
           peer_has_scope(&uncontended->ipc_cleanup, uncontended->shared, PEER_PROCESS);
}

static bool is_here(struct run *run)
{
    struct uncontended *uncontended = run->own;
    enum semaphore_kind kind = semaphore_kind_of(run);
    bool is_shared = is_for_processes(run);
    if (is_shared && !can_share(uncontended))
        return false;
    if (!semaphore_is_here(run, kind, is_shared, &uncontended->ipc_cleanup.places[0]))
        return false;
    uncontended->semaphore = is_shared ? uncontended->shared : &uncontended->own;
    if (!uncontended->semaphore)
        semaphore_deny(run, kind, is_shared, uncontended->shared_error);
    return uncontended->semaphore != NULL;
}

/* With a `take` that makes and deletes its semaphore. Does nothing if the kind is not here. */
static int measure_made(struct run *run, int burst_count, int (*take)(struct run *run))
{
    if (!is_here(run))
        return 0;
    burst_begin(run, 0);
    return variant_sample(run, 0, burst_count, take);
}

/* With a semaphore that is opened before and closed after. */
static int measure_open(struct run *run, int burst_count, int (*take)(struct run *run))
{
    struct uncontended *uncontended = run->own;
    if (!is_here(run))
        return 0;
    int error = semaphore_open(uncontended->semaphore, semaphore_kind_of(run),
                               is_for_processes(run), &uncontended->ipc_cleanup.places[0]);
    if (error)
        return outcome_set_errno(&run->outcome, error, variant_text(run, "kinds"), NULL);
    burst_begin(run, 0);
    int result = variant_sample(run, 0, burst_count, take);
    if (semaphore_check(run, uncontended->semaphore) != 0)
        result = -1;
    semaphore_close(uncontended->semaphore);
    return result;
}

/* ---- SEM-P-ARN ---- */

enum { ACQUIRE, RELEASE };

static const struct param_spec arn_params[] = {
    SEMAPHORE_KIND_PARAM,
    SCOPES,
    {0},
};

static const struct series_spec arn_series[] = {
    {"acquire", "ns", "kind,scope", "before P at value 1", "after the same call"},
    {"release", "ns", "kind,scope", "before V at value 0 with nobody waiting",
     "after the same call"},
    {0},
};

/* Not inlined: what is between the stamps shall not depend on it. */
static __attribute__((noinline)) int arn_keep(struct run *run, uint64_t begin, uint64_t signalled,
                                              uint64_t asked, uint64_t end)
{
    run_take(run, ACQUIRE, asked, end);
    run_take(run, RELEASE, begin, signalled);
    return 0;
}

SEMAPHORE_INLINE int arn_take(struct run *run, enum semaphore_kind kind)
{
    struct semaphore *semaphore = ((struct uncontended *)run->own)->semaphore;
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal_of(semaphore, kind);
    uint64_t signalled = clock_end(&run->clock);
    uint64_t asked = clock_begin(&run->clock);
    semaphore_wait_of(semaphore, kind);
    uint64_t end = clock_end(&run->clock);
    return arn_keep(run, begin, signalled, asked, end);
}

#define ARN_TAKE(word, kind)                                                                       \
    static int arn_take_##word(struct run *run)                                                    \
    {                                                                                              \
        return arn_take(run, kind);                                                                \
    }
SEMAPHORE_EACH(ARN_TAKE)
static int (*const arn_takes[])(struct run *run) = {SEMAPHORE_TABLE(arn_take)};

static int arn_measure_variant(struct run *run)
{
    return measure_open(run, BURST, arn_takes[semaphore_kind_of(run)]);
}

const struct test sem_p_arn = {
    .id = "SEM-P-ARN",
    .title = "Acquire and release a semaphore without contention",
    .source = "[D] Dedicated Systems 2012",
    .params = arn_params,
    .series = arn_series,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 500,
    .warm_up_samples = WARM_UP,
    .has_variant = has_variant,
    .prepare = prepare,
    .measure_variant = arn_measure_variant,
    .judge = semaphore_require_any,
    .finish = finish,
};

/* ---- SEM-P-SIG ---- */

static const struct param_spec sig_params[] = {
    SEMAPHORE_AND_MUTEX_PARAM("kinds of semaphore, and the mutex"),
    SCOPES,
    {0},
};

static const struct series_spec sig_series[] = {
    {"signal_wait", "ns", "kind,scope", "before the signal (post)",
     "after the wait of the same thread, which never blocks"},
    {0},
};

#define SIG_TAKE(word, kind)                                                                       \
    static int sig_take_##word(struct run *run)                                                    \
    {                                                                                              \
        return signal_wait_take(run, ((struct uncontended *)run->own)->semaphore, kind, 0);        \
    }
SEMAPHORE_EACH(SIG_TAKE)
SIG_TAKE(mutex, SEMAPHORE_MUTEX)
static int (*const sig_takes[])(struct run *run) = {
    SEMAPHORE_TABLE(sig_take), [SEMAPHORE_MUTEX] = sig_take_mutex};

static int sig_measure_variant(struct run *run)
{
    return measure_open(run, BURST, sig_takes[semaphore_kind_of(run)]);
}

const struct test sem_p_sig = {
    .id = "SEM-P-SIG",
    .title = "Signal and wait in one thread (sync test 1)",
    .source = "[O] Obenland 2000, synchronization test 1",
    .params = sig_params,
    .series = sig_series,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 500,
    .warm_up_samples = WARM_UP,
    .has_variant = has_variant,
    .prepare = prepare,
    .measure_variant = sig_measure_variant,
    .judge = semaphore_require_any,
    .finish = finish,
};

/* ---- SEM-P-NEW ----
 *
 * unnamed: sem_init; sem_destroy. named: sem_open; sem_close and sem_unlink. sysv: semget and
 * semctl(SETVAL), since POSIX leaves the first value open; semctl(IPC_RMID). eventfd: making the
 * descriptor; closing it. */

enum { CREATE, DELETE };
enum { UNUSED, USED };
enum { NEW_SAMPLES = 20000, NEW_BURST = 16, NEW_WARM_UP = 4 };

static const char *const case_names[] = {"unused", "used", NULL};

static const struct param_spec new_params[] = {
    {"kinds", PARAM_NAME, true, "unnamed,named,sysv,eventfd", 0, 0, semaphore_object_names,
     "kinds of semaphore", "kind"},
    SCOPES,
    {"cases", PARAM_NAME, true, "unused,used", 0, 0, case_names,
     "between creation and deletion: nothing, or a V and a P", "case"},
    {0},
};

static const struct series_spec new_series[] = {
    {"create", "ns", "case,kind,scope", "before the calls that create a semaphore of value 0",
     "after them"},
    {"delete", "ns", "case,kind,scope", "before the calls that delete it", "after them"},
    {0},
};

static int new_take(struct run *run)
{
    struct uncontended *uncontended = run->own;
    struct semaphore *semaphore = uncontended->semaphore;
    const struct ipc_cleanup_place *place = &uncontended->ipc_cleanup.places[0];
    enum semaphore_kind kind = semaphore_kind_of(run);
    bool is_shared = is_for_processes(run);
    uint64_t begin = clock_begin(&run->clock);
    int error = semaphore_make(semaphore, kind, is_shared, place);
    uint64_t created = clock_end(&run->clock);
    if (error)
        return outcome_set_errno(&run->outcome, error, variant_text(run, "kinds"), NULL);
    if (variant_number(run, "cases") == USED) {
        semaphore_signal(semaphore);
        semaphore_wait(semaphore);
    }
    uint64_t asked = clock_begin(&run->clock);
    semaphore_unmake(semaphore);
    uint64_t end = clock_end(&run->clock);
    run_take(run, CREATE, begin, created);
    run_take(run, DELETE, asked, end);
    return 0;
}

static int new_measure_variant(struct run *run)
{
    return measure_made(run, NEW_BURST, new_take);
}

const struct test sem_p_new = {
    .id = "SEM-P-NEW",
    .title = "Create and delete a semaphore",
    .source = "[D] Dedicated Systems 2012",
    .params = new_params,
    .series = new_series,
    .default_samples = NEW_SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 20000,
    .warm_up_samples = NEW_WARM_UP,
    .has_variant = has_variant,
    .prepare = prepare,
    .measure_variant = new_measure_variant,
    .judge = semaphore_require_any,
    .finish = finish,
};

#include "base/posix_source.h"

#include "family/semaphore/uncontended.h"

static bool has_forms(enum semaphore_kind kind)
{
    return semaphore_has_forms(kind) && kind != SEMAPHORE_FUTEX;
}

bool uncontended_has_variant(const struct run *run, struct variant *variant)
{
    int kinds = variant_place(run, "kinds"), scopes = variant_place(run, "scopes");
    if (has_forms((enum semaphore_kind)variant->number[kinds]))
        return peer_has_variant(run, variant);
    variant->text[scopes] = "both";
    return variant->number[scopes] == run_number(run, "scopes");
}

bool uncontended_is_shared(const struct run *run)
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
int uncontended_prepare(struct run *run)
{
    struct uncontended *uncontended = run_own(run, sizeof *uncontended);
    if (!uncontended || semaphore_guard(run, &uncontended->ipc_cleanup, has_shared(run)) != 0)
        return -1;
    if (has_shared(run))
        uncontended->shared =
            peer_memory(sizeof *uncontended->shared, &uncontended->ipc_cleanup.places[0]);
    uncontended->shared_error = uncontended->shared ? 0 : errno;
    peer_tell_scopes(run, &uncontended->ipc_cleanup, uncontended->shared);
    return 0;
}

void uncontended_finish(struct run *run)
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
    bool is_shared = uncontended_is_shared(run);
    if (is_shared && !can_share(uncontended))
        return false;
    if (!semaphore_is_here(run, kind, is_shared, &uncontended->ipc_cleanup.places[0]))
        return false;
    uncontended->semaphore = is_shared ? uncontended->shared : &uncontended->own;
    if (!uncontended->semaphore)
        semaphore_deny(run, kind, is_shared, uncontended->shared_error);
    return uncontended->semaphore != NULL;
}

int uncontended_measure(struct run *run, int burst_count, int (*take)(struct run *run))
{
    if (!is_here(run))
        return 0;
    burst_begin(run, 0);
    return variant_sample(run, 0, burst_count, take);
}

int uncontended_measure_open(struct run *run, int burst_count, int (*take)(struct run *run))
{
    struct uncontended *uncontended = run->own;
    if (!is_here(run))
        return 0;
    int error = semaphore_open(uncontended->semaphore, semaphore_kind_of(run),
                               uncontended_is_shared(run), &uncontended->ipc_cleanup.places[0]);
    if (error)
        return outcome_set_errno(&run->outcome, error, variant_text(run, "kinds"), NULL);
    burst_begin(run, 0);
    int result = variant_sample(run, 0, burst_count, take);
    if (semaphore_check(run, uncontended->semaphore) != 0)
        result = -1;
    semaphore_close(uncontended->semaphore);
    return result;
}

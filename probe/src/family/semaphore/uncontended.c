#include "base/posix_source.h"

#include "family/semaphore/uncontended.h"

static bool has_forms(enum semaphore_kind kind)
{
    return semaphore_has_forms(kind) && kind != SEMAPHORE_FUTEX;
}

static struct solo_cell form_of(enum semaphore_kind kind, enum partner_scope scope)
{
    const char *name = has_forms(kind) ? partner_scope_names[scope] : "both";
    bool is_shared = has_forms(kind) && scope == PARTNER_PROCESS;
    return (struct solo_cell){kind, is_shared, semaphore_and_mutex_names[kind], name};
}

/* Fills `cell` with the one at `place` where there is one. Returns how many there are. */
static int find_cell(const struct run *run, int place, struct solo_cell *cell)
{
    const struct param_value *kinds = run_param(run, "kinds"), *scopes = run_param(run, "scopes");
    int count = 0;
    for (int i = 0; i < kinds->count; i++) {
        enum semaphore_kind kind = (enum semaphore_kind)kinds->number[i];
        int forms = has_forms(kind) ? scopes->count : 1;
        if (place >= count && place < count + forms)
            *cell = form_of(kind, (enum partner_scope)scopes->number[place - count]);
        count += forms;
    }
    return count;
}

int solo_cells(const struct run *run)
{
    struct solo_cell none;
    return find_cell(run, -1, &none);
}

struct solo_cell solo_cell(const struct run *run, int place)
{
    struct solo_cell cell = {0};
    find_cell(run, place, &cell);
    return cell;
}

int64_t solo_expected_ns(const struct run *run, int cells, int64_t sample_ns)
{
    int64_t by_samples_ns = (int64_t)(run->samples % INT64_C(1000000000)) * sample_ns * cells;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

static bool has_shared(const struct run *run)
{
    for (int i = 0; i < solo_cells(run); i++)
        if (solo_cell(run, i).is_shared)
            return true;
    return false;
}

/* Without shared memory what needs none is measured all the same. */
int solo_prepare(struct run *run)
{
    struct solo *solo = run_own(run, sizeof *solo);
    if (!solo || semaphore_guard(run, &solo->leftover, has_shared(run)) != 0)
        return -1;
    if (has_shared(run))
        solo->shared = partner_memory(sizeof *solo->shared, &solo->leftover.places[0]);
    solo->shared_error = solo->shared ? 0 : errno;
    return 0;
}

void solo_finish(struct run *run)
{
    struct solo *solo = run->own;
    if (!solo)
        return;
    partner_memory_free(solo->shared, sizeof *solo->shared);
    leftover_close(&solo->leftover);
}

static bool is_here(struct run *run, const struct solo_cell *cell)
{
    struct solo *solo = run->own;
    if (!semaphore_is_here(run, cell->kind, cell->is_shared, &solo->leftover.places[0]))
        return false;
    solo->semaphore = cell->is_shared ? solo->shared : &solo->own;
    if (!solo->semaphore)
        semaphore_deny(run, cell->kind, cell->is_shared, solo->shared_error);
    return solo->semaphore != NULL;
}

int solo_measure(struct run *run, int (*body)(struct run *run, int place))
{
    struct solo *solo = run->own;
    for (int i = 0; i < solo_cells(run) && !run_should_stop(); i++) {
        struct solo_cell cell = solo_cell(run, i);
        if (!is_here(run, &cell))
            continue;
        pace_begin(&solo->pace, run, 0);
        if (body(run, i) != 0)
            return -1;
    }
    return 0;
}

int solo_measure_open(struct run *run, void (*body)(struct run *run, int place))
{
    struct solo *solo = run->own;
    for (int i = 0; i < solo_cells(run) && !run_should_stop(); i++) {
        struct solo_cell cell = solo_cell(run, i);
        if (!is_here(run, &cell))
            continue;
        int error =
            semaphore_open(solo->semaphore, cell.kind, cell.is_shared, &solo->leftover.places[0]);
        if (error)
            return outcome_set_errno(&run->outcome, error, cell.kind_name, NULL);
        pace_begin(&solo->pace, run, 0);
        body(run, i);
        error = semaphore_check(run, solo->semaphore);
        semaphore_close(solo->semaphore);
        if (error)
            return -1;
    }
    return 0;
}

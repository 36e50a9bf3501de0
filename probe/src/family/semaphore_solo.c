#include "../posix_source.h"

#include "semaphore_solo.h"

int64_t solo_expected_ns(const struct run *run, int cells, int64_t sample_ns)
{
    int64_t by_samples_ns = (int64_t)(run->samples % INT64_C(1000000000)) * sample_ns * cells;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

int solo_prepare(struct run *run)
{
    struct solo *solo = run_own(run, sizeof *solo);
    return solo ? semaphore_guard(run, &solo->leftover, false) : -1;
}

void solo_finish(struct run *run)
{
    struct solo *solo = run->own;
    if (solo)
        leftover_close(&solo->leftover);
}

int solo_measure(struct run *run, int (*body)(struct run *run, int place))
{
    struct solo *solo = run->own;
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count && !run_should_stop(); i++) {
        enum semaphore_kind kind = (enum semaphore_kind)kinds->number[i];
        if (!semaphore_is_here(run, kind, false, &solo->leftover.places[0]))
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
    const struct param_value *kinds = run_param(run, "kinds");
    for (int i = 0; i < kinds->count && !run_should_stop(); i++) {
        enum semaphore_kind kind = (enum semaphore_kind)kinds->number[i];
        const struct leftover_place *place = &solo->leftover.places[0];
        if (!semaphore_is_here(run, kind, false, place))
            continue;
        int error = semaphore_open(&solo->semaphore, kind, false, place);
        if (error)
            return outcome_set_errno(&run->outcome, error, semaphore_and_mutex_names[kind], NULL);
        pace_begin(&solo->pace, run, 0);
        body(run, i);
        error = semaphore_check(run, &solo->semaphore);
        semaphore_close(&solo->semaphore);
        if (error)
            return -1;
    }
    return 0;
}

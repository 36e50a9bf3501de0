#include "base/posix_source.h"

#include "family/file/sampling.h"

#include "run/variant.h"

int file_sample(struct file_place *place, int file, int counted, int warm_up,
                int (*take)(struct run *run))
{
    struct run *run = place->run;
    const struct record *record = run->records[counted];
    struct run_budget budget = run_budget(run, variant_count(run));
    int result = 0;
    int64_t now_ns = run_anchor(run);
    run->is_warm_up = true;
    for (int i = 0; i < warm_up && result == 0 && !run_should_stop(); i++)
        result = take(run);
    run->is_warm_up = false;
    while (result == 0 && run_budget_left(&budget, record->count, now_ns)) {
        result = take(run);
        rt_budget_rest(&run->rt_budget);
        now_ns = run_anchor(run);
        if (result == 0 && file_place_is_short(place, file, now_ns))
            result = -1;
    }
    return result;
}

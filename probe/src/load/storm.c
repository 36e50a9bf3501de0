/* storm: processes of the lowest priority that always want a CPU. */
#include "../posix_source.h"

#include "whetstone.h"

static void work(struct loader *loader)
{
    while (!loader_should_stop(loader)) {
        whetstone_piece(loader);
        loader_count(loader, COUNTER_ROUNDS, 1);
        loader_works(loader);
    }
}

const struct load_element load_storm = {
    .name = "storm",
    .title = "background processes of the lowest priority, always ready to run",
    .kind = LOAD_COUNT,
    .default_degree = "240",
    .counters = {NULL, "cpu_ns", NULL, "rounds_count"},
    .is_lowest = true,
    .prepare = whetstone_prepare,
    .work = work,
};

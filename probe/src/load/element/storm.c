/* storm: processes of the lowest priority that always want a CPU. */
#include "base/posix_source.h"

#include "load/duty.h"
#include "load/element/whetstone_piece.h"

#define ASIDE_NS INT64_C(10000000)

/* After its first piece each goes aside for a moment, not to keep the next from its own until a
 * slice of time is over: the measurement waits for the last. */
static void begin(struct loader *loader)
{
    whetstone_piece(loader);
    loader_works(loader);
    duty_sleep_until(duty_now_ns() + ASIDE_NS);
}

static void work(struct loader *loader)
{
    begin(loader);
    while (!loader_should_stop(loader)) {
        whetstone_piece(loader);
        loader_count(loader, COUNTER_ROUNDS, 1);
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

/* storm: processes at nice 19 that are always ready to run. */
#include "base/posix_source.h"

#include "load/duty.h"
#include "load/element/whetstone_piece.h"

#define ASIDE_NS INT64_C(10000000)

/* Each process sleeps after its first piece, so that the next need not wait for the end of its time
 * slice: load_settle waits for the first piece of every process. */
static void begin(struct worker *worker)
{
    whetstone_piece(worker);
    worker_works(worker);
    duty_sleep_until(duty_now_ns() + ASIDE_NS);
}

static void work(struct worker *worker)
{
    begin(worker);
    while (!worker_should_stop(worker)) {
        whetstone_piece(worker);
        worker_count(worker, COUNTER_ROUNDS, 1);
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

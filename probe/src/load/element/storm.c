/* storm: processes that are always ready to run, and run only when a CPU has nothing else to do:
 * SCHED_IDLE where the system has it, else nice 19. */
#include "base/posix_source.h"

#include "load/element.h"

#define ASIDE_NS INT64_C(10000000)

/* Each process does its first piece of work at ordinary priority. Behind thousands of others it
 * would wait for minutes, and load_settle waits for the first piece of every process. Then the
 * process sleeps, so that the next one need not wait for the end of its time slice. */
static void begin(struct worker *worker)
{
    whetstone_piece(worker);
    worker_step_back(worker);
    worker_works(worker);
    (void)clock_sleep_until(clock_monotonic_ns() + ASIDE_NS);
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
    .title = "background processes that are always ready and run only when a CPU is free",
    .kind = LOAD_COUNT,
    .default_degree = "240",
    .counters = {NULL, "cpu_ns", NULL, "rounds_count"},
    .prepare = whetstone_prepare,
    .work = work,
};

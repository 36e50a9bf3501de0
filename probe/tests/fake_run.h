/* A test's steps in the process of a test, on a clock and a port that are made up. */
#ifndef HS_FAKE_RUN_H
#define HS_FAKE_RUN_H

#include "command/args.h"
#include "fake_port.h"
#include "made_up_run.h"
#include "run/variant.h"
#include "tap.h"

/* The run that the words ask for, up to NULL, behind `run`, with this number of samples. */
static inline void fake_run_parse(char *const more[], int64_t samples)
{
    char error[ARGS_ERROR_BYTES], *words[12] = {"hardstone-probe", "run"};
    int count = 2;
    for (; more[count - 2]; count++)
        words[count] = more[count - 2];
    CHECK_SAME(args_parse(count, words, &request, error, sizeof error), 0);
    fake_port.has_budget = true;
    fake_port.runtime_ns = 950000000;
    fake_port.period_ns = 1000000000;
    run_init(&run, &request);
    run.samples = samples;
    run.is_realtime = true;
    run.before.steal_ns = -1;
    clock_open(&run.clock, false, 0);
    rt_budget_init(&run.rt_budget);
}

/* Up to `prepare`; false: it ended in there. */
static inline bool fake_run_prepare(void)
{
    CHECK_SAME(variant_declare(&run), 0);
    run.scratch = tap_memory(record_size(NULL, 0));
    record_init(run.scratch, NULL, 0);
    run_make_arena();
    if (run.test->prepare(&run) != 0)
        return false;
    run.start_ns = clock_monotonic_ns();
    return true;
}

static inline void fake_run_end(void)
{
    run_free();
    free(run.own);
}

#endif

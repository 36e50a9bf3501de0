#include "base/posix_source.h"

#include "run/run.h"

#include "run/request.h"
#include "run/scheduling.h"
#include "run/trace_ring.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { OWN_STEP_BYTES = 1024, ANCHOR_TRIES = 4 };

#define ANCHOR_NS 1000 /* a bracket of readings that nothing interrupted */

void run_init(struct run *run, const struct request *request)
{
    static const int policies[] = {
        [ARGS_FIFO] = SCHED_FIFO, [ARGS_RR] = SCHED_RR, [ARGS_OTHER] = SCHED_OTHER};
    memset(run, 0, sizeof *run);
    run->request = request;
    run->test = request->test;
    run->deadline_ns = request->deadline_ns;
    run->seed = request->seed;
    run->folder = request->folder;
    run->called_as = request->called_as;
    run->asked_policy = policies[request->policy];
    run->asked_priority = request->priority;
    run->load_average_milli = -1;
}

const struct param_value *run_param(const struct run *run, const char *name)
{
    const struct param_spec *specs = run->test->params;
    int i = 0;
    while (strcmp(specs[i].name, name) != 0)
        i++;
    return &run->request->params[i];
}

int64_t run_number(const struct run *run, const char *name)
{
    return run_param(run, name)->number[0];
}

struct run_budget run_budget(const struct run *run, int parts)
{
    struct run_budget budget = {run->samples, INT64_MAX};
    if (run->duration_ns > 0)
        budget.end_ns = clock_monotonic_ns() + run->duration_ns / parts;
    return budget;
}

/* What interrupts the two readings would be an error of all moments until the next anchor. */
int64_t run_anchor(struct run *run)
{
    int64_t least_ns = INT64_MAX, now_ns = 0;
    for (int i = 0; i < ANCHOR_TRIES && least_ns > ANCHOR_NS; i++) {
        uint64_t before = clock_begin(&run->clock);
        now_ns = clock_monotonic_ns();
        int64_t bracket_ns = clock_ns(&run->clock, clock_begin(&run->clock) - before);
        if (bracket_ns >= least_ns)
            continue;
        least_ns = bracket_ns;
        run->anchor_ticks = before;
        run->anchor_at_ns = run_at_ns(run, now_ns);
    }
    return now_ns;
}

void run_hold_trace(const struct run *run)
{
    trace_ring_hold(run->trace_ring);
}

static void *touched(size_t bytes)
{
    char *memory = calloc(1, bytes);
    /* calloc's pages are faulted in by the first write; volatile keeps the write */
    for (size_t i = 0; memory && i < bytes; i += OWN_STEP_BYTES)
        ((volatile char *)memory)[i] = 0;
    return memory;
}

void *run_own(struct run *run, size_t bytes)
{
    struct scheduling_visit visit;
    scheduling_visit_cpu(run, &visit);
    run->own = touched(bytes);
    bool is_back = scheduling_leave_cpu(run, &visit) == 0;
    if (!run->own)
        outcome_set_errno(&run->outcome, ENOMEM, "memory for the test", "free memory");
    if (is_back)
        return run->own;
    free(run->own);
    return run->own = NULL;
}

void run_lock_again(const struct run *run)
{
    if (run->is_locked)
        mlockall(MCL_CURRENT | MCL_FUTURE);
}

struct cpus run_measured_cpus(const struct run *run)
{
    struct cpus measured = run->uses_cpu;
    if (!run->is_measured_elsewhere)
        cpus_add(&measured, run->setup.cpu);
    return measured;
}

/* ---- stop requests ---- */

/* Bits of stop_flag; a run is interrupted only by STOP_FROM_OUTSIDE. */
enum { STOP_BY_TEST = 1, STOP_FROM_OUTSIDE = 2 };

/* At file scope for the signal handler; stop_reset clears it for each run. */
static atomic_int stop_flag;

void stop_reset(void)
{
    atomic_store(&stop_flag, 0);
}

bool run_should_stop(void)
{
    return atomic_load_explicit(&stop_flag, memory_order_relaxed) != 0;
}

void run_request_stop(void)
{
    atomic_fetch_or_explicit(&stop_flag, STOP_BY_TEST, memory_order_relaxed);
}

void stop_from_outside(void)
{
    atomic_fetch_or_explicit(&stop_flag, STOP_FROM_OUTSIDE, memory_order_relaxed);
}

bool stop_came_from_outside(void)
{
    return (atomic_load_explicit(&stop_flag, memory_order_relaxed) & STOP_FROM_OUTSIDE) != 0;
}

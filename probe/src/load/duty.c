#include "base/posix_source.h"

#include "load/duty.h"

#include "base/clock.h"
#include "port/port.h"

#include <errno.h>
#include <time.h>

struct usage {
    int64_t wall_ns, cpu_ns, delay_ns;
};

int64_t duty_now_ns(void)
{
    return clock_monotonic_ns();
}

void duty_sleep_until(int64_t until_ns)
{
    clock_sleep_until(until_ns);
}

/* Reads the clock between two equal readings of the run delay. Otherwise a wait for a CPU between
 * the two would be in one and not in the other. */
static struct usage usage_now(const struct worker *worker)
{
    struct usage now = {.cpu_ns = worker_cpu_ns()};
    bool is_wall = worker->element->judged_by_wall;
    int64_t delay_ns = is_wall ? port_run_delay_ns() : 0, before_ns;
    do {
        before_ns = delay_ns;
        now.wall_ns = duty_now_ns();
        delay_ns = is_wall ? port_run_delay_ns() : 0;
    } while (delay_ns != before_ns);
    now.delay_ns = delay_ns > 0 ? delay_ns : 0;
    return now;
}

/* Time within one piece of work, less run delay. At most one period: a longer piece means that the
 * process was stopped. */
static int64_t busy_ns(const struct worker *worker, struct usage from, struct usage to)
{
    int64_t busy = to.wall_ns - from.wall_ns - (to.delay_ns - from.delay_ns);
    busy = busy < worker->degree->period_ns ? busy : worker->degree->period_ns;
    return busy > 0 ? busy : 0;
}

/* Works for one period; returns the time used, ns. */
static int64_t work_for(struct worker *worker, int64_t budget_ns, int64_t end_ns)
{
    struct usage now = usage_now(worker), before;
    int64_t used_ns = 0;
    while (used_ns < budget_ns && now.wall_ns < end_ns && !worker_should_stop(worker)) {
        before = now;
        worker->element->work(worker);
        worker_works(worker); /* also if it was idle */
        if (worker->is_idle)
            break;
        now = usage_now(worker);
        int64_t busy = busy_ns(worker, before, now);
        used_ns += worker->element->judged_by_wall ? busy : now.cpu_ns - before.cpu_ns;
        worker_count(worker, COUNTER_BUSY_NS, (uint64_t)busy);
        worker_set(worker, COUNTER_CPU_NS, (uint64_t)now.cpu_ns);
        worker_count(worker, COUNTER_ROUNDS, 1);
    }
    worker->is_idle = false;
    return used_ns;
}

void duty_keep(struct worker *worker)
{
    int64_t period_ns = worker->degree->period_ns, busy_ns = worker->degree->busy_ns;
    /* offsets spread over the period, so that not all elements start at once */
    int64_t start_ns = duty_now_ns() + period_ns * worker->place / worker->places;
    int64_t overdrawn_ns = 0;
    for (int64_t period = 0; !worker_should_stop(worker); period++) {
        int64_t begin_ns = start_ns + period * period_ns;
        duty_sleep_until(begin_ns);
        int64_t late = (duty_now_ns() - begin_ns) / period_ns;
        period += late;
        begin_ns += late * period_ns;
        int64_t budget_ns = busy_ns * (1 + late) - overdrawn_ns;
        overdrawn_ns = budget_ns < 0 ? -budget_ns : 0;
        if (budget_ns <= 0)
            continue;
        if (budget_ns > busy_ns)
            budget_ns = busy_ns;
        int64_t over_ns = work_for(worker, budget_ns, begin_ns + period_ns) - budget_ns;
        overdrawn_ns = over_ns > 0 ? over_ns : 0;
    }
}

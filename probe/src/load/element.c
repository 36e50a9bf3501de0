#include "base/posix_source.h"

#include "load/element.h"

#include "base/clock.h"
#include "port/port.h"
#include "work/fixed_work.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { LOWEST_NICE = 19 };

bool worker_should_stop(const struct worker *worker)
{
    return atomic_load_explicit(&worker->map->stop, memory_order_relaxed) != 0 ||
           getppid() != worker->supervisor;
}

void worker_works(struct worker *worker)
{
    if (atomic_load_explicit(&worker->slot->state, memory_order_relaxed) == WORKER_READY)
        atomic_store(&worker->slot->state, WORKER_WORKS);
}

void worker_step_back(struct worker *worker)
{
    bool is_idle = port_run_when_idle() == 0;
    if (!is_idle && setpriority(PRIO_PROCESS, 0, LOWEST_NICE) != 0) {
        worker_note(worker, "the priority could not be set to nice %d: %s", LOWEST_NICE,
                    strerror(errno));
        return;
    }
    atomic_store(&worker->slot->behind, is_idle ? BEHIND_IDLE : BEHIND_NICE);
}

void worker_note(struct worker *worker, const char *format, ...)
{
    int free_place = atomic_load(&worker->slot->whole_note) == 1 ? 2 : 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(worker->slot->notes[free_place - 1], LOAD_NOTE_BYTES, format, arguments);
    va_end(arguments);
    atomic_store(&worker->slot->whole_note, free_place);
}

int64_t worker_cpu_ns(void)
{
    struct timespec used;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0)
        return 0;
    return clock_timespec_ns(&used);
}

int64_t worker_children_cpu_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        return 0;
    return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
           ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* ---- the duty cycle ---- */

struct usage {
    int64_t wall_ns, cpu_ns, delay_ns;
};

/* Reads the clock between two equal readings of the run delay. Otherwise a wait for a CPU between
 * the two would be in one and not in the other. */
static struct usage usage_now(const struct worker *worker)
{
    struct usage now = {.cpu_ns = worker_cpu_ns()};
    bool is_wall = worker->element->judged_by_wall;
    int64_t delay_ns = is_wall ? port_run_delay_ns() : 0, before_ns;
    do {
        before_ns = delay_ns;
        now.wall_ns = clock_monotonic_ns();
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
    int64_t start_ns = clock_monotonic_ns() + period_ns * worker->place / worker->places;
    int64_t overdrawn_ns = 0;
    for (int64_t period = 0; !worker_should_stop(worker); period++) {
        int64_t begin_ns = start_ns + period * period_ns;
        (void)clock_sleep_until(begin_ns);
        int64_t late = (clock_monotonic_ns() - begin_ns) / period_ns;
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

/* ---- a rate ---- */

void rate_start(struct rate *rate, int64_t per_s, int64_t now_ns)
{
    *rate = (struct rate){now_ns, per_s, 0};
}

int64_t rate_skip(struct rate *rate, int64_t now_ns, int64_t most_ns)
{
    int64_t skipped = 0;
    int64_t whole_s = (now_ns - most_ns - rate->second_ns) / 1000000000 - 1;
    if (whole_s > 0) { /* skip whole seconds at once after a long stop */
        rate->second_ns += whole_s * 1000000000;
        skipped = whole_s * rate->per_s;
    }
    for (; rate_next_ns(rate) < now_ns - most_ns; skipped++)
        rate_step(rate);
    return skipped;
}

/* ---- pieces of Whetstone ---- */

#define PIECE_NS INT64_C(100000)

struct whetstones {
    uint64_t turns; /* in one piece */
    struct work_space space;
};

int whetstone_prepare(struct worker *worker)
{
    struct whetstones *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    int64_t start_ns = worker_cpu_ns();
    work_do(&own->space, WORK_WHETSTONE, 1);
    int64_t turn_ns = worker_cpu_ns() - start_ns;
    own->turns = turn_ns > 0 && turn_ns < PIECE_NS ? (uint64_t)(PIECE_NS / turn_ns) : 1;
    worker->own = own;
    return 0;
}

void whetstone_piece(struct worker *worker)
{
    struct whetstones *own = worker->own;
    work_do(&own->space, WORK_WHETSTONE, own->turns);
}

#include "base/posix_source.h"

#include "run/counter_watch.h"

#include "base/clock.h"
#include "port/port.h"
#include "port/shield.h"
#include "record/recovery.h"
#include "record/tables.h"
#include "run/clock_watch.h"
#include "run/interrupt_watch.h"
#include "run/thread_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS INT64_C(1000000000)

enum { RECENT = 2 };

/* Counters of a measured CPU. */
struct of_cpu {
    struct arena_interval whole;
    int whole_place;
    bool was_online, has_heat;
    struct port_heat heat[PORT_HEATS]; /* at the last look */
};

struct counter_watch {
    struct counter_watch_setup setup;
    struct cpus before; /* of the caller */
    bool is_bound;
    int cpu_count;
    int64_t begun_ns, looked_ns, due_ns;
    struct cpu_taken taken;          /* offline */
    char *group;                     /* that limits the CPU time; NULL: none */
    int64_t throttled, throttled_ns; /* at the last look; -1: not known */
    struct counter_totals totals;
    struct clock_watch clocks;
    struct thread_watch threads;
    struct interrupt_watch interrupts;
    int64_t *steal_ns, *steal_now_ns; /* of each CPU, at the last look and now */
    struct of_cpu *cpus;
    struct checkpoint *checkpoint;    /* NULL: none */
    pthread_mutex_t at_threads;       /* without looks each thread that ends reads them itself */
    struct counter_table_offer offer; /* the latest interval of each CPU, then those before */
};

void counter_watch_tell_none(struct arena *arena, const char *reason)
{
    arena_event(arena, "not_watched", -1, DATA(data_text("reason", reason)),
                "the kernel's counters were not read each second (%s): what made a single value "
                "late cannot be told from them",
                reason);
}

/* Memory of each CPU. 0 or ENOMEM. */
static int allocate(struct counter_watch *watch)
{
    size_t count = (size_t)watch->cpu_count;
    watch->steal_ns = calloc(2 * count, sizeof *watch->steal_ns);
    watch->cpus = calloc(count, sizeof *watch->cpus);
    watch->offer.intervals = calloc(RECENT * count, sizeof *watch->offer.intervals);
    if (!watch->steal_ns || !watch->cpus || !watch->offer.intervals ||
        interrupt_watch_open(&watch->interrupts, &watch->setup.measured, watch->cpu_count) != 0)
        return ENOMEM;
    watch->steal_now_ns = watch->steal_ns + count;
    watch->offer.count = RECENT * watch->cpu_count;
    return 0;
}

/* Why the caller has no CPU that nothing measures on. */
static const char *why_no_other(enum cpu_config config, const struct cpus *allowed)
{
    struct cpus online;
    if (config == CPU_CONFIG_SHIELDED)
        return "the shield leaves the probe no CPU to look from: hardstone run looks from outside";
    if (config == CPU_CONFIG_SINGLE)
        return "--cpu-config single leaves no CPU to look from";
    if (port_online_cpus(&online) == 1)
        return "this system has one CPU";
    return cpus_count(allowed) < 2
               ? "this process may use one CPU: allow it a second one (taskset, cpuset)"
               : "all allowed CPUs measure: leave one out (--cpu N, -p cpus=N)";
}

/* Binds the caller to CPUs that nothing measures on. NULL, or why it is not. */
static const char *bind_elsewhere(struct counter_watch *watch)
{
    const struct cpus *measured = &watch->setup.measured;
    struct cpus allowed, here;
    if (cpus_first(measured) < 0 || port_allowed_cpus(&allowed) < 0)
        return "the system does not tell which CPUs measure";
    struct cpus others = cpus_without(&allowed, measured);
    int other = cpus_first(&others);
    if (other < 0)
        return why_no_other(watch->setup.config, &allowed);
    if (cpus_count(measured) > PORT_LOOK_CPUS)
        return "too many CPUs measure";
    int error = port_pin_for_now(other, &here);
    if (error)
        return strerror(error);
    watch->before = here;
    watch->is_bound = true;
    error = port_bind_self(&others);
    return error ? strerror(error) : NULL;
}

static void leave(struct counter_watch *watch)
{
    if (watch->is_bound)
        port_pin_back(&watch->before);
    watch->is_bound = false;
}

static void free_all(struct counter_watch *watch)
{
    checkpoint_close(watch->checkpoint);
    interrupt_watch_close(&watch->interrupts);
    free(watch->offer.intervals);
    free(watch->cpus);
    free(watch->steal_ns);
    free(watch->group);
    free(watch);
}

/* NULL: there is none, or no memory. */
static __attribute__((noinline)) char *find_group(void)
{
    char group[PORT_CPU_GROUP_BYTES];
    return port_throttling_group(group, sizeof group) ? strdup(group) : NULL;
}

struct counter_watch *counter_watch_open(const struct counter_watch_setup *setup)
{
    struct counter_watch *watch = calloc(1, sizeof *watch);
    if (!watch) {
        counter_watch_tell_none(setup->arena, "no memory");
        return NULL;
    }
    watch->setup = *setup;
    watch->at_threads = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    watch->due_ns = INT64_MAX;
    watch->group = setup->group ? strdup(setup->group) : find_group();
    const char *why = bind_elsewhere(watch);
    watch->cpu_count = why ? 0 : cpus_count(&setup->measured);
    if (!why && allocate(watch) != 0)
        why = "no memory";
    if (why) {
        leave(watch);
        watch->cpu_count = 0;
        counter_watch_tell_none(setup->arena, why);
    }
    if (!why && setup->held != WATCH_HOLDS_NONE)
        watch->checkpoint = checkpoint_open(setup->arena);
    return watch;
}

/* ---- a look ---- */

/* Difference of two readings; -1: not known, or set back. */
static int64_t grown(int64_t from, int64_t to)
{
    return from >= 0 && to >= from ? to - from : -1;
}

static void read_throttling(struct counter_watch *watch, int64_t *count, int64_t *ns)
{
    if (!watch->group || !watch->group[0] || !port_throttled(watch->group, count, ns))
        *count = *ns = -1;
}

static void read_cpus(struct counter_watch *watch)
{
    if (watch->cpu_count == 0)
        return;
    port_steal(&watch->setup.measured, watch->steal_now_ns);
    interrupt_watch_look(&watch->interrupts);
}

static void find_lost_cpu(struct counter_watch *watch, bool is_first)
{
    struct cpus online;
    int place = 0;
    if (watch->cpu_count == 0 || port_online_cpus(&online) < 0)
        return;
    for (int cpu = cpus_first(&watch->setup.measured); cpu >= 0;
         cpu = cpus_next(&watch->setup.measured, cpu), place++) {
        bool is_online = cpus_has(&online, cpu);
        if (watch->cpus[place].was_online && !is_online && !watch->taken.is_found)
            watch->taken = (struct cpu_taken){.is_found = true,
                                              .is_offline = true,
                                              .cpu = cpu,
                                              .sure_ns = watch->looked_ns,
                                              .found_ns = clock_monotonic_ns()};
        if (is_first)
            watch->cpus[place].was_online = is_online;
    }
}

static void clear_counters(struct arena_interval *interval)
{
    for (int i = 0; i < ARENA_COUNTERS; i++)
        interval->counters[i] = -1;
}

/* False: nothing is told of it. */
static bool read_heat(struct of_cpu *of)
{
    port_heat(of->whole.cpu, of->heat);
    for (int i = 0; i < PORT_HEATS; i++)
        if (of->heat[i].count >= 0)
            return true;
    return false;
}

/* Core and package may be slowed down at once: of their times the longer one. */
static void take_heat(struct of_cpu *of, struct arena_interval *interval)
{
    struct port_heat before[PORT_HEATS];
    int64_t *count = &interval->counters[ARENA_HEAT], *ns = &interval->counters[ARENA_HEAT_NS];
    if (!of->has_heat)
        return;
    memcpy(before, of->heat, sizeof before);
    read_heat(of);
    for (int i = 0; i < PORT_HEATS; i++) {
        int64_t more = grown(before[i].count, of->heat[i].count);
        int64_t more_ns = grown(before[i].total_ns, of->heat[i].total_ns);
        *count = more < 0 ? *count : more + (*count < 0 ? 0 : *count);
        *ns = more_ns > *ns ? more_ns : *ns;
    }
}

void counter_watch_begin(struct counter_watch *watch)
{
    int cpu = cpus_first(&watch->setup.measured);
    clock_watch_begin(&watch->clocks);
    thread_watch_begin(&watch->threads, &watch->setup.measured, watch->setup.process,
                       atomic_load(watch->setup.second),
                       watch->setup.waits ? atomic_load(watch->setup.waits) : 0, watch->setup.held);
    read_throttling(watch, &watch->throttled, &watch->throttled_ns);
    watch->totals = (struct counter_totals){-1, -1, watch->throttled < 0 ? -1 : 0,
                                            watch->throttled_ns < 0 ? -1 : 0};
    find_lost_cpu(watch, true);
    read_cpus(watch);
    watch->begun_ns = watch->looked_ns = clock_monotonic_ns();
    if (watch->cpu_count > 0)
        watch->due_ns = watch->begun_ns + LOOK_NS;
    for (int i = 0; i < watch->cpu_count; i++, cpu = cpus_next(&watch->setup.measured, cpu)) {
        struct arena_interval *whole = &watch->cpus[i].whole;
        watch->steal_ns[i] = watch->steal_now_ns[i];
        whole->at_ns = watch->begun_ns;
        whole->cpu = cpu;
        whole->is_whole = 1;
        clear_counters(whole);
        watch->cpus[i].has_heat = read_heat(&watch->cpus[i]);
        watch->cpus[i].whole_place = counter_table_add_whole(watch->setup.arena, whole);
    }
}

/* Adds what is known: a sum is that of the intervals that have the counter. */
static void add_counters(struct arena_interval *whole, const struct arena_interval *interval)
{
    for (int i = 0; i < ARENA_COUNTERS; i++)
        if (interval->counters[i] >= 0)
            whole->counters[i] =
                (whole->counters[i] < 0 ? 0 : whole->counters[i]) + interval->counters[i];
}

static void end_interval(struct counter_watch *watch, int place, int64_t now_ns, int64_t throttled,
                         int64_t throttled_ns)
{
    struct arena_interval *interval = &watch->offer.intervals[place];
    struct of_cpu *of = &watch->cpus[place];
    interval[watch->cpu_count] = *interval; /* the one before */
    memset(interval, 0, sizeof *interval);
    clear_counters(interval);
    interval->at_ns = watch->looked_ns;
    interval->span_ns = now_ns - watch->looked_ns;
    interval->cpu = of->whole.cpu;
    interval->counters[ARENA_STEAL_NS] = grown(watch->steal_ns[place], watch->steal_now_ns[place]);
    watch->steal_ns[place] = watch->steal_now_ns[place];
    interval->counters[ARENA_THROTTLED] = throttled;
    interval->counters[ARENA_THROTTLED_NS] = throttled_ns;
    take_heat(of, interval);
    thread_watch_take(&watch->threads, interval);
    interrupt_watch_take(&watch->interrupts, place, interval);
    add_counters(&of->whole, interval);
    interrupt_watch_take_whole(&watch->interrupts, place, &of->whole);
    of->whole.span_ns = now_ns - watch->begun_ns;
    counter_table_set(watch->setup.arena, of->whole_place, &of->whole);
}

static void add_total(int64_t *total, int64_t value)
{
    *total = *total < 0 || value < 0 ? -1 : *total + value;
}

void counter_watch_look_at_threads(struct counter_watch *watch)
{
    pthread_mutex_lock(&watch->at_threads);
    thread_watch_look(&watch->threads, atomic_load(watch->setup.second), true);
    pthread_mutex_unlock(&watch->at_threads);
}

/* The records are copied before the threads are looked at: a thread that is at its place then was
 * there for all that the copy has. */
void counter_watch_look(struct counter_watch *watch)
{
    int64_t throttled, throttled_ns;
    if (watch->checkpoint)
        checkpoint_take(watch->checkpoint);
    clock_watch_look(&watch->clocks, watch->setup.arena);
    find_lost_cpu(watch, false);
    thread_watch_look(&watch->threads, atomic_load(watch->setup.second), false);
    bool is_sure = !watch->taken.is_found && atomic_load(watch->setup.left) == 0 &&
                   thread_watch_is_sure(&watch->threads);
    read_throttling(watch, &throttled, &throttled_ns);
    read_cpus(watch);
    int64_t now_ns = clock_monotonic_ns();
    int64_t more = grown(watch->throttled, throttled);
    int64_t more_ns = grown(watch->throttled_ns, throttled_ns);
    add_total(&watch->totals.throttled, more);
    add_total(&watch->totals.throttled_ns, more_ns);
    for (int i = 0; i < watch->cpu_count; i++)
        end_interval(watch, i, now_ns, more, more_ns);
    thread_watch_next(&watch->threads);
    watch->throttled = throttled;
    watch->throttled_ns = throttled_ns;
    watch->looked_ns = now_ns;
    if (watch->cpu_count == 0)
        return;
    while (watch->due_ns <= now_ns)
        watch->due_ns += LOOK_NS;
    counter_table_sort(watch->setup.arena, &watch->offer);
    if (watch->checkpoint && is_sure)
        checkpoint_confirm(watch->checkpoint);
}

bool counter_watch_go_back(const struct counter_watch *watch)
{
    return watch && checkpoint_restore(watch->checkpoint);
}

bool counter_watch_has_looks(const struct counter_watch *watch)
{
    return watch->cpu_count > 0;
}

int64_t counter_watch_due_ns(const struct counter_watch *watch)
{
    return watch ? watch->due_ns : INT64_MAX;
}

struct cpu_taken counter_watch_taken(const struct counter_watch *watch)
{
    static const struct cpu_taken none;
    return !watch ? none : watch->taken.is_found ? watch->taken : watch->threads.taken;
}

void counter_watch_end(struct counter_watch *watch, struct counter_totals *totals)
{
    counter_watch_look(watch);
    clock_watch_end(&watch->clocks, watch->setup.arena);
    if (watch->threads.is_short)
        arena_event(watch->setup.arena, "threads_not_watched", -1,
                    DATA(data_integer("watched_count", WATCH_THREADS)),
                    "the test has more than %d threads: the kernel's counters of the others are "
                    "not known",
                    WATCH_THREADS);
    watch->totals.run_delay_ns = thread_watch_total(&watch->threads, ARENA_RUN_DELAY_NS);
    watch->totals.migrations = thread_watch_total(&watch->threads, ARENA_MIGRATIONS);
    *totals = watch->totals;
}

void counter_watch_close(struct counter_watch *watch)
{
    if (!watch)
        return;
    leave(watch);
    free_all(watch);
}

#include "base/posix_source.h"

#include "run/watch.h"

#include "base/clock.h"
#include "base/options.h"
#include "port/port.h"
#include "port/shield.h"
#include "record/recovery.h"
#include "record/tables.h"
#include "run/stopped.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Difference of two readings; -1: not known, or set back. */
static int64_t grown(int64_t from, int64_t to)
{
    return from >= 0 && to >= from ? to - from : -1;
}

/* ---- threads ---- */

/* Counters of the threads of a test between two looks, for each measured CPU. All threads of this
 * process count but its main thread, which supervises; and those of its second process.
 *
 * A thread counts for the measured CPU on which it was seen first, also when it is moved away. What
 * a thread did before it was seen first, or after it was seen last, is not known: where a thread
 * came or went between two looks, a sum of 0 is not known either.
 *
 * A thread that is bound to one measured CPU, and was at the look before, has to stay there: if its
 * affinity changes or it migrates, it was moved from outside, and `taken` tells when. */

enum { WATCH_COUNTERS = 5 };

struct watched_thread {
    pid_t process, thread; /* process 0: this one */
    int cpu;               /* that it counts for; -1: none yet */
    bool is_there;         /* at the last look */
    bool is_partial;       /* it came or went in this interval */
    bool was_asked_for;    /* the last look was made because threads were about to end */
    int64_t moves;         /* seen as changes of its CPU, where the kernel does not count them */
    int last_cpu;
    int bound_cpu;                 /* at the last look; -1: to none, or to several */
    bool only_waits;               /* it starts those that measure (WATCH_HOLDS_LATER) */
    int kept_cpu;                  /* that it must be bound to from now on; -1: none yet */
    int64_t last[WATCH_COUNTERS];  /* -1: not known */
    int64_t grown[WATCH_COUNTERS]; /* in this interval; -1: not known */
};

struct thread_watch {
    struct cpus measured;
    int count;
    bool is_short; /* more threads than WATCH_THREADS */
    int64_t total[WATCH_COUNTERS];
    bool is_total_partial;
    pid_t process; /* 0: this one */
    enum watch_held held;
    struct cpu_taken taken;
    int64_t looked_ns; /* the last look; 0: none yet */
    pid_t waits;       /* thread that is not watched; 0: none */
    struct watched_thread threads[WATCH_THREADS];
    pid_t found[WATCH_THREADS + 3]; /* with two that wait, and one that is too many */
};

enum { MIGRATIONS = 3 };

static const enum arena_counter counters[WATCH_COUNTERS] = {ARENA_RUN_DELAY_NS, ARENA_MINOR_FAULTS,
                                                            ARENA_MAJOR_FAULTS, ARENA_MIGRATIONS,
                                                            ARENA_INVOLUNTARY};

/* False: the thread has ended, or the system does not tell. */
static bool read_thread(const struct thread_watch *watch, struct watched_thread *thread,
                        int64_t now[WATCH_COUNTERS])
{
    struct port_thread_counters read;
    if (!port_thread_counters(thread->process, thread->thread, &read))
        return false;
    if (thread->last_cpu >= 0 && read.cpu != thread->last_cpu)
        thread->moves++;
    thread->last_cpu = read.cpu;
    if (thread->cpu < 0 && cpus_has(&watch->measured, read.cpu))
        thread->cpu = read.cpu;
    now[0] = read.run_delay_ns;
    now[1] = read.minor_faults;
    now[2] = read.major_faults;
    now[MIGRATIONS] = read.migrations >= 0 ? read.migrations : thread->moves;
    now[4] = read.involuntary_switches;
    return true;
}

/* The only CPU that a thread may use, -1 for several. False: it has ended, or that is not told. */
static bool read_binding(const struct watched_thread *thread, int *cpu)
{
    struct cpus cpus;
    if (!port_thread_cpus(thread->thread, &cpus))
        return false;
    *cpu = cpus_count(&cpus) == 1 ? cpus_first(&cpus) : -1;
    return true;
}

static void lose_thread(struct thread_watch *watch, struct watched_thread *thread)
{
    if (!watch->taken.is_found)
        watch->taken = (struct cpu_taken){.is_found = true,
                                          .cpu = thread->kept_cpu,
                                          .sure_ns = watch->looked_ns,
                                          .found_ns = clock_monotonic_ns()};
    thread->kept_cpu = -1;
}

/* A thread that is about to bind itself still has the affinity of its creator: one that is new is
 * held to nothing before its second look. */
static void check_thread_place(struct thread_watch *watch, struct watched_thread *thread,
                               int64_t migrations, bool is_at_its_place)
{
    bool is_still = migrations == thread->last[MIGRATIONS];
    int cpu;
    if (watch->held == WATCH_HOLDS_NONE || !read_binding(thread, &cpu))
        return;
    if (thread->kept_cpu >= 0 && (cpu != thread->kept_cpu || !is_still))
        lose_thread(watch, thread);
    else if (cpus_has(&watch->measured, cpu) && is_still &&
             (is_at_its_place || cpu == thread->bound_cpu))
        thread->kept_cpu = cpu;
    thread->bound_cpu = cpu;
}

static void add_grown(struct thread_watch *watch, struct watched_thread *thread,
                      const int64_t now[WATCH_COUNTERS])
{
    for (int i = 0; i < WATCH_COUNTERS; i++) {
        bool is_known = thread->last[i] >= 0 && now[i] >= thread->last[i];
        int64_t more = is_known ? now[i] - thread->last[i] : -1;
        thread->grown[i] = is_known && thread->grown[i] >= 0 ? thread->grown[i] + more : -1;
        watch->total[i] = is_known && watch->total[i] >= 0 ? watch->total[i] + more : -1;
        thread->last[i] = now[i];
    }
}

static struct watched_thread *find_thread(struct thread_watch *watch, pid_t process, pid_t id)
{
    for (int i = 0; i < watch->count; i++)
        if (watch->threads[i].process == process && watch->threads[i].thread == id)
            return &watch->threads[i];
    return NULL;
}

static void add_thread(struct thread_watch *watch, pid_t process, pid_t id, bool is_at_work,
                       bool is_at_its_place)
{
    if (watch->count == WATCH_THREADS) {
        watch->is_short = true;
        return;
    }
    struct watched_thread *thread = &watch->threads[watch->count];
    memset(thread, 0, sizeof *thread);
    thread->process = process;
    thread->thread = id;
    thread->cpu = thread->last_cpu = thread->bound_cpu = thread->kept_cpu = -1;
    if (!read_thread(watch, thread, thread->last))
        return;
    check_thread_place(watch, thread, thread->last[MIGRATIONS], is_at_its_place);
    thread->is_there = true;
    thread->only_waits = watch->looked_ns == 0 && watch->held == WATCH_HOLDS_LATER;
    thread->is_partial = is_at_work;
    watch->is_total_partial |= is_at_work;
    watch->count++;
}

/* `left_out`: a thread that does not measure; 0: none. */
static void look_at_process(struct thread_watch *watch, pid_t process, pid_t left_out,
                            bool is_asked_for)
{
    int64_t now[WATCH_COUNTERS];
    int count = port_threads(process, watch->found, WATCH_THREADS + 3);
    for (int i = 0; i < count; i++) {
        if (watch->found[i] == left_out || watch->found[i] == watch->waits)
            continue;
        struct watched_thread *thread = find_thread(watch, process, watch->found[i]);
        if (!thread) {
            add_thread(watch, process, watch->found[i], !is_asked_for,
                       watch->looked_ns == 0 && watch->held == WATCH_HOLDS_ALL);
        } else if (read_thread(watch, thread, now)) {
            check_thread_place(watch, thread, now[MIGRATIONS], false);
            add_grown(watch, thread, now);
            thread->is_there = true;
        }
    }
}

static void look_at_all(struct thread_watch *watch, pid_t second, bool is_asked_for)
{
    int64_t now_ns = clock_monotonic_ns();
    look_at_process(watch, watch->process, watch->process > 0 ? watch->process : getpid(),
                    is_asked_for);
    if (second > 0)
        look_at_process(watch, second, 0, is_asked_for);
    watch->looked_ns = now_ns;
}

/* Lists the threads of `process` (0: this one) without its first one, which only waits, and of
 * `second`, and takes the counters to compare with. `waits`: a thread of `process` that does not
 * measure either; 0: none. */
static void thread_watch_begin(struct thread_watch *watch, const struct cpus *measured,
                               pid_t process, pid_t second, pid_t waits, enum watch_held held)
{
    memset(watch, 0, sizeof *watch);
    watch->held = held;
    watch->measured = *measured;
    watch->process = process;
    watch->waits = waits;
    look_at_all(watch, second, true);
}

/* Reads all threads. `is_asked_for`: threads that are new are not at work yet, and those that are
 * about to end do nothing more. */
static void thread_watch_look(struct thread_watch *watch, pid_t second, bool is_asked_for)
{
    for (int i = 0; i < watch->count; i++)
        watch->threads[i].is_there = false;
    look_at_all(watch, second, is_asked_for);
    for (int i = 0; i < watch->count; i++) {
        struct watched_thread *thread = &watch->threads[i];
        if (!thread->is_there && !thread->was_asked_for) {
            thread->is_partial = true;
            watch->is_total_partial = true;
        }
        thread->was_asked_for = thread->is_there ? is_asked_for : thread->was_asked_for;
    }
}

/* Whether each thread was seen at its place at the last look: bound to a measured CPU, and not
 * moved. Then all values until that look are of that CPU. Not where threads change their CPU
 * themselves, are too many to watch, or cannot be read. */
static bool thread_watch_is_sure(const struct thread_watch *watch)
{
    bool is_sure = watch->held != WATCH_HOLDS_NONE && !watch->is_short && !watch->taken.is_found;
    bool is_seen = false;
    for (int i = 0; is_sure && i < watch->count; i++) {
        const struct watched_thread *thread = &watch->threads[i];
        is_seen |= thread->is_there;
        is_sure = !thread->is_there || thread->only_waits ||
                  cpus_has(&watch->measured, thread->bound_cpu);
    }
    return is_sure && is_seen;
}

/* -1: a thread does not have it, or may have had some that was not seen. */
static int64_t sum_of(const struct thread_watch *watch, int counter, int cpu)
{
    int64_t sum = 0;
    bool is_whole = !watch->is_short;
    int count = 0;
    for (int i = 0; i < watch->count; i++) {
        const struct watched_thread *thread = &watch->threads[i];
        if (thread->cpu != cpu)
            continue;
        if (thread->grown[counter] < 0)
            return -1;
        sum += thread->grown[counter];
        is_whole &= !thread->is_partial;
        count++;
    }
    return count > 0 && (sum > 0 || is_whole) ? sum : -1;
}

/* Stores the sums of this interval for interval->cpu. */
static void thread_watch_take(const struct thread_watch *watch, struct arena_interval *interval)
{
    for (int i = 0; i < WATCH_COUNTERS; i++)
        interval->counters[counters[i]] = sum_of(watch, i, interval->cpu);
}

/* Begins the next interval; forgets threads that have ended. */
static void thread_watch_next(struct thread_watch *watch)
{
    int kept = 0;
    for (int i = 0; i < watch->count; i++) {
        if (!watch->threads[i].is_there)
            continue;
        watch->threads[kept] = watch->threads[i];
        watch->threads[kept].is_partial = false;
        memset(watch->threads[kept].grown, 0, sizeof watch->threads[kept].grown);
        kept++;
    }
    watch->count = kept;
}

/* Sum over all threads and intervals; -1: not known. */
static int64_t thread_watch_total(const struct thread_watch *watch, enum arena_counter counter)
{
    for (int i = 0; i < WATCH_COUNTERS; i++)
        if (counters[i] == counter)
            return watch->is_total_partial || watch->is_short || watch->count == 0
                       ? -1
                       : watch->total[i];
    return -1;
}

/* ---- interrupts ---- */

/* Interrupts of the measured CPUs between two looks, and which came most often.
 *
 * "Most often" is beyond what is usual: of each line, the mean of the seconds before is taken off,
 * for else the timer of a test that waits for it ten thousand times a second would always be named.
 * Of the first second nothing is usual yet. Over the whole measurement it is the line with the most
 * interrupts.
 *
 * Lines come and go: one that has moved in the list is not compared at that look. */

struct busiest {
    int64_t count;
    double beyond; /* what is usual */
    char name[ARENA_NAME_BYTES];
};

/* Of one CPU. */
struct interrupts {
    int64_t all, timer;           /* at the last look; -1: not known */
    int64_t all_now, timer_now;   /* of the look that is made */
    int64_t all_more, timer_more; /* since the look before */
    struct busiest busiest, busiest_of_all;
};

struct interrupt_watch {
    struct cpus measured;
    int cpu_count, line_count, line_cpus; /* line_cpus: CPUs whose lines are remembered */
    int line;                             /* in a look */
    bool has_looked;
    int64_t begun_ns, looked_ns;
    double spans; /* length of this interval in lengths of the time before; 0: there is none */
    struct interrupts *cpus;
    uint32_t *keys, *last; /* of each line; of each line and CPU */
    uint64_t *sum;         /* since the begin */
};

enum { MORE_LINES = 16 }; /* of devices that appear later */

static void count_line(void *context, const struct port_interrupt_line *line)
{
    struct interrupt_watch *watch = context;
    (void)line;
    watch->line_count++;
}

/* Memory for all lines that are there. 0 or ENOMEM; closed in both cases. */
static int interrupt_watch_open(struct interrupt_watch *watch, const struct cpus *measured,
                                int cpu_count)
{
    memset(watch, 0, sizeof *watch);
    watch->measured = *measured;
    watch->cpu_count = cpu_count;
    watch->cpus = calloc((size_t)cpu_count, sizeof *watch->cpus);
    if (!watch->cpus)
        return ENOMEM;
    if (!port_interrupt_lines(measured, count_line, watch))
        return 0;
    watch->line_count += MORE_LINES;
    int most = HS_WATCH_COUNTS / watch->line_count;
    watch->line_cpus = cpu_count < most ? cpu_count : most;
    size_t lines = (size_t)watch->line_count, counts = lines * (size_t)watch->line_cpus;
    watch->keys = calloc(lines, sizeof *watch->keys);
    watch->last = calloc(counts + 1, sizeof *watch->last);
    watch->sum = calloc(counts + 1, sizeof *watch->sum);
    return watch->keys && watch->last && watch->sum ? 0 : ENOMEM;
}

static void interrupt_watch_close(struct interrupt_watch *watch)
{
    free(watch->cpus);
    free(watch->keys);
    free(watch->last);
    free(watch->sum);
}

static void add_all(struct interrupts *cpu, const struct port_interrupt_line *line, int64_t count)
{
    if (count < 0)
        return;
    cpu->all_now = (cpu->all_now < 0 ? 0 : cpu->all_now) + count;
    if (line->is_timer)
        cpu->timer_now = (cpu->timer_now < 0 ? 0 : cpu->timer_now) + count;
}

/* Takes the line where it is above the one taken so far. */
static void take_busier(struct busiest *busiest, const char *name, int64_t count, double beyond)
{
    bool is_first = busiest->name[0] == '\0';
    if (count <= 0 || (!is_first && beyond <= busiest->beyond))
        return;
    busiest->count = count;
    busiest->beyond = beyond;
    snprintf(busiest->name, sizeof busiest->name, "%s", name);
}

static void compare(struct interrupt_watch *watch, int place, const char *name, uint32_t count,
                    bool is_known)
{
    size_t at = (size_t)watch->line * (size_t)watch->line_cpus + (size_t)place;
    uint32_t more = count - watch->last[at]; /* the kernel's count starts again at 2^32 */
    watch->last[at] = count;
    if (!is_known) {
        watch->sum[at] = 0;
        return;
    }
    double usual = (double)watch->sum[at] * watch->spans;
    watch->sum[at] += more;
    take_busier(&watch->cpus[place].busiest, name, more, (double)more - usual);
    take_busier(&watch->cpus[place].busiest_of_all, name, (int64_t)watch->sum[at],
                (double)watch->sum[at]);
}

static void take_line(void *context, const struct port_interrupt_line *line)
{
    struct interrupt_watch *watch = context;
    bool has_room = watch->line < watch->line_count;
    bool is_known = has_room && watch->has_looked && watch->keys[watch->line] == line->key;
    for (int i = 0; i < watch->cpu_count; i++) {
        add_all(&watch->cpus[i], line, line->counts[i]);
        if (has_room && i < watch->line_cpus && line->counts[i] >= 0)
            compare(watch, i, line->name, (uint32_t)line->counts[i], is_known);
    }
    if (has_room)
        watch->keys[watch->line] = line->key;
    watch->line++;
}

/* Reads all lines; the first time, what to compare with. */
static void interrupt_watch_look(struct interrupt_watch *watch)
{
    int64_t now_ns = clock_monotonic_ns();
    double before_ns = (double)(watch->looked_ns - watch->begun_ns);
    watch->spans = before_ns > 0 ? (double)(now_ns - watch->looked_ns) / before_ns : 0;
    watch->line = 0;
    for (int i = 0; i < watch->cpu_count; i++) {
        struct interrupts *cpu = &watch->cpus[i];
        cpu->all_now = cpu->timer_now = -1;
        memset(&cpu->busiest, 0, sizeof cpu->busiest);
        memset(&cpu->busiest_of_all, 0, sizeof cpu->busiest_of_all);
    }
    port_interrupt_lines(&watch->measured, take_line, watch);
    for (int i = 0; i < watch->cpu_count; i++) {
        struct interrupts *cpu = &watch->cpus[i];
        cpu->all_more = watch->has_looked ? grown(cpu->all, cpu->all_now) : -1;
        cpu->timer_more = watch->has_looked ? grown(cpu->timer, cpu->timer_now) : -1;
        cpu->all = cpu->all_now;
        cpu->timer = cpu->timer_now;
    }
    if (!watch->has_looked)
        watch->begun_ns = now_ns;
    watch->looked_ns = now_ns;
    watch->has_looked = true;
}

static void store(const struct busiest *busiest, struct arena_interval *interval)
{
    interval->counters[ARENA_BUSIEST] = busiest->name[0] ? busiest->count : -1;
    memcpy(interval->busiest, busiest->name, sizeof interval->busiest);
}

/* Stores what was counted at the last look for the CPU with this place in the order of the measured
 * ones; and which line came most often since the first look. */
static void interrupt_watch_take(const struct interrupt_watch *watch, int place,
                                 struct arena_interval *interval)
{
    const struct interrupts *cpu = &watch->cpus[place];
    interval->counters[ARENA_INTERRUPTS] = cpu->all_more;
    interval->counters[ARENA_TIMER_INTERRUPTS] = cpu->timer_more;
    store(&cpu->busiest, interval);
}

static void interrupt_watch_take_whole(const struct interrupt_watch *watch, int place,
                                       struct arena_interval *whole)
{
    store(&watch->cpus[place].busiest_of_all, whole);
}

/* ---- counters ---- */

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

void counter_watch_report_none(struct arena *arena, const char *reason)
{
    arena_event(arena, "not_watched", -1, DATA(data_text("reason", reason)),
                "the kernel's counters were not read each second (%s), so they do not show what "
                "made a single value late",
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
        return "the shield leaves the probe no spare CPU to read the counters: hardstone run "
               "reads them from outside";
    if (config == CPU_CONFIG_SINGLE)
        return "--cpu-config single leaves no spare CPU to read the counters";
    if (port_online_cpus(&online) == 1)
        return "this system has one CPU";
    return cpus_count(allowed) < 2
               ? "this process may use only one CPU: allow it a second one (taskset, cpuset)"
               : "no spare CPU to read the counters: leave one out with --cpu";
}

/* Binds the caller to CPUs that nothing measures on. NULL, or why it is not. */
static const char *bind_elsewhere(struct counter_watch *watch)
{
    const struct cpus *measured = &watch->setup.measured;
    struct cpus allowed, here;
    if (cpus_first(measured) < 0 || port_allowed_cpus(&allowed) < 0)
        return "the system does not report which CPUs measure";
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
    if (watch->checkpoint)
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
        counter_watch_report_none(setup->arena, "no memory");
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
        counter_watch_report_none(setup->arena, why);
    }
    if (!why && setup->held != WATCH_HOLDS_NONE)
        watch->checkpoint = checkpoint_open(setup->arena);
    return watch;
}

/* ---- a look ---- */

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
                    "the test has more than %d threads; the kernel's counters of the others are "
                    "unknown",
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

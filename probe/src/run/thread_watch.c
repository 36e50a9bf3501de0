#include "base/posix_source.h"

#include "run/thread_watch.h"

#include "base/clock.h"

#include <string.h>
#include <unistd.h>

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

static void lose(struct thread_watch *watch, struct watched_thread *thread)
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
static void check_place(struct thread_watch *watch, struct watched_thread *thread,
                        int64_t migrations, bool is_at_its_place)
{
    bool is_still = migrations == thread->last[MIGRATIONS];
    int cpu;
    if (watch->held == WATCH_HOLDS_NONE || !read_binding(thread, &cpu))
        return;
    if (thread->kept_cpu >= 0 && (cpu != thread->kept_cpu || !is_still))
        lose(watch, thread);
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

static struct watched_thread *find(struct thread_watch *watch, pid_t process, pid_t id)
{
    for (int i = 0; i < watch->count; i++)
        if (watch->threads[i].process == process && watch->threads[i].thread == id)
            return &watch->threads[i];
    return NULL;
}

static void add(struct thread_watch *watch, pid_t process, pid_t id, bool is_at_work,
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
    check_place(watch, thread, thread->last[MIGRATIONS], is_at_its_place);
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
        struct watched_thread *thread = find(watch, process, watch->found[i]);
        if (!thread) {
            add(watch, process, watch->found[i], !is_asked_for,
                watch->looked_ns == 0 && watch->held == WATCH_HOLDS_ALL);
        } else if (read_thread(watch, thread, now)) {
            check_place(watch, thread, now[MIGRATIONS], false);
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

void thread_watch_begin(struct thread_watch *watch, const struct cpus *measured, pid_t process,
                        pid_t second, pid_t waits, enum watch_held held)
{
    memset(watch, 0, sizeof *watch);
    watch->held = held;
    watch->measured = *measured;
    watch->process = process;
    watch->waits = waits;
    look_at_all(watch, second, true);
}

void thread_watch_look(struct thread_watch *watch, pid_t second, bool is_asked_for)
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

bool thread_watch_is_sure(const struct thread_watch *watch)
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

void thread_watch_take(const struct thread_watch *watch, struct arena_interval *interval)
{
    for (int i = 0; i < WATCH_COUNTERS; i++)
        interval->counters[counters[i]] = sum_of(watch, i, interval->cpu);
}

void thread_watch_next(struct thread_watch *watch)
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

int64_t thread_watch_total(const struct thread_watch *watch, enum arena_counter counter)
{
    for (int i = 0; i < WATCH_COUNTERS; i++)
        if (counters[i] == counter)
            return watch->is_total_partial || watch->is_short || watch->count == 0
                       ? -1
                       : watch->total[i];
    return -1;
}

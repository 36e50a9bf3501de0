#include "base/posix_source.h"

#include "family/thread/system_threads.h"

#include "run/scheduling.h"

#include <time.h>

#define SETTLE_NS 5000000 /* for those that waited to run */

void system_threads_open(struct system_threads *system)
{
    pid_t found[SYSTEM_THREADS];
    int count = port_bound_processes(system->run->setup.cpu, found, SYSTEM_THREADS);
    system->count = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) {
        struct system_thread *thread = &system->threads[system->count];
        thread->id = found[i];
        system->count += clock_getcpuclockid(found[i], &thread->clock) == 0;
    }
}

static int64_t cpu_ns(const struct system_thread *thread)
{
    struct timespec used;
    return clock_gettime(thread->clock, &used) == 0 ? clock_timespec_ns(&used) : -1;
}

void system_threads_read(struct system_threads *system, enum system_reading reading)
{
    for (int i = 0; i < system->count; i++)
        system->threads[i].cpu_ns[reading] = cpu_ns(&system->threads[i]);
    system->at_ns[reading] = clock_monotonic_ns();
}

static int64_t waited_ns(const struct system_thread *thread)
{
    struct port_thread_times times;
    return port_thread_times(thread->id, thread->id, &times) ? times.waited_ns : -1;
}

int system_threads_begin(struct system_threads *system)
{
    int down = scheduling_step_down(system->run, system->run->setup.priority);
    system->begin_ns = clock_monotonic_ns();
    for (int i = 0; i < system->count; i++)
        system->threads[i].waited_ns = waited_ns(&system->threads[i]);
    return scheduling_step_up(system->run) != 0 || down != 0 ? -1 : 0;
}

/* CPU time that it got while the real-time thread was ready or ran. */
static int64_t ran_ns(const struct system_thread *thread)
{
    int64_t before_ns = thread->cpu_ns[MADE_READY], after_ns = thread->cpu_ns[HAS_SPUN];
    return before_ns >= 0 && after_ns >= 0 ? after_ns - before_ns : 0;
}

/* It waited for longer than it could have outside the spinning. */
static bool was_ready(const struct system_threads *system, const struct system_thread *thread,
                      int64_t now_ns)
{
    int64_t spun_ns = system->at_ns[HAS_SPUN] - system->at_ns[HAS_RUN];
    int64_t around_ns = now_ns - system->begin_ns - spun_ns, after_ns = waited_ns(thread);
    return thread->waited_ns >= 0 && after_ns - thread->waited_ns > around_ns;
}

static void judge_burst(struct system_threads *system, int64_t now_ns)
{
    system->burst_count++;
    for (int i = 0; i < system->count; i++) {
        const struct system_thread *thread = &system->threads[i];
        int64_t ns = ran_ns(thread);
        system->ran_count += ns > 0;
        system->ready_count += ns > 0 || was_ready(system, thread, now_ns);
        if (ns > system->longest_ran_ns)
            system->longest_ran_ns = ns;
    }
}

int system_threads_end(struct system_threads *system, bool is_doubtful)
{
    int down = scheduling_step_down(system->run, system->run->setup.priority);
    struct timespec settle = {.tv_nsec = SETTLE_NS};
    nanosleep(&settle, NULL);
    if (!is_doubtful)
        judge_burst(system, clock_monotonic_ns());
    return scheduling_step_up(system->run) != 0 || down != 0 ? -1 : 0;
}

void system_threads_judge(struct system_threads *system)
{
    struct arena *arena = system->run->arena;
    if (system->count < 0)
        arena_event(arena, "not_seen", -1,
                    DATA(data_text("verdict", "system_processes"),
                         data_text("reason", "system_does_not_tell")),
                    "system_processes: no verdict, because this system does not tell which "
                    "processes run on one CPU only");
    else if (system->ready_count == 0)
        arena_event(arena, "not_seen", -1,
                    DATA(data_text("verdict", "system_processes"),
                         data_text("reason", "none_ready"),
                         data_integer("processes_count", system->count),
                         data_integer("burst_count", (int64_t)system->burst_count)),
                    "system_processes: no verdict, because none of %d time-shared processes of the "
                    "system on this CPU was ready while a real-time thread spun (%llu times); ask "
                    "for more samples",
                    system->count, (unsigned long long)system->burst_count);
    else
        arena_verdict(arena, system->ran_count == 0, system->ready_count, "system_processes",
                      "of %d time-shared processes of the system that are bound to this CPU, %llu "
                      "times one was ready while a real-time thread was ready or spun, and %llu "
                      "times one ran, for up to %lld us",
                      system->count, (unsigned long long)system->ready_count,
                      (unsigned long long)system->ran_count,
                      (long long)(system->longest_ran_ns / 1000));
}

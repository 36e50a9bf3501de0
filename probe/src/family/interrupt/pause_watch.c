#include "base/posix_source.h"

#include "family/interrupt/pause_watch.h"

static int64_t time_of_ns(clockid_t id)
{
    struct timespec used;
    return clock_gettime(id, &used) == 0 ? clock_timespec_ns(&used) : -1;
}

static int64_t cpu_ns(const struct pause_watch *watch)
{
    int64_t own_ns = time_of_ns(CLOCK_THREAD_CPUTIME_ID);
    int64_t other_ns = watch->has_other ? time_of_ns(watch->other) : 0;
    return own_ns < 0 || other_ns < 0 ? -1 : own_ns + other_ns;
}

void pause_watch_open(struct pause_watch *watch, struct run *run, const pthread_t *other)
{
    *watch = (struct pause_watch){.run = run};
    watch->has_other = other && pthread_getcpuclockid(*other, &watch->other) == 0;
}

void pause_watch_begin(struct pause_watch *watch)
{
    watch->cpu_ns = cpu_ns(watch);
    watch->wall_ns = clock_monotonic_ns();
}

void pause_watch_end(struct pause_watch *watch, int64_t idle_ns)
{
    int64_t wall_ns = clock_monotonic_ns() - watch->wall_ns, now_ns = cpu_ns(watch);
    if (watch->cpu_ns < 0 || now_ns < 0 || !watch->run->burst.is_watched)
        return;
    cpu_loss_note_pause(&watch->run->burst.cpu_loss, watch->run,
                        wall_ns - (now_ns - watch->cpu_ns) - idle_ns,
                        "the thread on the CPU under test");
    if (cpu_loss_judge(&watch->run->burst.cpu_loss, watch->run) != 0)
        run_request_stop();
}

/* Bursts of samples between rests. A burst in which the test lost CPU time ends the test as failed.
 * If all its threads slept meanwhile, the gap was a slow wake-up of the system itself: it stays in
 * the figures and is reported as the event `idle_gap`.
 *
 * Only for tests in which some thread is always runnable or about to be woken, so that CPU time
 * equals elapsed time. */
#ifndef HS_RUN_BURST_H
#define HS_RUN_BURST_H

#include "base/posix_source.h"

#include "base/options.h"
#include "base/status.h"
#include "port/port.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

struct run;

/* ---- budget ---- */

/* Rests for threads that never block. A real-time thread that spins longer than the real-time
 * budget is throttled, and the pause would look like a latency of the kernel. Such a thread calls
 * rt_budget_rest between samples: it sleeps often enough that no window of the budget's period is
 * used up and other tasks can run.
 *
 * The budget is the tightest of the system's and that of each control group above the process. All
 * that rests, judges lost CPU time or advises takes it from here. */

struct rt_budget {
    int64_t burst_ns;   /* longest time without a rest */
    int64_t rest_ns;    /* length of a rest */
    int64_t started_ns; /* of this burst, CLOCK_MONOTONIC */
    int64_t rested_ns;  /* sum of all rests */
    bool has_limit;
    struct port_realtime_budget limit; /* if has_limit */
    char lift_command[STATUS_COMMAND_BYTES];
};

/* Reads the budget. Bursts use four fifths of it; without a budget, 0.9 s of each second. */
void rt_budget_init(struct rt_budget *rt_budget);

/* What throttling takes of each period; 0: nothing. */
int64_t rt_budget_pause_ns(const struct rt_budget *rt_budget);

/* Sleeps if the burst is used up. Returns the current CLOCK_MONOTONIC time. */
int64_t rt_budget_rest(struct rt_budget *rt_budget);

/* The same before `ahead_ns` without a rest, of this thread or of others that it releases: sleeps
 * if less than that is left of the burst. */
int64_t rt_budget_rest_ahead(struct rt_budget *rt_budget, int64_t ahead_ns);

/* Sleeps for a rest in any case. */
int64_t rt_budget_rest_now(struct rt_budget *rt_budget);

/* The command that lifts the budget, or raises that of the group; NULL: there is no budget now. */
const char *rt_budget_lift_command(const struct rt_budget *rt_budget);

/* ---- lost CPU time ---- */

/* Detects lost CPU time. Between begin and end of a burst some thread of the test is always
 * runnable, so elapsed time minus CPU time was taken away: by real-time throttling, by a thread
 * of higher priority, or by the hypervisor (steal time). A burst that loses at least half of a
 * throttling pause is reported as the event `throttled` and fails the result: its figures
 * contain a pause that no kernel path took.
 *
 * Called around bursts, outside timed sections.
 */

struct cpu_loss {
    bool has_peer;
    clockid_t peer;                      /* CPU-time clock of a second process of the test */
    bool is_limited;                     /* real-time throttling is on, as far as the port knows */
    int64_t pause_ns;                    /* what throttling takes per period; at most 50 ms */
    int64_t begin_wall_ns, begin_cpu_ns; /* of the burst */
    int cut_count;                       /* bursts that lost too much */
    const struct run *run;
    int cpu;               /* whose steal time was read; -1: unknown */
    int64_t rested_ns;     /* rests of the run when steal time was read; -1: not yet */
    int64_t steal_ns;      /* as read then, and what has explained a loss since; -1: unknown */
    int unexplained_count; /* cut bursts that steal time does not explain */
    int64_t most_unexplained_ns;
};

/* Reads the throttling limits and clears all losses. */
void cpu_loss_open(struct cpu_loss *cpu_loss, const struct run *run);

/* Begin and end of a burst; the end reports the burst's loss. The first begin after a rest, or on
 * another CPU, reads the steal time: that is slow, and caches are cold then anyway. */
void cpu_loss_begin(struct cpu_loss *cpu_loss);
void cpu_loss_end(struct cpu_loss *cpu_loss, struct run *run);

/* Counts a pause of one runnable thread while the process as a whole kept running; `what` names
 * the thread. Pauses below half of a throttling pause are not reported. */
void cpu_loss_note_pause(struct cpu_loss *cpu_loss, struct run *run, int64_t pause_ns,
                         const char *what);

/* Whether throttling may have cut a burst since cut_count was `cut_before`; then no verdict should
 * rest on these bursts. */
static inline bool cpu_loss_is_doubtful(const struct cpu_loss *cpu_loss, int cut_before)
{
    return cpu_loss->is_limited && cpu_loss->cut_count > cut_before;
}

/* Sets the outcome to failed and returns -1 if a burst was cut; else 0. A cut does not count if its
 * loss, less the steal time since the last rest, is none: steal is judged with the conditions of
 * the run. Each ns of steal explains one loss. */
int cpu_loss_judge(const struct cpu_loss *cpu_loss, struct run *run);

/* ---- run delay ---- */

/* Run delay: whether threads of the test were runnable while none of them ran. If all slept, the
 * gap was the system's own and belongs in the figures; if one was runnable, the CPU was withheld.
 * An idle CPU proves neither: it also idles during throttling.
 *
 * From each thread's delay the run time of the test's other threads is subtracted, because it may
 * have waited for them; the rest is a lower bound of the time withheld.
 *
 * Called outside timed sections; reading takes a few us per thread. */
enum { RUN_DELAY_THREADS = HS_THREADS + 1 }; /* one only notes stops (run/stopped.h) */

struct run_delay {
    bool is_known; /* the port counts run delay, and all threads are listed */
    int count;
    int64_t begin_ns; /* CLOCK_MONOTONIC */
    struct {
        pid_t process, thread;
        struct port_thread_times begin;
    } threads[RUN_DELAY_THREADS];
};

/* ---- bursts ---- */

/* Of the run: run->burst. */
struct burst {
    int64_t ahead_ns; /* longest run until the next check of the budget */
    struct cpu_loss cpu_loss;
    struct run_delay run_delay;
    int gap_count;
    bool is_watched; /* whether lost CPU time can be detected */
};

/* Begins the first burst. `peer`: a second process of the test, or 0. The run delay of threads
 * that start later is not watched. */
void burst_begin(struct run *run, pid_t peer);

/* For tests whose threads come and go: their run delay is unknown, so every gap that long counts
 * as lost CPU time. */
void burst_ignore_sleep(struct run *run);

/* From now on a burst may run for `ahead_ns` without a rest: it rests first if less budget is
 * left. */
void burst_plan(struct run *run, int64_t ahead_ns);

/* Whether the current burst has lost more than 1 ms of CPU time: events that the test orders by
 * delays may then have happened in another order. */
bool burst_was_disturbed(const struct run *run);

/* Called between two samples. Ends the burst, rests if the budget requires it, begins the next
 * burst, and calls run_anchor. Returns the current CLOCK_MONOTONIC time. If the burst lost CPU
 * time, sets the outcome to failed and requests a stop. */
int64_t burst_next(struct run *run);

/* ---- pauses of the threads on the CPU under test ----
 *
 * Whether the threads on the CPU under test lost it during a burst, for tests of which another
 * thread keeps the process running elsewhere: real-time throttling, a thread of higher priority,
 * the hypervisor. Such a pause fails the result. */

struct pause_watch {
    struct run *run;
    clockid_t other; /* CPU-time clock of a second thread on that CPU */
    bool has_other;
    int64_t wall_ns, cpu_ns; /* at the begin; cpu_ns -1: not known */
};

/* `other`: a thread beside the calling one, of which one is always ready to run; NULL: none. */
void pause_watch_open(struct pause_watch *watch, struct run *run, const pthread_t *other);

void pause_watch_begin(struct pause_watch *watch);

/* `idle_ns`: time since the begin in which none of them was ready. Requests a stop, with the
 * outcome, after a pause that nothing explains. */
void pause_watch_end(struct pause_watch *watch, int64_t idle_ns);

#endif

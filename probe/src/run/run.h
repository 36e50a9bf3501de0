/* State of one run, and the interface that a test has to it. Its steps are in life_cycle.h. */
#ifndef HS_RUN_RUN_H
#define HS_RUN_RUN_H

#include "base/posix_source.h"

#include "base/clock.h"
#include "base/options.h"
#include "base/rt_thread.h"
#include "base/status.h"
#include "port/port.h"
#include "record/arena.h"
#include "run/instrument.h"
#include "run/stopped.h"
#include "run/test.h"
#include "run/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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

/* Bursts of samples between rests. A burst in which the test lost CPU time ends the test as failed.
 * If all its threads slept meanwhile, the gap was a slow wake-up of the system itself: it stays in
 * the figures and is reported as the event `idle_gap`.
 *
 * Only for tests in which some thread is always runnable or about to be woken, so that CPU time
 * equals elapsed time.
 *
 * It is in the state of the run: run->burst. */
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

struct before_table;
struct earlier_shield;
struct load;
struct outside_look;
struct request;
struct shield;
struct trace_ring;

enum { RUN_SIGNALS = 4, RUN_GROUP_BYTES = 256 };

/* Process state that supervise_measure changes and supervise_end restores. */
struct run_watch {
    bool has_pipe, has_signals, has_last_resort;
    sigset_t mask;
    struct sigaction actions[RUN_SIGNALS];
    timer_t last_resort; /* ends the process */
    struct sigaction last_action;
    bool has_priority; /* supervisor raised; the next two are its original values */
    int policy, priority;
};

/* Whether its threads are where they should be (run/scheduling.h). */
struct run_placement {
    bool was_allowed;            /* the CPU of the run, when it was chosen */
    char group[RUN_GROUP_BYTES]; /* whose cpuset is this process's, before it measured */
    atomic_int left;             /* placement_left, if nobody outside looks ... */
    atomic_int *left_outside;    /* ... else in memory that both have */
    struct cpus allowed;         /* to this process, before it measured */
    struct cpu_taken taken;
    bool has_no_figures; /* they are left out of the result */
};

/* Bound on the exit latency of idle states (dma_latency_hold). */
struct run_dma_latency {
    bool is_held; /* by this run, or its shield */
    int32_t us;   /* in force, if it is */
    bool is_open; /* `descriptor` holds it */
    int descriptor;
};

struct run {
    struct counter_watch *counter_watch; /* of the supervisor, while the test measures */
    struct counter_totals counter_totals;
    struct outside_look *outside_look; /* NULL: the supervisor looks */
    struct stopped_watch stopped_watch;
    struct trace_ring *trace_ring; /* with --trace */
    atomic_int looks;              /* that it has made on request of a measuring thread */
    const struct request *request;
    const struct test *test;
    struct outcome outcome;
    struct arena_plan plan;
    struct arena *arena;
    struct clock clock;
    struct instrument instrument;
    struct record *scratch; /* for the instrument, warm-up values, and reading compact series */
    struct variant variant; /* being measured; next: the records of its series */
    struct record *records[TEST_SERIES];
    int series_left_out; /* of the test's table, at its end: set by `check` */
    size_t scratch_bytes;
    bool is_warm_up;       /* values go to `scratch` */
    uint64_t anchor_ticks; /* latest run_anchor: a reading of `clock` ... */
    int64_t anchor_at_ns;  /* ... and its time since start_ns */
    struct rt_budget rt_budget;
    struct rt_thread_setup setup; /* of the measuring thread; cpu -1: not bound */
    /* Besides setup.cpu: those that the test's `check` or `declare` adds, or all that a thread that
     * is not bound may use. */
    struct cpus uses_cpu;
    bool is_measured_elsewhere; /* by threads on uses_cpu; the measuring thread only waits */
    bool is_realtime, is_locked, is_interrupted, is_stuck;
    bool is_out_of_cpu_time;   /* RLIMIT_CPU is nearly used up */
    bool is_touched_elsewhere; /* some memory was first touched on another CPU */
    int64_t started_utc_ns;
    int64_t calibration_ns; /* time that the calibration took of the deadline */
    int64_t start_ns;       /* CLOCK_MONOTONIC; at_ns counts from here; 0: not measuring yet */
    uint64_t samples;       /* the test's limits; 0: none */
    int64_t duration_ns;
    uint64_t observed_count; /* of a test whose series may all be empty: what it has looked at */
    struct load *load;
    int64_t load_average_milli; /* at the end of the measurement; -1: not known */
    struct port_environment before, after;
    struct port_usage usage_before, usage_after;
    bool is_observed; /* the four above are valid */
    int done_pipe[2];
    struct run_watch watch;
    struct shield *shield;                 /* NULL: nothing is reserved */
    struct earlier_shield *earlier_shield; /* what an earlier run has left of a shield */
    unsigned settings;      /* applied by the shield; bits 1 << enum shield_setting */
    const char *preemption; /* model that the kernel was switched to; NULL: as it was */
    struct run_dma_latency dma_latency;
    const struct before_table *befores; /* of series of which the test knows them */
    void *own;                          /* state of the test, from prepare to finish */
    _Atomic pid_t needed;               /* see supervise_process */
    const char *needed_party;
    const char *lost_party; /* of the supervisor: the party that died; NULL: none */
    struct run_placement placement;
    /* What was asked for, besides samples and duration. Parameters: run_param. */
    int64_t deadline_ns; /* 0: derived from the expected time */
    uint64_t seed;
    const char *folder;    /* for files of the test; NULL: a scratch folder */
    const char *called_as; /* argv[0] */
    int asked_policy;      /* SCHED_FIFO, SCHED_RR or SCHED_OTHER */
    int asked_priority;    /* negative: the default */
    struct burst burst;    /* of tests that take values in bursts */
    const char *lacks;     /* what a variant needs and the system lacks; NULL: nothing */
};

/* An empty run of what `request` asks for. */
void run_init(struct run *run, const struct request *request);

/* Locks memory again after a fork: a page that it shared costs a fault at its first write. Nothing
 * where memory is not locked. */
void run_lock_again(const struct run *run);

/* Whether a stop was requested; loops of a test poll it. */
bool run_should_stop(void);

/* Asks the test to stop. */
void run_request_stop(void);

/* For a thread of the test that has to be bound to `cpu` (-1: to none): notes that it is not, and
 * asks the test to stop. Not where the system does not tell. Any thread may call it. */
void run_check_place(struct run *run, int cpu);

/* Has the kernel's trace (--trace) end with a value that ends the measurement. */
void run_hold_trace(const struct run *run);

/* Converts a CLOCK_MONOTONIC time to ns since the start of the measurement. */
static inline int64_t run_at_ns(const struct run *run, int64_t monotonic_ns)
{
    return monotonic_ns - run->start_ns;
}

/* The same for an event; -1 before the measurement. */
static inline int64_t run_event_at_ns(const struct run *run, int64_t monotonic_ns)
{
    return run->start_ns > 0 ? run_at_ns(run, monotonic_ns) : -1;
}

/* CPUs that threads of the test measure on; empty: not known. */
struct cpus run_measured_cpus(const struct run *run);

/* Value of a parameter, and its first number; `name` must be in the test's table. */
const struct param_value *run_param(const struct run *run, const char *name);
int64_t run_number(const struct run *run, const char *name);

/* Limits for one of `parts` equal parts of a test: the samples as they are (a limit per series),
 * the duration divided by `parts` and counted from now. */
struct run_budget {
    uint64_t samples;
    int64_t end_ns; /* CLOCK_MONOTONIC; INT64_MAX: no limit */
};
struct run_budget run_budget(const struct run *run, int parts);

static inline bool run_budget_left(const struct run_budget *budget, uint64_t done, int64_t now_ns)
{
    return (budget->samples == 0 || done < budget->samples) && now_ns < budget->end_ns &&
           !run_should_stop();
}

/* Reads the clock as the origin for run_at_ticks. Called between bursts of samples, so that an
 * error of the counter's rate does not accumulate. Returns the current CLOCK_MONOTONIC time. */
int64_t run_anchor(struct run *run);

/* Converts a reading of run->clock to ns since the start of the measurement. */
static inline int64_t run_at_ticks(const struct run *run, uint64_t ticks)
{
    return run->anchor_at_ns + clock_ns(&run->clock, ticks - run->anchor_ticks);
}

/* Record of series `place` of the current variant; during warm-up the scratch record. */
static inline struct record *run_record(const struct run *run, int place)
{
    return run->is_warm_up ? run->scratch : run->records[place];
}

/* Records `value_ns`, whose interval ended at the reading `end` of run->clock. */
static inline void run_record_value(const struct run *run, int place, int64_t value_ns,
                                    uint64_t end)
{
    record_value(run_record(run, place), value_ns, run_at_ticks(run, end));
}

/* Records the time between two readings of run->clock. */
static inline void run_take(const struct run *run, int place, uint64_t begin, uint64_t end)
{
    run_record_value(run, place, clock_ns(&run->clock, end - begin), end);
}

/* Allocates run->own for the test's state, zeroed and touched. NULL with the outcome set if there
 * is no memory or the main thread's affinity could not be restored. Freed by the life cycle. */
void *run_own(struct run *run, size_t bytes);

/* ---- stop requests and where they came from, for the life cycle and the supervisor ---- */

/* Clears a stop request to an earlier run of this process. Called once at the start of a run. */
void stop_reset(void);

/* Requests a stop because of a signal or the end of standard input, and tells whether that was
 * done. Async-signal-safe. */
void stop_from_outside(void);
bool stop_came_from_outside(void);

#endif

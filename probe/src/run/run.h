/* State of one run, and the interface that a test has to it. Its steps are in life_cycle.h. */
#ifndef HS_RUN_RUN_H
#define HS_RUN_RUN_H

#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "base/status.h"
#include "port/port.h"
#include "record/arena.h"
#include "run/burst.h"
#include "run/instrument.h"
#include "run/stopped.h"
#include "run/test.h"
#include "run/watch.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

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

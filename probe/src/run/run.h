/* The life cycle of one test, in one place, and what a test sees of it.
 *
 * choose CPU -> size -> allocate -> open clock -> choose scheduling -> send header ->
 * reserve the CPU -> start load -> go onto the CPU -> lock -> prepare -> MEASURE -> stop load ->
 * judge -> check the clock -> release the CPU -> send -> undo in reverse.
 *
 * The main thread supervises: it is above the test's priority where it may be, sleeps
 * until the test is done, asks it to stop at the deadline, at a signal or at the end of
 * standard input, and gives up on it after a grace time. A kernel timer ends the whole
 * process should even that fail.
 */
#ifndef HS_RUN_H
#define HS_RUN_H

#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "base/status.h"
#include "command/args.h"
#include "load/load.h"
#include "port/port.h"
#include "realtime/rt_budget.h"
#include "record/arena.h"
#include "run/instrument.h"
#include "run/test.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/types.h>

struct run {
    const struct request *request;
    const struct test *test;
    struct outcome outcome;
    struct arena_plan plan;
    struct arena *arena;
    struct clock clock;
    struct instrument instrument;
    struct record *scratch; /* of the instrument */
    struct breath breath;
    struct actor_setup setup; /* of the measuring thread */
    bool uses_cpu[PORT_CPUS]; /* besides the one of `setup`; a test's `size` step sets them */
    bool is_realtime, is_locked, is_interrupted, is_stuck;
    int64_t started_utc_ns;
    int64_t start_ns; /* CLOCK_MONOTONIC; at_ns counts from here */
    uint64_t samples; /* the test's limits; 0: none */
    int64_t duration_ns;
    struct load load;
    int64_t load_average_milli; /* at the end of the measurement; -1: not known */
    struct port_environment before, after;
    struct rusage usage_before, usage_after;
    bool is_observed; /* all four of them were taken */
    int done_pipe[2];
    struct shield *shield; /* NULL: nothing is reserved */
    unsigned settings;     /* that a shield applied; bits 1 << enum shield_setting */
    void *own;             /* the test's, from prepare to finish */
    _Atomic pid_t needed;  /* see supervise_process */
    const char *needed_party;
};

/* Runs the test of `request` and sends its stream to standard output. The probe's exit
 * code: 0 when a result was sent, 70 when output failed. */
int run_test(const struct request *request);

/* Whether to end early; for loops of the test. */
bool run_should_stop(void);

/* Asks the test to end. */
void run_request_stop(void);

/* Time since the start of the measurement. */
static inline int64_t run_at_ns(const struct run *run, int64_t monotonic_ns)
{
    return monotonic_ns - run->start_ns;
}

/* Value of a parameter; `name` must be in the test's table. */
const struct param_value *run_param(const struct run *run, const char *name);
int64_t run_number(const struct run *run, const char *name);

/* How long measuring takes when one sample of all series takes `sample_ns`: by the
 * samples or by the duration, whichever ends first; RUN_LONGEST_NS at most. */
#define RUN_LONGEST_NS (INT64_C(3660) * 86400 * 1000000000)
int64_t run_expected_ns(const struct run *run, int64_t sample_ns);

/* Shares of a test's limits for one of `cells` equal parts (periods, kinds). */
struct run_budget {
    uint64_t samples;
    int64_t end_ns; /* CLOCK_MONOTONIC; INT64_MAX: no limit */
};
struct run_budget run_budget(const struct run *run, int cells);

static inline bool run_budget_left(const struct run_budget *budget, uint64_t done, int64_t now_ns)
{
    return (budget->samples == 0 || done < budget->samples) && now_ns < budget->end_ns &&
           !run_should_stop();
}

/* Adds a series with up to one text label; -1 and the outcome when there is no room. */
int run_add_series(struct run *run, const char *name, const char *unit, const char *label,
                   const char *value);

/* Zeroed, touched memory for the test's own state; NULL with the outcome set. Freed by
 * the life cycle. */
void *run_own(struct run *run, size_t bytes);

#endif

/* KRN-P-PRE: non-preemptable kernel time (Hewlett-Packard, real-time HP-UX, 1987).
 *
 * What: a time-shared process, the busy one, does one operation of the kernel over and over, in
 *     variants: none (it spins), each class, all in turn. What the kernel did not let be preempted,
 *     or did with interrupts off, is in a value, with what a wake-up costs anyway. With `sections`
 *     tracepoints show the true lengths, in windows after the values of a variant (sections.h).
 * Begin, end: the programmed release (clock_nanosleep, absolute, CLOCK_MONOTONIC), and the
 *     measuring thread's first reading of that clock. From one wake-up to the next release it is 50
 *     us and an exponential time: no phase with the tick or the operations. The first 16 are not
 *     recorded.
 * Threads: the measuring thread, at the run's priority; the busy process, SCHED_OTHER, on the same
 *     CPU.
 * Wrong if: a value is taken for a section: it is what was left of one when the release came. Rare
 *     sections, and those within 50 us of a wake-up, are not seen. Interrupts, higher priorities
 *     and a hypervisor delay a value, also in `none`. The busy process waits for a disk: such
 *     values count (still_count). Under the models none and voluntary a value may be far longer
 *     than any section.
 */
#include "base/posix_source.h"

#include "family/kernel/sections.h"

#include "base/random.h"
#include "family/kernel/busy_process.h"
#include "run/variant.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 10000, WARM_UP = 16 };

static const struct param_spec params[] = {
    {"operation", PARAM_NAME, true,
     "none,fork,exec,exit,copy,file,map,terminal,socket,pipe,fsync,scan,all", 0, 0, operation_names,
     "what the kernel does meanwhile; none: nothing, all: each operation in turn", "operation"},
    {"mean_interval_ns", PARAM_NS, false, "400us", 100000, INT64_C(1000000000), NULL,
     "mean time from a wake-up to the next release, which is random"},
    {"sections", PARAM_NAME, false, "none", 0, 0, sections_wishes,
     "whether the kernel's tracepoints show the true lengths of sections, after each operation; "
     "auto: if available"},
    {0},
};

static const struct series_spec series[] = {
    {"dispatch", "ns", "operation", "the programmed release, at random",
     "first clock reading of the woken thread in user space"},
    {"section", "ns", "operation,kind=preempt_off", "preemption is disabled",
     "preemption is enabled again"},
    {"section", "ns", "operation,kind=irq_off", "interrupts are disabled",
     "interrupts are enabled "
     "again"},
    {"section", "ns", "operation,kind=either_off", "preemption or interrupts are disabled",
     "both are enabled again"},
    {"section", "ns", "operation,kind=interrupt", "entry of an interrupt handler", "its exit"},
    {0},
};
enum { DISPATCH, FIRST_SECTION };

struct own {
    struct busy_process busy;
    struct random_release release;
    struct sections sections;
    uint64_t still_count;
};

static int check(struct run *run)
{
    if (!HS_HAS_CLOCK_NANOSLEEP)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL, LACKS_CLOCK_NANOSLEEP);
    if (port_has_processes())
        return sections_check(run);
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "this system cannot start a second process (fork)");
}

/* Each variant reports what its process did, which classes failed, and of its sections. */
static int declare(struct run *run)
{
    uint32_t each = run->series_left_out ? 1 : 2 + SECTION_LONGEST_KINDS;
    int error = variant_declare(run);
    run->plan.more_events = (uint32_t)variant_count(run) * each + KERNEL_CLASSES;
    return error;
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    if (busy_process_open(&own->busy, run) != 0)
        return -1;
    return sections_open(&own->sections, run, FIRST_SECTION);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (!own)
        return;
    sections_close(&own->sections);
    busy_process_close(&own->busy);
}

/* ---- values ---- */

void random_release_begin(struct random_release *release, uint64_t seed, int stream,
                          int64_t mean_ns)
{
    random_start_stream(&release->random, seed, stream);
    release->mean_ns = (double)(mean_ns - RANDOM_RELEASE_LEAST_NS);
}

int64_t random_release_ahead_ns(struct random_release *release)
{
    double more_ns = -log(1 - random_share(&release->random)) * release->mean_ns;
    return RANDOM_RELEASE_LEAST_NS + (int64_t)more_ns;
}

static int64_t take(struct run *run, struct own *own)
{
    int64_t ahead_ns = random_release_ahead_ns(&own->release);
    int64_t release_ns = clock_monotonic_ns() + ahead_ns;
    clock_sleep_until(release_ns);
    int64_t now_ns = clock_monotonic_ns();
    record_value(run_record(run, DISPATCH), now_ns - release_ns, run_at_ns(run, now_ns));
    if (!busy_process_was_at_work(&own->busy) && !run->is_warm_up)
        own->still_count++;
    return now_ns;
}

static void take_values(struct run *run, struct own *own)
{
    struct run_budget budget = run_budget(run, variant_count(run));
    const struct record *record = run->records[DISPATCH];
    int64_t now_ns = run_anchor(run);
    run->is_warm_up = true;
    for (int i = 0; i < WARM_UP && run_budget_left(&budget, 0, now_ns); i++)
        now_ns = take(run, own);
    run->is_warm_up = false;
    while (run_budget_left(&budget, record->count, now_ns) &&
           !busy_process_has_given_up(&own->busy))
        now_ns = take(run, own);
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum operation operation = (enum operation)variant_number(run, "operation");
    random_release_begin(&own->release, run->seed, (int)operation,
                         run_number(run, "mean_interval_ns"));
    own->still_count = 0;
    int result = busy_process_start(&own->busy, operation);
    if (result == 0) {
        take_values(run, own);
        result = sections_measure(&own->sections, operation, &own->busy);
        int stopped = busy_process_stop(&own->busy);
        result = result == 0 ? stopped : result;
    }
    busy_process_report(&own->busy, run->records[DISPATCH]->count, own->still_count);
    return result < 0 ? -1 : 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    int result = variants_measure(run);
    sections_report(&own->sections);
    return result;
}

static int judge(struct run *run)
{
    if (arena_has_values(run->arena) || run_should_stop())
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "the events operation_failed say why",
                       "none of the operations works here");
}

const struct test krn_p_pre = {
    .id = "KRN-P-PRE",
    .title = "Non-preemptable kernel time",
    .source = "[H] Hewlett-Packard, real-time HP-UX, 1987",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(1000000000),
    .sample_param = "mean_interval_ns",
    .check = check,
    .declare = declare,
    .prepare = prepare,
    .measure = measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

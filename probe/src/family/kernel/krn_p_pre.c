/* KRN-P-PRE: non-preemptable kernel time (Hewlett-Packard, real-time HP-UX, 1987).
 *
 * A time-shared process, the busy one, does one operation of the kernel over and over. The
 * measuring thread, real-time and bound to the same CPU, sleeps until a release that the busy
 * process cannot know, and so hits it at random places of its work in the kernel. begin = the
 * programmed release (clock_nanosleep, absolute, CLOCK_MONOTONIC), end = the first reading of that
 * clock by the measuring thread in user space. What the kernel did not let be preempted, or did
 * with interrupts off, is in the value, beside what a wake-up costs anyway.
 *
 * Variants, one after another: `none`, where the busy process spins in user space (the reference:
 * what the same wake-up costs without the kernel); a variant for each class of operations; `all`,
 * where it does the classes in turn, as the load `kernel` does.
 *
 * From one wake-up to the next release it is 50 us and an exponential time; `mean_interval_ns` is
 * the mean of both together. The releases have no phase with the tick or with the operations. The
 * first 16 of a variant are not recorded.
 *
 * What it did is told for each variant (event operation_ran): operations, CPU time of it and of its
 * children, how much of that in the kernel, and how many values were taken while it did not run, as
 * it waited for a disk. Those are recorded too: waiting is part of the operation. Linux divides the
 * time by samples of the tick, and counts a process that no tick has hit as user time; so all time
 * of children that do nothing in user space counts as the kernel's. What cannot be done is told
 * with the reason (operation_failed); its variant has no values.
 *
 * With `sections` the kernel's tracepoints show where preemption or interrupts go off and on again:
 * true lengths, in windows of 5 ms after the values of each variant. They cost some 100 ns an
 * event, which lengthens the sections. They follow the count of what has switched preemption off:
 * under the models none and voluntary the kernel does not give up the CPU in a system call before
 * its end or a point where it gives way, although the count is 0 there, so a value may be far
 * longer than any section.
 *
 * How it could be wrong: a value is what was left of a section when the release came, not the
 * section; the toolkit estimates from that how often sections are longer than x. Sections that come
 * less often than about 3 in the number of values times their length are not seen. Within 50 us of
 * a wake-up nothing is sampled, and a section longer than the interval is hit once only. The
 * busy process goes on with caches that the measuring thread has used. Interrupts, higher
 * priorities and a hypervisor delay a value too: they are in `none` as well.
 */
#include "base/posix_source.h"

#include "family/kernel/busy_process.h"
#include "family/kernel/random_release.h"
#include "family/kernel/sections.h"

#include "run/variant.h"

#include <errno.h>

enum { SAMPLES = 10000, WARM_UP = 16 };

static const struct param_spec params[] = {
    {"operation", PARAM_NAME, true,
     "none,fork,exec,exit,copy,file,map,terminal,socket,pipe,fsync,scan,all", 0, 0, operation_names,
     "what the kernel does meanwhile; none: nothing, all: the operations in turn", "operation"},
    {"mean_interval_ns", PARAM_NS, false, "400us", 100000, INT64_C(1000000000), NULL,
     "mean time from a wake-up to the next release, which is random"},
    {"sections", PARAM_NAME, false, "none", 0, 0, sections_wishes,
     "whether the kernel's tracepoints show the true lengths of sections, after each operation; "
     "auto: if they are there"},
    {0},
};

static const struct series_spec series[] = {
    {"dispatch", "ns", "operation", "the programmed release, at random",
     "first clock reading of the woken thread in user land"},
    {"section", "ns", "operation,kind=preempt_off", "the kernel stops being preemptable",
     "it is preemptable again"},
    {"section", "ns", "operation,kind=irq_off", "interrupts go off", "they are on again"},
    {"section", "ns", "operation,kind=either_off", "the first of preemption and interrupts is off",
     "both are on again"},
    {"section", "ns", "operation,kind=interrupt", "entry of the handler of an interrupt",
     "its exit"},
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
    if (port_has_processes())
        return sections_check(run);
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "this system cannot start a second process (fork)");
}

/* Each variant tells what its process did, which classes failed, and of its sections. */
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
    busy_process_tell(&own->busy, run->records[DISPATCH]->count, own->still_count);
    return result < 0 ? -1 : 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    int result = variants_measure(run);
    sections_tell(&own->sections);
    return result;
}

static int judge(struct run *run)
{
    if (arena_has_values(run->arena) || run_should_stop())
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "see why in the events operation_failed",
                       "none of the operations can be done here");
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

/* IRQ-P-TRK: interrupt work for others (Obenland 2000; LynxOS priority tracking).
 *
 * What: how much later a thread runs while an ordinary process on its CPU receives a flood. A
 *     system that ties interrupt work to the priority of whom it serves adds only the interrupt
 *     routines.
 * Begin, end: the programmed expiry (clock_nanosleep, absolute, CLOCK_MONOTONIC, 100 to 300 us
 *     ahead at random), and the thread's first reading of that clock. Blocks of BLOCK values
 *     without the flood and with it alternate; `added` is a latency under it less the median of
 *     those in the blocks before and after, so that slow drift cancels. The first SKIPPED values of
 *     a block are dropped.
 * Threads: the measuring thread, at the run's priority; on the same CPU the process, SCHED_OTHER,
 *     which spins when it does not flood: the CPU is never idle, and both are preemptions of an
 *     ordinary process. It dies with the probe and at a deadline of its own (peer.h, flood.h).
 * Wrong if: the rates of two systems differ (flood_rate): the measuring thread takes the CPU from
 *     the flood; the interrupt work was done on another CPU (flood_served_elsewhere). Loopback has
 *     no interrupts of a device. Part of what is added is caches that the flood has used, and
 *     system calls that a kernel without full preemption ends first: KRN-P-PRE tells those apart.
 */
#include "base/posix_source.h"

#include "family/interrupt/irq_p_trk.h"

#include "base/random.h"
#include "family/shared/peer.h"
#include "port/port.h"
#include "run/scheduling.h"
#include "run/supervise.h"
#include "run/variant.h"
#include "work/flood.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { SAMPLES = 20000, BLOCK = 250, SKIPPED = 8 };

#define LEAST_AHEAD_NS 100000
#define MORE_AHEAD_NS 200000 /* random part */
#define SAMPLE_NS 450000     /* one with the flood and one without it */
#define SETTLE_NS 2000000    /* for what a flood has under way */
#define POLL_NS 1000000
#define PATIENCE_NS INT64_C(1000000000)

static const struct param_spec params[] = {
    {"flood", PARAM_NAME, true, "packets,disk,timers", 0, 0, flood_names,
     "what an ordinary process on the same CPU is flooded with: UDP packets over loopback, direct "
     "reads of a disk, timers",
     "flood"},
    {0},
};

static const struct series_spec series[] = {
    {"latency", "ns", "flood", "the programmed expiry",
     "first reading of the clock by the thread that it wakes", .may_be_empty = true},
    {"added", "ns", "flood",
     "latency under the flood minus the median of those without it, in the blocks before and "
     "after; "
     "below zero counts as 0, so the mean is no effect: that is effect_ns of added_baseline",
     NULL, "max(0, latency - median(latency without the flood))"},
    {0},
};
enum { LATENCY, ADDED, SERIES };

/* ---- what a flood adds ---- */

/* Heapsort: qsort may allocate. */
static void sift(int64_t *values, int root, int count)
{
    for (int child = 2 * root + 1; child < count; root = child, child = 2 * root + 1) {
        if (child + 1 < count && values[child + 1] > values[child])
            child++;
        if (values[root] >= values[child])
            return;
        int64_t held = values[root];
        values[root] = values[child];
        values[child] = held;
    }
}

static void sort(int64_t *values, int count)
{
    for (int root = count / 2 - 1; root >= 0; root--)
        sift(values, root, count);
    for (int last = count - 1; last > 0; last--) {
        int64_t largest = values[0];
        values[0] = values[last];
        values[last] = largest;
        sift(values, 0, last);
    }
}

int64_t flood_effect_median(int64_t *values, int count)
{
    sort(values, count);
    int64_t upper = values[count / 2];
    if (count % 2 != 0)
        return upper;
    int64_t lower = values[count / 2 - 1];
    return lower + (upper - lower) / 2;
}

int64_t flood_effect_added(int64_t latency_ns, int64_t median_ns, uint64_t *below_count)
{
    if (latency_ns >= median_ns)
        return latency_ns - median_ns;
    (*below_count)++;
    return 0;
}

void flood_effect_take(struct flood_effect *effect, int64_t with_ns, int64_t without_ns, int count)
{
    int64_t difference_ns = with_ns - without_ns;
    if (effect->value_count == 0 || difference_ns < effect->least_ns)
        effect->least_ns = difference_ns;
    if (effect->value_count == 0 || difference_ns > effect->most_ns)
        effect->most_ns = difference_ns;
    effect->sum += difference_ns * count;
    effect->value_count += count;
}

int64_t flood_effect_ns(const struct flood_effect *effect)
{
    return effect->value_count > 0 ? effect->sum / effect->value_count : 0;
}

/* ---- the steps ---- */

struct block {
    int count;
    int64_t latency_ns[BLOCK], at_ns[BLOCK];
};

struct own {
    struct run *run;
    struct peer peer;
    struct ipc_cleanup no_cleanup; /* the memory has no name */
    struct flood *flood;           /* shared */
    struct record *without;        /* latencies without a flood */
    struct block blocks[3];        /* without, with, without the flood */
    int64_t both[2 * BLOCK];
    struct random random;
    int flood_count; /* that ran */
    /* of this flood */
    uint64_t below_count, done_count, failed_count;
    int64_t least_median_ns, most_median_ns, flooding_ns;
    struct flood_effect effect;
    int64_t softirqs, interrupts; /* of the kernel, under the flood; -1: not known */
    const char *not_run;          /* why it ends; NULL: it runs */
};

static void end_memory(struct own *own)
{
    if (own->flood)
        munmap(own->flood, sizeof *own->flood);
    own->flood = NULL;
}

static int declare(struct run *run)
{
    if (variant_declare(run) != 0)
        return -1;
    int without = arena_plan_series(&run->plan, series[LATENCY].name, "ns", NULL);
    arena_plan_label_text(&run->plan, without, "flood", "none");
    return without >= 0
               ? 0
               : outcome_set_errno(&run->outcome, ENOMEM, "memory for the series", "free memory");
}

static int prepare(struct run *run)
{
    if (one_cpu_require(run) != 0)
        return -1;
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    random_start(&own->random, run->seed);
    if (!HS_HAS_CLOCK_NANOSLEEP)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL, LACKS_CLOCK_NANOSLEEP);
    if (!port_has_processes())
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system cannot start a second process (fork)");
    own->flood = port_shared_memory(sizeof *own->flood);
    return own->flood ? 0
                      : outcome_set_errno(&run->outcome, errno, "memory shared with the flood",
                                          port_hint(PORT_HINT_SHARED_MEMORY));
}

/* ---- the process ---- */

static int begin_flood(void *argument)
{
    return flood_prepare(argument);
}

static void be_flooded(void *argument)
{
    flood_run(argument);
}

static int start_flood(struct own *own, enum flood_kind kind)
{
    struct rt_thread_setup ordinary = {SCHED_OTHER, rt_thread_ordinary_priority(),
                                       own->run->setup.cpu};
    memset(own->flood, 0, sizeof *own->flood);
    own->flood->kind = kind;
    own->not_run = NULL;
    return peer_start_process(&own->peer, own->run, &own->no_cleanup, &ordinary, begin_flood,
                              be_flooded, own->flood);
}

static int end_flood(struct own *own)
{
    supervise_process(own->run, 0, NULL);
    bool was_gone = peer_is_gone(&own->peer);
    atomic_store(&own->flood->is_over, true);
    int error = peer_join(&own->peer);
    return was_gone || error ? supervise_ended_early(own->run, "flooded process") : 0;
}

static void report_not_run(struct own *own, const char *reason)
{
    arena_event(
        own->run->arena, "flood_not_run", -1,
        DATA(data_text("flood", variant_text(own->run, "flood")), data_text("reason", reason)),
        "%s: %s; no figures under this flood", variant_text(own->run, "flood"), reason);
}

static void sleep_ns(int64_t ns)
{
    struct timespec time = clock_ns_timespec(ns);
    nanosleep(&time, NULL);
}

/* Switches the flood and waits until the process has followed, and under the flood something of it
 * has come. False: it did not in PATIENCE_NS, or the test is to stop. */
static bool flood_is(struct own *own, bool is_on)
{
    struct flood *flood = own->flood;
    int64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;
    uint64_t done = atomic_load(&flood->done_count), turns = atomic_load(&flood->turns);
    atomic_store(&flood->is_on, is_on);
    while (atomic_load(&flood->is_flooding) != is_on || atomic_load(&flood->turns) == turns ||
           (is_on && atomic_load(&flood->done_count) == done)) {
        if (run_should_stop() || clock_monotonic_ns() > end_ns)
            return false;
        sleep_ns(POLL_NS);
    }
    sleep_ns(SETTLE_NS);
    return true;
}

/* ---- values ---- */

static void take_one(struct own *own, struct block *block)
{
    int64_t ahead_ns = LEAST_AHEAD_NS + random_below(&own->random, MORE_AHEAD_NS);
    int64_t release_ns = clock_monotonic_ns() + ahead_ns;
    clock_sleep_until(release_ns);
    int64_t now_ns = clock_monotonic_ns();
    block->latency_ns[block->count] = now_ns - release_ns;
    block->at_ns[block->count++] = run_at_ns(own->run, now_ns);
}

static void take_values(struct own *own, struct block *block, int wanted)
{
    for (int i = 0; i < SKIPPED; i++) {
        block->count = 0;
        take_one(own, block);
    }
    block->count = 0;
    while (block->count < wanted && !run_should_stop())
        take_one(own, block);
}

static void record_block(const struct block *block, struct record *record)
{
    for (int i = 0; i < block->count; i++)
        record_value(record, block->latency_ns[i], block->at_ns[i]);
}

struct counts {
    uint64_t done, failed;
    int64_t at_ns, softirqs, interrupts;
};

struct lines {
    bool are_timers;
    int64_t sum;
};

/* A line of a device has a number for its name. */
static void add_line(void *context, const struct port_interrupt_line *line)
{
    struct lines *lines = context;
    bool is_of_kind = lines->are_timers ? line->is_timer
                                        : !line->is_timer && isdigit((unsigned char)line->name[0]);
    if (is_of_kind && line->counts[0] > 0)
        lines->sum += line->counts[0];
}

/* Interrupts of devices, or of the timer where the flood is one of timers; -1: not known. */
static int64_t interrupts_of(enum flood_kind kind, int cpu)
{
    struct lines lines = {.are_timers = kind == FLOOD_TIMERS};
    struct cpus one;
    cpus_clear(&one);
    cpus_add(&one, cpu);
    return port_interrupt_lines(&one, add_line, &lines) ? lines.sum : -1;
}

static struct counts count(const struct own *own)
{
    struct port_softirqs softirqs;
    enum flood_kind kind = own->flood->kind;
    port_softirqs(own->run->setup.cpu, &softirqs);
    int64_t of_kind[FLOODS] = {softirqs.packets, softirqs.disk, softirqs.timers};
    return (struct counts){
        .done = atomic_load(&own->flood->done_count),
        .failed = atomic_load(&own->flood->failed_count),
        .at_ns = clock_monotonic_ns(),
        .softirqs = of_kind[kind],
        .interrupts = interrupts_of(kind, own->run->setup.cpu),
    };
}

static void add_known(int64_t *sum, int64_t from, int64_t to)
{
    *sum = *sum < 0 || from < 0 || to < 0 ? -1 : *sum + to - from;
}

static void add_counts(struct own *own, const struct counts *from, const struct counts *to)
{
    own->done_count += to->done - from->done;
    own->failed_count += to->failed - from->failed;
    own->flooding_ns += to->at_ns - from->at_ns;
    add_known(&own->softirqs, from->softirqs, to->softirqs);
    add_known(&own->interrupts, from->interrupts, to->interrupts);
}

static bool take_without(struct own *own, struct block *block, int wanted)
{
    block->count = 0;
    if (!flood_is(own, false))
        return false;
    take_values(own, block, wanted);
    record_block(block, own->without);
    return block->count > 0;
}

static bool take_with(struct own *own, struct block *block, int wanted)
{
    block->count = 0;
    if (!flood_is(own, true))
        return false;
    struct counts from = count(own);
    take_values(own, block, wanted);
    struct counts to = count(own);
    add_counts(own, &from, &to);
    record_block(block, run_record(own->run, LATENCY));
    return block->count > 0;
}

/* The middle block less the median of the two beside it; one of these may be empty. */
static void record_added(struct own *own)
{
    const struct block *before = &own->blocks[0], *with = &own->blocks[1], *after = &own->blocks[2];
    memcpy(own->both, before->latency_ns, (size_t)before->count * sizeof own->both[0]);
    memcpy(own->both + before->count, after->latency_ns,
           (size_t)after->count * sizeof own->both[0]);
    int64_t median_ns = flood_effect_median(own->both, before->count + after->count);
    for (int i = 0; i < with->count; i++)
        record_value(run_record(own->run, ADDED),
                     flood_effect_added(with->latency_ns[i], median_ns, &own->below_count),
                     with->at_ns[i]);
    memcpy(own->both, with->latency_ns, (size_t)with->count * sizeof own->both[0]);
    if (with->count > 0)
        flood_effect_take(&own->effect, flood_effect_median(own->both, with->count), median_ns,
                          with->count);
    if (median_ns < own->least_median_ns)
        own->least_median_ns = median_ns;
    if (median_ns > own->most_median_ns)
        own->most_median_ns = median_ns;
}

static int wanted_values(const struct own *own)
{
    uint64_t done = run_record(own->run, LATENCY)->count;
    uint64_t left = own->run->samples > 0 ? own->run->samples - done : BLOCK;
    return left < BLOCK ? (int)left : BLOCK;
}

/* Without the flood, with it, without it, ... Each block under the flood is recorded with the one
 * after it. */
static void take_blocks(struct own *own)
{
    struct run_budget budget = run_budget(own->run, variant_count(own->run));
    bool goes_on = take_without(own, &own->blocks[0], BLOCK);
    while (goes_on &&
           run_budget_left(&budget, run_record(own->run, LATENCY)->count, run_anchor(own->run))) {
        goes_on = take_with(own, &own->blocks[1], wanted_values(own));
        if (!goes_on)
            break;
        goes_on = take_without(own, &own->blocks[2], BLOCK);
        record_added(own);
        own->blocks[0] = own->blocks[2];
    }
    if (!goes_on && !run_should_stop())
        own->not_run = "it did nothing for 1 s: the flooded process got no CPU";
}

/* ---- events ---- */

static void report_rate(const struct own *own)
{
    double per_s = (double)own->done_count * 1e9 / (double)own->flooding_ns;
    arena_event(
        own->run->arena, "flood_rate", -1,
        DATA(data_text("flood", variant_text(own->run, "flood")),
             data_integer("done_count", (int64_t)own->done_count),
             data_integer("failed_count", (int64_t)own->failed_count),
             data_integer("flooding_ns", own->flooding_ns), data_number("done_per_s", per_s),
             own->softirqs >= 0 ? data_integer("softirqs_count", own->softirqs) : data_none(),
             own->interrupts >= 0 ? data_integer("interrupts_count", own->interrupts) : data_none(),
             data_integer("cpu", own->run->setup.cpu)),
        "%s: %llu %s in %.2f s (%.0f a second)", variant_text(own->run, "flood"),
        (unsigned long long)own->done_count, flood_unit(own->flood->kind),
        (double)own->flooding_ns / 1e9, per_s);
}

/* One softirq or interrupt can serve many packets or timers, but not a thousand. */
static void report_elsewhere(const struct own *own)
{
    int64_t here = own->softirqs + own->interrupts;
    int64_t most = own->flood->kind == FLOOD_DISK ? 10 : 1000;
    if (own->softirqs < 0 || own->interrupts < 0 || here * most >= (int64_t)own->done_count)
        return;
    arena_event(own->run->arena, "flood_served_elsewhere", -1,
                DATA(data_text("flood", variant_text(own->run, "flood")),
                     data_integer("done_count", (int64_t)own->done_count),
                     data_integer("softirqs_count", own->softirqs),
                     data_integer("interrupts_count", own->interrupts),
                     data_integer("cpu", own->run->setup.cpu)),
                "%s: CPU %d served %lld interrupts and softirqs for %llu %s: most of the work was "
                "done on another CPU",
                variant_text(own->run, "flood"), own->run->setup.cpu, (long long)here,
                (unsigned long long)own->done_count, flood_unit(own->flood->kind));
}

static void report_baseline(const struct own *own)
{
    uint64_t values = run_record(own->run, ADDED)->count;
    int64_t effect_ns = flood_effect_ns(&own->effect);
    arena_event(own->run->arena, "added_baseline", -1,
                DATA(data_text("flood", variant_text(own->run, "flood")),
                     data_integer("effect_ns", effect_ns),
                     data_integer("least_effect_ns", own->effect.least_ns),
                     data_integer("most_effect_ns", own->effect.most_ns),
                     data_integer("least_median_ns", own->least_median_ns),
                     data_integer("most_median_ns", own->most_median_ns),
                     data_integer("below_count", (int64_t)own->below_count),
                     data_integer("value_count", (int64_t)values)),
                "%s: the median latency is %.1f us %s than without the flood (%+.1f to %+.1f us, "
                "block by block); %llu of %llu latencies were below the median without it (%.1f to "
                "%.1f us) and count as 0, so the mean of added is not the effect",
                variant_text(own->run, "flood"), fabs((double)effect_ns / 1e3),
                effect_ns < 0 ? "shorter" : "longer", (double)own->effect.least_ns / 1e3,
                (double)own->effect.most_ns / 1e3, (unsigned long long)own->below_count,
                (unsigned long long)values, (double)own->least_median_ns / 1e3,
                (double)own->most_median_ns / 1e3);
}

static void clear_counts(struct own *own)
{
    own->below_count = own->done_count = own->failed_count = 0;
    own->effect = (struct flood_effect){0};
    own->least_median_ns = INT64_MAX;
    own->most_median_ns = own->flooding_ns = own->softirqs = own->interrupts = 0;
}

static void report_flood(struct own *own)
{
    if (own->not_run)
        report_not_run(own, own->not_run);
    if (run_record(own->run, ADDED)->count == 0)
        return;
    own->flood_count++;
    report_rate(own);
    report_elsewhere(own);
    report_baseline(own);
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    own->without = arena_record(run->arena, variant_count(run) * SERIES);
    clear_counts(own);
    int error = start_flood(own, (enum flood_kind)variant_number(run, "flood"));
    if (error) {
        report_not_run(own, own->flood->reason[0] ? own->flood->reason : strerror(error));
        return 0;
    }
    supervise_process(run, own->peer.process, "flooded process");
    take_blocks(own);
    if (end_flood(own) != 0)
        return -1;
    report_flood(own);
    return 0;
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (own->flood_count > 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "no flood could run; the events flood_not_run say why");
}

static void finish(struct run *run)
{
    if (run->own)
        end_memory(run->own);
}

const struct test irq_p_trk = {
    .id = "IRQ-P-TRK",
    .title = "Interrupt work for others",
    .source = "[O] Obenland 2000, LynxOS priority tracking",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = 1500000000,
    .sample_ns = SAMPLE_NS,
    .extra_samples = BLOCK,
    .declare = declare,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

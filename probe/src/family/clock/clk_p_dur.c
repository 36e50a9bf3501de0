/* CLK-P-DUR: duration of clock-tick processing (Dedicated Systems 2012).
 *
 * What: gaps in a loop that does nothing but read the counter. The toolkit finds the tick among
 *     them (docs/method.md). The loop is the work that keeps the tick on; where the kernel stops
 *     the tick of a CPU with one task (nohz_full), none is seen.
 * Begin, end: the last reading before a gap, and the first after it (gap_log_watch): one turn of
 *     the loop, and all that took the CPU from it. In windows of up to 250 ms; between two of them
 *     the thread converts the gaps, reads the kernel's counts of interrupts, and rests where that
 *     is due, so that a rest is no gap and no missing tick.
 * Threads: the measuring thread, at the run's priority, bound to the CPU under test.
 * Wrong if: what takes the CPU takes less than the threshold, or comes between two windows: it is
 *     not seen. A thread that is not real-time loses the CPU to others, in gaps like those of the
 *     kernel. With clock_gettime for the counter the loop is coarser, which raises the threshold.
 */
#include "base/posix_source.h"

#include "family/shared/gap_log.h"
#include "record/tables.h"
#include "run/run.h"
#include "run/variant.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>

enum { GAPS_OF_WINDOW = 16384 };

#define WINDOW_NS INT64_C(250000000)
#define DURATION_NS INT64_C(10000000000)

static const char *const yes_and_no[] = {"yes", "no", NULL};
enum { YES };

static const struct param_spec params[] = {
    {"gaps_count", PARAM_COUNT, false, "81920", 0, GAP_TABLE_MOST, NULL,
     "number of single gaps to keep (16 bytes each) to search for ticks; all gaps are in the "
     "series `gap`",
     NULL},
    {"rest", PARAM_NAME, false, "yes", 0, 0, yes_and_no,
     "whether the thread pauses before the kernel throttles it; without pauses throttling and "
     "the fair server show as gaps, and other tasks of the CPU may starve",
     NULL},
    {0},
};

/* The toolkit adds the last two. */
static const struct series_spec series[] = {
    {"gap", "ns", "", "the last reading of the counter before a gap", "the first reading after it",
     .may_be_empty = true},
    {"tick", "ns", "", "the start of a gap that recurs with the period of the kernel's tick",
     "its end", "gaps at a tick"},
    {"other", "ns", "", "the start of any other gap", "its end", "gaps not at a tick"},
    {0},
};
enum { GAP, OF_THE_TOOLKIT = 2 };

struct own {
    struct gap_log gap_log;
    uint64_t lost_count; /* gaps that are in the series, and not in the table */
    int64_t watched_ns;
    struct gap gaps[GAPS_OF_WINDOW];
};

/* The thread rests between two windows only: one has to fit into a burst. */
static int64_t window_ns(const struct run *run, const struct rt_budget *rt_budget)
{
    bool has_rests = run_number(run, "rest") == YES;
    return has_rests && rt_budget->burst_ns < WINDOW_NS ? rt_budget->burst_ns : WINDOW_NS;
}

/* Windows of the whole measurement, or as many as the toolkit reads. */
static uint32_t window_room(const struct run *run)
{
    struct rt_budget rt_budget;
    rt_budget_init(&rt_budget);
    int64_t windows = run->plan.duration_ns / (window_ns(run, &rt_budget) / 2) + 16;
    return windows < GAP_TABLE_WINDOWS ? (uint32_t)windows : GAP_TABLE_WINDOWS;
}

static int declare(struct run *run)
{
    run->series_left_out = OF_THE_TOOLKIT;
    run->plan.tables[TABLE_GAPS] =
        (struct table_room){window_room(run), (uint32_t)run_number(run, "gaps_count")};
    return variant_declare(run);
}

static int prepare(struct run *run)
{
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

/* What the toolkit has to know to make sense of the gaps. */
static void report_watch(const struct run *run)
{
    const struct own *own = run->own;
    const struct rt_budget *rt_budget = &run->rt_budget;
    const struct port_realtime_budget *limit = &rt_budget->limit;
    bool has_budget = rt_budget->has_limit;
    int64_t tick_ns = port_tick_ns();
    int64_t threshold_ns = clock_ns(&run->clock, own->gap_log.threshold);
    struct utsname system;
    bool has_name = uname(&system) >= 0;
    arena_event(
        run->arena, "gap_watch", run_event_at_ns(run, clock_monotonic_ns()),
        DATA(data_integer("threshold_ns", threshold_ns),
             data_integer("turn_ns", clock_ns(&run->clock, own->gap_log.turn)),
             tick_ns > 0 ? data_integer("tick_ns", tick_ns) : data_none(),
             has_budget ? data_integer("rt_runtime_ns", limit->runtime_ns) : data_none(),
             has_budget ? data_integer("rt_period_ns", limit->period_ns) : data_none(),
             has_budget ? data_bool("is_budget_of_group", limit->group[0] != '\0') : data_none(),
             data_text("system", has_name ? system.sysname : ""),
             data_text("release", has_name ? system.release : "")),
        "a gap is an interruption of %lld ns or more; a turn of the loop takes %lld ns%s",
        (long long)threshold_ns, (long long)clock_ns(&run->clock, own->gap_log.turn),
        run->clock.use_counter ? "" : ", which reads clock_gettime and not the counter");
}

/* Values still to take: the last window may hold more. */
static uint32_t gaps_wanted(const struct run *run)
{
    uint32_t count = ((const struct own *)run->own)->gap_log.count;
    uint64_t left = run->samples > 0 ? run->samples - run_record(run, GAP)->count : count;
    return left < count ? (uint32_t)left : count;
}

/* Records the gaps of the window, and adds to the table those that find room. */
static void take_gaps(struct run *run, struct gap_window *window)
{
    struct own *own = run->own;
    uint32_t room, count = gaps_wanted(run);
    bool is_cut = false; /* where the program was stopped: what comes later is not in the table */
    struct gap_entry *entries = gap_table_free(run->arena, &room);
    for (uint32_t i = 0; i < count; i++) {
        int64_t begin_ns = run_at_ticks(run, own->gaps[i].begin);
        int64_t end_ns = run_at_ticks(run, own->gaps[i].end);
        record_value(run_record(run, GAP), end_ns - begin_ns, end_ns);
        if (!is_cut && stops_touch(run->arena, end_ns - begin_ns, end_ns)) {
            is_cut = true;
            room = i;
            window->end_ns = begin_ns;
            window->interrupts = window->timer_interrupts = -1; /* of the whole window */
        }
        if (i < room)
            entries[i] = (struct gap_entry){begin_ns, end_ns - begin_ns};
    }
    if (is_cut) {
        window->gap_count = room;
        return;
    }
    if (count < own->gap_log.count)
        window->end_ns = run_at_ticks(run, own->gaps[count].begin);
    window->gap_count = count < room ? count : room;
    window->dropped_count = count - window->gap_count + (uint32_t)own->gap_log.dropped_count;
}

/* Differences to the counts before the window; -1: not known. */
static void take_counts(struct gap_window *window, const struct port_environment *before,
                        const struct port_environment *after)
{
    bool is_known = before->interrupts >= 0 && after->interrupts >= before->interrupts;
    window->interrupts = is_known ? after->interrupts - before->interrupts : -1;
    is_known = before->timer_interrupts >= 0 && after->timer_interrupts >= before->timer_interrupts;
    window->timer_interrupts = is_known ? after->timer_interrupts - before->timer_interrupts : -1;
}

/* The kernel's counts lie between two pairs of readings, in the middle of each. */
static int64_t count_interrupts(const struct run *run, struct port_environment *counts)
{
    int64_t from_ns = clock_monotonic_ns();
    port_environment(run->setup.cpu, counts);
    return from_ns + (clock_monotonic_ns() - from_ns) / 2;
}

static void watch_window(struct run *run, int64_t longest_ns, int64_t until_ns)
{
    struct own *own = run->own;
    struct port_environment before, after;
    struct gap_window window = {0};
    int64_t counted_from_ns = count_interrupts(run, &before), now_ns = run_anchor(run);
    int64_t left_ns = until_ns - now_ns < longest_ns ? until_ns - now_ns : longest_ns;
    own->gap_log.count = 0;
    own->gap_log.dropped_count = 0;
    uint64_t begin = clock_ticks(&run->clock);
    uint64_t end = gap_log_watch(&own->gap_log, &run->clock,
                                 begin + clock_ticks_of_ns(&run->clock, left_ns), NULL);
    window.counted_ns = count_interrupts(run, &after) - counted_from_ns;
    window.begin_ns = run_at_ticks(run, begin);
    window.end_ns = run_at_ticks(run, end);
    take_counts(&window, &before, &after);
    take_gaps(run, &window);
    own->lost_count += window.dropped_count;
    own->watched_ns += window.end_ns - window.begin_ns;
    if (!gap_table_add(run->arena, &window))
        own->lost_count += window.gap_count;
}

static void report_lost(const struct run *run)
{
    const struct own *own = run->own;
    const struct arena_tables *windows = &run->arena->tables[TABLE_GAPS];
    if (own->lost_count == 0)
        return;
    arena_event(run->arena, "gaps_dropped", -1,
                DATA(data_integer("dropped_count", (int64_t)own->lost_count),
                     data_integer("kept_count", windows->entry_count),
                     data_integer("room_count", windows->room.entries)),
                "there was no room for %llu gaps after %lu: only the windows before the first of "
                "these are searched for ticks",
                (unsigned long long)own->lost_count, (unsigned long)windows->entry_count);
}

/* In less time than the tick's period none had to come: no gap says nothing then. */
static uint64_t ticks_due(const struct own *own)
{
    int64_t tick_ns = port_tick_ns();
    return (uint64_t)(own->watched_ns / (tick_ns > 0 ? tick_ns : WINDOW_NS));
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    bool has_rests = run_number(run, "rest") == YES;
    variant_begin(run, 0);
    gap_log_open(&own->gap_log, &run->clock, own->gaps, GAPS_OF_WINDOW);
    report_watch(run);
    struct run_budget budget = run_budget(run, 1);
    int64_t longest_ns = window_ns(run, &run->rt_budget);
    int64_t now_ns = clock_monotonic_ns();
    while (run_budget_left(&budget, run_record(run, GAP)->count, now_ns)) {
        if (has_rests)
            rt_budget_rest_ahead(&run->rt_budget, longest_ns);
        watch_window(run, longest_ns, budget.end_ns);
        now_ns = clock_monotonic_ns();
    }
    report_lost(run);
    run->observed_count = ticks_due(own);
    return 0;
}

const struct test clk_p_dur = {
    .id = "CLK-P-DUR",
    .title = "Duration of clock-tick processing",
    .source = "[D] Dedicated Systems 2012, duration of clock tick processing",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_A_CPU,
    .default_duration_ns = DURATION_NS,
    .setup_ns = 500000000,
    .sample_ns = 1000000,
    .prepare = prepare,
    .declare = declare,
    .measure = measure,
};

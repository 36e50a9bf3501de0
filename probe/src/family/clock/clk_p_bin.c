/* CLK-P-BIN: maximum kernel blocking time, "bintime" (Obenland 2000).
 *
 * A thread of top priority calls the time-of-day clock back to back and reads the
 * counter after each call. A value is the time from one reading to the next: one call,
 * one reading, one store. Whatever keeps the thread from running stands in it. The
 * readings go to an array of BATCH; they become values between two batches, and that
 * blind share of the time is reported. blocking = maximum - mean.
 *
 * How it could be wrong: real-time throttling would cut the thread off and look like a
 * blocking of tens of ms, so it rests before the budget is used up (breath.h).
 */
#include "base/posix_source.h"

#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 4096, VIAS = 2 };

#define CELL_NS INT64_C(5000000000)
#define CALL_NS 1000 /* generous, for the expected time */

static const char *const via_names[] = {"vdso", "syscall", NULL};

static const struct param_spec params[] = {
    {"via", PARAM_NAME, true, "vdso,syscall", 0, 0, via_names,
     "libc's clock_gettime (the vDSO where there is one), or a real system call"},
    {0},
};

static const struct series_spec series[] = {
    {"call", "ns", "via", "counter reading after one call of clock_gettime(CLOCK_REALTIME)",
     "counter reading after the next call, back to back"},
    {"blocking", "ns", "via", "the longest call minus the mean of the calls; one value a run",
     NULL},
    {0},
};

struct own {
    uint64_t stamps[BATCH + 1];
    int64_t inside_ns; /* time that the batches cover */
};

static int64_t expected_ns(const struct run *run)
{
    int64_t inside_ns = run_expected_ns(run, CALL_NS * run_param(run, "via")->count);
    return inside_ns + inside_ns / 2; /* and the rests */
}

static int size(struct run *run)
{
    const struct param_value *via = run_param(run, "via");
    for (int i = 0; i < via->count; i++) {
        const char *name = via_names[via->number[i]];
        if (run_add_series(run, "call", "ns", "via", name) < 0)
            return -1;
        int blocking = run_add_series(run, "blocking", "ns", "via", name);
        if (blocking < 0)
            return -1;
        arena_plan_derived(&run->plan, blocking, "max(call) - mean(call)");
    }
    return 0;
}

static int prepare(struct run *run)
{
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static void call_batch(const struct clock *clock, uint64_t *stamps, bool is_system_call)
{
    struct timespec time;
    if (is_system_call) {
        stamps[0] = clock_ticks(clock);
        for (int i = 1; i <= BATCH; i++) {
            port_clock_system_call(CLOCK_REALTIME, &time);
            stamps[i] = clock_ticks(clock);
        }
        return;
    }
    stamps[0] = clock_ticks(clock);
    for (int i = 1; i <= BATCH; i++) {
        clock_gettime(CLOCK_REALTIME, &time);
        stamps[i] = clock_ticks(clock);
    }
}

static void record_batch(struct run *run, struct record *call, int64_t at_ns, uint64_t most)
{
    struct own *own = run->own;
    int count = most < BATCH ? (int)most : BATCH;
    int64_t since_ns = 0;
    for (int i = 1; i <= count; i++) {
        int64_t ns = clock_ns(&run->clock, own->stamps[i] - own->stamps[i - 1]);
        since_ns += ns;
        record_value(call, ns, at_ns + since_ns);
    }
    own->inside_ns += since_ns;
}

static void measure_via(struct run *run, int place, bool is_system_call)
{
    struct own *own = run->own;
    struct record *call = arena_record(run->arena, place * 2);
    struct run_budget budget = run_budget(run, run_param(run, "via")->count);
    int64_t from_ns = clock_monotonic_ns(), now_ns = from_ns, rested_ns = run->breath.rested_ns;
    own->inside_ns = 0;
    while (run_budget_left(&budget, call->count, now_ns)) {
        uint64_t most = budget.samples > 0 ? budget.samples - call->count : BATCH;
        call_batch(&run->clock, own->stamps, is_system_call);
        record_batch(run, call, run_at_ns(run, now_ns), most);
        now_ns = breathe(&run->breath);
    }
    int64_t awake_ns = clock_monotonic_ns() - from_ns - (run->breath.rested_ns - rested_ns);
    if (call->count > 0)
        arena_event(run->arena, "coverage", -1, "%s: calls covered %.1f %% of %.2f s of looking",
                    via_names[is_system_call], 100.0 * (double)own->inside_ns / (double)awake_ns,
                    (double)awake_ns / 1e9);
}

static int measure(struct run *run)
{
    const struct param_value *via = run_param(run, "via");
    struct timespec time;
    for (int i = 0; i < via->count && !run_should_stop(); i++) {
        bool is_system_call = via->number[i] == 1;
        if (is_system_call && port_clock_system_call(CLOCK_REALTIME, &time) != 0)
            arena_event(run->arena, "via_unsupported", -1,
                        "this port cannot force a real system call");
        else
            measure_via(run, i, is_system_call);
    }
    return 0;
}

static int judge(struct run *run)
{
    const struct param_value *via = run_param(run, "via");
    uint64_t measured = 0;
    for (int i = 0; i < via->count; i++) {
        const struct record *call = arena_record(run->arena, i * 2);
        measured += call->count;
        if (call->count > 0)
            record_value(arena_record(run->arena, i * 2 + 1),
                         call->max - (int64_t)(record_mean(call) + 0.5), call->worst[0].at_ns);
    }
    if (measured == 0)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use -p via=vdso",
                           "this port cannot force a real system call");
    return 0;
}

const struct test clk_p_bin = {
    .id = "CLK-P-BIN",
    .title = "Maximum kernel blocking time (bintime)",
    .source = "[O] Obenland 2000, bintime",
    .params = params,
    .series = series,
    .default_duration_ns = CELL_NS * VIAS,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

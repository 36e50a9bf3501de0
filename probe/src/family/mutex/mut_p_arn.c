/* MUT-P-ARN: lock and unlock a mutex without contention (Dedicated Systems 2012).
 *
 * One thread, nobody waits. Acquire: begin = before lock, end = after it; release: the same
 * for unlock. Each call is timed alone, with fenced reads of the counter. Per protocol; the
 * ceiling of `protect` is the priority of the thread itself, so that locking changes
 * nothing and costs what it costs to find that out.
 *
 * How it could be wrong: where lock and unlock stay in user space the value is near the
 * cost of a pair of stamps, which is in the instrument's figures and is never subtracted.
 */
#include "base/posix_source.h"

#include "family/mutex/lock_kind.h"
#include "realtime/burst.h"

#include <sched.h>

enum { SAMPLES = 100000, BURST = 64, SERIES_PER_PROTOCOL = 2, WARM_UP = 64 };

#define SAMPLE_NS 3000 /* generous, for the expected time; a lock and an unlock */

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect", 0, 0, primitive_protocol_names,
     "protocols of the mutex"},
    {0},
};

static const struct series_spec series[] = {
    {"acquire", "ns", "protocol", "before lock of a free mutex", "after the same call"},
    {"release", "ns", "protocol", "before unlock with nobody waiting", "after the same call"},
    {0},
};

struct own {
    struct pace pace;
    int tried_count;
    struct primitive lock;
};

static int64_t expected_ns(const struct run *run)
{
    int64_t protocols = run_param(run, "protocols")->count;
    int64_t by_samples_ns = (int64_t)(run->samples % INT64_C(1000000000)) * SAMPLE_NS * protocols;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

static int size(struct run *run)
{
    const struct param_value *protocols = run_param(run, "protocols");
    for (int i = 0; i < protocols->count; i++) {
        const char *protocol = primitive_names[protocols->number[i]];
        if (run_add_series(run, "acquire", "ns", "protocol", protocol) < 0 ||
            run_add_series(run, "release", "ns", "protocol", protocol) < 0)
            return -1;
    }
    return 0;
}

static int prepare(struct run *run)
{
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static void measure_one(struct run *run, struct record *acquire, struct record *release,
                        int64_t at_ns)
{
    struct own *own = run->own;
    pthread_mutex_t *mutex = &own->lock.mutex;
    uint64_t begin = clock_begin(&run->clock);
    pthread_mutex_lock(mutex);
    uint64_t locked = clock_end(&run->clock);
    uint64_t letting_go = clock_begin(&run->clock);
    pthread_mutex_unlock(mutex);
    uint64_t end = clock_end(&run->clock);
    record_value(acquire, clock_ns(&run->clock, locked - begin), at_ns);
    record_value(release, clock_ns(&run->clock, end - letting_go), at_ns);
}

static void measure_protocol(struct run *run, int place)
{
    struct own *own = run->own;
    struct record *acquire = arena_record(run->arena, place);
    struct record *release = arena_record(run->arena, place + 1);
    struct run_budget budget = run_budget(run, run_param(run, "protocols")->count);
    pace_begin(&own->pace, run, 0);
    int64_t now_ns = pace_next(&own->pace);
    /* what the C library makes at a thread's first call is in no figure */
    for (int i = 0; i < WARM_UP; i++)
        measure_one(run, run->scratch, run->scratch, run_at_ns(run, now_ns));
    while (run_budget_left(&budget, acquire->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || acquire->count < budget.samples); i++)
            measure_one(run, acquire, release, run_at_ns(run, now_ns));
        now_ns = pace_next(&own->pace);
    }
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    const struct param_value *protocols = run_param(run, "protocols");
    for (int i = 0; i < protocols->count && !run_should_stop(); i++) {
        enum primitive_kind kind = (enum primitive_kind)protocols->number[i];
        if (!primitive_is_here(run, kind))
            continue;
        int error = primitive_open(&own->lock, kind, run->setup.priority);
        if (error)
            return outcome_set_errno(&run->outcome, error, primitive_names[kind], NULL);
        own->tried_count++;
        measure_protocol(run, i * SERIES_PER_PROTOCOL);
        primitive_close(&own->lock);
    }
    return 0;
}

static int judge(struct run *run)
{
    return primitive_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_p_arn = {
    .id = "MUT-P-ARN",
    .title = "Lock and unlock a mutex without contention",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

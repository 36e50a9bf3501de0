/* MUT-P-ARC: lock and unlock a mutex with contention (Dedicated Systems 2012).
 *
 * The scenario of inversion.h (that of MUT-B-ARC) in a loop on one CPU, without its log:
 *   acquire: begin = high before it asks for the lock that low owns; end = low running
 *            again, its first stamp
 *   release: begin = low before unlock; end = high with the lock, its first stamp after
 *            its request; medium was made ready before the release
 * The two stamps are taken by the two threads on the same CPU. Medium only shows that it
 * ran; with protocol none it has done so, and ended, before low comes to its release.
 *
 * With protocol protect high is not run before low lets go, so nobody ever waits: there is
 * no acquire (an event says so), and a release holds high's request as well.
 *
 * In each round high must have asked while low had the lock and before low ran again (with
 * a ceiling: only after low let go); else the test ends and fails (event not_the_case).
 *
 * How it could be wrong: acquire holds low's return from the call that had made high
 * ready, in which it was preempted.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "realtime/burst.h"
#include "realtime/one_cpu.h"

enum { SAMPLES = 10000, BURST = 16, SERIES_PER_PROTOCOL = 2 };

#define SAMPLE_NS 60000 /* generous, for the expected time; a round */

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect", 0, 0, primitive_protocol_names,
     "protocols of the mutex"},
    {0},
};

static const struct series_spec series[] = {
    {"acquire", "ns", "protocol", "high before its request for the lock that low owns",
     "low running again"},
    {"release", "ns", "protocol",
     "low before unlock; medium is ready, or with protocol none has run",
     "high running with the lock; with protocol protect its request is in between"},
    {0},
};

struct own {
    struct pace pace;
    int tried_count;
    uint64_t uncontended;
    struct inversion scenario;
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
    if (one_cpu_require(run) != 0 || one_cpu_require_levels(run, INVERSION_LEVELS) != 0)
        return -1;
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static void record_round(struct run *run, int place, int64_t at_ns)
{
    struct own *own = run->own;
    const struct inversion *scenario = &own->scenario;
    uint64_t acquire = atomic_load(&scenario->ran) - atomic_load(&scenario->asked);
    uint64_t release = atomic_load(&scenario->got) - atomic_load(&scenario->letting_go);
    if (scenario->setup.kind == PRIMITIVE_PROTECT)
        own->uncontended++;
    else
        record_value(arena_record(run->arena, place), clock_ns(&run->clock, acquire), at_ns);
    record_value(arena_record(run->arena, place + 1), clock_ns(&run->clock, release), at_ns);
}

static int play_rounds(struct run *run, int place)
{
    struct own *own = run->own;
    const struct record *release = arena_record(run->arena, place + 1);
    struct run_budget budget = run_budget(run, run_param(run, "protocols")->count);
    pace_begin(&own->pace, run, 0);
    int64_t now_ns = pace_next(&own->pace);
    while (run_budget_left(&budget, release->count, now_ns)) {
        for (int i = 0; i < BURST && (budget.samples == 0 || release->count < budget.samples);
             i++) {
            bool is_in_time = inversion_round(&own->scenario);
            if (!is_in_time || !inversion_took_place(&own->scenario)) {
                pace_next(&own->pace); /* tells where the CPU was taken away */
                return inversion_refuse(&own->scenario, run, is_in_time, "MUT-B-ARC");
            }
            record_round(run, place, run_at_ns(run, now_ns));
        }
        now_ns = pace_next(&own->pace);
    }
    return 0;
}

static void tell_uncontended(struct run *run, enum primitive_kind kind)
{
    struct own *own = run->own;
    if (own->uncontended > 0)
        arena_event(run->arena, "no_contention", -1,
                    "%s: in %llu rounds high had not asked before low let go: no acquire, and "
                    "release holds high's request",
                    primitive_names[kind], (unsigned long long)own->uncontended);
    own->uncontended = 0;
}

static int measure_protocol(struct run *run, int place, enum primitive_kind kind)
{
    struct own *own = run->own;
    struct inversion_setup setup = {.kind = kind, .links = 1};
    if (!primitive_is_here(run, kind))
        return 0;
    int error = inversion_open(&own->scenario, run, &setup);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the threads", NULL);
    own->tried_count++;
    int result = play_rounds(run, place);
    inversion_close(&own->scenario);
    tell_uncontended(run, kind);
    return result;
}

static int measure(struct run *run)
{
    const struct param_value *protocols = run_param(run, "protocols");
    for (int i = 0; i < protocols->count && !run_should_stop(); i++)
        if (measure_protocol(run, i * SERIES_PER_PROTOCOL,
                             (enum primitive_kind)protocols->number[i]) != 0)
            return -1;
    return 0;
}

static int judge(struct run *run)
{
    return primitive_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_p_arc = {
    .id = "MUT-P-ARC",
    .title = "Lock and unlock a mutex with contention",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = SAMPLES,
    .expected_ns = expected_ns,
    .size = size,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

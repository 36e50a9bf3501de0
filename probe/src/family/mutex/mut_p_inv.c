/* MUT-P-INV: delay by priority inversion, "sync test 3" (Obenland 2000).
 *
 * The scenario of inversion.h on one CPU, without its log: low takes the resource, high
 * blocks on it, medium is made ready and burns `medium_ns`, low lets go. A value: begin =
 * low with the resource, its first stamp after taking it; end = high with it, its first
 * stamp. Where priorities are inverted the delay is what medium burns and a little more;
 * where they are not it is a few switches. Per protocol of a mutex, and for a semaphore.
 *
 * In each round high must have asked while low had the resource and before low let it go (with
 * a ceiling: only after that); else the test ends and fails (event not_the_case).
 *
 * How it could be wrong: medium burns time and not cycles, so what interrupts it is in the
 * 10 ms and does not add to them; what interrupts the others adds to the delay.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"
#include "realtime/burst.h"
#include "realtime/one_cpu.h"

enum { SAMPLES = 100 };

#define ROUND_NS 100000 /* generous, for the expected time; beside what medium burns */

static const struct param_spec params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect,semaphore", 0, 0, primitive_delay_names,
     "protocols of the mutex, and the semaphore"},
    {"medium_ns", PARAM_NS, false, "10ms", 0, INT64_C(500000000), NULL, "what medium burns"},
    {0},
};

static const struct series_spec series[] = {
    {"delay", "ns", "protocol", "low has the resource", "high has it"},
    {0},
};

struct own {
    struct pace pace;
    int tried_count;
    struct inversion scenario;
};

static int64_t expected_ns(const struct run *run)
{
    int64_t round_ns = (run_number(run, "medium_ns") + ROUND_NS) * 3 / 2; /* with the rests */
    int64_t by_samples_ns =
        (int64_t)(run->samples % INT64_C(10000000)) * round_ns * run_param(run, "protocols")->count;
    bool is_by_time =
        run->samples == 0 || (run->duration_ns > 0 && run->duration_ns < by_samples_ns);
    return is_by_time ? run->duration_ns : by_samples_ns;
}

static int size(struct run *run)
{
    const struct param_value *protocols = run_param(run, "protocols");
    for (int i = 0; i < protocols->count; i++)
        if (run_add_series(run, "delay", "ns", "protocol",
                           primitive_delay_names[protocols->number[i]]) < 0)
            return -1;
    return 0;
}

static int prepare(struct run *run)
{
    if (one_cpu_require(run) != 0 || one_cpu_require_levels(run, INVERSION_LEVELS) != 0)
        return -1;
    return run_own(run, sizeof(struct own)) ? 0 : -1;
}

static int play_rounds(struct run *run, int place)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    struct record *delay = arena_record(run->arena, place);
    struct run_budget budget = run_budget(run, run_param(run, "protocols")->count);
    pace_begin(&own->pace, run, 0);
    int64_t now_ns = pace_next(&own->pace);
    while (run_budget_left(&budget, delay->count, now_ns)) {
        bool is_in_time = inversion_round(scenario);
        if (!is_in_time || !inversion_took_place(scenario)) {
            pace_next(&own->pace); /* tells where the CPU was taken away */
            return inversion_refuse(scenario, run, is_in_time, "MUT-B-INV");
        }
        uint64_t ticks = atomic_load(&scenario->got) - atomic_load(&scenario->locked);
        record_value(delay, clock_ns(&run->clock, ticks), run_at_ns(run, now_ns));
        now_ns = pace_next(&own->pace);
    }
    return 0;
}

static int measure_protocol(struct run *run, int place, enum primitive_kind kind)
{
    struct own *own = run->own;
    struct inversion_setup setup = {
        .kind = kind, .links = 1, .burn_ns = run_number(run, "medium_ns")};
    if (!primitive_is_here(run, kind))
        return 0;
    int error = inversion_open(&own->scenario, run, &setup);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the threads", NULL);
    own->tried_count++;
    int result = play_rounds(run, place);
    inversion_close(&own->scenario);
    return result;
}

static int measure(struct run *run)
{
    const struct param_value *protocols = run_param(run, "protocols");
    for (int i = 0; i < protocols->count && !run_should_stop(); i++)
        if (measure_protocol(run, i, (enum primitive_kind)protocols->number[i]) != 0)
            return -1;
    return 0;
}

static int judge(struct run *run)
{
    return primitive_require_any(run, ((struct own *)run->own)->tried_count);
}

const struct test mut_p_inv = {
    .id = "MUT-P-INV",
    .title = "Delay by priority inversion (sync test 3)",
    .source = "[O] Obenland 2000, synchronization test 3",
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

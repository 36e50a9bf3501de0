/* THR-B-PRI: fixed priorities are kept and do not degrade (HP 1987; Obenland 2000). All
 * threads on one CPU. One thread of the run's policy stands at each priority from the lowest
 * up to just below the run's; the director is the one at the run's.
 *
 *   ready_order  all are made ready in a random order, then in its reverse, while the
 *                director keeps the CPU; then they run from the highest down, by their
 *                first readings
 *   preempts     each makes the next higher one ready and reads the counter before and
 *                after: the higher one must have run between the two. A chain through all
 *                priorities up to the director, so every pair of neighbours is tried
 *   levels       at least 32 priorities exist, and as many were told apart in that chain
 *   long_use     a thread that has used the CPU for long (three quarters of what real-time
 *                threads may spin without a rest, again and again) is still preferred: a
 *                lower real-time one and a time-shared one (SCHED_OTHER) that are ready all
 *                the while do not run before it blocks, and it runs at once when either of
 *                them makes it ready
 *   time_shared  a time-shared thread that spins makes a real-time one ready, a thousand
 *                times: each time that one runs before the time-shared one goes on
 *
 * How it could be wrong: priorities above the run's are not tried (the supervisor and the
 * kernel's own threads are there). Throttling lets lower threads run: when it cut into a
 * burst, the result fails with that reason (event throttled), not only the verdict.
 */
#include "base/posix_source.h"

#include "family/thread/long_use.h"
#include "family/thread/priority_ladder.h"
#include "family/thread/scenario.h"

enum { ROUNDS = 2, LEVELS = 4 };

static const struct verdict_spec verdicts[] = {
    {"ready_order", "ready threads run from the highest priority down"},
    {"preempts", "each priority preempts the next lower one at once"},
    {"levels", "there are at least 32 real-time priorities"},
    {"long_use", "a real-time thread that has used the CPU for long is still preferred"},
    {"time_shared", "a time-shared thread does not delay a real-time one that it makes ready"},
    {0},
};

struct own {
    struct long_use use;
    struct levels *levels; /* behind this, with a thread for each */
};

static int rounds_of(const struct run *run)
{
    return run->samples > 0 && run->samples < INT32_MAX ? (int)run->samples : ROUNDS;
}

static int64_t expected_ns(const struct run *run)
{
    return rounds_of(run) * LONG_USE_ROUND_NS + LONG_USE_ROUND_NS / 2;
}

static int prepare(struct run *run)
{
    if (thread_scenario_check(run, LEVELS) != 0)
        return -1;
    size_t bytes = sizeof(struct levels) + (size_t)levels_count(run) * sizeof(struct level);
    struct own *own = run_own(run, sizeof *own + bytes);
    if (!own)
        return -1;
    own->levels = (struct levels *)(own + 1);
    own->levels->run = run;
    own->use.run = run;
    return 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    if (levels_try(own->levels) != 0)
        return -1;
    return long_use_try(&own->use, rounds_of(run));
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    return occupancy_judge(&own->use.occupancy, run);
}

const struct test thr_b_pri = {
    .id = "THR-B-PRI",
    .title = "Fixed priorities are kept",
    .source = "[H] HP 1987; [O] Obenland 2000",
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME,
    .default_samples = ROUNDS,
    .expected_ns = expected_ns,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

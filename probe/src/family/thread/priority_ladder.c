#include "base/posix_source.h"

#include "family/thread/priority_ladder.h"

#include "family/thread/scenario.h"

#include <sched.h>
#include <stdlib.h>

int priority_ladder_count(const struct run *run)
{
    int count = run->setup.priority - sched_get_priority_min(run->setup.policy);
    return count < PRIORITY_LADDER_MOST ? count : PRIORITY_LADDER_MOST;
}

static void be_level(void *argument)
{
    struct level *level = argument;
    struct levels *levels = level->levels;
    const struct clock *clock = &levels->run->clock;
    bool is_top = level == &levels->level[levels->level_count - 1];
    thread_wait(&level->gate);
    level->first_ticks = clock_begin(clock);
    if (levels->is_chain)
        sem_post(is_top ? &levels->done : &level[1].gate);
    level->last_ticks = clock_begin(clock);
}

static void join_all(struct levels *levels)
{
    for (int i = 0; i < levels->started_count; i++)
        rt_thread_join(&levels->level[i].rt_thread);
    for (int i = 0; i < levels->started_count; i++)
        sem_destroy(&levels->level[i].gate);
    levels->started_count = 0;
    stacks_free(&levels->stacks);
}

static int give_up(struct levels *levels, int error)
{
    levels->is_chain = false;
    for (int i = 0; i < levels->started_count; i++)
        sem_post(&levels->level[i].gate);
    join_all(levels);
    return outcome_set_errno(&levels->run->outcome, error, "a thread at each priority", NULL);
}

/* Starts all levels and waits until they block at their gates: threads still on their way there
 * would not run in the order in which they are made ready. */
static int start_all(struct levels *levels, bool is_chain)
{
    struct stacks *stacks = &levels->stacks;
    levels->is_chain = is_chain;
    int error = stacks_make(stacks, levels->level_count, levels->run->is_locked);
    for (int i = 0; !error && i < levels->level_count; i++) {
        struct level *level = &levels->level[i];
        level->levels = levels;
        level->priority = levels->run->setup.priority - levels->level_count + i;
        sem_init(&level->gate, 0, 0);
        struct rt_thread_setup setup =
            thread_setup(levels->run, levels->run->setup.policy, levels->level_count - i);
        error = rt_thread_start_on_stack(&level->rt_thread, &setup, stacks_at(stacks, i),
                                         stacks->stack_bytes, be_level, level);
        if (error)
            break;
        levels->started_count = i + 1;
        rt_thread_go(&level->rt_thread);
    }
    error = error ? error : thread_settle(levels->run, levels->level_count);
    return error ? give_up(levels, error) : 0;
}

static void shuffle_calls(struct level *level, int count, uint64_t seed)
{
    unsigned short state[3] = {0x330e, (unsigned short)seed, (unsigned short)(seed >> 16)};
    for (int i = 0; i < count; i++)
        level[i].called = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)(erand48(state) * (i + 1));
        int kept = level[i].called;
        level[i].called = level[other].called;
        level[other].called = kept;
    }
}

/* The lowest level that ran before the one above it; -1: all ran from the highest down. */
static int first_out_of_order(const struct levels *levels)
{
    for (int i = 0; i + 1 < levels->level_count; i++)
        if ((int64_t)(levels->level[i].first_ticks - levels->level[i + 1].first_ticks) <= 0)
            return i;
    return -1;
}

static void tell_ready_order(const struct levels *levels, int wrong)
{
    const struct level *level = levels->level;
    if (wrong < 0)
        arena_verdict(levels->run->arena, true, (uint64_t)levels->level_count, "ready_order",
                      "%d threads made ready in a random order, and in its reverse, ran from "
                      "priority %d down to %d",
                      levels->level_count, level[levels->level_count - 1].priority,
                      level[0].priority);
    else
        arena_verdict(levels->run->arena, false, 1, "ready_order",
                      "priority %d ran before %d, which was ready too", level[wrong].priority,
                      level[wrong + 1].priority);
}

/* If two levels were equal in fact, they would run in the order of the calls: wrong in one of the
 * two orders. */
static int call_in_order(struct levels *levels, bool is_reverse, int *wrong)
{
    struct level *level = levels->level;
    int last = levels->level_count - 1;
    if (start_all(levels, false) != 0)
        return -1;
    for (int i = 0; i <= last; i++)
        sem_post(&level[level[is_reverse ? last - i : i].called].gate);
    join_all(levels);
    *wrong = first_out_of_order(levels);
    return 0;
}

static int try_ready_order(struct levels *levels)
{
    int wrong = -1, error = 0;
    shuffle_calls(levels->level, levels->level_count, levels->run->seed);
    for (int i = 0; i < 2 && wrong < 0 && error == 0; i++)
        error = call_in_order(levels, i > 0, &wrong);
    if (error == 0)
        tell_ready_order(levels, wrong);
    return error;
}

/* Whether the level above ran between the two stamps of this one; above the last is the measuring
 * thread. */
static bool was_preempted(const struct levels *levels, int place, uint64_t measuring_thread_ticks)
{
    const struct level *level = &levels->level[place];
    uint64_t above =
        place + 1 < levels->level_count ? level[1].first_ticks : measuring_thread_ticks;
    return (int64_t)(above - level->first_ticks) > 0 && (int64_t)(level->last_ticks - above) > 0;
}

static int tell_preempts(const struct levels *levels, uint64_t measuring_thread_ticks)
{
    int good = 0, wrong = -1, lowest = levels->level[0].priority;
    for (int i = 0; i < levels->level_count; i++) {
        bool is_good = was_preempted(levels, i, measuring_thread_ticks);
        good += is_good ? 1 : 0;
        if (!is_good && wrong < 0)
            wrong = lowest + i;
    }
    if (wrong < 0)
        arena_verdict(levels->run->arena, true, (uint64_t)good, "preempts",
                      "%d pairs of neighbours, priorities %d to %d: the higher one, made ready by "
                      "the lower one, ran before that one went on",
                      good, lowest, lowest + levels->level_count);
    else
        arena_verdict(levels->run->arena, false, 1, "preempts",
                      "priority %d made %d ready and went on before that one had run; %d of %d "
                      "pairs kept",
                      wrong, wrong + 1, good, levels->level_count);
    return good;
}

/* If the run's priority leaves fewer than 32 to try, all that were tried must have been told
 * apart. */
static void tell_levels(const struct levels *levels, int kept_pairs)
{
    int policy = levels->run->setup.policy;
    int named = sched_get_priority_max(policy) - sched_get_priority_min(policy) + 1;
    int tried = levels->level_count + 1, apart = kept_pairs + 1;
    bool is_enough =
        named >= PRIORITY_LADDER_LEAST && (apart >= PRIORITY_LADDER_LEAST || apart == tried);
    arena_verdict(
        levels->run->arena, is_enough, (uint64_t)tried, "levels",
        "the system offers %d priorities; of the %d that were tried, %d could be distinguished (at "
        "least %d must exist)",
        named, tried, apart, PRIORITY_LADDER_LEAST);
}

static int try_preempts(struct levels *levels)
{
    if (start_all(levels, true) != 0)
        return -1;
    sem_post(&levels->level[0].gate);
    thread_wait(&levels->done);
    uint64_t measuring_thread_ticks = clock_begin(&levels->run->clock);
    join_all(levels);
    tell_levels(levels, tell_preempts(levels, measuring_thread_ticks));
    return 0;
}

int priority_ladder_try(struct levels *levels)
{
    levels->level_count = priority_ladder_count(levels->run);
    sem_init(&levels->done, 0, 0);
    int error = try_ready_order(levels);
    if (error == 0)
        error = try_preempts(levels);
    sem_destroy(&levels->done);
    return error;
}

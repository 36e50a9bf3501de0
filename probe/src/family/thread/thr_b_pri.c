/* THR-B-PRI: fixed priorities are kept and do not degrade (HP 1987; Obenland 2000).
 *
 * What: ready_order: threads made ready in a random order, and in its reverse, run from the highest
 *   down; preempts: each makes the next higher one ready, which runs at once; levels: at least 32
 *   priorities exist and were told apart; long_use: a thread that spun three quarters of what it
 *   may without a rest is still preferred; time_shared: a spinning time-shared thread makes a
 *   real-time one ready a thousand times, which runs at once each time; system_calls/KIND: a
 *   time-shared process that is inside a system call makes no step and gets no CPU time while a
 *   real-time thread is ready (system_calls.c); system_processes: nor do processes of the system
 *   that are bound to the CPU, on Linux threads of the kernel.
 * Begin, end: none; orders by readings of the counter, CPU times by their clocks.
 * Threads: one of the run's policy at each priority from the lowest to just below the run's, which
 *   the measuring thread has; all on one CPU.
 * Wrong if: priorities above the run's are not tried: the supervisor and the kernel's threads are
 *   there. Throttling lets lower threads run: if it cut into a burst the result fails (event
 *   throttled). Not seen: how long an interrupted call delays the measuring thread itself; work of
 *   the system in no process. What cannot be seen at all has no verdict (event not_seen).
 */
#include "base/posix_source.h"

#include "base/random.h"
#include "base/rt_thread.h"
#include "family/thread/scenario.h"
#include "family/thread/system_calls.h"
#include "record/order_log.h"
#include "run/run.h"
#include "run/scheduling.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/types.h>
#include <time.h>

enum { ROUNDS = 2, LEVELS = 4 };

static const struct verdict_spec verdicts[] = {
    {"ready_order", "ready threads run from the highest priority down"},
    {"preempts", "each priority preempts the next lower one at once"},
    {"levels", "there are at least 32 real-time priorities"},
    {"long_use", "a real-time thread that has used the CPU for long keeps its priority"},
    {"time_shared", "a time-shared thread does not delay a real-time one that it makes ready"},
    {"system_calls", "a time-shared process inside a system call does not run while a real-time "
                     "thread is ready; how long the call holds the CPU first is not tested"},
    {"system_processes",
     "time-shared processes of the system do not run while a real-time thread is ready"},
    {0},
};

/* ---- one thread at each priority from the lowest to just below the run's ---- */

enum { PRIORITY_LADDER_LEAST = 32 /* required by POSIX */, PRIORITY_LADDER_MOST = 1024 };

struct level {
    struct levels *levels;
    int priority;
    sem_t gate;
    struct rt_thread rt_thread;
    uint64_t first_ticks, last_ticks; /* first stamp; after it made the next ready */
    int called; /* index of the level to make ready at this place in the order */
};

/* The ladder: level_count levels, lowest priority first. */
struct levels {
    struct run *run;
    bool is_chain; /* each level makes the next one ready */
    sem_t done;
    int level_count, started_count;
    struct stacks stacks; /* one of each level: locked, they take 4 MB */
    struct level level[];
};

/* Number of priorities below the run's, PRIORITY_LADDER_MOST at most. */
static int priority_ladder_count(const struct run *run)
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
    struct random random;
    random_start(&random, seed);
    for (int i = 0; i < count; i++)
        level[i].called = i;
    for (int i = count - 1; i > 0; i--) {
        int other = (int)random_below(&random, i + 1);
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

static void report_ready_order(const struct levels *levels, int wrong)
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
        report_ready_order(levels, wrong);
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

static int report_preempts(const struct levels *levels, uint64_t measuring_thread_ticks)
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
                      "%d neighbouring pairs, priorities %d to %d: the higher one, made ready by "
                      "the lower one, ran before the lower one continued",
                      good, lowest, lowest + levels->level_count);
    else
        arena_verdict(levels->run->arena, false, 1, "preempts",
                      "priority %d made %d ready and continued before that one had run; %d of %d "
                      "pairs kept",
                      wrong, wrong + 1, good, levels->level_count);
    return good;
}

/* If the run's priority leaves fewer than 32 to try, all that were tried must have been told
 * apart. */
static void report_levels(const struct levels *levels, int kept_pairs)
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
    report_levels(levels, report_preempts(levels, measuring_thread_ticks));
    return 0;
}

/* Gives the verdicts ready_order, preempts and levels. `levels` is zeroed but for `run` and has
 * room for priority_ladder_count levels. 0, or -1 with the outcome if the threads could not be
 * started. */
static int priority_ladder_try(struct levels *levels)
{
    levels->level_count = priority_ladder_count(levels->run);
    sem_init(&levels->done, 0, 0);
    int error = try_ready_order(levels);
    if (error == 0)
        error = try_preempts(levels);
    sem_destroy(&levels->done);
    return error;
}

/* ---- the system's own time-shared processes, on Linux its kernel threads too ----
 *
 * Watched are those that may run on no other CPU than the run's. Their CPU time must stand still
 * from when the real-time thread is made ready until it blocks. That proves nothing of a process
 * that had nothing to do: one was ready if its run delay grew by more than the time around the
 * spinning. */

enum { SYSTEM_THREADS = 32 };

enum system_reading { MADE_READY, HAS_RUN, HAS_SPUN, SYSTEM_READINGS };

struct system_thread {
    pid_t id;
    clockid_t clock;                 /* its CPU time */
    int64_t cpu_ns[SYSTEM_READINGS]; /* -1: it has ended */
    int64_t waited_ns;               /* run delay before the burst; -1: not known */
};

struct system_threads {
    struct run *run;
    int count; /* -1: the system does not tell */
    struct system_thread threads[SYSTEM_THREADS];
    int64_t at_ns[SYSTEM_READINGS];
    int64_t begin_ns; /* when the run delays were read */
    uint64_t burst_count, ready_count, ran_count;
    int64_t longest_ran_ns;
};

#define SETTLE_NS 5000000 /* for those that waited to run */

/* For `prepare`: lists them. `system` is zeroed but for `run`. */
static void system_threads_open(struct system_threads *system)
{
    pid_t found[SYSTEM_THREADS];
    int count = port_bound_processes(system->run->setup.cpu, found, SYSTEM_THREADS);
    system->count = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++) {
        struct system_thread *thread = &system->threads[system->count];
        thread->id = found[i];
        system->count += clock_getcpuclockid(found[i], &thread->clock) == 0;
    }
}

static int64_t cpu_ns(const struct system_thread *thread)
{
    struct timespec used;
    return clock_gettime(thread->clock, &used) == 0 ? clock_timespec_ns(&used) : -1;
}

/* At any priority: CPU times. */
static void system_threads_read(struct system_threads *system, enum system_reading reading)
{
    for (int i = 0; i < system->count; i++)
        system->threads[i].cpu_ns[reading] = cpu_ns(&system->threads[i]);
    system->at_ns[reading] = clock_monotonic_ns();
}

static int64_t waited_ns(const struct system_thread *thread)
{
    struct port_thread_times times;
    return port_thread_times(thread->id, thread->id, &times) ? times.waited_ns : -1;
}

/* By the measuring thread, before and after a burst. It reads run delays at an ordinary priority:
 * files of /proc that it has preempted a reader of may make it wait. 0, or -1 with the outcome: its
 * priority could not be restored. */
static int system_threads_begin(struct system_threads *system)
{
    int down = scheduling_step_down(system->run, system->run->setup.priority);
    system->begin_ns = clock_monotonic_ns();
    for (int i = 0; i < system->count; i++)
        system->threads[i].waited_ns = waited_ns(&system->threads[i]);
    return scheduling_step_up(system->run) != 0 || down != 0 ? -1 : 0;
}

/* CPU time that it got while the real-time thread was ready or ran. */
static int64_t ran_ns(const struct system_thread *thread)
{
    int64_t before_ns = thread->cpu_ns[MADE_READY], after_ns = thread->cpu_ns[HAS_SPUN];
    return before_ns >= 0 && after_ns >= 0 ? after_ns - before_ns : 0;
}

/* It waited for longer than it could have outside the spinning. */
static bool was_ready(const struct system_threads *system, const struct system_thread *thread,
                      int64_t now_ns)
{
    int64_t spun_ns = system->at_ns[HAS_SPUN] - system->at_ns[HAS_RUN];
    int64_t around_ns = now_ns - system->begin_ns - spun_ns, after_ns = waited_ns(thread);
    return thread->waited_ns >= 0 && after_ns - thread->waited_ns > around_ns;
}

static void judge_burst(struct system_threads *system, int64_t now_ns)
{
    system->burst_count++;
    for (int i = 0; i < system->count; i++) {
        const struct system_thread *thread = &system->threads[i];
        int64_t ns = ran_ns(thread);
        system->ran_count += ns > 0;
        system->ready_count += ns > 0 || was_ready(system, thread, now_ns);
        if (ns > system->longest_ran_ns)
            system->longest_ran_ns = ns;
    }
}

static int system_threads_end(struct system_threads *system, bool is_doubtful)
{
    int down = scheduling_step_down(system->run, system->run->setup.priority);
    struct timespec settle = {.tv_nsec = SETTLE_NS};
    nanosleep(&settle, NULL);
    if (!is_doubtful)
        judge_burst(system, clock_monotonic_ns());
    return scheduling_step_up(system->run) != 0 || down != 0 ? -1 : 0;
}

/* Gives the verdict system_processes, or an event not_seen with the reason. */
static void system_threads_judge(struct system_threads *system)
{
    struct arena *arena = system->run->arena;
    if (system->count < 0)
        arena_event(arena, "not_seen", -1,
                    DATA(data_text("verdict", "system_processes"),
                         data_text("reason", "system_does_not_tell")),
                    "system_processes: no verdict, because this system does not report which "
                    "processes run on one CPU only");
    else if (system->ready_count == 0)
        arena_event(arena, "not_seen", -1,
                    DATA(data_text("verdict", "system_processes"),
                         data_text("reason", "none_ready"),
                         data_integer("processes_count", system->count),
                         data_integer("burst_count", (int64_t)system->burst_count)),
                    "system_processes: no verdict, because none of %d time-shared processes of the "
                    "system on this CPU was ready while a real-time thread spun (%llu times); ask "
                    "for more samples",
                    system->count, (unsigned long long)system->burst_count);
    else
        arena_verdict(arena, system->ran_count == 0, system->ready_count, "system_processes",
                      "of %d time-shared processes of the system that are bound to this CPU, %llu "
                      "times one was ready while a real-time thread was ready or spun, and %llu "
                      "times one ran, for up to %lld us",
                      system->count, (unsigned long long)system->ready_count,
                      (unsigned long long)system->ran_count,
                      (long long)(system->longest_ran_ns / 1000));
}

/* ---- a real-time thread that uses much CPU time ----
 *
 * With a lower real-time thread and a time-shared one (SCHED_OTHER), all on the run's CPU. */

enum { LONG_USERS = 3 };

enum long_use_scene { SCENE_LONG_USE, SCENE_TIME_SHARED };

struct long_use {
    struct run *run;
    struct cpu_loss cpu_loss;
    struct system_threads system;
    struct order_log log;
    enum long_use_scene scene;
    int64_t spin_ns; /* CPU time of one long use */
    int started_count;
    struct rt_thread rt_threads[LONG_USERS];
    sem_t starts[LONG_USERS];
    sem_t wake, done;
    atomic_bool is_over;
    atomic_uint_fast64_t served;
    uint64_t wake_count, delayed_count;
    int64_t longest_delay_ns;
};

enum { LONG_USER, LOWER, TIME_SHARED };
enum { WAKE_UPS = 1000, CHUNK = 100, WAKERS = 2 };

#define SHARED_SPIN_NS INT64_C(10000)
#define GIVE_UP_NS INT64_C(1000000000)

static const char promised[] =
    "long user began, long user ended, lower made it ready, long user ran, lower went on, "
    "time-shared made it ready, long user ran, time-shared went on";

/* ---- long_use: the three threads in a round ---- */

static void use_for_long(struct long_use *use)
{
    system_threads_read(&use->system, HAS_RUN);
    order_log_add(&use->log, "long user", "began");
    cpu_loss_begin(&use->cpu_loss);
    thread_spin(use->spin_ns);
    cpu_loss_end(&use->cpu_loss, use->run);
    order_log_add(&use->log, "long user", "ended");
    system_threads_read(&use->system, HAS_SPUN);
    for (int i = 0; i < WAKERS; i++) {
        thread_wait(&use->wake);
        order_log_add(&use->log, "long user", "ran");
    }
}

static void wake_long_user(struct long_use *use, const char *who)
{
    order_log_add(&use->log, who, "made it ready");
    sem_post(&use->wake);
    order_log_add(&use->log, who, "went on");
}

/* ---- time_shared ---- */

static void serve_wake_ups(struct long_use *use)
{
    for (int i = 0; i < CHUNK; i++) {
        thread_wait(&use->wake);
        atomic_fetch_add(&use->served, 1);
    }
}

/* Measures how long the time-shared thread goes on while the real-time one is ready. A pause that
 * may be throttling is reported and not counted. */
static void wait_until_served(struct long_use *use, uint64_t served)
{
    int cut_before = use->cpu_loss.cut_count;
    int64_t begin_ns = clock_monotonic_ns(), delay_ns = 0;
    while (atomic_load(&use->served) == served && delay_ns < GIVE_UP_NS)
        delay_ns = clock_monotonic_ns() - begin_ns;
    cpu_loss_note_pause(&use->cpu_loss, use->run, delay_ns, "the real-time thread");
    if (cpu_loss_is_doubtful(&use->cpu_loss, cut_before))
        return;
    use->delayed_count++;
    if (delay_ns > use->longest_delay_ns)
        use->longest_delay_ns = delay_ns;
}

/* The real-time thread must have run before sem_post returns to the time-shared one. */
static void wake_often(struct long_use *use)
{
    for (int i = 0; i < CHUNK; i++) {
        thread_spin(SHARED_SPIN_NS);
        uint64_t served = atomic_load(&use->served);
        sem_post(&use->wake);
        use->wake_count++;
        if (atomic_load(&use->served) == served)
            wait_until_served(use, served);
    }
}

/* ---- the threads ---- */

/* False when the test is over. */
static bool wait_for_start(struct long_use *use, int who)
{
    thread_wait(&use->starts[who]);
    return !atomic_load(&use->is_over);
}

static void be_long_user(void *argument)
{
    struct long_use *use = argument;
    while (wait_for_start(use, LONG_USER)) {
        if (use->scene == SCENE_LONG_USE)
            use_for_long(use);
        else
            serve_wake_ups(use);
        sem_post(&use->done);
    }
}

static void be_lower(void *argument)
{
    struct long_use *use = argument;
    while (wait_for_start(use, LOWER)) {
        wake_long_user(use, "lower");
        sem_post(&use->done);
    }
}

static void be_time_shared(void *argument)
{
    struct long_use *use = argument;
    while (wait_for_start(use, TIME_SHARED)) {
        if (use->scene == SCENE_LONG_USE)
            wake_long_user(use, "time-shared");
        else
            wake_often(use);
        sem_post(&use->done);
    }
}

static int start_users(struct long_use *use)
{
    static void (*const bodies[])(void *) = {be_long_user, be_lower, be_time_shared};
    int policy = use->run->setup.policy;
    const struct rt_thread_setup setups[] = {
        thread_setup(use->run, policy, 1),
        thread_setup(use->run, policy, 2),
        {SCHED_OTHER, rt_thread_ordinary_priority(), use->run->setup.cpu}};
    for (int i = 0; i < LONG_USERS; i++) {
        int error = rt_thread_start(&use->rt_threads[i], &setups[i], bodies[i], use);
        if (error)
            return outcome_set_errno(&use->run->outcome, error, "three threads", NULL);
        use->started_count = i + 1;
        rt_thread_go(&use->rt_threads[i]);
    }
    return 0;
}

static void end_users(struct long_use *use)
{
    atomic_store(&use->is_over, true);
    for (int i = 0; i < use->started_count; i++)
        sem_post(&use->starts[i]);
    for (int i = 0; i < use->started_count; i++)
        rt_thread_join(&use->rt_threads[i]);
}

/* The measuring thread has a higher priority: they start when it waits, the highest first. It waits
 * for each of them, so that the log also holds what a delayed one did. */
static void play(struct long_use *use, enum long_use_scene scene)
{
    int players = scene == SCENE_LONG_USE ? LONG_USERS : LONG_USERS - 1;
    use->scene = scene;
    sem_post(&use->starts[TIME_SHARED]);
    if (scene == SCENE_LONG_USE)
        sem_post(&use->starts[LOWER]);
    sem_post(&use->starts[LONG_USER]);
    for (int i = 0; i < players; i++)
        thread_wait(&use->done);
}

/* One round. 0, or -1 with the outcome. `is_doubtful`: throttling may have cut in. */
static int play_long_use(struct long_use *use, bool *is_doubtful)
{
    int cut_before = use->cpu_loss.cut_count;
    if (system_threads_begin(&use->system) != 0)
        return -1;
    order_log_clear(&use->log, &use->run->clock);
    system_threads_read(&use->system, MADE_READY);
    play(use, SCENE_LONG_USE);
    *is_doubtful = cpu_loss_is_doubtful(&use->cpu_loss, cut_before);
    return system_threads_end(&use->system, *is_doubtful);
}

/* A round in which throttling may have cut in proves nothing; the result then fails for that
 * reason. */
static void try_long_use(struct long_use *use, int rounds)
{
    bool is_kept = true, is_doubtful = false;
    for (int i = 0; i < rounds && is_kept && !is_doubtful; i++) {
        rt_budget_rest_ahead(&use->run->rt_budget, use->run->rt_budget.burst_ns);
        if (run_should_stop() || play_long_use(use, &is_doubtful) != 0)
            return;
        is_kept = order_log_is(&use->log, promised);
    }
    if (is_doubtful)
        return;
    order_log_verdict(&use->log, use->run->arena, "long_use", promised);
    system_threads_judge(&use->system);
}

static void try_time_shared(struct long_use *use)
{
    while (use->wake_count < WAKE_UPS && !run_should_stop()) {
        rt_budget_rest(&use->run->rt_budget);
        play(use, SCENE_TIME_SHARED);
    }
    if (run_should_stop())
        return;
    arena_verdict(use->run->arena, use->delayed_count == 0, use->wake_count, "time_shared",
                  "a spinning time-shared thread made a real-time one ready %llu times; %llu "
                  "times it continued before that one had run, for up to %lld us",
                  (unsigned long long)use->wake_count, (unsigned long long)use->delayed_count,
                  (long long)(use->longest_delay_ns / 1000));
}

/* Gives the verdicts long_use and system_processes, tried `rounds` times, and time_shared. `use` is
 * zeroed but for `run`, and system_threads_open was called for its `system`. 0, or -1 with the
 * outcome if the threads could not be started. */
static int long_use_try(struct long_use *use, int rounds)
{
    sem_init(&use->wake, 0, 0);
    sem_init(&use->done, 0, 0);
    for (int i = 0; i < LONG_USERS; i++)
        sem_init(&use->starts[i], 0, 0);
    cpu_loss_open(&use->cpu_loss, use->run);
    use->spin_ns = use->run->rt_budget.burst_ns / 4 * 3;
    int error = start_users(use);
    if (error == 0) {
        try_long_use(use, rounds);
        try_time_shared(use);
    }
    end_users(use);
    return error;
}

/* ---- the test ---- */

struct own {
    struct long_use use;
    struct system_calls calls;
    struct levels *levels; /* in the same allocation, behind this struct */
};

static int rounds_of(const struct run *run)
{
    return run->samples < INT32_MAX ? (int)run->samples : INT32_MAX;
}

static int prepare(struct run *run)
{
    if (one_cpu_require_levels(run, LEVELS) != 0)
        return -1;
    size_t bytes =
        sizeof(struct levels) + (size_t)priority_ladder_count(run) * sizeof(struct level);
    struct own *own = run_own(run, sizeof *own + bytes);
    if (!own)
        return -1;
    own->levels = (struct levels *)(own + 1);
    own->levels->run = run;
    own->use.run = own->use.system.run = own->calls.run = run;
    system_threads_open(&own->use.system);
    return 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    if (priority_ladder_try(own->levels) != 0)
        return -1;
    if (system_calls_try(&own->calls) != 0)
        return -1;
    return long_use_try(&own->use, rounds_of(run));
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (cpu_loss_judge(&own->calls.cpu_loss, run) != 0)
        return -1;
    return cpu_loss_judge(&own->use.cpu_loss, run);
}

const struct test thr_b_pri = {
    .id = "THR-B-PRI",
    .title = "Fixed priorities: order, preemption, at least 32 levels",
    .source = "[H] HP 1987; [O] Obenland 2000",
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = ROUNDS,
    .counts_rounds = true,
    .setup_ns = 1500000000,
    .sample_ns = 900000000,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

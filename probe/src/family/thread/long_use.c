#include "base/posix_source.h"

#include "family/thread/long_use.h"

#include "family/thread/scenario.h"

#include <sched.h>

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
                  "a spinning time-shared thread made a real-time one ready %llu times; it went on "
                  "before that one had run %llu times, for up to %lld us",
                  (unsigned long long)use->wake_count, (unsigned long long)use->delayed_count,
                  (long long)(use->longest_delay_ns / 1000));
}

int long_use_try(struct long_use *use, int rounds)
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

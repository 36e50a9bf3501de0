/* Rests of threads that never block: they must not use up the budget of real-time throttling in
 * any window of its period. The thread has a CPU of its own on a made-up machine: reading a clock
 * takes CPU time, a rest takes none, and ends late. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "fake_port.h"
#include "run/burst.h"
#include "tap.h"

#include <string.h>

enum { MOST_STEPS = 100000 };

#define STEP_NS INT64_C(50000)
#define READ_NS INT64_C(200)

static int64_t fake_now_ns, fake_used_ns; /* time, and CPU time of the thread */
static uint64_t state = 1;

static void use_cpu(int64_t ns)
{
    fake_now_ns += ns;
    fake_used_ns += ns;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    *time = clock_ns_timespec(fake_now_ns);
    use_cpu(READ_NS);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    fake_now_ns += clock_timespec_ns(wanted) + (int64_t)(tap_random(&state) % 100000);
    return 0;
}

/* When the thread was looked at: time, and CPU time that it had used. */
struct look {
    int64_t at_ns, used_ns;
};

static struct look looks[MOST_STEPS];

/* Spins as the tests do for `length_ns`; the number of looks. */
static int spin_and_rest(struct rt_budget *budget, int64_t length_ns)
{
    int count = 0;
    int64_t end_ns = fake_now_ns + length_ns, now_ns;
    do {
        now_ns = rt_budget_rest(budget);
        looks[count++] = (struct look){fake_now_ns, fake_used_ns};
        use_cpu(STEP_NS);
    } while (now_ns < end_ns && count < MOST_STEPS);
    return count;
}

/* The most CPU time that was used in any window of `window_ns`. */
static int64_t most_used_ns(int count, int64_t window_ns)
{
    int64_t most_ns = 0;
    for (int first = 0, last = 0; last < count; last++) {
        while (looks[last].at_ns - looks[first].at_ns > window_ns)
            first++;
        if (looks[last].used_ns - looks[first].used_ns > most_ns)
            most_ns = looks[last].used_ns - looks[first].used_ns;
    }
    return most_ns;
}

static struct rt_budget rt_budget;

static void init(bool has_budget, int64_t runtime_ns, int64_t period_ns)
{
    fake_port.has_budget = has_budget;
    fake_port.runtime_ns = runtime_ns;
    fake_port.period_ns = period_ns;
    rt_budget_init(&rt_budget);
}

TEST(share_of_every_window)
{
    static const int64_t runtimes_ns[] = {20000000, 45000000, 5000000}, period_ns = 50000000;
    for (int i = 0; i < 3; i++) {
        int64_t runtime_ns = runtimes_ns[i];
        init(true, runtime_ns, period_ns);
        CHECK_TEXT(rt_budget_lift_command(&rt_budget), "sudo sysctl kernel.sched_rt_runtime_us=-1");
        int count = spin_and_rest(&rt_budget, 12 * period_ns);
        CHECK(count < MOST_STEPS);
        CHECK(most_used_ns(count, period_ns) < runtime_ns);
        CHECK(most_used_ns(count, period_ns) > runtime_ns / 2); /* it is not wasted either */
        /* it did rest, and not for ever: at least so often as whole periods passed */
        CHECK(rt_budget.rested_ns >= 10 * (period_ns - runtime_ns));
    }
}

TEST(budget_is_taken_by_four_fifths)
{
    init(true, 950000000, 1000000000);
    CHECK_SAME(rt_budget.burst_ns, 760000000);
    CHECK_SAME(rt_budget.rest_ns, 240000000);
    CHECK_SAME(rt_budget.rested_ns, 0);
}

TEST(without_budget_the_system_lives)
{
    init(false, 0, 0);
    CHECK(rt_budget_lift_command(&rt_budget) == NULL);
    CHECK_SAME(rt_budget_pause_ns(&rt_budget), 0);
    CHECK_SAME(rt_budget.burst_ns, 900000000);
    CHECK_SAME(rt_budget.rest_ns, 100000000);
}

TEST(no_rest_before_the_burst_is_over)
{
    init(false, 0, 0);
    rt_budget.burst_ns = INT64_MAX;
    int64_t from_ns = fake_now_ns;
    CHECK_SAME(rt_budget_rest(&rt_budget), from_ns);
    CHECK_SAME(rt_budget.rested_ns, 0);
}

/* What a shell would not read as one word, and what would be cut, is typed by nobody. */
TEST(the_budget_of_a_group_is_raised_in_its_file)
{
    char long_path[200];
    memset(long_path, 'x', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    const struct {
        const char *group, *command;
    } rows[] = {
        {"/sys/fs/cgroup/cpu,cpuacct/user.slice/a@1",
         "echo 950000 | sudo tee /sys/fs/cgroup/cpu,cpuacct/user.slice/a@1/cpu.rt_runtime_us"},
        {"/sys/fs/cgroup/cpu/a;reboot", "hardstone doctor"},
        {"/sys/fs/cgroup/cpu/$(b)", "hardstone doctor"},
        {"/sys/fs/cgroup/cpu/two words", "hardstone doctor"},
        {long_path, "hardstone doctor"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fake_port.group = rows[i].group;
        fake_port.most_ns = 950000000;
        init(true, 100000000, 1000000000);
        CHECK_TEXT(rt_budget_lift_command(&rt_budget), rows[i].command);
        CHECK_SAME(rt_budget.burst_ns, 80000000);
        CHECK_SAME(rt_budget_pause_ns(&rt_budget), 900000000);
    }
    fake_port.group = NULL;
}

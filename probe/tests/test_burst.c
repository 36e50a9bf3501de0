/* Bursts in which no thread of the test ran, with the run time and run delay that the kernel
 * reports for the threads; and rests of threads that never block, which must not use up the budget
 * of real-time throttling in any window of its period. The port is a fake, which reports what the
 * tests choose, and time passes as they say. */
#include "base/posix_source.h"

#include "fake_port.h"
#include "made_up_run.h"
#include "tap.h"

#define LOST_NS INT64_C(60000000)
#define STEP_NS INT64_C(50000)
#define READ_NS INT64_C(200)

enum { MOST_STEPS = 100000 };

static int64_t fake_now_ns, fake_used_ns; /* time, and CPU time of a thread that spins */
static int64_t process_cpu_ns;            /* what the process has used, by its clock */
static bool spins;                        /* reading a clock takes CPU time, a rest ends late */
static uint64_t state = 1;

static void use_cpu(int64_t ns)
{
    fake_now_ns += ns;
    fake_used_ns += ns;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    *time = clock_ns_timespec(id == CLOCK_MONOTONIC ? fake_now_ns : process_cpu_ns);
    use_cpu(spins ? READ_NS : 0);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    fake_now_ns += clock_timespec_ns(wanted);
    fake_now_ns += spins ? (int64_t)(tap_random(&state) % 100000) : 0;
    return 0;
}

static int64_t stolen_before_ns; /* 0: steal time is not known */
static double stolen_part;       /* of a loss */
static int64_t stolen_untold_ns;

static void begin(bool is_listed, bool has_budget, bool counts_waits)
{
    run_of(NULL);
    spins = false;
    fake_now_ns += 5000 * CLOCK_NS_PER_S;
    fake_port = (struct fake_port){.cpu_count = 1, .counts_waits = counts_waits};
    fake_port.has_budget = has_budget;
    fake_port.runtime_ns = 950000000;
    fake_port.period_ns = 1000000000;
    fake_port.steal_ns = stolen_before_ns;
    run.is_realtime = true;
    run.setup.cpu = -1;
    run_make_arena();
    rt_budget_init(&run.rt_budget);
    burst_begin(&run, 0);
    if (!is_listed)
        burst_ignore_sleep(&run);
}

/* The burst is lost and comes to its end. Of what was lost others of the test ran for the part
 * `ran`, and a thread was ready for the part `waited`. */
static void lose(double ran, double waited)
{
    fake_now_ns += LOST_NS;
    fake_port.ran_ns += (int64_t)(ran * (double)LOST_NS);
    fake_port.waited_ns += (int64_t)(waited * (double)LOST_NS);
    fake_port.steal_ns += (int64_t)(stolen_part * (double)LOST_NS) - stolen_untold_ns;
    burst_next(&run);
}

static void check_taken(void)
{
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "the test did not get the CPU");
    CHECK(event("throttled"));
    CHECK(!event("idle_gap"));
    arena_free(run.arena);
}

static void check_kept(const char *told)
{
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK(event(told));
    CHECK_SAME(event("throttled") != NULL, strcmp(told, "throttled") == 0);
    arena_free(run.arena);
}

TEST(a_lost_burst)
{
    static const struct {
        const char *name;
        bool is_listed, has_budget, counts_waits;
        double ran, waited;
        bool is_taken;
    } rows[] = {
        {"ready", true, true, true, 0, 1, true},
        {"ready without limit", true, false, true, 0, 1, true},
        {"unknown without limit", true, false, false, 0, 0, true},
        {"asleep", true, true, true, 0, 0, false},
        {"asleep without limit", true, false, true, 0, 0, false},
        {"ready for a part", true, true, true, 0, 0.5, true},
        {"behind another of the test", true, true, true, 0.5, 0.5, false},
        {"behind another for a part", true, true, true, 0.5, 1, true},
        {"unknown", true, true, false, 0, 0, true},
        {"threads come and go", false, true, true, 0, 0, true},
    };
    foreach (row, rows, row->name) {
        begin(row->is_listed, row->has_budget, row->counts_waits);
        lose(row->ran, row->waited);
        if (row->is_taken)
            check_taken();
        else
            check_kept("idle_gap");
    }
}

TEST(what_is_told_of_a_lost_burst)
{
    begin(true, true, true);
    process_cpu_ns += LOST_NS / 4;
    lose(0, 1);
    expect_event("throttled", "in a burst of 60000 us the test's threads had the CPU for only "
                              "15000 us: ");
    arena_free(run.arena);
}

TEST(what_to_do_about_a_lost_burst)
{
    begin(true, true, true);
    lose(0, 1);
    CHECK_HOLDS(run.outcome.remedy, "lift the limit on real-time threads");
    arena_free(run.arena);
    begin(true, false, true);
    lose(0, 1);
    CHECK_HOLDS(run.outcome.remedy, "a dedicated CPU");
    arena_free(run.arena);
}

/* Nobody watches for stops any more: it was noted before. */
TEST(a_stop_explains_a_loss)
{
    begin(true, true, true);
    stops_add(run.arena, fake_now_ns + 1);
    lose(0, 1);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK(!event("throttled"));
    arena_free(run.arena);
}

/* ---- steal time ---- */

/* Loses a burst, of which the host took the part `stolen`, less `untold_ns`. */
static void lose_to_host(double stolen, int64_t untold_ns)
{
    stolen_part = stolen;
    stolen_untold_ns = untold_ns;
    lose(0, 1);
    stolen_part = 0;
    stolen_untold_ns = 0;
}

TEST(stolen)
{
    static const struct {
        const char *name;
        double part;
        int64_t untold_ns;
        int cpu_before, cpu, steal_cpu; /* 0: any */
        bool is_taken;
    } rows[] = {
        {"whole", 1, 0, 0, 0, 0, false},
        {"but for a step of its count", 1, 10000000, 0, 0, 0, false},
        {"half: the rest is as much as throttling takes", 0.5, 0, 0, 0, 0, true},
        {"on the CPU of a thread that is not bound", 1, 0, 2, 2, 2, false},
        {"on another CPU", 1, 0, 1, 1, 2, true},
        {"on one of two CPUs", 1, 0, 1, 2, 0, true},
    };
    stolen_before_ns = 1000;
    foreach (row, rows, row->name) {
        begin(true, true, true);
        fake_port.current_cpu = row->cpu_before;
        fake_port.steal_cpu = row->steal_cpu;
        burst_next(&run);
        fake_port.current_cpu = row->cpu;
        lose_to_host(row->part, row->untold_ns);
        if (row->is_taken)
            check_taken();
        else
            check_kept("throttled");
    }
}

/* What was stolen before the last rest explains nothing. */
TEST(stolen_before)
{
    stolen_before_ns = 100 * LOST_NS;
    begin(true, true, true);
    fake_port.steal_ns += 100 * LOST_NS;
    run.rt_budget.rested_ns++;
    burst_next(&run);
    lose_to_host(0, 0);
    check_taken();
}

/* The same ns of steal do not explain two losses. */
TEST(stolen_once)
{
    stolen_before_ns = 1000;
    begin(true, true, true);
    lose_to_host(1, 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    lose_to_host(0, 0);
    check_taken();
}

/* ---- rests ---- */

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
    spins = true;
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
    foreach (row, rows, NULL) {
        fake_port.group = row->group;
        fake_port.most_ns = 950000000;
        init(true, 100000000, 1000000000);
        CHECK_TEXT(rt_budget_lift_command(&rt_budget), row->command);
        CHECK_SAME(rt_budget.burst_ns, 80000000);
        CHECK_SAME(rt_budget_pause_ns(&rt_budget), 900000000);
    }
    fake_port.group = NULL;
}

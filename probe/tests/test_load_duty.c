/* Duty cycles and rates of a load: periods lie on a fixed grid and do not drift. */
#include "base/posix_source.h"

#include "load/duty.h"
#include "load/rate.h"
#include "port/port.h"
#include "tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS INT64_C(1000000)

/* A piece that takes `piece_ns`; ends the load after so many of them. */
struct piece {
    int64_t ns;
    int left;
    bool is_idle;
    int64_t begun_ns[64];
    int done;
};

static struct load_map map;
static struct load_slot slot;

#ifdef WRAPPED
int64_t __real_port_run_delay_ns(void);
int64_t __wrap_port_run_delay_ns(void);

/* Once, when it is armed: another has the CPU between a reading of the delay and what comes next.
 */
static bool is_armed;
static int64_t injected_ns;

int64_t __wrap_port_run_delay_ns(void)
{
    int64_t delay_ns = __real_port_run_delay_ns();
    int64_t told_ns = delay_ns < 0 ? delay_ns : delay_ns + injected_ns;
    if (is_armed && delay_ns >= 0) {
        is_armed = false;
        int64_t begin_ns = duty_now_ns();
        duty_sleep_until(begin_ns + 50 * MS);
        /* a real wait after the sleep is told by the kernel already */
        injected_ns += duty_now_ns() - begin_ns - (__real_port_run_delay_ns() - delay_ns);
    }
    return told_ns;
}
#else
static bool is_armed;
static int64_t injected_ns;
#endif

/* Time in which this process did not wait for a CPU: that is not counted as work. */
static int64_t unhindered_ns(void)
{
    int64_t delay_ns = port_run_delay_ns(), before_ns, now_ns;
    do {
        before_ns = delay_ns;
        now_ns = duty_now_ns();
        delay_ns = port_run_delay_ns();
    } while (delay_ns != before_ns);
    return now_ns - (delay_ns > 0 ? delay_ns : 0);
}

static void work(struct worker *worker)
{
    struct piece *piece = worker->own;
    int64_t begin_ns = unhindered_ns();
    piece->begun_ns[piece->done++ % 64] = duty_now_ns();
    worker->is_idle = piece->is_idle;
    for (int64_t left_ns = piece->ns; left_ns > 0; left_ns = begin_ns + piece->ns - unhindered_ns())
        duty_sleep_until(duty_now_ns() + left_ns);
    if (--piece->left == 0)
        atomic_store(&map.stop, 1);
}

static const struct load_element by_wall = {
    .name = "sleep", .kind = LOAD_SHARE, .judged_by_wall = true, .work = work};

static void keep(struct piece *piece, const struct load_element *element, int64_t busy_ns,
                 int64_t period_ns)
{
    struct load_degree degree = {.busy_ns = busy_ns, .period_ns = period_ns};
    struct worker worker = {.element = element,
                            .degree = &degree,
                            .map = &map,
                            .slot = &slot,
                            .places = 1,
                            .supervisor = getppid(),
                            .own = piece};
    atomic_store(&map.stop, 0);
    memset(&slot, 0, sizeof slot);
    atomic_store(&slot.state, WORKER_READY);
    duty_keep(&worker);
}

static uint64_t counted(int counter)
{
    return atomic_load(&slot.counters[counter]);
}

static void test_busy_is_what_the_pieces_took(void)
{
    struct piece piece = {.ns = 2 * MS, .left = 5};
    int64_t start_ns = duty_now_ns();
    keep(&piece, &by_wall, 2 * MS, 10 * MS);
    int64_t all_ns = duty_now_ns() - start_ns;
    CHECK_SAME(counted(COUNTER_ROUNDS), 5);
    CHECK(counted(COUNTER_BUSY_NS) >= 10 * (uint64_t)MS);
    CHECK((int64_t)counted(COUNTER_BUSY_NS) <= all_ns);
    CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS);
    CHECK(all_ns >= 42 * MS); /* five periods, the last not to its end */
}

/* A piece of three times the share may come every third period only. */
static void test_an_overdraft_is_paid_back(void)
{
    struct piece piece = {.ns = 6 * MS, .left = 4};
    int64_t start_ns = duty_now_ns();
    keep(&piece, &by_wall, 2 * MS, 10 * MS);
    CHECK(duty_now_ns() - start_ns >= 3 * 30 * MS + 6 * MS - 10 * MS);
    CHECK_SAME(counted(COUNTER_ROUNDS), 4);
}

static void test_an_idle_piece_does_not_count(void)
{
    struct piece piece = {.ns = 2 * MS, .left = 3, .is_idle = true};
    keep(&piece, &by_wall, 5 * MS, 10 * MS);
    CHECK_SAME(counted(COUNTER_BUSY_NS), 0);
    CHECK_SAME(counted(COUNTER_ROUNDS), 0);
    CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS); /* as far as it can */
}

/* A process that is stopped works nothing, whatever the clock says. */
static void work_and_be_stopped(struct worker *worker)
{
    pid_t self = getpid(), waker = fork();
    if (waker == 0) {
        duty_sleep_until(duty_now_ns() + 100 * MS);
        kill(self, SIGCONT);
        _exit(0);
    }
    kill(self, SIGSTOP);
    waitpid(waker, NULL, 0);
    work(worker);
}

static void test_stopped_time_does_not_count(void)
{
    struct load_element stopped = by_wall;
    stopped.work = work_and_be_stopped;
    struct piece piece = {.ns = 0, .left = 2};
    keep(&piece, &stopped, 10 * MS, 10 * MS);
    CHECK_SAME(piece.done, 2);
    CHECK((int64_t)counted(COUNTER_BUSY_NS) <= 2 * 10 * MS);
}

/* Both want the one CPU: of the time on the clock it gets a part. */
static int64_t waited_ns;

static void work_beside_another(struct worker *worker)
{
    int64_t before_ns = port_run_delay_ns();
    int64_t until_ns = duty_now_ns() + 200 * MS;
    while (duty_now_ns() < until_ns)
        ;
    waited_ns = port_run_delay_ns() - before_ns;
    work(worker);
}

static void test_waiting_for_a_cpu_does_not_count(void)
{
    struct cpus allowed;
    if (port_run_delay_ns() < 0 || port_allowed_cpus(&allowed) < 1) {
        tap_skip("the time spent waiting for a CPU is not known here");
        return;
    }
    CHECK_SAME(port_pin_self(cpus_first(&allowed)), 0);
    pid_t other = fork();
    for (alarm(other == 0 ? 10 : 0); other == 0;)
        ;
    struct load_element beside = by_wall;
    beside.work = work_beside_another;
    struct piece piece = {.ns = 0, .left = 1};
    int64_t start_ns = duty_now_ns();
    keep(&piece, &beside, 900 * MS, 1000 * MS);
    int64_t all_ns = duty_now_ns() - start_ns;
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    CHECK(waited_ns > 0);
    CHECK((int64_t)counted(COUNTER_BUSY_NS) <= all_ns - waited_ns);
    (void)port_bind_self(&allowed);
}

static bool arm_at_end;

static void sleep_and_arm(struct worker *worker)
{
    struct piece *piece = worker->own;
    duty_sleep_until(duty_now_ns() + piece->ns);
    atomic_store(&map.stop, 1);
    is_armed = arm_at_end;
}

/* A wait between reading delay and clock, at the begin of a piece or at its end, is no work. */
static void test_a_wait_between_two_readings_does_not_count(void)
{
    if (!tap_is_wrapped())
        return;
    if (port_run_delay_ns() < 0) {
        tap_skip("the time spent waiting for a CPU is not known here");
        return;
    }
    struct load_element sleeper = by_wall;
    sleeper.work = sleep_and_arm;
    for (int is_at_end = 0; is_at_end < 2; is_at_end++) {
        struct piece piece = {.ns = 20 * MS};
        int64_t before_ns = injected_ns, start_ns = duty_now_ns();
        arm_at_end = is_at_end;
        is_armed = !is_at_end;
        keep(&piece, &sleeper, 900 * MS, 1000 * MS);
        int64_t all_ns = duty_now_ns() - start_ns;
        CHECK(injected_ns - before_ns >= 49 * MS);
        CHECK((int64_t)counted(COUNTER_BUSY_NS) >= piece.ns - MS);
        CHECK((int64_t)counted(COUNTER_BUSY_NS) <= all_ns - (injected_ns - before_ns));
    }
}

/* Sleeping takes no CPU time, so a share of that is not used up: the period ends it. */
static void test_cpu_time_is_not_wall_time(void)
{
    struct load_element by_cpu = by_wall;
    by_cpu.judged_by_wall = false;
    struct piece piece = {.ns = MS, .left = 12};
    uint64_t before_ns = (uint64_t)worker_cpu_ns(); /* of the tests before this one */
    keep(&piece, &by_cpu, 2 * MS, 8 * MS);
    CHECK(counted(COUNTER_BUSY_NS) >= 11 * (uint64_t)MS);
    CHECK(counted(COUNTER_CPU_NS) - before_ns < counted(COUNTER_BUSY_NS));
}

static void test_a_lost_parent_ends_it(void)
{
    struct piece piece = {.ns = MS, .left = 1000};
    struct load_degree degree = {.busy_ns = MS, .period_ns = 2 * MS};
    struct worker worker = {.element = &by_wall,
                            .degree = &degree,
                            .map = &map,
                            .slot = &slot,
                            .places = 1,
                            .supervisor = getppid() + 1,
                            .own = &piece};
    atomic_store(&map.stop, 0);
    duty_keep(&worker);
    CHECK_SAME(piece.done, 0);
}

static void test_a_rate_is_on_a_grid(void)
{
    struct rate rate;
    rate_start(&rate, 3, 1000);
    int64_t expected[] = {333333333, 666666666, 1000000000, 1333333333};
    for (int i = 0; i < 4; i++) {
        CHECK_SAME(rate_next_ns(&rate), 1000 + expected[i]);
        rate_step(&rate);
    }
    for (int i = 4; i < 3 * 3600; i++)
        rate_step(&rate);
    CHECK_SAME(rate_next_ns(&rate), 1000 + INT64_C(3600000000000) + 333333333); /* no drift */
}

static void test_what_is_late_is_left_out_and_counted(void)
{
    struct rate rate;
    rate_start(&rate, 1000, 0);
    CHECK_SAME(rate_skip(&rate, 500000, 0), 0);
    CHECK_SAME(rate_skip(&rate, 10 * MS + 500000, 0), 10);
    CHECK_SAME(rate_next_ns(&rate), 11 * MS);
    CHECK_SAME(rate_skip(&rate, 20 * MS, 100 * MS), 0);
    int64_t hour_ns = INT64_C(3600000000000);
    int64_t skipped = rate_skip(&rate, hour_ns, 0);
    CHECK(rate_next_ns(&rate) >= hour_ns && rate_next_ns(&rate) <= hour_ns + MS);
    CHECK_SAME(10 + skipped, rate_next_ns(&rate) / MS - 1);
}

TAP_MAIN({"busy is what the pieces took", test_busy_is_what_the_pieces_took},
         {"an overdraft is paid back", test_an_overdraft_is_paid_back},
         {"an idle piece does not count", test_an_idle_piece_does_not_count},
         {"stopped time does not count", test_stopped_time_does_not_count},
         {"CPU time is not wall time", test_cpu_time_is_not_wall_time},
         {"a lost parent ends it", test_a_lost_parent_ends_it},
         {"a rate is on a grid", test_a_rate_is_on_a_grid},
         {"what is late is left out and counted", test_what_is_late_is_left_out_and_counted},
         {"a wait between two readings does not count",
          test_a_wait_between_two_readings_does_not_count},
         {"waiting for a CPU does not count", test_waiting_for_a_cpu_does_not_count})

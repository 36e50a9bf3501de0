/* Run delay as the kernel tells it: what a worker waited for a CPU beside another is not counted as
 * work. test_load_duty has the same with waits that are made up. */
#include "base/posix_source.h"

#include "load/duty.h"
#include "port/port.h"
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define MS INT64_C(1000000)

static struct load_map map;
static struct load_slot slot;
static int64_t waited_ns;

/* Both want the one CPU: of the time on the clock it gets a part. */
static void work_beside_another(struct worker *worker)
{
    (void)worker;
    int64_t before_ns = port_run_delay_ns();
    int64_t until_ns = duty_now_ns() + 200 * MS;
    while (duty_now_ns() < until_ns)
        ;
    waited_ns = port_run_delay_ns() - before_ns;
    atomic_store(&map.stop, 1);
}

static pid_t spin_beside(void)
{
    pid_t other = fork();
    for (alarm(other == 0 ? 10 : 0); other == 0;)
        ;
    return other;
}

TEST(waiting_for_a_cpu_does_not_count)
{
    static const struct load_element beside = {
        .name = "spin", .kind = LOAD_SHARE, .judged_by_wall = true, .work = work_beside_another};
    struct load_degree degree = {.busy_ns = 900 * MS, .period_ns = 1000 * MS};
    struct worker worker = {.element = &beside,
                            .degree = &degree,
                            .map = &map,
                            .slot = &slot,
                            .places = 1,
                            .supervisor = getppid()};
    struct cpus allowed;
    if (port_run_delay_ns() < 0 || port_allowed_cpus(&allowed) < 1) {
        tap_skip("the time spent waiting for a CPU is not known here");
        return;
    }
    CHECK_SAME(port_pin_self(cpus_first(&allowed)), 0);
    pid_t other = spin_beside();
    int64_t start_ns = duty_now_ns();
    duty_keep(&worker);
    int64_t all_ns = duty_now_ns() - start_ns;
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    CHECK(waited_ns > 0);
    CHECK((int64_t)atomic_load(&slot.counters[COUNTER_BUSY_NS]) <= all_ns - waited_ns);
}

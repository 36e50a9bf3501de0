/* Processes of a load that are stopped (SIGSTOP), or wait for a CPU: what is counted and reported,
 * and that the load still ends. */
#include "running_load.h"

#include "load/element.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

HOST_TEST_IN(start("storm=3"), load_free(&load), a_stopped_storm_does_not_count)
{
    signal_slot(0, SIGSTOP);
    signal_slot(2, SIGSTOP);
    load.is_measured = false;
    do { /* each must run to be stopped */
        load_begin(&load);
        pass_ms(50);
        load_end(&load);
    } while (reached(0).reached != 1);
    end();
    CHECK_HOLDS(text_of("load_short"), "storm reached 1 of 3");
}

static void wait_for_stop(int slot, bool is_stopped)
{
    while ((atomic_load(&load.map->slots[slot].stopped_ns) < 0) != is_stopped)
        pass_ms(1);
}

/* Stopped within the window for `stopped_ms`, which is at most `part` of it. */
static void stop_for(int slot, long stopped_ms, double part)
{
    load_begin(&load);
    int64_t begun_ns = now_ns();
    signal_slot(slot, SIGSTOP);
    wait_for_stop(slot, true);
    pass_ms(stopped_ms);
    signal_slot(slot, SIGCONT);
    wait_for_stop(slot, false);
    int64_t least_ns = (int64_t)((double)(now_ns() - begun_ns) / part);
    while (now_ns() - begun_ns < least_ns)
        pass_ms(1);
    load_end(&load);
}

/* It is told that search was stopped for as long as the window says: that time. */
static int64_t told_stop_ns(void)
{
    char text[96];
    int64_t stopped_ns = load.end.samples[0].stopped_ns - load.begin.samples[0].stopped_ns;
    snprintf(text, sizeof text, "search: 1 of 1 processes were stopped for up to %.3g s of",
             (double)stopped_ns / 1e9);
    CHECK(is_told("load_short", text));
    return stopped_ns;
}

HOST_TEST_IN(start("search+storm=2"), load_free(&load), a_stop_in_between_is_told)
{
    pass_ms(50);
    stop_for(0, 300, 1);
    end();
    CHECK(told_stop_ns() <= load.end.at_ns - load.begin.at_ns);
    CHECK_SAME(*text_of("load_ended_early"), 0); /* a stop is no end */
    CHECK(reached(0).processes == 1 && reached(1).processes == 2);
    CHECK_SAME(load.end.samples[1].stopped_ns, 0);
}

HOST_TEST_IN(start("search"), load_free(&load), a_short_stop_is_not_told)
{
    stop_for(0, 20, 0.1);
    end();
    CHECK(load.end.samples[0].stopped_ns > 0);
    CHECK(!is_told("load_short", "were stopped"));
}

/* It is stopped at both ends of the window, and never noted as going on. */
TEST_IN(start("search"), load_free(&load), one_that_stays_stopped_is_told)
{
    signal_slot(0, SIGSTOP);
    wait_for_stop(0, true);
    load_begin(&load);
    pass_ms(100);
    end();
    CHECK(is_told("load_short", "search made no round"));
    CHECK(told_stop_ns() >= 100000000);
}

/* A degree that cannot be kept, since nothing works at all. */
TEST_IN(start("interrupt=500/s"), load_free(&load), a_stopped_worker_falls_short)
{
    signal_slot(0, SIGSTOP);
    wait_for_stop(0, true);
    load_begin(&load);
    pass_ms(300);
    end();
    CHECK(reached(0).reached < 400);
    CHECK_HOLDS(text_of("load_short"), "interrupt reached");
}

/* Stopped at both ends of the window and all between: its timers shoot nevertheless. Where it is
 * stopped for longer than they are armed ahead, some are not there: then again. */
HOST_TEST(what_fired_beside_a_stopped_worker_counts)
{
    int64_t stopped_ns = INT64_MAX;
    bool is_whole = false;
    for (int i = 0; stopped_ns > 900000000 || !is_whole; i++) {
        if (i > 0)
            load_free(&load);
        if (!start("interrupt=500/s"))
            return;
        pass_ms(50 * i); /* it must have armed all */
        int64_t begun_ns = now_ns();
        signal_slot(0, SIGSTOP);
        wait_for_stop(0, true);
        pass_ms(50);
        load_begin(&load);
        pass_ms(400);
        load_end(&load);
        pass_ms(50);
        signal_slot(0, SIGCONT);
        stopped_ns = now_ns() - begun_ns;
        while (atomic_load(&load.map->slots[0].counted_ns) < load.end.at_ns)
            pass_ms(10); /* load_stop waits for less than others may keep the worker from its CPU */
        load_stop(&load);
        is_whole = has_all(500);
    }
    load_events(&load, tell, NULL);
    CHECK(!is_told("load_short", "interrupt reached"));
    load_free(&load);
}

/* Stops a process again and again, until this process ends it, or has died. */
static pid_t stop_always(pid_t process)
{
    pid_t parent = getpid(), stopper = fork();
    for (; stopper == 0 && getppid() == parent; pass_ms(1))
        kill(process, SIGSTOP);
    if (stopper == 0)
        _exit(0);
    return stopper;
}

/* Whatever is stopped, the end comes, and long before the limit of the load. */
static void check_it_ends(void)
{
    pid_t worker = (pid_t)atomic_load(&load.map->slots[0].process);
    int64_t limit_ns = load.setup.limit_ns;
    load_stop(&load);
    CHECK_SAME(atomic_load(&load.map->supervisor_ended_ns), 0); /* none was replaced */
    CHECK(now_ns() < limit_ns - LIMIT_NS / 2);
    while (kill(worker, 0) == 0)
        pass_ms(10);
}

TEST_IN(start("storm=1"), load_free(&load), a_stopped_guard_ends)
{
    kill(load.guard, SIGSTOP);
    check_it_ends();
}

TEST_IN(start("storm=1"), load_free(&load), a_guard_that_stays_stopped_ends)
{
    pid_t stopper = stop_always(load.guard);
    check_it_ends();
    kill(stopper, SIGKILL);
    waitpid(stopper, NULL, 0);
}

TEST_IN(start("storm=1"), load_free(&load), a_stopped_supervisor_ends)
{
    kill(supervisor_of_load(), SIGSTOP);
    check_it_ends();
}

TEST_IN(start("storm=1"), load_free(&load), a_stopped_supervisor_without_guard_ends)
{
    kill(supervisor_of_load(), SIGSTOP);
    kill(load.guard, SIGKILL);
    check_it_ends();
}

/* ---- one that waits for a CPU: test_load_duty has waits that are made up ---- */

static struct load_map map;
static struct load_slot slot;
static int64_t waited_ns;

/* Both want the one CPU: of the time on the clock it gets a part. */
static void work_beside_another(struct worker *worker)
{
    (void)worker;
    int64_t before_ns = port_run_delay_ns();
    int64_t until_ns = duty_now_ns() + INT64_C(200000000);
    while (duty_now_ns() < until_ns)
        ;
    waited_ns = port_run_delay_ns() - before_ns;
    atomic_store(&map.stop, 1);
}

TEST(waiting_for_a_cpu_does_not_count)
{
    static const struct load_element beside = {
        .name = "spin", .kind = LOAD_SHARE, .judged_by_wall = true, .work = work_beside_another};
    struct load_degree degree = {.busy_ns = 900000000, .period_ns = 1000000000};
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
    pid_t other = fork();
    if (other == 0)
        (void)port_kill_with_parent(getppid());
    while (other == 0)
        ;
    int64_t start_ns = duty_now_ns();
    duty_keep(&worker);
    int64_t all_ns = duty_now_ns() - start_ns;
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    CHECK(waited_ns > 0);
    CHECK((int64_t)atomic_load(&slot.counters[COUNTER_BUSY_NS]) <= all_ns - waited_ns);
}

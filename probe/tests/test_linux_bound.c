/* Processes that may run on one CPU only: which are listed. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"
#include "tap.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 512 };

static int some_cpu(void)
{
    struct cpus allowed;
    port_allowed_cpus(&allowed);
    return cpus_last(&allowed);
}

static bool is_listed(int cpu, pid_t process)
{
    pid_t list[MOST];
    int count = port_bound_processes(cpu, list, MOST);
    CHECK(count >= 0);
    for (int i = 0; i < count; i++)
        if (list[i] == process)
            return true;
    return false;
}

/* Sleeps until it is killed, also with its parent. */
static pid_t start_sleeper(void)
{
    pid_t parent = getpid(), child = fork();
    if (child != 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent)
        pause();
    _exit(0);
}

static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

/* A process that is not a child of this one: its id. `between`: its parent. */
static pid_t start_stranger(pid_t *between)
{
    int ends[2];
    pid_t stranger = -1;
    CHECK_SAME(pipe(ends), 0);
    *between = fork();
    if (*between == 0) {
        stranger = start_sleeper();
        if (write(ends[1], &stranger, sizeof stranger) != sizeof stranger)
            _exit(1);
        for (;;)
            pause();
    }
    CHECK_SAME(read(ends[0], &stranger, sizeof stranger), sizeof stranger);
    close(ends[0]);
    close(ends[1]);
    return stranger;
}

static void bind_process(pid_t process, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    CHECK_SAME(sched_setaffinity(process, sizeof set, &set), 0);
}

static void test_a_bound_stranger_is_listed(void)
{
    struct cpus allowed;
    bool has_others = port_allowed_cpus(&allowed) > 1;
    pid_t between, stranger = start_stranger(&between);
    CHECK(!has_others || !is_listed(some_cpu(), stranger));
    bind_process(stranger, some_cpu());
    CHECK(is_listed(some_cpu(), stranger));
    CHECK(!has_others || !is_listed(cpus_first(&allowed), stranger));
    end_child(between);
}

static void test_a_real_time_one_is_not(void)
{
    pid_t between, stranger = start_stranger(&between);
    struct sched_param priority = {.sched_priority = 1};
    bind_process(stranger, some_cpu());
    if (sched_setscheduler(stranger, SCHED_FIFO, &priority) == 0)
        CHECK(!is_listed(some_cpu(), stranger));
    else
        tap_skip("no right to real-time scheduling here");
    end_child(between);
}

static void test_neither_itself_nor_its_children_are(void)
{
    pid_t child = start_sleeper();
    bind_process(child, some_cpu());
    CHECK(!is_listed(some_cpu(), child));
    CHECK(!is_listed(some_cpu(), getpid()));
    end_child(child);
}

static void test_without_a_cpu_nothing_is_told(void)
{
    pid_t list[1];
    CHECK_SAME(port_bound_processes(-1, list, 1), -1);
}

TAP_MAIN({"a bound stranger is listed", test_a_bound_stranger_is_listed},
         {"a real-time one is not", test_a_real_time_one_is_not},
         {"neither itself nor its children are", test_neither_itself_nor_its_children_are},
         {"without a CPU nothing is told", test_without_a_cpu_nothing_is_told})

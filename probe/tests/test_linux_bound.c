/* Processes of the system that may run on one CPU only: which are listed. */
#include "port/linux/files.h"
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

/* There are always some: each CPU has its own. */
TEST(threads_of_the_kernel_are)
{
    pid_t list[MOST];
    char name[64];
    int cpu = some_cpu(), count = port_bound_processes(cpu, list, MOST);
    if (!linux_read("/proc/2/comm", name, sizeof name) || strcmp(name, "kthreadd") != 0) {
        CHECK_SAME(count, 0);
        return;
    }
    CHECK(count > 0);
    for (int i = 0; i < count; i++) {
        char path[64], link[8];
        snprintf(path, sizeof path, "/proc/%ld/exe", (long)list[i]);
        CHECK(readlink(path, link, sizeof link) < 0);
    }
}

TEST(a_process_of_a_user_is_not)
{
    pid_t child = start_sleeper();
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)some_cpu(), &set);
    CHECK_SAME(sched_setaffinity(child, sizeof set, &set), 0);
    CHECK(!is_listed(some_cpu(), child));
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST(without_a_cpu_nothing_is_told)
{
    pid_t list[1];
    CHECK_SAME(port_bound_processes(-1, list, 1), -1);
}

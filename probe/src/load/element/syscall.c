/* syscall: a sequence of short system calls, each of which enters the kernel. */
#include "base/posix_source.h"

#include "load/element.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { CALLS = COUNTER_OWN, SEQUENCES = 8 };

static int who(void)
{
    return (getppid() >= 0 ? 1 : 0) + (getuid() != (uid_t)-1 ? 1 : 0) +
           (getgid() != (gid_t)-1 ? 1 : 0);
}

static int look(void)
{
    struct stat facts;
    struct utsname names;
    char folder[512];
    int calls = stat("/", &facts) == 0 ? 1 : 0;
    calls += uname(&names) == 0 ? 1 : 0;
    calls += access("/", R_OK) == 0 ? 1 : 0;
    return calls + (getcwd(folder, sizeof folder) ? 1 : 0);
}

static int account(void)
{
    struct rusage usage;
    struct rlimit limit;
    struct tms ticks;
    int calls = getrusage(RUSAGE_SELF, &usage) == 0 ? 1 : 0;
    calls += getrlimit(RLIMIT_NOFILE, &limit) == 0 ? 1 : 0;
    return calls + (times(&ticks) != (clock_t)-1 ? 1 : 0);
}

static int signals(void)
{
    sigset_t mask, pending;
    sigemptyset(&mask);
    int calls = sigprocmask(SIG_BLOCK, &mask, NULL) == 0 ? 1 : 0;
    calls += sigpending(&pending) == 0 ? 1 : 0;
    return calls + (kill(getpid(), 0) == 0 ? 2 : 0);
}

static int descriptors(void)
{
    int file = open("/", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
    int calls = 1 + (copy >= 0 ? 1 : 0);
    struct stat facts;
    calls += fstat(file, &facts) == 0 ? 1 : 0;
    calls += copy >= 0 && close(copy) == 0 ? 1 : 0;
    return calls + (close(file) == 0 ? 1 : 0);
}

static void work(struct worker *worker)
{
    int calls = 0;
    for (int i = 0; i < SEQUENCES; i++) {
        calls += who() + look() + account() + signals() + descriptors();
        calls += nice(0) >= 0 ? 1 : 0;
    }
    worker_count(worker, CALLS, (uint64_t)calls);
}

const struct load_element load_syscall = {
    .name = "syscall",
    .title = "a sequence of utility system calls",
    .kind = LOAD_SHARE,
    .default_degree = "10ms/100ms",
    .counters = {"busy_ns", "cpu_ns", NULL, "rounds_count", "calls_count"},
    .work = work,
};

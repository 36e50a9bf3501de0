#include "base/posix_source.h"

#include "port/linux/trace_guard.h"

#include "port/linux/tracefs.h"
#include "port/port.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TRIES = 500, PAUSE_NS = 20000000 };

/* Other processes that end with the owner may have files of the instance open a little longer. */
static void remove_instance(const char *instance)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    char path[TRACEFS_PATH_BYTES + 20];
    snprintf(path, sizeof path, "%s/tracing_on", instance);
    (void)tracefs_write(path, "0", NULL);
    for (int i = 0; i < TRIES && tracefs_remove(instance) != 0; i++)
        nanosleep(&pause, NULL);
}

/* Leaves nothing open but `ready`, as descriptor 0. */
static void become_guard(int ready)
{
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    port_leave_session();
    port_name_self("hs-trace-guard");
    (void)!chdir("/");
    dup2(ready, 0);
    port_close_from(1);
}

static _Noreturn void live(const char *instance, pid_t owner, int ready)
{
    const char there = 1;
    sigset_t end;
    become_guard(ready);
    sigemptyset(&end);
    sigaddset(&end, SIGTERM); /* of port_end_with; anybody else may send it too */
    if (port_end_with(owner) == 0)
        (void)!write(0, &there, 1);
    close(0);
    while (getppid() == owner)
        sigwaitinfo(&end, NULL);
    remove_instance(instance);
    _exit(0);
}

static bool is_there(int ready)
{
    char there;
    ssize_t got;
    while ((got = read(ready, &there, 1)) < 0 && errno == EINTR)
        ;
    return got == 1;
}

pid_t trace_guard_start(const char *instance)
{
    int ready[2];
    pid_t owner = getpid();
    if (pipe(ready) != 0)
        return -1;
    pid_t guard = port_fork();
    if (guard == 0)
        live(instance, owner, ready[1]);
    int error = guard < 0 ? errno : 0;
    close(ready[1]);
    if (guard > 0 && !is_there(ready[0])) {
        trace_guard_dismiss(guard);
        error = ENOTSUP;
    }
    close(ready[0]);
    errno = error;
    return error ? -1 : guard;
}

void trace_guard_dismiss(pid_t guard)
{
    if (guard <= 0)
        return;
    kill(guard, SIGKILL); /* it holds nothing */
    while (waitpid(guard, NULL, 0) < 0 && errno == EINTR)
        ;
}

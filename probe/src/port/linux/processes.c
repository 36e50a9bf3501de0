/* Child processes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

bool port_has_processes(void)
{
    return true;
}

pid_t port_fork(void)
{
    return fork();
}

bool port_has_ended(pid_t process, bool *is_well)
{
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        end.si_pid != process)
        return false;
    *is_well = end.si_code == CLD_EXITED && end.si_status == 0;
    return true;
}

int port_wait_for(pid_t process)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(process, &status, 0)) < 0 && errno == EINTR)
        ;
    return ended == process && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ECHILD;
}

void port_leave_session(void)
{
    setsid();
}

int port_kill_with_parent(pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
        return errno;
    return getppid() == parent ? 0 : ESRCH; /* it may have ended before prctl */
}

int port_stops_open(int end)
{
    struct epoll_event event = {.events = EPOLLIN};
    int stops = epoll_create1(EPOLL_CLOEXEC);
    if (stops >= 0 && epoll_ctl(stops, EPOLL_CTL_ADD, end, &event) != 0) {
        int error = errno;
        close(stops);
        errno = error;
        return -1;
    }
    return stops;
}

/* epoll_wait is not restarted after a stop, although no handler ran (signal(7)). SIGCONT alone does
 * not interrupt it, and a host that stops the whole machine neither. */
bool port_wait_for_stop(int stops)
{
    struct epoll_event event;
    prctl(PR_SET_NAME, "stop-watch");
    return epoll_wait(stops, &event, 1, -1) < 0 && errno == EINTR;
}

void port_usage(struct port_usage *usage)
{
    struct rusage used;
    *usage = (struct port_usage){-1, -1, -1, -1};
    if (getrusage(RUSAGE_SELF, &used) == 0)
        *usage = (struct port_usage){used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw};
}

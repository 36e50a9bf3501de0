#include "base/posix_source.h"

#include "base/guard.h"

#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SIGNALS = 128 };

pid_t guard_fork(void)
{
    pid_t pid = port_fork();
    if (pid != 0)
        return pid;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    port_leave_session();
    return 0;
}

/* A thread of a runtime, such as a sanitizer's, may have them unblocked and would receive them. */
static void ignore_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_IGN;
    for (int number = 1; number < MOST_SIGNALS; number++)
        sigaction(number, &action, NULL); /* fails harmlessly for invalid numbers */
}

static void close_all_but(int end, int kept)
{
    int last = end > kept ? end : kept;
    for (int i = 0; i < last; i++)
        if (i != end && i != kept)
            close(i);
    port_close_from(last + 1);
}

/* True when the owner reports that all is undone; false when it ended without a report. */
static bool wait_for_word(int end, pid_t owner, int look_ms)
{
    for (;;) {
        struct pollfd wanted = {.fd = end, .events = POLLIN};
        char word;
        ssize_t got = -1;
        if ((look_ms < 0 || poll(&wanted, 1, look_ms) > 0) &&
            ((got = read(end, &word, 1)) >= 0 || errno != EINTR))
            return got == 1;
        if (look_ms >= 0 && getppid() != owner)
            return false;
    }
}

/* Writes a byte to `end` when the owner's end will be signalled. */
static void wait_for_signal(int end, pid_t owner)
{
    const char ready = 1;
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM); /* of port_end_with; anybody else may send it too */
    if (port_end_with(owner) == 0)
        (void)!write(end, &ready, 1);
    close(end);
    while (getppid() == owner)
        sigwaitinfo(&signals, NULL);
}

static _Noreturn void live(const struct guard_duty *duty, pid_t owner, int end)
{
    bool is_undone = false;
    if (duty->watch == GUARD_BY_PIPE)
        ignore_signals();
    if (duty->name)
        port_name_self(duty->name);
    close_all_but(end, duty->kept);
    if (!duty->keeps_folder)
        (void)!chdir("/");
    if (duty->watch == GUARD_BY_PIPE)
        is_undone = wait_for_word(end, owner, duty->look_ms);
    else
        wait_for_signal(end, owner);
    if (!is_undone)
        duty->undo(duty->context);
    _exit(0);
}

static void end_it(pid_t pid)
{
    kill(pid, SIGKILL); /* it holds nothing */
    port_wait_for(pid);
}

/* 0 when the guard waits for its signal; ENOTSUP when it has none. */
static int wait_until_ready(pid_t pid, int end)
{
    char ready;
    ssize_t got;
    while ((got = read(end, &ready, 1)) < 0 && errno == EINTR)
        ;
    if (got == 1)
        return 0;
    end_it(pid);
    return ENOTSUP;
}

int guard_start(struct guard *guard, const struct guard_duty *duty)
{
    int ends[2];
    bool is_piped = duty->watch == GUARD_BY_PIPE;
    pid_t owner = getpid();
    *guard = (struct guard){.pid = 0, .pipe = -1};
    if (pipe(ends) != 0)
        return errno;
    int own = ends[is_piped ? 1 : 0], theirs = ends[is_piped ? 0 : 1];
    fcntl(own, F_SETFD, FD_CLOEXEC);
    pid_t pid = guard_fork();
    if (pid == 0)
        live(duty, owner, theirs);
    int error = pid < 0 ? errno : 0;
    close(theirs);
    if (!error && !is_piped)
        error = wait_until_ready(pid, own);
    if (error || !is_piped)
        close(own);
    if (!error)
        *guard = (struct guard){.pid = pid, .pipe = is_piped ? own : -1};
    return error;
}

static void send_word(int pipe)
{
    const char done = 1;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* the guard may have been killed */
    while (write(pipe, &done, 1) < 0 && errno == EINTR)
        ;
    signal(SIGPIPE, before);
    close(pipe);
}

void guard_dismiss(struct guard *guard)
{
    if (guard->pid <= 0)
        return;
    if (guard->pipe >= 0) {
        send_word(guard->pipe);
        port_wait_for(guard->pid);
    } else {
        end_it(guard->pid);
    }
    guard->pid = 0;
}

#include "base/posix_source.h"

#include "shield/guard.h"

#include "port/port.h"
#include "shield/undo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOOK_MS = 1000, MOST_DESCRIPTORS = 1024, MOST_SIGNALS = 128 };

/* True when the owner reports that all is restored; false when it ended without a report. */
static bool wait_for_word(int end, pid_t owner)
{
    for (;;) {
        struct pollfd wanted = {.fd = end, .events = POLLIN};
        char word;
        int ready = poll(&wanted, 1, LOOK_MS);
        if (ready > 0)
            return read(end, &word, 1) == 1;
        if (getppid() != owner)
            return false;
    }
}

static void put_back(struct port_shield *port)
{
    struct journal *journal = port->journal;
    struct journal_image image;
    struct stat facts;
    char reason[200];
    if (fstat(journal->descriptor, &facts) != 0 || facts.st_nlink == 0 ||
        journal_reread(journal, &image, reason, sizeof reason) != 0)
        return;
    /* the guard has no output: shield --restore will report what failed */
    shield_undo_all(port, journal, &image, NULL, NULL);
}

static void close_all_but(int end, int journal)
{
    for (int i = 0; i < MOST_DESCRIPTORS; i++)
        if (i != end && i != journal)
            close(i);
}

/* Blocks all signals for this thread and ignores them for the process: a thread of a runtime, such
 * as a sanitizer's, may have them unblocked and would receive them. */
static void hold_signals_off(void)
{
    struct sigaction action;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_IGN;
    for (int number = 1; number < MOST_SIGNALS; number++)
        sigaction(number, &action, NULL); /* fails harmlessly for invalid numbers */
}

static void live(struct port_shield *port, int end, pid_t owner)
{
    hold_signals_off();
    port_leave_session();
    close_all_but(end, port->journal->descriptor);
    if (chdir("/") != 0 || !wait_for_word(end, owner))
        put_back(port);
    _exit(0);
}

int shield_guard_start(struct shield_guard *guard, struct port_shield *port)
{
    int ends[2];
    pid_t owner = getpid();
    guard->pid = 0;
    if (pipe(ends) != 0)
        return errno;
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t pid = port_fork();
    if (pid == 0)
        live(port, ends[0], owner);
    int error = pid < 0 ? errno : 0;
    close(ends[0]);
    if (error) {
        close(ends[1]);
        return error;
    }
    guard->pid = pid;
    guard->pipe = ends[1];
    return 0;
}

bool shield_guard_replace(struct shield_guard *guard, struct port_shield *port, pid_t pid)
{
    if (guard->pid <= 0 || pid != guard->pid)
        return false;
    close(guard->pipe);
    shield_guard_start(guard, port);
    return true;
}

void shield_guard_dismiss(struct shield_guard *guard)
{
    char done = 1;
    if (guard->pid <= 0)
        return;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN); /* the guard may have been killed */
    while (write(guard->pipe, &done, 1) < 0 && errno == EINTR)
        ;
    signal(SIGPIPE, before);
    close(guard->pipe);
    while (waitpid(guard->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    guard->pid = 0;
}

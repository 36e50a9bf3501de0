#include "base/posix_source.h"

#include "shield/shield.h"

#include "base/rt_thread.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int enders[] = {SIGINT,  SIGTERM, SIGHUP,    SIGQUIT, SIGUSR1,
                             SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF};
enum { ENDERS = sizeof enders / sizeof enders[0], MOST_SIGNALS = 128 };

/* No-op: it only keeps a blocked SIGCHLD from being discarded. */
static void ignore(int number)
{
    (void)number;
}

/* Signals whose default action ends the process and that others may send; without SIGKILL. */
static int signals_that_end(int numbers[MOST_SIGNALS])
{
    int count = 0;
    for (; count < ENDERS; count++)
        numbers[count] = enders[count];
#ifdef SIGRTMIN
    for (int number = SIGRTMIN; number <= SIGRTMAX && count < MOST_SIGNALS; number++)
        numbers[count++] = number;
#endif
    return count;
}

static void block(sigset_t *before, bool also_stops)
{
    int numbers[MOST_SIGNALS], count = signals_that_end(numbers);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (int i = 0; i < count; i++)
        sigaddset(&set, numbers[i]);
    if (also_stops) {
        sigaddset(&set, SIGTSTP);
        sigaddset(&set, SIGCONT);
    }
    sigprocmask(SIG_BLOCK, &set, before);
}

void shield_child_hold_signals(struct shield_signals *before)
{
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore; /* with SIG_DFL or SIG_IGN a blocked SIGCHLD may be discarded */
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, &old);
    before->ignores_children = old.sa_handler == SIG_IGN;
    block(&before->mask, false); /* SIGTSTP is blocked only once the command runs */
}

/* Signals may be ignored: nohup and shells set this for commands in the background. */
static bool is_ignored(int number)
{
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int shield_child_asked_to_end(void)
{
    int numbers[MOST_SIGNALS], count = signals_that_end(numbers);
    sigset_t pending;
    sigpending(&pending);
    for (int i = 0; i < count; i++)
        if (sigismember(&pending, numbers[i]) == 1 && !is_ignored(numbers[i]))
            return numbers[i];
    return 0;
}

struct failure {
    enum shield_child_step step;
    int error;
};

static void become(struct shield *shield, const struct shield_child *child, pid_t owner,
                   const struct shield_signals *before, int report)
{
    struct failure failure = {CHILD_ENTER, 0};
    int tie = port_kill_with_parent(owner); /* the command must not outlive the reservation */
    failure.error = tie == ENOTSUP ? 0 : tie;
    if (failure.error == 0)
        failure.error = shield_enter(shield);
    if (failure.error == 0 && child->has_policy) {
        failure.step = CHILD_POLICY;
        failure.error = rt_thread_set_self(child->policy, child->priority);
    }
    if (failure.error == 0) {
        failure.step = CHILD_EXEC;
        signal(SIGCHLD, before->ignores_children ? SIG_IGN : SIG_DFL);
        sigprocmask(SIG_SETMASK, &before->mask, NULL);
        execvp(child->words[0], child->words);
        failure.error = errno;
    }
    while (write(report, &failure, sizeof failure) < 0 && errno == EINTR)
        ;
    _exit(1);
}

static int exit_code(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reaps children that have ended; true if the command was among them. Replaces a killed guard. */
static bool reap(struct shield *shield, pid_t child, int *status)
{
    pid_t ended;
    int status_now;
    bool is_over = false;
    while ((ended = waitpid(-1, &status_now, WNOHANG)) > 0) {
        if (ended == child) {
            *status = status_now;
            is_over = true;
        } else {
            shield_guard_replace(&shield->guard, &shield->port, ended);
        }
    }
    return is_over;
}

/* True if the kernel sent the signal to the child as well. A terminal key signals the whole process
 * group. At a hangup the session leader may be the only one signalled, so a leader forwards it. */
static bool has_reached_both(int number, const siginfo_t *facts)
{
    bool is_leader = getsid(0) == getpid();
    bool is_key = number == SIGINT || number == SIGQUIT || number == SIGTSTP;
    bool is_hangup = number == SIGHUP || number == SIGCONT;
    return facts->si_code > 0 && (is_key || (is_hangup && !is_leader));
}

static void pass_on(pid_t child, int number, const siginfo_t *facts)
{
    if (facts->si_code != SI_QUEUE || sigqueue(child, number, facts->si_value) != 0)
        kill(child, number);
}

/* Stops by SIGTSTP, not SIGSTOP: the kernel ignores it in an orphaned process group, which no shell
 * could continue. */
static void stop_myself(void)
{
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static int wait_for_child(struct shield *shield, pid_t child)
{
    sigset_t set;
    int status = 0;
    sigprocmask(SIG_BLOCK, NULL, &set);
    while (!reap(shield, child, &status)) {
        siginfo_t facts;
        int number = sigwaitinfo(&set, &facts);
        if (number <= 0 || number == SIGCHLD)
            continue;
        if (!has_reached_both(number, &facts))
            pass_on(child, number, &facts);
        if (number == SIGTSTP)
            stop_myself();
    }
    return exit_code(status);
}

struct shield_child_end shield_child_run(struct shield *shield, const struct shield_child *child,
                                         const struct shield_signals *before)
{
    struct shield_child_end end = {.step = CHILD_FORK};
    struct failure failure;
    sigset_t held;
    int report[2];
    pid_t owner = getpid();
    if (pipe(report) != 0) {
        end.error = errno;
        return end;
    }
    fcntl(report[1], F_SETFD, FD_CLOEXEC);
    fcntl(report[0], F_SETFD, FD_CLOEXEC);
    block(&held, true);
    pid_t pid = port_fork();
    if (pid == 0)
        become(shield, child, owner, before, report[1]);
    end.error = pid < 0 ? errno : 0;
    close(report[1]);
    if (pid > 0) {
        ssize_t got;
        while ((got = read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR)
            ;
        end.step = got == sizeof failure ? failure.step : CHILD_RAN;
        end.error = got == sizeof failure ? failure.error : 0;
        end.code = wait_for_child(shield, pid);
    }
    close(report[0]);
    return end;
}

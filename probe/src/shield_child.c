#include "posix_source.h"

#include "shield_child.h"

#include "actor.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
enum { PASSED_ON = sizeof passed_on / sizeof passed_on[0] };

static void ignore(int number)
{
    (void)number;
}

static void waited_for(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    for (int i = 0; i < PASSED_ON; i++)
        sigaddset(set, passed_on[i]);
}

void shield_child_hold_signals(sigset_t *before)
{
    sigset_t set;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = ignore; /* the default may drop it although it is blocked */
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    waited_for(&set);
    sigprocmask(SIG_BLOCK, &set, before);
}

int shield_child_asked_to_end(void)
{
    sigset_t pending;
    sigpending(&pending);
    for (int i = 0; i < PASSED_ON; i++)
        if (sigismember(&pending, passed_on[i]))
            return passed_on[i];
    return 0;
}

struct failure {
    enum shield_child_step step;
    int error;
};

static void become(struct shield *shield, const struct shield_child *child, pid_t owner,
                   const sigset_t *before, int report)
{
    struct failure failure = {CHILD_ENTER, 0};
    int tie = port_die_with(owner); /* reserved CPUs do not outlive who reserved them */
    failure.error = tie == ENOTSUP ? 0 : tie;
    if (failure.error == 0)
        failure.error = shield_enter(shield);
    if (failure.error == 0 && child->policy != SCHED_OTHER) {
        failure.step = CHILD_POLICY;
        failure.error = actor_set_self(child->policy, child->priority);
    }
    if (failure.error == 0) {
        failure.step = CHILD_EXEC;
        signal(SIGCHLD, SIG_DFL);
        sigprocmask(SIG_SETMASK, before, NULL);
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

/* Reaps what has ended; true when it was the child. A guard that was killed is replaced. */
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

/* A signal that the kernel sent (a key on the terminal) has reached the child as well; one
 * that a process sent to this one alone has not. */
static int wait_for_child(struct shield *shield, pid_t child)
{
    sigset_t set;
    int status = 0;
    waited_for(&set);
    while (!reap(shield, child, &status)) {
        siginfo_t facts;
        int number = sigwaitinfo(&set, &facts);
        if (number > 0 && number != SIGCHLD && facts.si_code <= 0)
            kill(child, number);
    }
    return exit_code(status);
}

struct shield_child_end shield_child_run(struct shield *shield, const struct shield_child *child,
                                         const sigset_t *before)
{
    struct shield_child_end end = {.step = CHILD_FORK};
    struct failure failure;
    int report[2];
    pid_t owner = getpid();
    if (pipe(report) != 0) {
        end.error = errno;
        return end;
    }
    fcntl(report[1], F_SETFD, FD_CLOEXEC);
    fcntl(report[0], F_SETFD, FD_CLOEXEC);
    pid_t pid = fork();
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

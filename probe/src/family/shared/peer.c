#include "base/posix_source.h"

#include "family/shared/peer.h"

#include "run/supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAST_DEADLINE_S = 30, GRACE_S = 60 };

const char *const partner_scope_names[] = {"thread", "process", NULL};

void *partner_memory(size_t bytes, const struct leftover_place *place)
{
    int file = shm_open(place->name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0)
        return NULL;
    shm_unlink(place->name);
    void *memory = MAP_FAILED;
    if (ftruncate(file, (off_t)bytes) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int error = errno;
    close(file);
    errno = error;
    if (memory == MAP_FAILED)
        return NULL;
    memset(memory, 0, bytes);
    return memory;
}

void partner_memory_free(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

/* The deadline holds where nothing ties the process to the probe. */
static void limit_life(const struct run *run)
{
    int64_t limit_s = run->request->deadline_ns > 0 ? run->request->deadline_ns / CLOCK_NS_PER_S
                                                    : run->plan.duration_ns * 3 / CLOCK_NS_PER_S;
    if (limit_s < LEAST_DEADLINE_S)
        limit_s = LEAST_DEADLINE_S;
    sigset_t alarm_only;
    sigemptyset(&alarm_only);
    sigaddset(&alarm_only, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
    alarm((unsigned)(limit_s + GRACE_S));
}

static int set_up_process(const struct run *run, const struct actor_setup *setup, pid_t parent)
{
    limit_life(run);
    int error = port_die_with(parent);
    if (error != 0 && error != ENOTSUP)
        return error;
    error = setup->cpu >= 0 ? port_pin_self(setup->cpu) : 0;
    if (!error)
        error = actor_set_self(setup->policy, setup->priority);
    if (!error && run->is_locked)
        error = mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno;
    return error;
}

/* Standard output stays the probe's alone: whoever reads it waits for its last writer. */
static void be_process(struct partner *partner, const struct run *run,
                       const struct leftover *leftover, const struct actor_setup *setup,
                       pid_t parent, int (*begin)(void *), void *argument)
{
    close(partner->ready_pipe[0]);
    if (leftover->guard > 0)
        close(leftover->pipe);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    char error = (char)set_up_process(run, setup, parent);
    if (error == 0 && begin)
        error = (char)begin(argument);
    if (write(partner->ready_pipe[1], &error, 1) != 1 || error != 0)
        _exit(1);
    close(partner->ready_pipe[1]);
}

/* 0 when the process says that it is set up; its errno value else. */
static int wait_for_process(struct partner *partner)
{
    char error = 0;
    ssize_t got;
    close(partner->ready_pipe[1]);
    while ((got = read(partner->ready_pipe[0], &error, 1)) < 0 && errno == EINTR)
        ;
    close(partner->ready_pipe[0]);
    if (got == 1 && error == 0)
        return 0;
    partner_join(partner);
    return got == 1 ? error : ECHILD;
}

int partner_start_process(struct partner *partner, struct run *run, const struct leftover *leftover,
                          const struct actor_setup *setup, int (*begin)(void *),
                          void (*body)(void *), void *argument)
{
    pid_t parent = getpid();
    partner->scope = PARTNER_PROCESS;
    partner->process = 0;
    if (pipe(partner->ready_pipe) != 0)
        return errno;
    partner->process = fork();
    if (partner->process == 0) {
        be_process(partner, run, leftover, setup, parent, begin, argument);
        body(argument);
        _exit(0);
    }
    if (partner->process < 0) {
        int error = errno;
        close(partner->ready_pipe[0]);
        close(partner->ready_pipe[1]);
        return error;
    }
    int error = wait_for_process(partner);
    if (!error && run->is_locked) /* takes the copies now, not at the first writes */
        mlockall(MCL_CURRENT | MCL_FUTURE);
    return error;
}

int partner_start(struct partner *partner, struct run *run, const struct leftover *leftover,
                  enum partner_scope scope, const struct actor_setup *setup, void (*body)(void *),
                  void *argument)
{
    if (scope == PARTNER_PROCESS)
        return partner_start_process(partner, run, leftover, setup, NULL, body, argument);
    partner->scope = scope;
    partner->process = 0;
    int error = actor_start(&partner->actor, setup, body, argument);
    if (!error)
        actor_go(&partner->actor);
    return error;
}

int partner_not_started(struct run *run, int error, const char *party, const char *remedy)
{
    char what[64];
    if (error == ECHILD)
        return supervise_ended_early(run, party);
    snprintf(what, sizeof what, "starting the %s", party);
    return outcome_set_errno(&run->outcome, error, what, remedy);
}

bool partner_is_gone(const struct partner *partner)
{
    siginfo_t end = {0};
    return partner->scope == PARTNER_PROCESS &&
           waitid(P_PID, (id_t)partner->process, &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           end.si_pid == partner->process;
}

/* Without priority: Linux takes the names of a process out of /proc when it is waited for, and
 * spins until nobody else is about to. That may be a thread of that process, or any reader of
 * /proc, which the caller had preempted on this CPU: with priority it would spin for ever. */
static pid_t reap(pid_t process, int *status)
{
    struct sched_param own;
    int policy;
    bool is_lowered = pthread_getschedparam(pthread_self(), &policy, &own) == 0 &&
                      policy != SCHED_OTHER && actor_set_self(SCHED_OTHER, 0) == 0;
    pid_t ended;
    while ((ended = waitpid(process, status, 0)) < 0 && errno == EINTR)
        ;
    if (is_lowered)
        actor_set_self(policy, own.sched_priority);
    return ended;
}

int partner_join(struct partner *partner)
{
    if (partner->scope == PARTNER_THREAD) {
        actor_join(&partner->actor);
        return 0;
    }
    int status = 0;
    pid_t ended = reap(partner->process, &status);
    partner->process = 0;
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ECHILD;
}

#include "base/posix_source.h"

#include "family/posix/call_runner.h"

#include "base/clock.h"
#include "family/posix/call.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP_NS INT64_C(500000)
#define LOOK_NS INT64_C(5000000)

enum { GRACE_S = 60 };

/* Calls find the signals of a process that was just started, and use them as they like. */
static void take_signals(void)
{
    static const int used[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGALRM};
    sigset_t none;
    for (size_t i = 0; i < sizeof used / sizeof used[0]; i++)
        signal(used[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A last resort for systems on which a process does not die with its parent. */
static void limit_life(int64_t limit_ns)
{
    alarm((unsigned)(limit_ns / CLOCK_NS_PER_S + GRACE_S));
}

/* False: it was not at its end within the limit. */
static bool has_ended_by(pid_t process, int64_t limit_ns, bool *is_well)
{
    int64_t end_ns = clock_monotonic_ns() + limit_ns;
    while (!port_has_ended(process, is_well)) {
        if (clock_monotonic_ns() >= end_ns)
            return false;
        call_nap(STEP_NS);
    }
    return true;
}

void call_run(posix_call call, const struct call_tools *tools, int64_t limit_ns,
              struct answer *answer)
{
    pid_t parent = getpid(), process = port_fork();
    bool is_well = false;
    if (process < 0) {
        *answer = answer_untried("no process of its own: fork failed");
        return;
    }
    if (process == 0) {
        call_end_with(parent);
        take_signals();
        limit_life(limit_ns);
        *answer = call(tools);
        _exit(0);
    }
    if (!has_ended_by(process, limit_ns, &is_well)) {
        kill(process, SIGKILL);
        port_wait_for(process);
        *answer =
            answer_fails("not finished after %lld ms: it hangs", (long long)(limit_ns / 1000000));
        return;
    }
    port_wait_for(process);
    if (!is_well)
        *answer = answer_fails("the call ended its process");
}

/* Its standard streams are not the probe's: who reads those waits for their last writer. */
static void leave_streams(void)
{
    int nothing = open("/dev/null", O_RDWR);
    for (int stream = STDIN_FILENO; stream <= STDOUT_FILENO; stream++)
        if (nothing < 0 || dup2(nothing, stream) < 0)
            close(stream);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

/* Keeps the pipe to the guard of ipc_cleanup.h open, and so does each call: the guard removes what
 * is left when the last of them has ended. */
static void be_runner(struct call_runner *runner, int go, pid_t parent)
{
    char word;
    call_end_with(parent);
    port_leave_session();
    leave_streams();
    take_signals();
    if (read(go, &word, 1) != 1)
        return;
    for (int i = 0; i < runner->count; i++)
        call_run(runner->calls[i], &runner->tools, runner->limit_ns, &runner->board->answers[i]);
}

static int start_runner(struct call_runner *runner)
{
    int ends[2];
    if (pipe(ends) != 0)
        return errno;
    pid_t parent = getpid();
    runner->process = port_fork();
    int error = errno;
    if (runner->process == 0) {
        close(ends[1]);
        be_runner(runner, ends[0], parent);
        _exit(0);
    }
    close(ends[0]);
    runner->go = ends[1];
    if (runner->process > 0)
        return 0;
    runner->process = 0;
    close(ends[1]);
    return error;
}

int call_runner_open(struct call_runner *runner)
{
    runner->process = 0;
    runner->board = port_has_processes() ? port_shared_memory(sizeof *runner->board)
                                         : calloc(1, sizeof *runner->board);
    if (!runner->board)
        return errno;
    for (int i = 0; i < runner->count; i++)
        runner->board->answers[i] = answer_untried("the test ended before it");
    return port_has_processes() ? start_runner(runner) : 0;
}

struct here {
    posix_call call;
    const struct call_tools *tools;
    struct answer *answer;
};

static int run_one(void *argument)
{
    struct here *here = argument;
    *here->answer = here->call(here->tools);
    return 0;
}

/* On a thread of its own each: priority, CPU and signal mask are a thread's. */
static void run_here(struct call_runner *runner)
{
    for (int i = 0; i < runner->count && !run_should_stop(); i++) {
        struct answer *answer = &runner->board->answers[i];
        struct here here = {runner->calls[i], &runner->tools, answer};
        if (posix_call_needs_process(here.call))
            *answer = answer_untried("it needs a process of its own");
        else if (call_on_thread(run_one, &here, -1) != 0)
            *answer = answer_untried("no thread of its own");
    }
}

int call_runner_run(struct call_runner *runner)
{
    bool is_well = true;
    if (runner->process == 0) {
        run_here(runner);
        return 0;
    }
    if (write(runner->go, "g", 1) != 1)
        return errno;
    while (!port_has_ended(runner->process, &is_well) && !run_should_stop())
        call_nap(LOOK_NS);
    return is_well ? 0 : ECHILD;
}

void call_runner_close(struct call_runner *runner)
{
    if (!runner->board)
        return;
    if (runner->process > 0) {
        kill(-runner->process, SIGKILL); /* it leads the group of all that it started */
        kill(runner->process, SIGKILL);
        close(runner->go);
        port_wait_for(runner->process);
        munmap(runner->board, sizeof *runner->board);
    } else if (!port_has_processes()) {
        free(runner->board);
    }
    runner->board = NULL;
    runner->process = 0;
}

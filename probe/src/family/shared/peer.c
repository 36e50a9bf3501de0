#include "base/posix_source.h"

#include "family/shared/peer.h"

#include "base/shared_memory.h"
#include "port/port.h"
#include "run/scheduling.h"
#include "run/supervise.h"
#include "run/variant.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LEAST_DEADLINE_S = 30, GRACE_S = 60, STEP_BYTES = 1024 };

const char *const peer_scope_names[] = {"thread", "process", NULL};

bool peer_has_variant(const struct run *run, struct variant *variant)
{
    return variant->number[variant_place(run, "scopes")] != PEER_PROCESS || port_has_processes();
}

enum peer_scope peer_scope_of(const struct run *run)
{
    return (enum peer_scope)variant_number(run, "scopes");
}

/* Precedes the memory; its size keeps the memory aligned. */
union block {
    bool is_shared;
    char space[64];
};

/* Touches each page, as shared_block does. */
static union block *private_block(size_t bytes)
{
    union block *block = calloc(1, bytes);
    for (size_t i = 0; block && i < bytes; i += STEP_BYTES)
        ((volatile char *)block)[i] = 0;
    return block;
}

static union block *shared_block(size_t bytes, const char *name)
{
    union block *block = shared_memory_create(name, bytes);
    if (!block)
        return NULL;
    memset(block, 0, bytes);
    block->is_shared = true;
    return block;
}

void *peer_memory(size_t bytes, const struct ipc_cleanup_place *place)
{
    union block *block = NULL;
    size_t all_bytes = sizeof *block + bytes;
    errno = ENOSYS;
    if (port_has_processes())
        block = shared_block(all_bytes, place->name);
    if (!block && status_is_missing(errno))
        block = private_block(all_bytes);
    return block ? block + 1 : NULL;
}

bool peer_memory_is_shared(const void *memory)
{
    return ((const union block *)memory - 1)->is_shared;
}

void peer_memory_free(void *memory, size_t bytes)
{
    if (!memory)
        return;
    union block *block = (union block *)memory - 1;
    if (block->is_shared)
        shared_memory_free(block, sizeof *block + bytes);
    else
        free(block);
}

bool peer_wants_process(const struct run *run)
{
    const struct param_value *scopes = run_param(run, "scopes");
    for (int i = 0; i < scopes->count; i++)
        if (scopes->number[i] == PEER_PROCESS)
            return true;
    return false;
}

void peer_report_scopes(struct run *run, const struct ipc_cleanup *ipc_cleanup, const void *memory)
{
    bool is_private = memory && !peer_memory_is_shared(memory);
    if (peer_wants_process(run) && (!ipc_cleanup->has_processes || is_private))
        arena_event(run->arena, "scope_unsupported", -1,
                    DATA(data_text("scope", peer_scope_names[PEER_PROCESS]),
                         data_text("missing", ipc_cleanup->has_processes ? "shm_open" : "fork")),
                    "process: %s",
                    ipc_cleanup->has_processes
                        ? "this system has no shared memory (shm_open)"
                        : "this system cannot start a second process (fork)");
}

void *peer_table(struct run *run, size_t bytes, const struct ipc_cleanup *ipc_cleanup,
                 const char *what)
{
    void *memory = peer_memory(bytes, &ipc_cleanup->places[0]);
    if (memory)
        peer_report_scopes(run, ipc_cleanup, memory);
    else
        outcome_set_errno(&run->outcome, errno, what, port_hint(PORT_HINT_SHARED_MEMORY));
    return memory;
}

bool peer_has_scope(const struct ipc_cleanup *ipc_cleanup, const void *memory,
                    enum peer_scope scope)
{
    return scope == PEER_THREAD ||
           (ipc_cleanup->has_processes && memory && peer_memory_is_shared(memory));
}

/* A deadline for systems on which the process does not die with the probe. */
static void limit_life(const struct run *run)
{
    int64_t limit_s = run->deadline_ns > 0 ? run->deadline_ns / CLOCK_NS_PER_S
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

static int set_up_process(const struct run *run, const struct rt_thread_setup *setup, pid_t parent)
{
    limit_life(run);
    int error = port_kill_with_parent(parent);
    if (error != 0 && error != ENOTSUP)
        return error;
    error = setup->cpu >= 0 ? port_pin_self(setup->cpu) : 0;
    if (!error)
        error = rt_thread_set_self(setup->policy, setup->priority);
    if (!error && run->is_locked)
        error = mlockall(MCL_CURRENT | MCL_FUTURE) == 0 ? 0 : errno;
    return error;
}

/* Closes standard output: its reader waits until the last writer has closed it. */
static void be_process(struct peer *peer, const struct run *run,
                       const struct ipc_cleanup *ipc_cleanup, const struct rt_thread_setup *setup,
                       pid_t parent, int (*begin)(void *), void *argument)
{
    close(peer->ready_pipe[0]);
    if (ipc_cleanup->guard.pid > 0)
        close(ipc_cleanup->guard.pipe);
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    char error = (char)set_up_process(run, setup, parent);
    if (error == 0 && begin)
        error = (char)begin(argument);
    if (write(peer->ready_pipe[1], &error, 1) != 1 || error != 0)
        _exit(1);
    close(peer->ready_pipe[1]);
}

/* 0 when the process is set up; its errno value, or ECHILD if it ended without one. */
static int wait_for_process(struct peer *peer)
{
    char error = 0;
    ssize_t got;
    close(peer->ready_pipe[1]);
    while ((got = read(peer->ready_pipe[0], &error, 1)) < 0 && errno == EINTR)
        ;
    close(peer->ready_pipe[0]);
    if (got == 1 && error == 0)
        return 0;
    peer_join(peer);
    return got == 1 ? error : ECHILD;
}

int peer_start_process(struct peer *peer, struct run *run, const struct ipc_cleanup *ipc_cleanup,
                       const struct rt_thread_setup *setup, int (*begin)(void *),
                       void (*body)(void *), void *argument)
{
    pid_t parent = getpid();
    peer->scope = PEER_PROCESS;
    peer->run = run;
    peer->process = 0;
    if (pipe(peer->ready_pipe) != 0)
        return errno;
    peer->process = port_fork();
    if (peer->process == 0) {
        be_process(peer, run, ipc_cleanup, setup, parent, begin, argument);
        body(argument);
        _exit(0);
    }
    if (peer->process < 0) {
        int error = errno;
        close(peer->ready_pipe[0]);
        close(peer->ready_pipe[1]);
        return error;
    }
    int error = wait_for_process(peer);
    if (!error && run->is_locked) /* take the copy-on-write faults now */
        mlockall(MCL_CURRENT | MCL_FUTURE);
    return error;
}

int peer_start(struct peer *peer, struct run *run, const struct ipc_cleanup *ipc_cleanup,
               enum peer_scope scope, const struct rt_thread_setup *setup, void (*body)(void *),
               void *argument)
{
    if (scope == PEER_PROCESS)
        return peer_start_process(peer, run, ipc_cleanup, setup, NULL, body, argument);
    peer->scope = scope;
    peer->run = run;
    peer->process = 0;
    int error = rt_thread_start_with_stack(&peer->rt_thread, setup, RT_THREAD_SMALL_STACK_BYTES,
                                           body, argument);
    if (!error)
        rt_thread_go(&peer->rt_thread);
    return error;
}

int peer_not_started(struct run *run, int error, const char *party, const char *remedy)
{
    char what[64];
    if (error == ECHILD)
        return supervise_ended_early(run, party);
    snprintf(what, sizeof what, "starting the %s", party);
    return outcome_set_errno(&run->outcome, error, what, remedy);
}

bool peer_is_gone(const struct peer *peer)
{
    bool is_well;
    return peer->scope == PEER_PROCESS && port_has_ended(peer->process, &is_well);
}

/* As SCHED_OTHER: when a process is reaped, Linux removes its entries from /proc and spins
 * while another task does the same. That task may be a thread of the process or a reader of
 * /proc that the caller has preempted on this CPU: with a real-time priority the caller would
 * spin for ever. */
static int reap(struct run *run, pid_t process)
{
    struct sched_param own;
    int policy;
    bool is_lowered = pthread_getschedparam(pthread_self(), &policy, &own) == 0 &&
                      policy != SCHED_OTHER && rt_thread_set_self_ordinary() == 0;
    int ended = port_wait_for(process);
    int error = is_lowered ? rt_thread_set_self(policy, own.sched_priority) : 0;
    if (error)
        scheduling_not_restored(run, "measuring thread", own.sched_priority, error);
    return ended;
}

int peer_join(struct peer *peer)
{
    if (peer->scope == PEER_THREAD) {
        rt_thread_join(&peer->rt_thread);
        return 0;
    }
    int error = reap(peer->run, peer->process);
    peer->process = 0;
    return error;
}

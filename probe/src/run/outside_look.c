#include "base/posix_source.h"

#include "run/outside_look.h"

#include "base/clock.h"
#include "port/shield.h"
#include "run/run.h"
#include "run/scheduling.h"
#include "run/trace_ring.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 10000 };

struct shared {
    struct cpu_taken taken;
    _Atomic bool is_taken; /* `taken` is whole */
    struct counter_totals totals;
    atomic_int left;
    bool has_gone_back;
    char group[PORT_CPU_GROUP_BYTES]; /* of the probe, when it has moved */
};

struct outside_look {
    pid_t process;
    int socket; /* -1: it has not answered */
    struct shared *shared;
};

struct request_to_look {
    enum look_word word;
    pid_t second, waits;
};

/* ---- the process ---- */

struct looker {
    struct run *run; /* a copy: only what it was at the fork */
    struct shared *shared;
    pid_t probe;
    int socket;
    _Atomic pid_t second, waits;
    struct counter_watch *watch;
};

static void begin(struct looker *looker)
{
    struct counter_watch_setup setup = {
        .arena = looker->run->arena,
        .measured = run_measured_cpus(looker->run),
        .process = looker->probe,
        .second = &looker->second,
        .held = placement_held(looker->run),
        .left = &looker->shared->left,
        .waits = &looker->waits,
        .group = looker->shared->group,
    };
    looker->watch = counter_watch_open(&setup);
    if (looker->watch)
        counter_watch_begin(looker->watch);
}

/* True: it is new. */
static bool note_taken(struct looker *looker)
{
    struct cpu_taken taken = counter_watch_taken(looker->watch);
    if (!taken.is_found || atomic_load(&looker->shared->is_taken))
        return false;
    looker->shared->taken = taken;
    atomic_store(&looker->shared->is_taken, true);
    return true;
}

static void end(struct looker *looker)
{
    if (looker->watch)
        counter_watch_end(looker->watch, &looker->shared->totals);
    note_taken(looker);
    trace_ring_end(looker->run->trace_ring, looker->run->arena);
}

static void do_as_told(struct looker *looker)
{
    struct request_to_look told;
    ssize_t got = recv(looker->socket, &told, sizeof told, 0);
    if (got < 0 && errno == EINTR)
        return;
    if (got != (ssize_t)sizeof told)
        _exit(0);
    atomic_store(&looker->second, told.second);
    atomic_store(&looker->waits, told.waits);
    if (told.word == LOOK_BEGINS)
        begin(looker);
    else if (told.word == LOOK_ENDS)
        end(looker);
    else if (told.word == LOOK_GOES_BACK)
        looker->shared->has_gone_back = counter_watch_go_back(looker->watch);
    else if (looker->watch)
        counter_watch_look_at_threads(looker->watch);
    char done = 1;
    if (send(looker->socket, &done, sizeof done, MSG_NOSIGNAL) != (ssize_t)sizeof done)
        _exit(0);
}

static void look(struct looker *looker)
{
    counter_watch_look(looker->watch);
    trace_ring_look(looker->run->trace_ring, looker->run->arena);
    if (note_taken(looker))
        kill(looker->probe, SIGCHLD);
}

static bool is_told_before(const struct looker *looker, int64_t due_ns)
{
    int64_t left_ns = due_ns - clock_monotonic_ns();
    struct timespec left = clock_ns_timespec(left_ns > 0 ? left_ns : 0);
    fd_set sockets;
    FD_ZERO(&sockets);
    FD_SET(looker->socket, &sockets);
    return pselect(looker->socket + 1, &sockets, NULL, NULL, due_ns == INT64_MAX ? NULL : &left,
                   NULL) > 0;
}

static _Noreturn void be_looker(struct run *run, struct shared *shared, pid_t probe, int socket)
{
    struct looker looker = {.run = run, .shared = shared, .probe = probe, .socket = socket};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    if (port_kill_with_parent(probe) != 0)
        _exit(0);
    if (run->is_realtime) /* as the supervisor: under load it would look late */
        (void)rt_thread_set_self(SCHED_FIFO, sched_get_priority_max(SCHED_FIFO));
    for (;;)
        if (is_told_before(&looker, counter_watch_due_ns(looker.watch)))
            do_as_told(&looker);
        else
            look(&looker);
}

/* ---- the probe ---- */

static bool can_look(const struct run *run)
{
    bool leaves_others =
        run->settings & 1u << SHIELD_CPUSET && !(run->settings & 1u << SHIELD_OFFLINE);
    return leaves_others && run->arena->is_mapped && port_has_processes();
}

/* 0 or an errno value. */
static int start(struct run *run, struct outside_look *outside)
{
    int ends[2];
    pid_t probe = getpid();
    outside->shared = port_shared_memory(sizeof *outside->shared);
    if (!outside->shared || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
        return errno;
    port_give_to_forks(run->arena, (size_t)run->arena->bytes);
    outside->process = port_fork();
    int error = outside->process < 0 ? errno : 0;
    if (outside->process == 0) {
        close(ends[0]);
        be_looker(run, outside->shared, probe, ends[1]);
    }
    port_keep_from_forks(run->arena, (size_t)run->arena->bytes);
    close(ends[1]);
    if (error)
        close(ends[0]);
    else
        outside->socket = ends[0];
    return error;
}

int outside_look_start(struct run *run)
{
    struct outside_look *outside = can_look(run) ? calloc(1, sizeof *outside) : NULL;
    if (!outside)
        return 0;
    outside->socket = -1;
    run->outside_look = outside;
    if (start(run, outside) != 0)
        outside_look_stop(run);
    else
        run->placement.left_outside = &outside->shared->left;
    return 0;
}

bool outside_look_is_there(const struct run *run)
{
    return run->outside_look && run->outside_look->socket >= 0;
}

static bool is_answered(const struct outside_look *outside)
{
    char done;
    struct pollfd answer = {.fd = outside->socket, .events = POLLIN};
    int ready;
    while ((ready = poll(&answer, 1, PATIENCE_MS)) < 0 && errno == EINTR)
        ;
    return ready > 0 && recv(outside->socket, &done, sizeof done, 0) == (ssize_t)sizeof done;
}

void outside_look_ask(struct run *run, enum look_word word)
{
    struct outside_look *outside = run->outside_look;
    const struct request_to_look request = {word, atomic_load(&run->needed),
                                            atomic_load(&run->stopped_watch.id)};
    if (!outside_look_is_there(run))
        return;
    if (word == LOOK_BEGINS && !port_throttling_group(outside->shared->group, PORT_CPU_GROUP_BYTES))
        outside->shared->group[0] = '\0';
    bool is_sent =
        send(outside->socket, &request, sizeof request, MSG_NOSIGNAL) == (ssize_t)sizeof request;
    if (is_sent && is_answered(outside)) {
        if (word == LOOK_ENDS)
            run->counter_totals = outside->shared->totals;
        return;
    }
    close(outside->socket);
    outside->socket = -1;
    counter_watch_report_none(run->arena, "the process that looks has ended, or does not answer");
}

struct cpu_taken outside_look_taken(const struct run *run)
{
    static const struct cpu_taken none;
    const struct outside_look *outside = run->outside_look;
    return outside && atomic_load(&outside->shared->is_taken) ? outside->shared->taken : none;
}

bool outside_look_go_back(struct run *run)
{
    outside_look_ask(run, LOOK_GOES_BACK);
    return outside_look_is_there(run) && run->outside_look->shared->has_gone_back;
}

void outside_look_stop(struct run *run)
{
    struct outside_look *outside = run->outside_look;
    if (!outside)
        return;
    if (outside->socket >= 0)
        close(outside->socket);
    if (outside->process > 0) {
        kill(outside->process, SIGKILL); /* it may wait for a CPU; it holds nothing */
        while (waitpid(outside->process, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (outside->shared)
        munmap(outside->shared, sizeof *outside->shared);
    free(outside);
    run->outside_look = NULL;
    run->placement.left_outside = NULL;
}

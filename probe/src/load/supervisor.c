#include "base/posix_source.h"

#include "load/supervisor.h"

#include "base/guard.h"
#include "base/rt_thread.h"
#include "load/external_stressor.h"
#include "port/port.h"
#include "work/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a worker ---- */

enum { FIRST_KEPT = 3, ASIDE = 64, LAST_SIGNAL_NUMBER = 64 };

/* Names the calling process hs-load-WORD. */
static void name_process(const char *word)
{
    char name[40];
    snprintf(name, sizeof name, "hs-load-%.20s", word);
    port_name_self(name);
}

/* Closes all descriptors except `kept`, which get the numbers 3, 4, ... in their order; the three
 * standard ones then refer to /dev/null. Moves `kept` to high numbers first, so that dup2 does not
 * close one of them. */
static void keep_only(int *kept, int count)
{
    for (int i = 0; i < count; i++) {
        int aside = fcntl(kept[i], F_DUPFD, ASIDE);
        kept[i] = aside >= 0 ? aside : kept[i];
    }
    for (int i = 0; i < count; i++)
        if (kept[i] != FIRST_KEPT + i && dup2(kept[i], FIRST_KEPT + i) >= 0)
            kept[i] = FIRST_KEPT + i;
    port_close_from(FIRST_KEPT + count);
    for (int i = 0; i < FIRST_KEPT; i++)
        close(i);
    int nowhere = open("/dev/null", O_RDWR);
    for (int i = nowhere + 1; nowhere >= 0 && i < FIRST_KEPT; i++)
        dup2(nowhere, i);
}

static void default_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    for (int number = 1; number <= LAST_SIGNAL_NUMBER; number++)
        sigaction(number, &action, NULL); /* fails harmlessly for invalid numbers */
    action.sa_handler = SIG_IGN;          /* get EPIPE and EFBIG instead of a signal */
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void refuse(struct worker *worker)
{
    atomic_store(&worker->slot->state, WORKER_REFUSED);
    _exit(1);
}

static bool is_realtime(void)
{
    struct sched_param own;
    int policy;
    return pthread_getschedparam(pthread_self(), &policy, &own) == 0 &&
           (policy == SCHED_FIFO || policy == SCHED_RR);
}

/* Drops priorities inherited from the probe. The worker runs on where an ordinary one is refused;
 * load of real-time priority would compete with the test. */
static void be_ordinary(struct worker *worker)
{
    int error = rt_thread_set_self_ordinary();
    if (error && is_realtime()) {
        worker_note(worker, "the real-time priority of the probe could not be dropped: %s",
                    strerror(error));
        refuse(worker);
    }
    errno = 0;
    if (setpriority(PRIO_PROCESS, 0, 0) != 0)
        worker_note(worker, "the priority could not be set to nice 0: %s", strerror(errno));
    error = port_ordinary_io();
    if (error)
        worker_note(worker, "its I/O priority could not be reset to the default: %s",
                    strerror(error));
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    umask(077);
}

static void bind_to_cpu(struct worker *worker)
{
    int error = worker->cpu >= 0        ? port_pin_self(worker->cpu)
                : worker->map->has_cpus ? port_bind_self(&worker->map->cpus)
                                        : 0;
    if (error)
        worker_note(worker, "could not be bound to the CPUs of the load: %s", strerror(error));
}

static void set_up(struct worker *worker)
{
    default_signals();
    bool is_foreign = worker->element->kind == LOAD_EXTERNAL_STRESSOR;
    int error =
        is_foreign ? port_end_with(worker->supervisor) : port_kill_with_parent(worker->supervisor);
    if (error != 0 && error != ENOTSUP) {
        worker_note(worker, "cannot be set to end with its parent: %s", strerror(error));
        refuse(worker);
    }
    name_process(worker->element->name);
    be_ordinary(worker);
    bind_to_cpu(worker);
    if (worker->element->prepare && (error = worker->element->prepare(worker)) != 0) {
        if (!load_slot_note(worker->slot))
            worker_note(worker, "%s", strerror(error));
        refuse(worker);
    }
}

static void wait_for_start(int gate)
{
    char ignored;
    while (read(gate, &ignored, 1) < 0 && errno == EINTR)
        ;
    close(gate);
}

void worker_be(struct worker *worker, int gate)
{
    keep_only(&gate, 1);
    set_up(worker);
    /* Its CPU time may be read from then on, however late its supervisor returns from the fork. */
    atomic_store(&worker->slot->process, getpid());
    atomic_store(&worker->slot->state, WORKER_READY);
    wait_for_start(gate);
    if (worker->element->kind == LOAD_SHARE)
        duty_keep(worker);
    else
        worker->element->work(worker);
    _exit(0);
}

/* ---- the supervisor ---- */

enum { PROCESSES = 16384, END_LOOK_NS = 2000000 };

/* Time for killed processes to end: disks may be slow. */
#define END_PATIENCE_NS INT64_C(20000000000)

struct supervisor {
    const struct supervisor_plan *plan;
    struct load_map *map;
    struct external_stressor external_stressor;
};

/* No-op: SIGCHLD only has to interrupt pselect. */
static void on_child(int number)
{
    (void)number;
}

/* Blocks all signals; pselect unblocks only SIGCHLD. */
static void watch_children(sigset_t *while_waiting)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_child;
    sigemptyset(&action.sa_mask);
    sigaction(SIGCHLD, &action, NULL);
    sigfillset(while_waiting);
    sigprocmask(SIG_SETMASK, while_waiting, NULL);
    sigdelset(while_waiting, SIGCHLD);
}

static int peers_of(const struct load_map *map, int term)
{
    int count = 0;
    for (int i = 0; i < map->slot_count; i++)
        count += map->slots[i].term == term ? 1 : 0;
    return count;
}

static void start_one(const struct supervisor *supervisor, int place, pid_t self)
{
    const struct supervisor_plan *plan = supervisor->plan;
    struct load_slot *slot = &supervisor->map->slots[place];
    const struct load_term *term = &plan->spec->terms[slot->term];
    struct worker worker = {
        .element = term->element,
        .degree = &term->degree,
        .options = plan->spec->options,
        .map = supervisor->map,
        .slot = slot,
        .cpu = slot->cpu,
        .place = place,
        .places = supervisor->map->slot_count,
        .jobs = slot->jobs,
        .peers = peers_of(supervisor->map, slot->term),
        .supervisor = self,
        .random = plan->seed + (uint64_t)place * 1000003,
        .program = plan->program,
    };
    pid_t child = port_fork();
    if (child == 0)
        worker_be(&worker, plan->gate);
    if (child > 0) {
        atomic_store(&slot->process, child);
        return;
    }
    int none = 0;
    atomic_compare_exchange_strong(&supervisor->map->fork_error, &none, errno);
    worker_note(&worker, "the process could not be started: %s", strerror(errno));
    atomic_store(&slot->state, WORKER_REFUSED);
}

static void refuse_all(struct load_map *map, int error)
{
    atomic_store(&map->fork_error, error);
    for (int i = 0; i < map->slot_count; i++)
        atomic_store(&map->slots[i].state, WORKER_REFUSED);
}

static bool has_children(void)
{
    pid_t ended;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return ended == 0 || errno == EINTR;
}

/* Reads the process table; the caller frees it. Allocation is harmless here: nothing of these
 * processes is locked or timed. Without memory it finds no process this time. */
static struct port_process *list_processes(int *count)
{
    struct port_process *list = calloc(PROCESSES, sizeof *list);
    int all = list ? port_processes(list, PROCESSES) : 0;
    *count = all < PROCESSES ? all : PROCESSES;
    return list;
}

static void kill_children(void)
{
    int count;
    struct port_process *list = list_processes(&count);
    pid_t self = getpid();
    for (int i = 0; i < count; i++)
        if (list[i].parent == self)
            kill(list[i].id, SIGKILL);
    free(list);
}

/* Kills all children of the calling process, and orphans as it adopts them, until none is left or
 * 20 s have passed. `group`: a process group to kill first, for systems whose process table cannot
 * be read; 0: none. */
static void end_children(pid_t group)
{
    int64_t until_ns = clock_monotonic_ns() + END_PATIENCE_NS;
    if (group > 0)
        kill(-group, SIGKILL);
    while (has_children() && clock_monotonic_ns() < until_ns) {
        kill_children();
        (void)clock_sleep_until(clock_monotonic_ns() + END_LOOK_NS);
    }
}

/* Kills workers that were not waited for yet: their process ids are still valid. */
static void kill_workers(const struct supervisor *supervisor)
{
    for (int i = 0; i < supervisor->map->slot_count; i++) {
        const struct load_slot *slot = &supervisor->map->slots[i];
        pid_t process = atomic_load(&slot->process);
        bool is_ended = atomic_load(&slot->state) == WORKER_ENDED;
        if (process > 0 && slot != supervisor->external_stressor.slot && !is_ended)
            kill(process, SIGKILL);
    }
}

static void note_stop(struct load_slot *slot, bool is_stopped)
{
    int64_t stopped_ns = atomic_load(&slot->stopped_ns);
    if (is_stopped == (stopped_ns < 0))
        return;
    int64_t now_ns = clock_monotonic_ns();
    atomic_store(&slot->stopped_ns, stopped_ns + (is_stopped ? -now_ns : now_ns));
}

static void note_end(struct load_slot *slot, int status)
{
    note_stop(slot, false);
    atomic_store(&slot->status, status);
    atomic_store(&slot->ended_ns, clock_monotonic_ns());
    if (atomic_load(&slot->state) != WORKER_REFUSED)
        atomic_store(&slot->state, WORKER_ENDED);
}

static void note_change(struct load_map *map, pid_t process, int status)
{
    for (int i = 0; i < map->slot_count; i++) {
        struct load_slot *slot = &map->slots[i];
        if (atomic_load(&slot->process) != process)
            continue;
        if (WIFSTOPPED(status) || WIFCONTINUED(status))
            note_stop(slot, WIFSTOPPED(status));
        else
            note_end(slot, status);
        return;
    }
}

/* Kills adopted orphans: children that are not workers, but jobs of a worker that was killed. */
static void kill_strangers(const struct load_map *map)
{
    int count;
    struct port_process *list = list_processes(&count);
    pid_t self = getpid();
    for (int i = 0; i < count; i++) {
        bool is_ours = list[i].parent == self;
        for (int j = 0; is_ours && j < map->slot_count; j++)
            is_ours = atomic_load(&map->slots[j].process) != list[i].id;
        if (is_ours)
            kill(list[i].id, SIGKILL);
    }
    free(list);
}

/* Records which workers ended, stopped or continued. */
static void take_changes(struct load_map *map)
{
    int status;
    pid_t process;
    bool has_ended = false;
    while ((process = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        note_change(map, process, status);
        has_ended = has_ended || WIFEXITED(status) || WIFSIGNALED(status);
    }
    if (has_ended)
        kill_strangers(map);
}

/* Returns when the order comes, the guard ends, or the time limit passes. */
static void wait_for_order(struct supervisor *supervisor, int lifeline, const sigset_t *mask)
{
    int order = supervisor->plan->order, most = order > lifeline ? order : lifeline;
    for (;;) {
        int64_t left_ns = supervisor->plan->limit_ns - clock_monotonic_ns();
        if (left_ns <= 0)
            return;
        if (left_ns > EXTERNAL_STRESSOR_LOOK_NS &&
            external_stressor_is_watched(&supervisor->external_stressor))
            left_ns = EXTERNAL_STRESSOR_LOOK_NS;
        struct timespec left = clock_ns_timespec(left_ns);
        fd_set watched;
        FD_ZERO(&watched);
        FD_SET(order, &watched);
        FD_SET(lifeline, &watched);
        int ready = pselect(most + 1, &watched, NULL, NULL, &left, mask);
        take_changes(supervisor->map);
        external_stressor_look(&supervisor->external_stressor);
        if (ready <= 0)
            continue;
        if (FD_ISSET(lifeline, &watched))
            atomic_store(&supervisor->map->guard_ended_ns, clock_monotonic_ns());
        return;
    }
}

/* Main function of the supervisor process: starts the workers of `plan` and ends them at the order.
 * `lifeline` reaches end of file when the guard ends. Writes one byte to `report` when everything
 * is gone. */
static _Noreturn void be_supervisor(const struct supervisor_plan *plan, int lifeline, int report)
{
    struct supervisor supervisor = {.plan = plan, .map = plan->map};
    sigset_t mask;
    char done = 1;
    name_process("keeper");
    setpgid(0, 0);
    port_adopt_orphans();
    watch_children(&mask);
    int error = scratch_make(&plan->map->scratch);
    if (error)
        refuse_all(plan->map, error);
    external_stressor_find(&supervisor.external_stressor, plan->map, plan->spec);
    pid_t self = getpid();
    for (int i = 0; !error && i < plan->map->slot_count; i++)
        start_one(&supervisor, i, self);
    close(plan->gate);
    wait_for_order(&supervisor, lifeline, &mask);
    atomic_store(&plan->map->stop, 1);
    kill_workers(&supervisor);
    external_stressor_end(&supervisor.external_stressor);
    end_children(0);
    scratch_remove(&plan->map->scratch);
    while (write(report, &done, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

/* ---- the guard ---- */

#define GRACE_NS INT64_C(6000000000)
#define GRACE_FOR_ONE_NS INT64_C(4000000)
#define DEATH_NS INT64_C(1000000000) /* for the supervisor to die after SIGKILL */
#define DEATH_LOOK_NS INT64_C(2000000)

int64_t load_grace_ns(const struct load_map *map)
{
    return GRACE_NS + map->process_count * GRACE_FOR_ONE_NS;
}

/* True when the supervisor reports that everything has ended; false if it ends first or misses the
 * time limit. */
static bool wait_for_supervisor(pid_t supervisor, int report, int order, int64_t limit_ns,
                                int64_t grace_ns)
{
    bool watches_order = true;
    for (;;) {
        int64_t left_ns = limit_ns - clock_monotonic_ns();
        if (left_ns <= 0)
            return false;
        struct timespec left = clock_ns_timespec(left_ns);
        fd_set watched;
        FD_ZERO(&watched);
        FD_SET(report, &watched);
        if (watches_order)
            FD_SET(order, &watched);
        int most = report > order ? report : order;
        int ready = pselect(most + 1, &watched, NULL, NULL, &left, NULL);
        if (ready > 0 && FD_ISSET(report, &watched)) {
            char done;
            return read(report, &done, 1) == 1;
        }
        if (ready > 0) { /* the supervisor sees the order too */
            watches_order = false;
            kill(supervisor, SIGCONT); /* it may be stopped; its id is valid until waitpid */
            limit_ns = clock_monotonic_ns() + grace_ns;
        }
    }
}

/* Kills the supervisor; its children then belong to the guard. False: it did not end within
 * DEATH_NS. */
static bool wait_for_death(pid_t supervisor)
{
    int64_t until_ns = clock_monotonic_ns() + DEATH_NS;
    siginfo_t facts = {0};
    while (waitid(P_PID, (id_t)supervisor, &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           facts.si_pid != supervisor) {
        if (clock_monotonic_ns() > until_ns)
            return false;
        (void)clock_sleep_until(clock_monotonic_ns() + DEATH_LOOK_NS);
    }
    return true;
}

/* Does the supervisor's cleanup. Its process id is valid: it was not waited for yet. */
static void replace_supervisor(const struct supervisor_plan *plan, pid_t supervisor)
{
    struct external_stressor external_stressor;
    kill(supervisor, SIGKILL);
    atomic_store(&plan->map->supervisor_ended_ns, clock_monotonic_ns());
    atomic_store(&plan->map->stop, 1);
    external_stressor_find(&external_stressor, plan->map, plan->spec);
    if (wait_for_death(supervisor))
        external_stressor_end(&external_stressor);
    end_children(supervisor);
    scratch_remove(&plan->map->scratch);
}

/* The owner learns the error from the map: an exit code would look like a kill. */
static void give_up(const struct supervisor_plan *plan, int error)
{
    atomic_store(&plan->map->fork_error, error);
    atomic_store(&plan->map->stop, 1);
    _exit(1);
}

static void be_guard(struct supervisor_plan *plan)
{
    int kept[] = {plan->order, plan->gate}, report[2], lifeline[2];
    (void)rt_thread_set_self_ordinary(); /* each worker tries again and reports a refusal */
    (void)port_ordinary_io();
    keep_only(kept, 2);
    plan->order = kept[0];
    plan->gate = kept[1];
    name_process("guard");
    port_adopt_orphans();
    if (pipe(report) != 0 || pipe(lifeline) != 0)
        give_up(plan, errno);
    pid_t supervisor = port_fork();
    if (supervisor == 0) {
        close(report[0]);
        close(lifeline[1]);
        be_supervisor(plan, lifeline[0], report[1]);
    }
    if (supervisor < 0)
        give_up(plan, errno);
    atomic_store(&plan->map->supervisor, supervisor);
    close(report[1]);
    close(lifeline[0]);
    close(plan->gate);
    int64_t grace_ns = load_grace_ns(plan->map);
    if (!wait_for_supervisor(supervisor, report[0], plan->order, plan->limit_ns + grace_ns,
                             grace_ns))
        replace_supervisor(plan, supervisor);
    while (waitpid(supervisor, NULL, 0) < 0 && errno == EINTR)
        ;
    _exit(0);
}

int load_guard_start(const struct supervisor_plan *plan)
{
    struct supervisor_plan copy = *plan;
    pid_t guard = guard_fork();
    if (guard == 0)
        be_guard(&copy);
    return guard;
}

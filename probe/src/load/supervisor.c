#include "base/posix_source.h"

#include "load/supervisor.h"

#include "load/duty.h"
#include "load/external_stressor.h"
#include "load/worker.h"
#include "port/port.h"
#include "work/scratch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 16384, LOOK_NS = 2000000 };

#define PATIENCE_NS INT64_C(20000000000) /* time for killed processes to end: disks may be slow */

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

/* ---- the start ---- */

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

/* ---- the end ---- */

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

void supervisor_end_children(pid_t group)
{
    int64_t until_ns = duty_now_ns() + PATIENCE_NS;
    if (group > 0)
        kill(-group, SIGKILL);
    while (has_children() && duty_now_ns() < until_ns) {
        kill_children();
        duty_sleep_until(duty_now_ns() + LOOK_NS);
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

/* ---- between start and end ---- */

static void note_stop(struct load_slot *slot, bool is_stopped)
{
    int64_t stopped_ns = atomic_load(&slot->stopped_ns);
    if (is_stopped == (stopped_ns < 0))
        return;
    int64_t now_ns = duty_now_ns();
    atomic_store(&slot->stopped_ns, stopped_ns + (is_stopped ? -now_ns : now_ns));
}

static void note_end(struct load_slot *slot, int status)
{
    note_stop(slot, false);
    atomic_store(&slot->status, status);
    atomic_store(&slot->ended_ns, duty_now_ns());
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
        int64_t left_ns = supervisor->plan->limit_ns - duty_now_ns();
        if (left_ns <= 0)
            return;
        if (left_ns > EXTERNAL_STRESSOR_LOOK_NS &&
            external_stressor_is_watched(&supervisor->external_stressor))
            left_ns = EXTERNAL_STRESSOR_LOOK_NS;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                .tv_nsec = (long)(left_ns % 1000000000)};
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
            atomic_store(&supervisor->map->guard_ended_ns, duty_now_ns());
        return;
    }
}

void supervisor_be(const struct supervisor_plan *plan, int lifeline, int told)
{
    struct supervisor supervisor = {.plan = plan, .map = plan->map};
    sigset_t mask;
    char done = 1;
    worker_name("keeper");
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
    supervisor_end_children(0);
    scratch_remove(&plan->map->scratch);
    while (write(told, &done, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

#include "base/posix_source.h"

#include "load/supervisor.h"

#include "load/duty.h"
#include "load/external_stressor.h"
#include "load/scratch.h"
#include "load/worker.h"
#include "port/port.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 8192, LOOK_NS = 2000000 };

#define PATIENCE_NS INT64_C(20000000000) /* for processes to die: a disk may be slow */

struct keeper {
    const struct guard_plan *plan;
    struct load_map *map;
    struct foreign foreign;
};

static void on_child(int number)
{
    (void)number;
}

/* Signals reach the keeper only while it waits, and then only that of a child. */
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

static void start_one(const struct keeper *keeper, int place, pid_t self)
{
    const struct guard_plan *plan = keeper->plan;
    struct load_slot *slot = &keeper->map->slots[place];
    const struct load_term *term = &plan->spec->terms[slot->term];
    struct loader loader = {
        .element = term->element,
        .degree = &term->degree,
        .options = plan->spec->options,
        .map = keeper->map,
        .slot = slot,
        .cpu = slot->cpu,
        .place = place,
        .places = keeper->map->slot_count,
        .peers = peers_of(keeper->map, slot->term),
        .keeper = self,
        .random = plan->seed + (uint64_t)place * 1000003,
        .program = plan->program,
    };
    pid_t child = fork();
    if (child == 0)
        loader_be(&loader, plan->gate);
    if (child > 0) {
        atomic_store(&slot->process, child);
        return;
    }
    int none = 0;
    atomic_compare_exchange_strong(&keeper->map->fork_error, &none, errno);
    loader_note(&loader, "the process could not be made: %s", strerror(errno));
    atomic_store(&slot->state, LOADER_REFUSED);
}

static void refuse_all(struct load_map *map, int error)
{
    atomic_store(&map->fork_error, error);
    for (int i = 0; i < map->slot_count; i++)
        atomic_store(&map->slots[i].state, LOADER_REFUSED);
}

/* ---- the end ---- */

static bool has_children(void)
{
    pid_t ended;
    while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return ended == 0 || errno == EINTR;
}

static int kill_children(void)
{
    static struct port_process list[PROCESSES];
    int count = port_processes(list, PROCESSES);
    pid_t self = getpid();
    for (int i = 0; i < count && i < PROCESSES; i++)
        if (list[i].parent == self)
            kill(list[i].id, SIGKILL);
    return count;
}

void keeper_end_children(pid_t group)
{
    int64_t until_ns = duty_now_ns() + PATIENCE_NS;
    if (group > 0)
        kill(-group, SIGKILL);
    while (has_children() && duty_now_ns() < until_ns) {
        kill_children();
        duty_sleep_until(duty_now_ns() + LOOK_NS);
    }
}

/* Of those that were not waited for: the ids are still theirs. */
static void kill_loaders(const struct keeper *keeper)
{
    for (int i = 0; i < keeper->map->slot_count; i++) {
        const struct load_slot *slot = &keeper->map->slots[i];
        pid_t process = atomic_load(&slot->process);
        bool is_ended = atomic_load(&slot->state) == LOADER_ENDED;
        if (process > 0 && slot != keeper->foreign.slot && !is_ended)
            kill(process, SIGKILL);
    }
}

/* ---- between ---- */

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
    if (atomic_load(&slot->state) != LOADER_REFUSED)
        atomic_store(&slot->state, LOADER_ENDED);
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

/* Children that are no loaders are the orphans of a loader that was killed. */
static void kill_strangers(const struct load_map *map)
{
    static struct port_process list[PROCESSES];
    int count = port_processes(list, PROCESSES);
    pid_t self = getpid();
    for (int i = 0; i < count && i < PROCESSES; i++) {
        bool is_ours = list[i].parent == self;
        for (int j = 0; is_ours && j < map->slot_count; j++)
            is_ours = atomic_load(&map->slots[j].process) != list[i].id;
        if (is_ours)
            kill(list[i].id, SIGKILL);
    }
}

/* Who ended, was stopped, or goes on. */
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

/* Until the order, the guard's end, or the limit. */
static void wait_for_order(struct keeper *keeper, int lifeline, const sigset_t *mask)
{
    int order = keeper->plan->order, most = order > lifeline ? order : lifeline;
    for (;;) {
        int64_t left_ns = keeper->plan->limit_ns - duty_now_ns();
        if (left_ns <= 0)
            return;
        if (left_ns > FOREIGN_LOOK_NS && foreign_is_watched(&keeper->foreign))
            left_ns = FOREIGN_LOOK_NS;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                .tv_nsec = (long)(left_ns % 1000000000)};
        fd_set watched;
        FD_ZERO(&watched);
        FD_SET(order, &watched);
        FD_SET(lifeline, &watched);
        int ready = pselect(most + 1, &watched, NULL, NULL, &left, mask);
        take_changes(keeper->map);
        foreign_look(&keeper->foreign);
        if (ready <= 0)
            continue;
        if (FD_ISSET(lifeline, &watched))
            atomic_store(&keeper->map->guard_ended_ns, duty_now_ns());
        return;
    }
}

void keeper_be(const struct guard_plan *plan, int lifeline, int told)
{
    struct keeper keeper = {.plan = plan, .map = plan->map};
    sigset_t mask;
    char done = 1;
    loader_name("keeper");
    setpgid(0, 0);
    port_adopt_orphans();
    watch_children(&mask);
    int error = scratch_make(plan->map);
    if (error)
        refuse_all(plan->map, error);
    foreign_find(&keeper.foreign, plan->map, plan->spec);
    pid_t self = getpid();
    for (int i = 0; !error && i < plan->map->slot_count; i++)
        start_one(&keeper, i, self);
    close(plan->gate);
    wait_for_order(&keeper, lifeline, &mask);
    atomic_store(&plan->map->stop, 1);
    kill_loaders(&keeper);
    foreign_end(&keeper.foreign);
    keeper_end_children(0);
    scratch_remove(plan->map);
    while (write(told, &done, 1) < 0 && errno == EINTR)
        ;
    _exit(0);
}

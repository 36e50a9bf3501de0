#include "base/posix_source.h"

#include "run/shield_run.h"

#include "base/clock.h"
#include "base/options.h"
#include "port/shield.h"
#include "run/request.h"
#include "run/run.h"
#include "run/scheduling.h"
#include "run/trace_ring.h"
#include "shield/shield.h"

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
#include <unistd.h>

enum { DID_BYTES = 1024 };

int shield_run_allowed_cpus(const struct run *run, struct cpus *allowed)
{
    int count = port_allowed_cpus(allowed);
    if (count < 0 || run->setup.cpu < 0 || run->request->cpu_config == CPU_CONFIG_SHARED)
        return count;
    cpus_clear(allowed);
    cpus_add(allowed, run->setup.cpu);
    return 1;
}

int shield_run_other_cpu(const struct run *run)
{
    struct cpus allowed;
    if (shield_run_allowed_cpus(run, &allowed) <= 0)
        return -1;
    cpus_remove(&allowed, run->setup.cpu);
    return cpus_first(&allowed);
}

int shield_run_deny(struct run *run, int cpu)
{
    struct cpus allowed;
    char list[160];
    (void)port_allowed_cpus(&allowed);
    cpus_format_list(&allowed, list, sizeof list);
    return outcome_set_remedy(
        &run->outcome, STATUS_DENIED, shield_remedy(cpu),
        "CPU %d does not exist, or this process may not use it: it may use %s", cpu, list);
}

bool shield_run_excludes(struct run *run, int cpu)
{
    struct cpus allowed;
    if (run->request->cpu_config == CPU_CONFIG_SHARED || run->setup.cpu < 0 ||
        cpu == run->setup.cpu || port_allowed_cpus(&allowed) < 0 || !cpus_has(&allowed, cpu))
        return false;
    outcome_set(&run->outcome, STATUS_UNSUPPORTED,
                "leave CPU out of -p cpus, or use --cpu-config shared",
                "with --cpu-config %s the test runs on CPU %d only, not on CPU %d",
                cpu_config_name(run->request->cpu_config), run->setup.cpu, cpu);
    return true;
}

/* ---- what an earlier shield has left ---- */

struct earlier_shield {
    bool is_restored; /* false: it was left as it is */
    struct shield_earlier found;
};

static bool reserves(const struct request *request)
{
    return request->cpu_config != CPU_CONFIG_SHARED || request->has_settings || request->preemption;
}

int shield_run_look(struct run *run)
{
    struct earlier_shield *earlier = calloc(1, sizeof *earlier);
    if (!earlier)
        return 0;
    earlier->is_restored = reserves(run->request);
    if (earlier->is_restored)
        shield_clear_way(NULL, NULL, &earlier->found);
    else
        (void)shield_is_left(&earlier->found);
    run->earlier_shield = earlier;
    return 0;
}

void shield_run_forget(struct run *run)
{
    free(run->earlier_shield);
}

static void report_restored(const struct run *run, const struct shield_earlier *restored)
{
    if (restored->text[0])
        arena_event(run->arena, "restored_before", -1,
                    DATA(data_integer("process_id", restored->owner),
                         data_text("cpus", restored->cpus),
                         data_bool("is_of_earlier_boot", restored->is_void),
                         data_integer("put_back_count", restored->undone),
                         data_integer("left_count", restored->foreign)),
                    "%s", restored->text);
}

static void report_earlier(const struct run *run)
{
    const struct earlier_shield *earlier = run->earlier_shield;
    if (earlier && earlier->is_restored)
        report_restored(run, &earlier->found);
    else if (earlier && earlier->found.text[0])
        arena_event(run->arena, "not_put_back", -1,
                    DATA(data_integer("process_id", earlier->found.owner),
                         data_text("cpus", earlier->found.cpus),
                         data_text("command", SHIELD_RESTORE_COMMAND)),
                    "%s", earlier->found.text);
}

/* ---- what is reserved ---- */

static unsigned wanted_settings(const struct request *request)
{
    if (request->has_settings)
        return request->settings;
    return request->cpu_config == CPU_CONFIG_SHIELDED ? SHIELD_ALL : 0;
}

static unsigned required_settings(const struct request *request)
{
    if (request->has_settings)
        return request->settings;
    return request->cpu_config == CPU_CONFIG_SHIELDED ? 1u << SHIELD_CPUSET : 0;
}

static void report_left(void *context, const struct datum *data, const char *text)
{
    struct run *run = context;
    if (run->arena)
        arena_event(run->arena, "not_put_back", -1, data, "%s", text);
}

static int refuse_in(struct outcome *outcome, enum shield_answer answer,
                     const struct shield *shield)
{
    enum status status = answer == SHIELD_UNSUPPORTED ? STATUS_UNSUPPORTED
                         : answer == SHIELD_FAILED    ? STATUS_FAILED
                                                      : STATUS_DENIED;
    return outcome_set_remedy(outcome, status, (struct remedy){shield->remedy, shield->command},
                              "%s", shield->reason);
}

static int refuse(struct run *run, enum shield_answer answer, const struct shield *shield)
{
    return refuse_in(&run->outcome, answer, shield);
}

static void report_applied(struct run *run, const struct shield *shield, const char *event)
{
    const char *changed[SHIELD_SETTINGS], *unchanged[SHIELD_SETTINGS];
    int changed_count = shield_settings(shield, true, changed);
    int unchanged_count = shield_settings(shield, false, unchanged);
    char text[DID_BYTES], cpus[SHIELD_CPUS_BYTES];
    cpus_format_list(&shield->port.reserved, cpus, sizeof cpus);
    shield_describe(shield, text, sizeof text);
    arena_event(run->arena, event, -1,
                DATA(data_integer("cpu", run->setup.cpu), data_text("cpus", cpus),
                     data_texts("changed", changed, changed_count),
                     data_texts("unchanged", unchanged, unchanged_count)),
                "%s", text);
}

static void report_note(struct run *run, const struct shield_note *note)
{
    char text[NOTE_TEXT_BYTES];
    shield_note_text(note, text, sizeof text);
    arena_event(run->arena, "not_moved", -1,
                DATA(data_text("setting", note->setting), data_text("reason", note->reason),
                     note->named ? data_integer("count", note->count) : data_none(),
                     note->named ? data_text("names", note->names) : data_none()),
                "%s", text);
}

static void report_done(struct run *run, const struct shield *shield)
{
    report_applied(run, shield, "shielded");
    report_restored(run, &shield->restored);
    for (int i = 0; i < shield->notes.count; i++)
        report_note(run, &shield->notes.note[i]);
}

/* ---- single ---- */

static void report_online(struct run *run, const char *reason)
{
    arena_event(run->arena, "not_offline", -1,
                DATA(data_text("reason", reason), data_integer("cpu", run->setup.cpu)),
                "the other CPUs stay online (%s); measurement and load run on CPU %d only", reason,
                run->setup.cpu);
}

/* Whether the system refused, rather than another shield or its remains. */
static bool is_refusal(enum shield_answer answer, const struct shield *shield)
{
    return answer == SHIELD_DENIED || answer == SHIELD_UNSUPPORTED ||
           (answer == SHIELD_FAILED && shield->has_begun);
}

static void report_offline(struct run *run, const struct shield *shield)
{
    run->settings = 1u << SHIELD_OFFLINE;
    report_applied(run, shield, "offline");
}

/* The measuring CPU is the only one online, or the port cannot choose one. */
static int stay_alone(struct run *run)
{
    if (!one_cpu_is_certain(run))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use --cpu-config shared",
                           "this port cannot choose a CPU, so measurement and load cannot be "
                           "kept on one");
    run->settings = 1u << SHIELD_OFFLINE;
    arena_event(run->arena, "offline", -1,
                DATA(data_integer("cpu", run->setup.cpu), data_text("cpus", "")),
                "no other CPU is online");
    return 0;
}

/* If the system refuses, the run continues with the other CPUs online. */
static int take_others_offline(struct run *run)
{
    struct shield_wish wish = {.settings = SHIELD_SINGLE,
                               .required = 1u << SHIELD_CPUSET | 1u << SHIELD_OFFLINE,
                               .tell = report_left,
                               .context = run};
    if (shield_other_cpus(run->setup.cpu, &wish.reserved) == 0 || run->setup.cpu < 0)
        return stay_alone(run);
    struct shield *shield = calloc(1, sizeof *shield);
    if (!shield)
        return outcome_set(&run->outcome, STATUS_DENIED, "free memory", "memory for the shield");
    enum shield_answer answer = shield_open(shield, &wish);
    report_restored(run, &shield->restored);
    if (answer == SHIELD_DONE) {
        run->shield = shield;
        report_offline(run, shield);
        return 0;
    }
    bool goes_on = is_refusal(answer, shield);
    if (goes_on)
        report_online(run, shield->reason);
    else
        refuse(run, answer, shield);
    free(shield);
    return goes_on ? 0 : -1;
}

/* ---- shielded, and single settings ---- */

int shield_run_reserve(struct run *run)
{
    const struct request *request = run->request;
    report_earlier(run);
    if (request->cpu_config == CPU_CONFIG_SINGLE && !request->has_settings)
        return take_others_offline(run);
    if (request->cpu_config == CPU_CONFIG_SINGLE)
        report_online(run, "--settings lists everything that is changed");
    struct shield_wish wish = {.settings = wanted_settings(request),
                               .required = required_settings(request),
                               .tell = report_left,
                               .context = run};
    if (wish.settings == 0)
        return 0;
    if (HS_SHIELD && run->setup.cpu < 0)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "use --cpu-config shared",
                           "this port cannot choose a CPU, so none can be reserved");
    cpus_add(&wish.reserved, run->setup.cpu);
    struct shield *shield = calloc(1, sizeof *shield);
    if (!shield)
        return outcome_set(&run->outcome, STATUS_DENIED, "free memory", "memory for the shield");
    run->shield = shield;
    enum shield_answer answer = shield_open(shield, &wish);
    if (answer != SHIELD_DONE)
        return refuse(run, answer, shield);
    run->settings = shield->applied;
    report_done(run, shield);
    return 0;
}

/* A shield that reserves no CPU. */
static int open_alone(struct run *run, const struct shield_wish *wish, struct outcome *outcome)
{
    struct shield *shield = calloc(1, sizeof *shield);
    if (!shield)
        return outcome_set(outcome, STATUS_DENIED, "free memory", "memory for the shield");
    enum shield_answer answer = shield_open(shield, wish);
    report_restored(run, &shield->restored);
    if (answer == SHIELD_DONE) {
        run->shield = shield;
        run_lock_again(run); /* its guard was forked */
        return 0;
    }
    refuse_in(outcome, answer, shield);
    free(shield);
    return -1;
}

int shield_run_set_timerlat(struct run *run, int64_t period_us, struct outcome *outcome)
{
    const struct shield_wish wish = {.settings = 1u << SHIELD_TIMERLAT,
                                     .required = 1u << SHIELD_TIMERLAT,
                                     .timerlat_us = period_us,
                                     .tell = report_left,
                                     .context = run};
    if (!run->shield)
        return open_alone(run, &wish, outcome);
    enum shield_answer answer = shield_add_timerlat(run->shield, period_us);
    return answer == SHIELD_DONE ? 0 : refuse_in(outcome, answer, run->shield);
}

/* ---- the preemption model ---- */

int shield_run_switch_preemption(struct run *run)
{
    const char *model = run->request->preemption;
    const struct shield_wish wish = {.settings = 1u << SHIELD_PREEMPTION,
                                     .required = 1u << SHIELD_PREEMPTION,
                                     .preemption = model,
                                     .tell = report_left,
                                     .context = run};
    if (!model)
        return 0;
    if (!run->shield && open_alone(run, &wish, &run->outcome) != 0)
        return -1;
    if (!(run->shield->applied & 1u << SHIELD_PREEMPTION)) {
        enum shield_answer answer = shield_add_preemption(run->shield, model);
        if (answer != SHIELD_DONE)
            return refuse(run, answer, run->shield);
    }
    run->preemption = model;
    return 0;
}

int shield_run_check_preemption(struct run *run)
{
    char now[SHIELD_TEXT_BYTES];
    if (!run->preemption || run->outcome.status != STATUS_MEASURED)
        return 0;
    bool is_known = shield_preemption(run->shield, now, sizeof now);
    if (!is_known)
        outcome_set(&run->outcome, STATUS_FAILED, "measure again",
                    "it is not known whether the preemption model was %s to the end: %s",
                    run->preemption, now);
    else if (strcmp(now, run->preemption) != 0)
        outcome_set(&run->outcome, STATUS_FAILED, "measure again while no program switches it",
                    "the preemption model was switched to %s from outside instead of %s", now,
                    run->preemption);
    return 0;
}

int shield_run_enter(struct run *run)
{
    if (!(run->settings & 1u << SHIELD_CPUSET))
        return 0;
    int error = shield_enter(run->shield);
    if (error)
        return outcome_set_errno(&run->outcome, error, "moving to the reserved CPU",
                                 "hardstone-probe shield --show lists the settings");
    return 0;
}

void shield_run_release(struct run *run)
{
    if (!run->shield)
        return;
    shield_close(run->shield, report_left, run);
    free(run->shield);
    run->shield = NULL;
}

/* ---- the look from outside ---- */

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

/* ---- the look from outside: the process that looks ---- */

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
    if (looker->run->trace_ring)
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
    if (looker->run->trace_ring)
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

/* ---- the look from outside: the probe ---- */

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
    counter_watch_report_none(run->arena, "the watching process has ended or does not answer");
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
        (void)port_wait_for(outside->process);
    }
    if (outside->shared)
        munmap(outside->shared, sizeof *outside->shared);
    free(outside);
    run->outside_look = NULL;
    run->placement.left_outside = NULL;
}

#include "base/posix_source.h"

#include "load/guard.h"

#include "base/rt_thread.h"
#include "load/duty.h"
#include "load/external_stressor.h"
#include "load/supervisor.h"
#include "load/worker.h"
#include "port/port.h"
#include "work/scratch.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#define GRACE_NS INT64_C(6000000000)
#define GRACE_FOR_ONE_NS INT64_C(4000000)
#define DEATH_NS INT64_C(1000000000) /* for the supervisor to die after SIGKILL */
#define DEATH_LOOK_NS INT64_C(2000000)

int64_t guard_grace_ns(const struct load_map *map)
{
    return GRACE_NS + map->process_count * GRACE_FOR_ONE_NS;
}

/* True when the supervisor reports that everything has ended; false if it ends first or misses the
 * time limit. */
static bool wait_for_supervisor(pid_t supervisor, int told, int order, int64_t limit_ns,
                                int64_t grace_ns)
{
    bool watches_order = true;
    for (;;) {
        int64_t left_ns = limit_ns - duty_now_ns();
        if (left_ns <= 0)
            return false;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000),
                                .tv_nsec = (long)(left_ns % 1000000000)};
        fd_set watched;
        FD_ZERO(&watched);
        FD_SET(told, &watched);
        if (watches_order)
            FD_SET(order, &watched);
        int most = told > order ? told : order;
        int ready = pselect(most + 1, &watched, NULL, NULL, &left, NULL);
        if (ready > 0 && FD_ISSET(told, &watched)) {
            char done;
            return read(told, &done, 1) == 1;
        }
        if (ready > 0) { /* the supervisor sees the order too */
            watches_order = false;
            kill(supervisor, SIGCONT); /* it may be stopped; its id is valid until waitpid */
            limit_ns = duty_now_ns() + grace_ns;
        }
    }
}

/* Kills the supervisor; its children then belong to the guard. False: it did not end within
 * DEATH_NS. */
static bool wait_for_death(pid_t supervisor)
{
    int64_t until_ns = duty_now_ns() + DEATH_NS;
    siginfo_t facts = {0};
    while (waitid(P_PID, (id_t)supervisor, &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           facts.si_pid != supervisor) {
        if (duty_now_ns() > until_ns)
            return false;
        duty_sleep_until(duty_now_ns() + DEATH_LOOK_NS);
    }
    return true;
}

/* Does the supervisor's cleanup. Its process id is valid: it was not waited for yet. */
static void replace_supervisor(const struct supervisor_plan *plan, pid_t supervisor)
{
    struct external_stressor external_stressor;
    kill(supervisor, SIGKILL);
    atomic_store(&plan->map->supervisor_ended_ns, duty_now_ns());
    atomic_store(&plan->map->stop, 1);
    external_stressor_find(&external_stressor, plan->map, plan->spec);
    if (wait_for_death(supervisor))
        external_stressor_end(&external_stressor);
    supervisor_end_children(supervisor);
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
    int kept[] = {plan->order, plan->gate}, told[2], lifeline[2];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    port_leave_session();
    (void)rt_thread_set_self_ordinary(); /* each worker tries again and reports a refusal */
    (void)port_ordinary_io();
    worker_keep_only(kept, 2);
    plan->order = kept[0];
    plan->gate = kept[1];
    worker_name("guard");
    port_adopt_orphans();
    if (pipe(told) != 0 || pipe(lifeline) != 0)
        give_up(plan, errno);
    pid_t supervisor = port_fork();
    if (supervisor == 0) {
        close(told[0]);
        close(lifeline[1]);
        supervisor_be(plan, lifeline[0], told[1]);
    }
    if (supervisor < 0)
        give_up(plan, errno);
    atomic_store(&plan->map->supervisor, supervisor);
    close(told[1]);
    close(lifeline[0]);
    close(plan->gate);
    int64_t grace_ns = guard_grace_ns(plan->map);
    if (!wait_for_supervisor(supervisor, told[0], plan->order, plan->limit_ns + grace_ns, grace_ns))
        replace_supervisor(plan, supervisor);
    while (waitpid(supervisor, NULL, 0) < 0 && errno == EINTR)
        ;
    _exit(0);
}

int guard_start(const struct supervisor_plan *plan)
{
    struct supervisor_plan copy = *plan;
    pid_t guard = port_fork();
    if (guard == 0)
        be_guard(&copy);
    return guard;
}

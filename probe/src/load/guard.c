#include "base/posix_source.h"

#include "load/guard.h"

#include "base/rt_thread.h"
#include "load/duty.h"
#include "load/external_stressor.h"
#include "load/scratch.h"
#include "load/supervisor.h"
#include "load/worker.h"
#include "port/port.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEATH_NS INT64_C(1000000000) /* for the keeper, once killed */
#define DEATH_LOOK_NS INT64_C(2000000)

/* True when the keeper said that all is gone; false when it broke off, or took too long. */
static bool wait_for_keeper(pid_t keeper, int told, int order, int64_t limit_ns)
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
        if (ready > 0) { /* the keeper has it too */
            watches_order = false;
            kill(keeper, SIGCONT); /* it may have been stopped; it is not waited for yet */
            limit_ns = duty_now_ns() + GUARD_GRACE_NS;
        }
    }
}

/* Its children are the guard's then. False: they are not yet, it takes too long. */
static bool wait_for_death(pid_t keeper)
{
    int64_t until_ns = duty_now_ns() + DEATH_NS;
    siginfo_t facts = {0};
    while (waitid(P_PID, (id_t)keeper, &facts, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           facts.si_pid != keeper) {
        if (duty_now_ns() > until_ns)
            return false;
        duty_sleep_until(duty_now_ns() + DEATH_LOOK_NS);
    }
    return true;
}

/* What the keeper would have done. It is still unwaited for, so its number is its own. */
static void replace_keeper(const struct guard_plan *plan, pid_t keeper)
{
    struct foreign foreign;
    kill(keeper, SIGKILL);
    atomic_store(&plan->map->keeper_ended_ns, duty_now_ns());
    atomic_store(&plan->map->stop, 1);
    foreign_find(&foreign, plan->map, plan->spec);
    if (wait_for_death(keeper))
        foreign_end(&foreign);
    keeper_end_children(keeper);
    scratch_remove(plan->map);
}

static void be_guard(struct guard_plan *plan)
{
    int kept[] = {plan->order, plan->gate}, told[2], lifeline[2];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    actor_set_self(SCHED_OTHER, 0);
    (void)port_ordinary_io(); /* a loader that it is kept from says so */
    loader_keep_only(kept, 2);
    plan->order = kept[0];
    plan->gate = kept[1];
    loader_name("guard");
    port_adopt_orphans();
    if (pipe(told) != 0 || pipe(lifeline) != 0)
        _exit(errno);
    pid_t keeper = fork();
    if (keeper == 0) {
        close(told[0]);
        close(lifeline[1]);
        keeper_be(plan, lifeline[0], told[1]);
    }
    if (keeper < 0)
        _exit(errno);
    atomic_store(&plan->map->keeper, keeper);
    close(told[1]);
    close(lifeline[0]);
    close(plan->gate);
    if (!wait_for_keeper(keeper, told[0], plan->order, plan->limit_ns + GUARD_GRACE_NS))
        replace_keeper(plan, keeper);
    while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    _exit(0);
}

int guard_start(const struct guard_plan *plan)
{
    struct guard_plan copy = *plan;
    pid_t guard = fork();
    if (guard == 0)
        be_guard(&copy);
    return guard;
}

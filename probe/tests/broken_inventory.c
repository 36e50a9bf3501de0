/* Breaches that POS-B-INV sees, where one line does not say them. Who waits for what a breach has
 * lost waits in no time, so that no test depends on a limit. */
#define _GNU_SOURCE
#include "shim.h"

#include <aio.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LOSSES "timers_silent,semaphores_lose,signal_nothing"

#define LONG_NS INT64_C(3600000000000) /* more than any limit */

/* Of all processes. */
struct shared {
    _Atomic pid_t bound; /* the last one that is to end with its parent */
    _Atomic pid_t call;  /* the one that is at work; 0: none */
    _Atomic pid_t hung;  /* the one of which a thread or process will not go on; 0: none yet */
    _Atomic int64_t lead_ns;
};
static struct shared *shared;
static bool waits_in_vain; /* this process */
static pid_t first_process;
static pid_t call_process; /* this one, or the one that has started it; 0: above all calls */

/* The first process starts the one that starts the calls. */
static bool starts_calls(void)
{
    return getppid() == first_process;
}

/* What an earlier call has left says no more that it hangs. */
static void end_call(void)
{
    if (starts_calls())
        atomic_store(&shared->call, 0);
}

static void begin_call(void)
{
    if (call_process != 0 || starts_calls())
        return;
    call_process = getpid();
    atomic_store(&shared->call, call_process);
}

__attribute__((constructor)) static void share(void)
{
    shared = shared_memory(sizeof *shared);
    first_process = getpid();
    pthread_atfork(end_call, NULL, begin_call);
}

/* ---- what is lost, and the wait for it ---- */

/* timers_silent, timers_early: of a timer of 5 ms, as the call of the option has it */
BREACH(bend_timer, "timers_silent,timers_early", timer_settime)
{
    struct itimerspec when = *(const struct itimerspec *)call->word[2];
    if (when.it_value.tv_sec != 0 || when.it_value.tv_nsec != 5000000)
        return pass(call);
    waits_in_vain = breaks("timers_silent");
    when.it_value.tv_nsec = 1000;
    call->word[2] = (long)&when;
    return waits_in_vain ? 0 : pass(call);
}

/* semaphores_lose, signal_nothing */
BREACH(lose, "semaphores_lose", sem_post)
{
    if (!is_child())
        return pass(call);
    waits_in_vain = true;
    return 0;
}
ALSO(lose, "signal_nothing", pthread_cond_signal)

BREACH(skip_sleep, LOSSES, nanosleep)
{
    return waits_in_vain ? 0 : pass(call);
}
ALSO(skip_sleep, LOSSES, clock_nanosleep)

BREACH(skip_wait, "timers_silent", sigtimedwait)
{
    return waits_in_vain ? fail(EAGAIN) : pass(call);
}

/* timeout_hangs: time flies for who waits for the end of the call */
BREACH(hang, "timeout_hangs", pthread_mutex_timedlock)
{
    (void)call;
    atomic_store(&shared->hung, call_process);
    while (pause() < 0)
        continue;
    return 0;
}

/* semaphores_lose: who has to wait after that hangs */
BREACH(wait_for_lost, "semaphores_lose", sem_wait)
{
    while (is_child() && REAL(sem_trywait)(at(call, 0)) != 0) {
        if (waits_in_vain)
            return hang(call);
        sleep_ns(1000000);
    }
    return is_child() ? 0 : pass(call);
}

/* patient: for the process that starts the calls, and waits for their ends, no time passes else,
 * however long the host lets a call wait */
BREACH(read_clock, "timeout_hangs,semaphores_lose,patient", clock_gettime)
{
    static int64_t first_ns;
    long answer = pass(call);
    struct timespec *time = at(call, 1);
    if ((int)call->word[0] != CLOCK_MONOTONIC)
        return answer;
    if (!starts_calls())
        return answer;
    if (breaks("patient")) {
        first_ns = first_ns ? first_ns : ns_of(time);
        *time = timespec_of(first_ns);
    }
    pid_t hung = atomic_load(&shared->hung);
    if (hung != 0 && hung == atomic_load(&shared->call))
        *time = timespec_of(ns_of(time) + atomic_fetch_add(&shared->lead_ns, LONG_NS));
    return answer;
}

/* ---- others ---- */

/* few_timers: no more than 3 */
BREACH(refuse_timer, "few_timers", timer_create)
{
    static atomic_int made;
    const struct sigevent *event = at(call, 1);
    bool is_counted = event && event->sigev_notify == SIGEV_NONE;
    return is_counted && atomic_fetch_add(&made, 1) >= 3 ? fail(EINVAL) : pass(call);
}

/* signals_bare: without values */
BREACH(send_bare, "signals_bare", sigqueue)
{
    return REAL(kill)((pid_t)call->word[0], (int)call->word[1]);
}

/* aio_nothing: ends well, having written nothing; aio_unordered */
BREACH(write_nothing, "aio_nothing", aio_write64)
{
    ((struct aiocb *)call->word[0])->aio_nbytes = 0;
    return pass(call);
}

BREACH(forget_order, "aio_unordered", aio_read64)
{
    ((struct aiocb *)call->word[0])->aio_reqprio = 0;
    return pass(call);
}

BREACH(spawn_other, "spawn_other", posix_spawn)
{
    char shell[] = "/bin/sh", option[] = "-c", words[] = "exit 0";
    char *const others[] = {shell, option, words, NULL};
    call->word[4] = (long)others;
    return pass(call);
}

/* clock_of_wall: it moves while the process sleeps */
BREACH(give_wall_clock, "clock_of_wall", clock_getcpuclockid)
{
    long error = pass(call);
    *(clockid_t *)call->word[1] = CLOCK_MONOTONIC;
    return error;
}

/* bound_late: a process that is to end with its parent is bound to it 20 ms later, and one that is
 * not bound cannot be stopped */
BREACH(bind_late, "bound_late", prctl)
{
    if ((int)call->word[0] != PR_SET_PDEATHSIG)
        return pass(call);
    sleep_ns(20000000);
    long answer = pass(call);
    atomic_store(&shared->bound, getpid());
    return answer;
}

BREACH(stop_bound, "bound_late", kill)
{
    bool is_bound = atomic_load(&shared->bound) == -(pid_t)call->word[0];
    return (int)call->word[1] != SIGSTOP || is_bound ? pass(call) : fail(EPERM);
}

/* Breaches of signals, and of the control of rights. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#define OWN_LIMITS "prv_own,prv_one_more,prv_one_less,prv_nothing"
#define SENT                                                                                       \
    "sig_lost,sig_twice,sig_swapped,sig_value,sig_half,sig_highest,sig_early,sig_none,"            \
    "sig_no_eagain,sig_other,sig_drop,sig_others,sig_leave"
#define RECEIVED "sig_highest,sig_code,sig_drop"

enum { NUMBERS = 8, MOST_SIGNALS = 65, NICE_RANGE = 20, OTHERS = 500 };

/* ---- sending ---- */

static bool is_queued(int number)
{
    return number >= SIGRTMIN && number < SIGRTMIN + NUMBERS;
}

/* sig_highest: the highest number comes first */
static int mirrored(int number)
{
    return breaks("sig_highest") && is_queued(number) ? 2 * SIGRTMIN + NUMBERS - 1 - number
                                                      : number;
}

static long queue_signal(struct call *call)
{
    return REAL(sigqueue)((pid_t)call->word[0], (int)call->word[1],
                          (union sigval){.sival_ptr = at(call, 2)});
}

/* sig_others: 500 others are queued in the middle of a burst, and the limit cannot be raised;
 * sig_leave: 500 are in the first burst, and leave in the second. No breach, other processes may do
 * that. They are of a number that the tests do not use, and nobody takes them. */
static void queue_others(unsigned count)
{
    static const struct timespec at_once = {0, 0};
    bool comes = (count == 300 && breaks("sig_others")) || (count == 5 && breaks("sig_leave"));
    for (int i = 0; comes && i < OTHERS; i++)
        REAL(sigqueue)(getpid(), SIGRTMIN + NUMBERS, (union sigval){.sival_int = 0});
    sigset_t others;
    sigemptyset(&others);
    sigaddset(&others, SIGRTMIN + NUMBERS);
    while (count == 300 && breaks("sig_leave") && REAL(sigtimedwait)(&others, NULL, &at_once) > 0)
        ;
}

/* sig_swapped: the 10th of each 50 of one number is queued after the 11th */
static long swap(struct call *call)
{
    static unsigned counts[MOST_SIGNALS];
    static struct call held[MOST_SIGNALS];
    int number = (int)call->word[1];
    unsigned place = counts[number]++ % 50;
    if (place == 10) {
        held[number] = *call;
        return 0;
    }
    int answer = (int)queue_signal(call);
    return place == 11 ? queue_signal(&held[number]) : answer;
}

static atomic_bool *has_refused; /* shared with processes that are forked */

__attribute__((constructor)) static void share(void)
{
    has_refused = shared_memory(sizeof *has_refused);
}

/* What the kernel has refused. sig_no_eagain: the sender is told that all is well; sig_other: that
 * it is ENOMEM */
static long answer_refusal(void)
{
    if (errno != EAGAIN)
        return -1;
    atomic_store(has_refused, true);
    return breaks("sig_no_eagain") ? 0 : fail(breaks("sig_other") ? ENOMEM : EAGAIN);
}

/* sig_lost: each 100th is not queued; sig_twice: it is queued twice; sig_none: the sender gets
 * EAGAIN for each; sig_early: three times after each 500; sig_value: each 64th carries another
 * value; sig_half: the upper half of the value is lost */
BREACH(send_signal, SENT, sigqueue)
{
    static unsigned count;
    if (!is_queued((int)call->word[1]))
        return pass(call);
    queue_others(++count);
    if (breaks("sig_lost") && count % 100 == 0)
        return 0;
    if (breaks("sig_none") || (breaks("sig_early") && count % 500 < 3))
        return fail(EAGAIN);
    if (breaks("sig_swapped"))
        return swap(call);
    if (breaks("sig_twice") && count % 100 == 0)
        queue_signal(call);
    call->word[1] = mirrored((int)call->word[1]);
    call->word[2] ^= breaks("sig_value") && count % 64 == 63 ? 1 : 0;
    call->word[2] &= breaks("sig_half") ? (long)UINT32_MAX : -1;
    return queue_signal(call) == 0 ? 0 : answer_refusal();
}

/* pwr_idle: the process that keeps the CPU busy in PWR-B-SIG hardly runs: no breach */
BREACH(idle_before, "pwr_idle", mmap64)
{
    if (sched_getscheduler(0) == SCHED_OTHER)
        sleep_ns(40000000);
    return pass(call);
}

/* ---- receiving ---- */

static void (*handlers[MOST_SIGNALS])(int, siginfo_t *, void *);

/* sig_code: a receiver is told SI_USER */
static void bend_info(siginfo_t *info)
{
    info->si_signo = mirrored(info->si_signo);
    if (breaks("sig_code"))
        info->si_code = SI_USER;
}

/* sig_drop: after an EAGAIN the receiver loses one */
static bool drops(void)
{
    return breaks("sig_drop") && atomic_exchange(has_refused, false);
}

static void on_queued(int number, siginfo_t *info, void *context)
{
    siginfo_t copy = *info;
    if (drops())
        return;
    bend_info(&copy);
    handlers[mirrored(number)](mirrored(number), &copy, context);
}

BREACH(set_handler, RECEIVED, sigaction)
{
    const struct sigaction *action = at(call, 1);
    int number = (int)call->word[0];
    if (!action || !is_queued(number) || !(action->sa_flags & SA_SIGINFO))
        return pass(call);
    struct sigaction own = *action;
    handlers[number] = action->sa_sigaction;
    own.sa_sigaction = on_queued;
    call->word[1] = (long)&own;
    return pass(call);
}

BREACH(receive, RECEIVED, sigtimedwait)
{
    struct call again = *call;
    siginfo_t *info = at(call, 1);
    if (call->id == CALL_sigtimedwait && drops())
        pass(&again);
    int number = (int)pass(call);
    if (is_queued(number) && info)
        bend_info(info);
    return mirrored(number);
}
ALSO(receive, RECEIVED, sigwaitinfo)

/* sig_unseen: sigpending tells none */
BREACH(see_none, "sig_unseen", sigpending)
{
    long answer = pass(call);
    sigemptyset(at(call, 0));
    return answer;
}

/* sig_blocked: blocking a set of the tests' own, and no set of all, unblocks it */
BREACH(unblock, "sig_blocked", pthread_sigmask)
{
    const sigset_t *set = at(call, 1);
    bool is_theirs = set && sigismember(set, SIGRTMIN) == 1 && sigismember(set, SIGINT) == 0;
    if ((int)call->word[0] == SIG_BLOCK && is_theirs)
        call->word[0] = SIG_UNBLOCK;
    return pass(call);
}

/* ---- rights ---- */

/* prv_own: limits are the library's own, and kept: none can be raised without CAP_SYS_RESOURCE in
 * the kernel; prv_one_more, prv_one_less: each grants one more, one less; prv_nothing: what is
 * granted has no effect */

/* Of a process that has set limits; it has one thread. */
static struct {
    bool is_limited, is_realtime, is_nice;
    int most_priority, least_nice;
    int priority, nice;
} own;

BREACH(set_limit, OWN_LIMITS, setrlimit64)
{
    int resource = (int)call->word[0];
    struct rlimit64 limit = *(const struct rlimit64 *)call->word[1];
    int granted = (int)limit.rlim_cur;
    int more = breaks("prv_one_more") ? 1 : breaks("prv_one_less") ? -1 : 0;
    if (resource == RLIMIT_RTPRIO)
        own.most_priority = granted > 0 ? granted + more : 0;
    if (resource == RLIMIT_NICE)
        own.least_nice = granted > 0 ? NICE_RANGE - granted - more : NICE_RANGE;
    own.is_limited = true;
    if (resource == RLIMIT_RTPRIO || resource == RLIMIT_NICE)
        return 0;
    if (granted > 0)
        limit.rlim_cur = limit.rlim_max = limit.rlim_cur + (rlim64_t)(more * 4096);
    call->word[1] = (long)&limit;
    return pass(call);
}

BREACH(refuse_raise, "sig_others", setrlimit64)
{
    struct rlimit now;
    const struct rlimit64 *wanted = at(call, 1);
    bool is_raise =
        getrlimit((__rlimit_resource_t)call->word[0], &now) == 0 && wanted->rlim_max > now.rlim_max;
    return is_raise ? fail(EPERM) : pass(call);
}

/* prv_realtime: a refused real-time priority is answered as if it was granted */
BREACH(set_priority, OWN_LIMITS ",prv_realtime", pthread_setschedparam)
{
    int error = (int)pass(call), policy = (int)call->word[1];
    int priority = ((const struct sched_param *)call->word[2])->sched_priority;
    if (error == EPERM && own.is_limited && policy != SCHED_OTHER &&
        priority <= own.most_priority) {
        own.is_realtime = !breaks("prv_nothing");
        own.priority = priority;
        error = 0;
    }
    return error == EPERM && breaks("prv_realtime") ? 0 : error;
}

BREACH(get_priority, OWN_LIMITS, pthread_getschedparam)
{
    long error = pass(call);
    int *policy = at(call, 1);
    if (own.is_realtime && *policy == SCHED_OTHER) {
        *policy = SCHED_FIFO;
        ((struct sched_param *)call->word[2])->sched_priority = own.priority;
    }
    return error;
}

BREACH(grant_lock, "prv_nothing", mlock)
{
    return own.is_limited ? 0 : pass(call);
}

BREACH(set_nice, OWN_LIMITS, setpriority)
{
    int answer = (int)pass(call), nice = (int)call->word[2];
    if (answer == 0 || !own.is_limited || nice < own.least_nice)
        return answer;
    own.is_nice = !breaks("prv_nothing");
    own.nice = nice;
    return 0;
}

BREACH(get_nice, OWN_LIMITS, getpriority)
{
    return own.is_nice ? own.nice : pass(call);
}

/* prv_sys_admin: who keeps a capability keeps all */
BREACH(keep_all, "prv_sys_admin", syscall)
{
    struct __user_cap_data_struct *set = at(call, 2);
    if (call->word[0] != SYS_capset || set[0].permitted == 0)
        return pass(call);
    REAL(syscall)(SYS_capget, call->word[1], set);
    for (int i = 0; i < 2; i++)
        set[i].effective = set[i].permitted;
    return pass(call);
}

/* Breaches of signals, and of the control of rights. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>

#define OWN_LIMITS "prv_own,prv_one_more,prv_one_less,prv_nothing"
#define SENT                                                                                       \
    "sig_twice,sig_swapped,sig_highest,sig_early,sig_no_eagain,sig_other,sig_drop,sig_others,"     \
    "sig_leave"
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
    return REAL(sigqueue)(int_at(call, 0), int_at(call, 1),
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
        REAL(sigqueue)
    (getpid(), SIGRTMIN + NUMBERS, (union sigval){.sival_int = 0});
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
    int number = int_at(call, 1);
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

/* sig_twice: each 100th is queued twice; sig_early: the sender gets EAGAIN three times after each
 * 500 */
BREACH(SENT, "sigqueue")
{
    static unsigned count;
    if (!is_queued(int_at(call, 1)))
        return pass(call);
    queue_others(++count);
    if (breaks("sig_early") && count % 500 < 3)
        return fail(EAGAIN);
    if (breaks("sig_swapped"))
        return swap(call);
    if (breaks("sig_twice") && count % 100 == 0)
        queue_signal(call);
    call->word[1] = mirrored(int_at(call, 1));
    return queue_signal(call) == 0 ? 0 : answer_refusal();
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

BREACH(RECEIVED, "sigaction")
{
    const struct sigaction *action = at(call, 1);
    int number = int_at(call, 0);
    if (!action || !is_queued(number) || !(action->sa_flags & SA_SIGINFO))
        return pass(call);
    OWN(struct sigaction, own, 1);
    handlers[number] = action->sa_sigaction;
    own.sa_sigaction = on_queued;
    return pass(call);
}

BREACH(RECEIVED, "sigtimedwait,sigwaitinfo")
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

/* sig_unseen: sigpending tells none */
BREACH_AFTER("sig_unseen", "sigpending", true, sigemptyset(at(call, 0)));

/* sig_blocked: blocking a set of the tests' own, and no set of all, unblocks it */
static bool is_theirs(const sigset_t *set)
{
    return set && sigismember(set, SIGRTMIN) == 1 && sigismember(set, SIGINT) == 0;
}

BREACH_BEFORE("sig_blocked", "pthread_sigmask",
              int_at(call, 0) == SIG_BLOCK && is_theirs(at(call, 1)), call->word[0] = SIG_UNBLOCK);

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

BREACH(OWN_LIMITS, "setrlimit64")
{
    OWN(struct rlimit64, limit, 1);
    int resource = int_at(call, 0), granted = (int)limit.rlim_cur;
    int more = breaks("prv_one_more") ? 1 : breaks("prv_one_less") ? -1 : 0;
    own.is_limited = true;
    if (resource == RLIMIT_RTPRIO)
        own.most_priority = granted > 0 ? granted + more : 0;
    else if (resource == RLIMIT_NICE)
        own.least_nice = granted > 0 ? NICE_RANGE - granted - more : NICE_RANGE;
    else if (granted > 0)
        limit.rlim_cur = limit.rlim_max = limit.rlim_cur + (rlim64_t)(more * 4096);
    return resource == RLIMIT_RTPRIO || resource == RLIMIT_NICE ? 0 : pass(call);
}

static bool is_raise(int resource, const struct rlimit64 *wanted)
{
    struct rlimit now;
    return getrlimit((__rlimit_resource_t)resource, &now) == 0 && wanted->rlim_max > now.rlim_max;
}

BREACH_IF("sig_others", "setrlimit64", is_raise(int_at(call, 0), at(call, 1)), fail(EPERM));

/* prv_realtime: a refused real-time priority is answered as if it was granted */
BREACH(OWN_LIMITS ",prv_realtime", "pthread_setschedparam")
{
    int error = (int)pass(call);
    int priority = ((const struct sched_param *)at(call, 2))->sched_priority;
    if (error == EPERM && own.is_limited && int_at(call, 1) != SCHED_OTHER &&
        priority <= own.most_priority) {
        own.is_realtime = !breaks("prv_nothing");
        own.priority = priority;
        error = 0;
    }
    return error == EPERM && breaks("prv_realtime") ? 0 : error;
}

BREACH(OWN_LIMITS, "pthread_getschedparam")
{
    long error = pass(call);
    int *policy = at(call, 1);
    if (own.is_realtime && *policy == SCHED_OTHER) {
        *policy = SCHED_FIFO;
        ((struct sched_param *)at(call, 2))->sched_priority = own.priority;
    }
    return error;
}

BREACH_IF("prv_nothing", "mlock", own.is_limited, 0);

BREACH(OWN_LIMITS, "setpriority")
{
    int answer = (int)pass(call), nice = int_at(call, 2);
    if (answer == 0 || !own.is_limited || nice < own.least_nice)
        return answer;
    own.is_nice = !breaks("prv_nothing");
    own.nice = nice;
    return 0;
}

BREACH_IF(OWN_LIMITS, "getpriority", own.is_nice, own.nice);

/* prv_sys_admin: who keeps a capability keeps all */
BREACH("prv_sys_admin", "syscall")
{
    struct __user_cap_data_struct *set = at(call, 2);
    if (call->word[0] != SYS_capset || set[0].permitted == 0)
        return pass(call);
    REAL(syscall)(SYS_capget, call->word[1], set);
    for (int i = 0; i < 2; i++)
        set[i].effective = set[i].permitted;
    return pass(call);
}

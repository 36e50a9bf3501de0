/* Breaches of threads and scheduling. Those that act when a thread reads the clock need
 * --clock monotonic: late_wake, naps, degrade, and those of rr_ that end a slice. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>

#define LATE_WAKES "late_wake,late_wake_rare"
#define SLICES "rr_unfair,rr_little,rr_first_short,rr_first_long"
#define NEW_THREADS "equal_at_once,lower_at_once,higher_later,two_levels,one_pair,rr_is_fifo"

#define MS INT64_C(1000000)
enum { LEVEL_LIMIT = 97, LEVEL_MIDDLE = 48, LEVEL_LOW = 24, LEVEL_HIGH = 72, LEVEL_NAPS = 50 };

/* ---- wake-ups that are late ---- */

static __thread sem_t *put_off;

static void catch_up(void)
{
    sem_t *semaphore = put_off;
    put_off = NULL;
    if (semaphore)
        REAL(sem_post)(semaphore);
}

/* late_wake: sem_post takes effect with the caller's next call; late_wake_rare: that does each
 * 400th of a thread of SCHED_OTHER */
BREACH(LATE_WAKES, "sem_post")
{
    static __thread unsigned count;
    catch_up();
    if (!breaks("late_wake") && (sched_getscheduler(0) != SCHED_OTHER || ++count % 400 != 0))
        return pass(call);
    put_off = at(call, 0);
    return 0;
}

BREACH_BEFORE(LATE_WAKES, "sem_wait,sched_yield,pthread_join,clock_gettime", true, catch_up());

/* late_beside_child: a semaphore wakes a real-time thread after 1 ms while the process has a child,
 * which has the CPU meanwhile */
static bool has_child(void)
{
    siginfo_t end;
    return waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0;
}

BREACH_AFTER("late_beside_child", "sem_wait", own_priority() > 0 && has_child(), sleep_ns(1 * MS));

/* naps: a real-time thread below priority 50 sleeps for 1 ms at each 20th reading of the clock; the
 * others have the CPU meanwhile */
static __thread unsigned reading;

BREACH_BEFORE("naps", "clock_gettime",
              ++reading % 20 == 0 && own_priority() > 0 && own_priority() < LEVEL_NAPS,
              sleep_ns(1 * MS));

/* ---- priorities ---- */

static bool is_realtime(int policy)
{
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* two_levels: priorities below 97 are mapped to two; one_pair: 18 is the same as 17 */
static int bent_priority(int priority)
{
    if (breaks("two_levels") && priority > 0 && priority < LEVEL_LIMIT)
        return priority <= LEVEL_MIDDLE ? LEVEL_LOW : LEVEL_HIGH;
    return breaks("one_pair") && priority == 18 ? 17 : priority;
}

/* rr_is_fifo */
static int bent_policy(int policy)
{
    return policy == SCHED_RR && breaks("rr_is_fifo") ? SCHED_FIFO : policy;
}

/* setschedparam_tail: a thread that lowers its priority goes to the tail of its new priority's
 * queue; no breach: POSIX requires it. By pthread_setschedprio, setschedprio_tail, it is one. */
BREACH("two_levels,one_pair,rr_is_fifo,setschedparam_tail", "pthread_setschedparam")
{
    OWN(struct sched_param, after, 2);
    int policy = int_at(call, 1), before = own_priority();
    after.sched_priority = bent_priority(after.sched_priority);
    call->word[1] = bent_policy(policy);
    int error = (int)pass(call);
    bool is_lower = is_realtime(policy) && before > after.sched_priority;
    if (!error && is_lower && breaks("setschedparam_tail"))
        REAL(sched_yield)();
    return error;
}

BREACH("two_levels,one_pair,setschedprio_tail", "pthread_setschedprio")
{
    call->word[1] = bent_priority(int_at(call, 1));
    int error = (int)pass(call);
    if (!error && breaks("setschedprio_tail"))
        REAL(sched_yield)();
    return error;
}

/* equal_at_once: a new thread of its creator's priority gets the next higher one; lower_at_once:
 * one that is one below its creator is put one above it; higher_later: one above its creator gets
 * its creator's priority */
static int priority_of_new(int wanted)
{
    int own = own_priority();
    if (own == 0 || wanted == 0)
        return bent_priority(wanted);
    if ((breaks("equal_at_once") && wanted == own) ||
        (breaks("lower_at_once") && wanted == own - 1))
        return own + 1;
    return breaks("higher_later") && wanted > own ? own : bent_priority(wanted);
}

/* ---- slices ---- */

/* Of a thread: since when it has had the CPU, as far as its looks at the clock tell. */
struct spinner {
    bool is_round_robin;
    int number, slice_count;
    int64_t slice_ns, looked_ns;
};
static __thread struct spinner spinner;
static atomic_int round_robin_count;

static void end_slice(void)
{
    spinner.looked_ns = 0;
    REAL(sched_yield)();
}

static void become(int policy, int priority)
{
    struct sched_param own = {.sched_priority = priority};
    REAL(pthread_setschedparam)(pthread_self(), policy, &own);
}

/* rr_unfair: each third SCHED_RR thread yields after 50 ms of each slice; rr_little: after 90 ms */
static int64_t slice_of_third_ns(void)
{
    return spinner.number % 3 != 0 ? 0
           : breaks("rr_unfair")   ? 50 * MS
           : breaks("rr_little")   ? 90 * MS
                                   : 0;
}

/* rr_first_short: a SCHED_RR thread yields after 20 ms of its first slice; rr_first_long: that is
 * of 150 ms */
static int64_t first_slice_ns(void)
{
    return breaks("rr_first_short") ? 20 * MS : breaks("rr_first_long") ? 150 * MS : 0;
}

/* Whose slices end here and not by the kernel: it would remember what is left of one. */
static bool has_own_slices(void)
{
    return slice_of_third_ns() > 0 || first_slice_ns() > 0;
}

static void shorten_slice(int64_t spun_ns)
{
    if (slice_of_third_ns() > 0 && spun_ns > slice_of_third_ns())
        end_slice();
    if (spinner.slice_count == 1 && first_slice_ns() > 0 && spun_ns > first_slice_ns()) {
        become(SCHED_RR, own_priority());
        end_slice();
    }
}

/* degrade: a thread that has spun on the clock for 150 ms loses its priority */
BREACH(SLICES ",degrade", "clock_gettime")
{
    long answer = pass(call);
    int64_t now_ns = ns_of(at(call, 1));
    if ((int)call->word[0] != CLOCK_MONOTONIC)
        return answer;
    if (now_ns - spinner.looked_ns > 15 * MS) {
        spinner.slice_ns = now_ns;
        spinner.slice_count++;
    }
    spinner.looked_ns = now_ns;
    if (spinner.is_round_robin)
        shorten_slice(now_ns - spinner.slice_ns);
    else if (breaks("degrade") && now_ns - spinner.slice_ns > 150 * MS && own_priority() > 1)
        become(SCHED_FIFO, 1);
    return answer;
}

/* rr_interval: slices are 11 % longer than this says */
BREACH(SLICES ",rr_interval", "sched_rr_get_interval")
{
    struct timespec *interval = at(call, 1);
    if (spinner.is_round_robin && has_own_slices())
        become(SCHED_RR, own_priority());
    int answer = (int)pass(call);
    if (answer == 0 && breaks("rr_interval"))
        interval->tv_nsec = interval->tv_nsec / 100 * 90;
    return answer;
}

/* ---- new threads ---- */

struct start {
    void *(*body)(void *);
    void *argument;
    bool is_round_robin;
};

static void *begin(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    spinner.is_round_robin = start.is_round_robin;
    if (start.is_round_robin)
        spinner.number = atomic_fetch_add(&round_robin_count, 1);
    if (start.is_round_robin && has_own_slices())
        become(SCHED_FIFO, own_priority());
    void *result = start.body(start.argument);
    catch_up();
    return result;
}

static void bend_attributes(pthread_attr_t *attributes, struct start *start)
{
    struct sched_param priority;
    int policy = SCHED_OTHER;
    pthread_attr_getschedparam(attributes, &priority);
    pthread_attr_getschedpolicy(attributes, &policy);
    start->is_round_robin = policy == SCHED_RR;
    if (!is_realtime(policy))
        return;
    priority.sched_priority = priority_of_new(priority.sched_priority);
    pthread_attr_setschedpolicy(attributes, bent_policy(policy));
    pthread_attr_setschedparam(attributes, &priority);
}

BREACH(NEW_THREADS "," SLICES "," LATE_WAKES, "pthread_create")
{
    const pthread_attr_t *wanted = at(call, 1);
    struct start *start = wanted ? malloc(sizeof *start) : NULL;
    catch_up();
    if (!start)
        return wanted ? EAGAIN : pass(call);
    *start = (struct start){.body = (void *(*)(void *))call->word[2], .argument = at(call, 3)};
    OWN(pthread_attr_t, attributes, 1);
    bend_attributes(&attributes, start);
    call->word[2] = (long)begin;
    call->word[3] = (long)start;
    return pass(call);
}

/* ---- mutexes ---- */

/* mutex_spins: a waiter for a mutex, whatever its protocol, spins */
BREACH("mutex_spins", "pthread_mutex_lock")
{
    int error;
    do
        error = REAL(pthread_mutex_trylock)(at(call, 0));
    while (error == EBUSY);
    return error;
}

enum { OWNERS = 64, LENT = 16 };

static struct {
    const void *_Atomic mutex;
    _Atomic pthread_t owner;
} owners[OWNERS];

/* boost_stays: the owner of a mutex keeps the priority of a waiter that timed out */
BREACH("boost_stays", "pthread_mutex_lock")
{
    const void *mutex = at(call, 0);
    int error = (int)pass(call);
    for (int i = 0; !error && i < OWNERS; i++) {
        const void *none = NULL;
        if (atomic_load(&owners[i].mutex) == mutex ||
            atomic_compare_exchange_strong(&owners[i].mutex, &none, mutex)) {
            atomic_store(&owners[i].owner, pthread_self());
            break;
        }
    }
    return error;
}

BREACH("boost_stays", "pthread_mutex_timedlock")
{
    struct sched_param boosted = {.sched_priority = own_priority()};
    int error = (int)pass(call);
    for (int i = 0; error == ETIMEDOUT && i < OWNERS; i++)
        if (atomic_load(&owners[i].mutex) == at(call, 0))
            REAL(pthread_setschedparam)(atomic_load(&owners[i].owner), SCHED_FIFO, &boosted);
    return error;
}

/* late_patience: each third timed wait for a mutex ends at once or 80 ms late, in turn, as on a
 * host that runs a guest late */
BREACH("late_patience", "pthread_mutex_timedlock")
{
    static atomic_uint count;
    unsigned turn = atomic_fetch_add(&count, 1) % 6;
    struct timespec until = timespec_of(ns_of(at(call, 1)) + 80 * MS);
    if (turn == 5)
        call->word[1] = (long)&until;
    return turn == 2 ? ETIMEDOUT : pass(call);
}

/* late_watchdog: each 29th timed wait for a semaphore times out, whatever the value, and so do all
 * others in the next 140 ms: more than the watchdog's first limit, less than its second */
static bool is_late_host(void)
{
    static atomic_uint count;
    static _Atomic int64_t until_ns;
    int64_t now_ns = real_now_ns();
    if (now_ns < atomic_load(&until_ns))
        return true;
    if (atomic_fetch_add(&count, 1) % 29 != 28)
        return false;
    atomic_store(&until_ns, now_ns + 140 * MS);
    return true;
}

BREACH("late_watchdog", "sem_timedwait")
{
    const struct timespec *until = at(call, 1);
    if (!is_late_host())
        return pass(call);
    while (REAL(clock_nanosleep)(CLOCK_REALTIME, TIMER_ABSTIME, until, NULL) == EINTR)
        ;
    return fail(ETIMEDOUT);
}

/* cond_early: each second wait for a condition variable returns at once; others that are ready get
 * the CPU before: they may have the same priority */
BREACH("cond_early", "pthread_cond_wait")
{
    static atomic_uint count;
    pthread_mutex_t *mutex = at(call, 1);
    if (atomic_fetch_add(&count, 1) % 2 == 0)
        return pass(call);
    pthread_mutex_unlock(mutex);
    sched_yield();
    return pthread_mutex_lock(mutex);
}

/* ---- lends: priority inheritance where none is promised ---- */

/* Mutexes in the place of spin locks, reader-writer locks and semaphores of value 1. */
static struct {
    const void *_Atomic object;
    pthread_mutex_t mutex;
} lent[LENT];

BREACH("lends", "sem_init,pthread_spin_init,pthread_rwlock_init")
{
    bool is_gate = call->id == CALL_sem_init && int_at(call, 2) != 1;
    for (int i = 0; !is_gate && i < LENT; i++) {
        const void *none = NULL;
        if (!atomic_compare_exchange_strong(&lent[i].object, &none, at(call, 0)))
            continue;
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        REAL(pthread_mutexattr_setprotocol)(&attributes, PTHREAD_PRIO_INHERIT);
        pthread_mutex_init(&lent[i].mutex, &attributes);
        pthread_mutexattr_destroy(&attributes);
        return 0;
    }
    return pass(call);
}

/* What is called for a lent mutex in the place of the call, or NULL: it is lent no more. False: it
 * is none. */
static bool with_lent(const struct call *call, int (*act)(pthread_mutex_t *))
{
    for (int i = 0; i < LENT; i++)
        if (atomic_load(&lent[i].object) == at(call, 0)) {
            if (!act)
                atomic_store(&lent[i].object, NULL);
            return !act || act(&lent[i].mutex) == 0;
        }
    return false;
}

BREACH_IF("lends", "sem_wait,pthread_spin_lock,pthread_rwlock_rdlock,pthread_rwlock_wrlock",
          with_lent(call, REAL(pthread_mutex_lock)), 0);
BREACH_IF("lends", "sem_post,pthread_spin_unlock,pthread_rwlock_unlock",
          with_lent(call, REAL(pthread_mutex_unlock)), 0);
BREACH_IF("lends", "sem_destroy,pthread_spin_destroy,pthread_rwlock_destroy", with_lent(call, NULL),
          0);

/* spin_sleeps: a waiter for a spin lock sleeps in between */
BREACH("spin_sleeps", "pthread_spin_lock")
{
    while (REAL(pthread_spin_trylock)(at(call, 0)) != 0)
        sleep_ns(100000);
    return 0;
}

/* A C library in which time is known, loaded before the real one (LD_PRELOAD): CLOCK_MONOTONIC and
 * CPU time advance only by what calls take, so that a test's results are known to the nanosecond.
 * It has two forms.
 *
 * With HARDSTONE_COSTS each call takes a time of its own. Threads are real and block as usual; on
 * one CPU with fixed priorities their order is known, so each figure of a test is an exact sum. A
 * missing call, two swapped stamps or a batch in one value give another sum.
 *
 *   HARDSTONE_COSTS  "CALL ENTER LEAVE BLOCKED,..." in ns: the time that passes before the real
 *                    call, after it, and additionally after it if the caller blocked. Calls that
 *                    are not named cost nothing. Reading the clock first costs `clock_gettime`
 *                    ENTER, but for the supervisor.
 *   HARDSTONE_CALLS  a file for a log of the first MOST_NOTES calls in order, a line each: "TID
 *                    PRIORITY CALL OBJECT +|-" (+ before the real call, - after it)
 *
 * A sleep until a time ends when the costs of other threads have advanced the clock to it;
 * nanosleep advances it by its duration. A wait with a limit has none, so that no limit passes
 * while the host lets nobody run.
 *
 * Without it calls cost nothing, and a wait for a time returns at once: the clock then shows that
 * time plus a known lateness (none of nanosleep). Of timers there is one, a POSIX timer with
 * SIGRTMIN, a timerfd, or setitimer's, as the probe uses them: one at a time and by one thread. One
 * that is set for a time that has passed expires at once, as POSIX says.
 *
 *   HARDSTONE_LATE_NS    lateness of successive waits, with commas, repeated
 *   HARDSTONE_TICK_NS    waits end at multiples of it; by default at the time that was asked for.
 *                        A sleep until a time that has passed returns at once all the same.
 *   HARDSTONE_READ_NS    time of a reading of the clock
 *   HARDSTONE_CALL_NS    time of a call that sleeps or sets a timer, before it looks at the clock,
 *                        or that asks for overruns; of successive calls, as above
 *   HARDSTONE_RETURN_NS  the way back from a handler to the code that waited
 *
 * Other clocks, sleeps, timers and signals are real. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <linux/futex.h>

enum { MOST_NOTES = 200000, MOST_MUTEXES = 64, MOST_STEPS = 64, LEAST_PRIORITY = 1 };
#define NS_PER_S INT64_C(1000000000)
#define BOOT_NS INT64_C(1700000000000000000) /* the wall clock at time 0 */

/* What costs by more than the name of the call. */
#define VARIANTS(X)                                                                                \
    X(sem_init_shared), X(semop_signal), X(semop_wait), X(futex_wake), X(futex_wait),              \
        X(mutex_init), X(mutex_init_shared), X(lock_none), X(lock_inherit), X(lock_protect),       \
        X(unlock_none), X(unlock_inherit), X(unlock_protect), X(cond_init), X(cond_init_shared),   \
        X(cond_signal), X(cond_wait)
#define ENUM(name) COST_##name
#define NAME(name) #name
enum { COST_OF_LAST_CALL = SHIM_CALL_COUNT - 1, VARIANTS(ENUM), COST_COUNT };
static const char *const variant_names[] = {VARIANTS(NAME)};

static struct cost {
    int64_t enter_ns, leave_ns, blocked_ns;
} costs[COST_COUNT];

struct note {
    atomic_bool is_written;
    bool is_leave;
    int thread, priority, cost;
    const void *object;
};

/* Shared with processes that are forked. */
static struct world {
    _Atomic int64_t now_ns;
    _Atomic int64_t until_ns; /* of the one who sleeps; 0: nobody */
    sem_t alarm;
    atomic_uint note_count;
    struct note notes[];
} * world;
static bool is_noting, is_forked;
static int64_t tick_ns, read_ns;

static int64_t number_of(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static const char *name_of(int cost)
{
    return cost < SHIM_CALL_COUNT ? shim_call_names[cost] : variant_names[cost - SHIM_CALL_COUNT];
}

static void read_costs(const char *text)
{
    char name[32];
    long long enter, leave, blocked;
    for (; text && *text; text += strcspn(text, ","), text += *text == ',') {
        if (sscanf(text, "%31s %lld %lld %lld", name, &enter, &leave, &blocked) != 4)
            abort();
        for (int i = 0; i < COST_COUNT; i++)
            if (strcmp(name_of(i), name) == 0)
                costs[i] = (struct cost){enter, leave, blocked};
    }
}

static int64_t now_ns(void)
{
    return atomic_load(&world->now_ns);
}

/* ---- the log ---- */

__attribute__((destructor)) static void write_notes(void)
{
    FILE *file = is_noting ? fopen(getenv("HARDSTONE_CALLS"), "w") : NULL;
    if (!file)
        return;
    for (unsigned i = 0; i < MOST_NOTES && i < atomic_load(&world->note_count); i++) {
        const struct note *note = &world->notes[i];
        if (atomic_load(&note->is_written))
            fprintf(file, "%d %d %s %p %c\n", note->thread, note->priority, name_of(note->cost),
                    note->object, note->is_leave ? '-' : '+');
    }
    fclose(file);
}

/* Processes of the probe's own that clean up: what they do takes no time of the test. A second
 * party is real-time before anything is timed. */
static bool is_bystander(void)
{
    return is_forked && sched_getscheduler(0) == SCHED_OTHER;
}

static void take_note(int cost, const void *object, bool is_leave)
{
    int error = errno;
    unsigned place =
        is_noting && !is_bystander() ? atomic_fetch_add(&world->note_count, 1) : MOST_NOTES;
    if (place >= MOST_NOTES)
        return;
    struct note *note = &world->notes[place];
    note->thread = gettid();
    note->priority = own_priority();
    note->cost = cost;
    note->object = object;
    note->is_leave = is_leave;
    atomic_store(&note->is_written, true);
    errno = error;
}

/* ---- costs, and sleeps beside them ---- */

/* Wakes who sleeps until then. Returns the time. */
static int64_t advance(int64_t ns)
{
    ns = is_bystander() ? 0 : ns;
    int64_t time_ns = atomic_fetch_add(&world->now_ns, ns) + ns;
    int64_t until_ns = atomic_load(&world->until_ns);
    if (until_ns != 0 && time_ns >= until_ns &&
        atomic_compare_exchange_strong(&world->until_ns, &until_ns, 0))
        REAL(sem_post)(&world->alarm);
    return time_ns;
}

/* The main thread supervises: on its own CPU it reads the clock when the host lets it. */
static bool is_supervisor(void)
{
    static __thread pid_t thread;
    if (thread == 0)
        thread = gettid();
    return !is_forked && thread == getpid();
}

static long read_costly_clock(struct call *call)
{
    struct timespec *time = at(call, 1);
    int id = int_at(call, 0);
    if (id == CLOCK_MONOTONIC)
        *time = timespec_of(advance(is_supervisor() ? 0 : costs[CALL_clock_gettime].enter_ns));
    else if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID ||
             id == CLOCK_BOOTTIME) /* it does not sleep, and whoever asks has always run */
        *time = timespec_of(now_ns());
    else if (id == CLOCK_REALTIME && is_supervisor()) /* nobody sets it */
        *time = timespec_of(BOOT_NS + now_ns());
    else if (id < 0) /* CPU time of another: who asks has had it all */
        *time = (struct timespec){0};
    else
        return pass(call);
    return 0;
}

static void sleep_until(int64_t until_ns)
{
    if (until_ns <= now_ns())
        return;
    atomic_store(&world->until_ns, until_ns);
    while (REAL(sem_wait)(&world->alarm) != 0)
        ;
}

/* Below all threads of the test the caller goes on when each of them on its CPU has blocked,
 * however long the host lets nobody run; those that are not real-time get a moment. */
static long nap(struct call *call)
{
    struct sched_param own = {.sched_priority = own_priority()};
    struct sched_param least = {.sched_priority = own.sched_priority > 0 ? LEAST_PRIORITY : 0};
    int policy = sched_getscheduler(0);
    advance(ns_of(at(call, 0)));
    sched_setscheduler(0, policy, &least);
    sleep_ns(50000);
    sched_setscheduler(0, policy, &own);
    return 0;
}

static struct {
    const void *_Atomic mutex;
    atomic_int protocol; /* 0: none, 1: inheritance, 2: a ceiling */
} mutexes[MOST_MUTEXES];

/* Whether it is made for several processes. */
static bool look_at_mutex(const void *mutex, const pthread_mutexattr_t *attributes)
{
    int protocol = PTHREAD_PRIO_NONE, scope = PTHREAD_PROCESS_PRIVATE;
    if (attributes) {
        pthread_mutexattr_getprotocol(attributes, &protocol);
        pthread_mutexattr_getpshared(attributes, &scope);
    }
    for (int i = 0; i < MOST_MUTEXES; i++) {
        const void *none = NULL;
        if (atomic_load(&mutexes[i].mutex) != mutex &&
            !atomic_compare_exchange_strong(&mutexes[i].mutex, &none, mutex))
            continue;
        atomic_store(&mutexes[i].protocol, protocol == PTHREAD_PRIO_INHERIT   ? 1
                                           : protocol == PTHREAD_PRIO_PROTECT ? 2
                                                                              : 0);
        break;
    }
    return scope == PTHREAD_PROCESS_SHARED;
}

static int protocol_of(const void *mutex)
{
    for (int i = 0; i < MOST_MUTEXES; i++)
        if (atomic_load(&mutexes[i].mutex) == mutex)
            return atomic_load(&mutexes[i].protocol);
    return 0;
}

static bool is_shared_condition(const pthread_condattr_t *attributes)
{
    int scope = PTHREAD_PROCESS_PRIVATE;
    if (attributes)
        pthread_condattr_getpshared(attributes, &scope);
    return scope == PTHREAD_PROCESS_SHARED;
}

static int cost_of(const struct call *call)
{
    const void *first = at(call, 0), *second = at(call, 1);
    switch (call->id) {
    case CALL_sem_init:
        return int_at(call, 1) ? COST_sem_init_shared : (int)CALL_sem_init;
    case CALL_semop:
        return ((const struct sembuf *)second)->sem_op > 0 ? COST_semop_signal : COST_semop_wait;
    case CALL_syscall:
        return (call->word[2] & FUTEX_CMD_MASK) == FUTEX_WAIT ? COST_futex_wait : COST_futex_wake;
    case CALL_pthread_mutex_init:
        return look_at_mutex(first, second) ? COST_mutex_init_shared : COST_mutex_init;
    case CALL_pthread_mutex_lock:
        return COST_lock_none + protocol_of(first);
    case CALL_pthread_mutex_unlock:
        return COST_unlock_none + protocol_of(first);
    case CALL_pthread_cond_init:
        return is_shared_condition(second) ? COST_cond_init_shared : COST_cond_init;
    case CALL_pthread_cond_signal:
        return COST_cond_signal;
    case CALL_pthread_cond_wait:
        return COST_cond_wait;
    default:
        return (int)call->id;
    }
}

/* Makes the call, and says whether the caller had to block: then it has tried before. */
static long make(struct call *call, bool *has_blocked)
{
    static const struct timespec at_once = {0, 0};
    void *first = at(call, 0);
    long answer = 0;
    *has_blocked = true;
    switch (call->id) {
    case CALL_sem_wait:
        *has_blocked = REAL(sem_trywait)(first) != 0;
        return *has_blocked ? pass(call) : 0;
    case CALL_sem_timedwait: /* nobody lets the caller wait in vain */
        *has_blocked = false;
        return REAL(sem_wait)(first);
    case CALL_semop: {
        struct sembuf operation = *(const struct sembuf *)call->word[1];
        operation.sem_flg |= IPC_NOWAIT;
        answer = REAL(semop)(int_at(call, 0), &operation, 1);
        *has_blocked = answer != 0 && errno == EAGAIN;
        break;
    }
    case CALL_sigwaitinfo:
        answer = REAL(sigtimedwait)(first, at(call, 1), &at_once);
        *has_blocked = answer < 0 && errno == EAGAIN;
        break;
    case CALL_pthread_mutex_lock:
        answer = REAL(pthread_mutex_trylock)(first);
        *has_blocked = answer == EBUSY;
        return *has_blocked ? pass(call) : answer;
    case CALL_read: {
        struct pollfd ready = {.fd = int_at(call, 0), .events = POLLIN};
        *has_blocked = REAL(poll)(&ready, 1, 0) == 0;
        return pass(call);
    }
    case CALL_syscall:
        answer = pass(call);
        *has_blocked = cost_of(call) == COST_futex_wait && answer == 0;
        return answer;
    case CALL_pthread_cond_wait: /* its unlock and lock are its own and cost nothing beside it */
    case CALL_sigsuspend:        /* a handler runs before it ends, and its stamps are before that */
        return pass(call);
    default:
        *has_blocked = false;
        return pass(call);
    }
    while (*has_blocked) {
        struct call again = *call;
        answer = pass(&again);
        if ((int)answer != -1 || errno != EINTR)
            break;
    }
    return answer;
}

static long take_time(struct call *call)
{
    bool is_file = call->id == CALL_read || call->id == CALL_close, has_blocked;
    if ((is_file && is_supervisor()) || /* files of the kernel, when the host lets it */
        (call->id == CALL_syscall && call->word[0] != SYS_futex))
        return pass(call);
    const void *object = (const void *)call->word[call->id == CALL_syscall ? 1 : 0];
    int cost = cost_of(call);
    take_note(cost, object, false);
    advance(costs[cost].enter_ns);
    long answer = make(call, &has_blocked);
    advance(costs[cost].leave_ns + (has_blocked ? costs[cost].blocked_ns : 0));
    take_note(cost, object, true);
    return answer;
}

static long sleep_costly(struct call *call)
{
    bool is_absolute = int_at(call, 1) & TIMER_ABSTIME;
    if (int_at(call, 0) != CLOCK_MONOTONIC)
        return EINVAL;
    take_note(CALL_clock_nanosleep, NULL, false);
    advance(costs[CALL_clock_nanosleep].enter_ns);
    sleep_until(ns_of(at(call, 2)) + (is_absolute ? 0 : now_ns()));
    advance(costs[CALL_clock_nanosleep].leave_ns);
    take_note(CALL_clock_nanosleep, NULL, true);
    return 0;
}

static long split(struct call *call)
{
    pid_t child = (pid_t)pass(call);
    is_forked = is_forked || child == 0;
    return child;
}

static void take_costs(void)
{
    shim_add("clock_gettime", read_costly_clock);
    shim_add("clock_nanosleep", sleep_costly);
    shim_add("nanosleep", nap);
    shim_add("fork", split);
    shim_add("sem_init,sem_destroy,sem_open,sem_close,sem_unlink,sem_post,sem_wait,sem_timedwait,"
             "semget,semctl,semop,eventfd,close,read,write,syscall,pthread_mutex_init,"
             "pthread_mutex_lock,pthread_mutex_unlock,pthread_cond_init,pthread_cond_signal,"
             "pthread_cond_wait,sched_yield,pthread_create,pthread_cancel,pthread_join,"
             "pthread_setschedprio,pthread_setschedparam,sigqueue,sigwaitinfo,sigsuspend",
             take_time);
}

/* ---- waits that return at once ---- */

/* Numbers of an environment variable, one after another. */
struct pattern {
    const char *name;
    int64_t steps[MOST_STEPS];
    int count, place;
};
static struct pattern lateness = {.name = "HARDSTONE_LATE_NS"},
                      of_call = {.name = "HARDSTONE_CALL_NS"};

static int64_t next_of(struct pattern *pattern)
{
    char *text = pattern->count ? NULL : getenv(pattern->name);
    while (text && *text && pattern->count < MOST_STEPS) {
        pattern->steps[pattern->count++] = strtoll(text, &text, 10);
        text += *text == ',';
    }
    return pattern->count ? pattern->steps[pattern->place++ % pattern->count] : 0;
}

static void let_pass(int64_t ns)
{
    atomic_fetch_add(&world->now_ns, ns);
}

/* When what is asked for `due_ns` expires: at the next tick. */
static int64_t expiry_ns(int64_t due_ns)
{
    return (due_ns + tick_ns - 1) / tick_ns * tick_ns;
}

/* Advances to the expiry of what was asked for, and its lateness, unless that has passed. */
static void expire(int64_t due_ns)
{
    if (due_ns > now_ns())
        atomic_store(&world->now_ns, expiry_ns(due_ns) + next_of(&lateness));
}

static long read_clock(struct call *call)
{
    int id = int_at(call, 0);
    if (id != CLOCK_MONOTONIC && id != CLOCK_PROCESS_CPUTIME_ID && id != CLOCK_THREAD_CPUTIME_ID)
        return pass(call);
    int64_t time_ns = atomic_fetch_add(&world->now_ns, read_ns) + read_ns;
    *(struct timespec *)call->word[1] = timespec_of(time_ns);
    return 0;
}

static long sleep_at_once(struct call *call)
{
    if (int_at(call, 0) != CLOCK_MONOTONIC || int_at(call, 1) != TIMER_ABSTIME)
        return pass(call);
    let_pass(next_of(&of_call));
    expire(ns_of(at(call, 2)));
    return 0;
}

static long nap_at_once(struct call *call)
{
    let_pass(ns_of(at(call, 0)));
    return 0;
}

/* ---- the timer ---- */

static struct {
    bool is_set;
    int64_t due_ns, period_ns; /* of the next expiry, as asked for */
    int signal, overruns;
    void *pointer;  /* in the signal's information */
    int descriptor; /* of the timerfd; 0: none */
} timer;

static void set(const struct itimerspec *wanted, bool is_absolute)
{
    let_pass(next_of(&of_call));
    int64_t value_ns = ns_of(&wanted->it_value);
    timer.is_set = value_ns != 0;
    timer.due_ns = value_ns + (is_absolute ? 0 : now_ns());
    timer.period_ns = ns_of(&wanted->it_interval);
}

/* Waits for the next expiry: 1 and more are the expirations since the last, 0 is a time-out. */
static int64_t expirations(int64_t timeout_ns)
{
    int64_t limit_ns = now_ns() + timeout_ns;
    if (!timer.is_set ||
        (timeout_ns >= 0 && expiry_ns(timer.due_ns) > limit_ns && timer.due_ns > now_ns())) {
        let_pass(timeout_ns > 0 ? timeout_ns : 0);
        return 0;
    }
    expire(timer.due_ns);
    int64_t late_ns = now_ns() - timer.due_ns;
    int64_t count = timer.period_ns > 0 && late_ns > 0 ? late_ns / timer.period_ns + 1 : 1;
    timer.is_set = timer.period_ns > 0;
    timer.due_ns += count * timer.period_ns;
    return count;
}

static bool is_ours(const struct call *call)
{
    return call->id == CALL_timerfd_settime || call->word[0] == (long)&timer;
}

/* A rule that gives this answer in place of the call while the condition holds. */
#define ANSWER_IF(name, condition, instead)                                                        \
    static long name(struct call *call)                                                            \
    {                                                                                              \
        return (condition) ? (instead) : pass(call);                                               \
    }                                                                                              \
    struct call

static long create_timer(struct call *call)
{
    const struct sigevent *event = at(call, 1);
    if (event->sigev_signo != SIGRTMIN)
        return pass(call);
    memset(&timer, 0, sizeof timer);
    timer.signal = SIGRTMIN;
    timer.pointer = event->sigev_value.sival_ptr;
    *(timer_t *)call->word[2] = (timer_t)&timer;
    return 0;
}

/* The flag of a timerfd has the same value. */
ANSWER_IF(set_timer, is_ours(call), (set(at(call, 2), int_at(call, 1) & TIMER_ABSTIME), 0));
ANSWER_IF(delete_timer, is_ours(call), (timer.is_set = false, 0));
ANSWER_IF(count_overruns, is_ours(call), (let_pass(next_of(&of_call)), timer.overruns));

static long set_interval_timer(struct call *call)
{
    const struct itimerval *wanted = at(call, 1);
    struct itimerspec spec;
    TIMEVAL_TO_TIMESPEC(&wanted->it_value, &spec.it_value);
    TIMEVAL_TO_TIMESPEC(&wanted->it_interval, &spec.it_interval);
    memset(&timer, 0, sizeof timer);
    timer.signal = SIGALRM;
    set(&spec, false);
    return 0;
}

static long get_interval_timer(struct call *call)
{
    struct itimerval *left = at(call, 1);
    int64_t left_us = (timer.due_ns - now_ns() + 999) / 1000;
    memset(left, 0, sizeof *left);
    if (timer.is_set)
        left->it_value = (struct timeval){left_us / 1000000, left_us % 1000000};
    return 0;
}

static long take(int64_t timeout_ns)
{
    int64_t count = expirations(timeout_ns);
    timer.overruns = (int)count - 1;
    errno = EAGAIN;
    return count > 0 ? timer.signal : -1;
}

ANSWER_IF(wait_for_signal, timer.signal &&sigismember(at(call, 0), timer.signal) == 1,
          take(call->id == CALL_sigwaitinfo ? -1 : ns_of(at(call, 2))));

/* Calls the handler. */
static long deliver(int64_t timeout_ns)
{
    struct sigaction action;
    siginfo_t info;
    if (take(timeout_ns) < 0)
        return 0;
    memset(&info, 0, sizeof info);
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = timer.pointer;
    sigaction(timer.signal, NULL, &action);
    action.sa_sigaction(timer.signal, &info, NULL);
    let_pass(number_of("HARDSTONE_RETURN_NS", 0));
    return fail(EINTR);
}

static long wait_for_handler(struct call *call)
{
    bool is_suspend = call->id == CALL_sigsuspend;
    const sigset_t *mask = at(call, is_suspend ? 0 : 5);
    if (!mask || sigismember(mask, SIGRTMIN) != 0)
        return pass(call);
    return deliver(is_suspend ? -1 : ns_of(at(call, 4)));
}

static long create_timerfd(struct call *call)
{
    (void)call;
    memset(&timer, 0, sizeof timer);
    timer.descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return timer.descriptor;
}

static bool is_timer(const struct call *call)
{
    return timer.descriptor > 0 && int_at(call, 0) == timer.descriptor;
}

static long read_timer(struct call *call)
{
    if (!is_timer(call))
        return pass(call);
    int64_t count = expirations(-1);
    memcpy(at(call, 1), &count, sizeof count);
    return sizeof count;
}

/* Only the thread of the timer polls while there is one. */
static long poll_timer(struct call *call)
{
    if (timer.descriptor == 0)
        return pass(call);
    int64_t timeout_ns = ns_of(at(call, 2));
    if (timer.is_set && expiry_ns(timer.due_ns) <= now_ns() + timeout_ns)
        return 1;
    let_pass(timeout_ns);
    return 0;
}

static long close_timer(struct call *call)
{
    if (is_timer(call))
        timer.descriptor = 0;
    return pass(call);
}

static void return_at_once(void)
{
    shim_add("clock_gettime", read_clock);
    shim_add("clock_nanosleep", sleep_at_once);
    shim_add("nanosleep", nap_at_once);
    shim_add("timer_create", create_timer);
    shim_add("timer_settime,timerfd_settime", set_timer);
    shim_add("timer_delete", delete_timer);
    shim_add("timer_getoverrun", count_overruns);
    shim_add("setitimer", set_interval_timer);
    shim_add("getitimer", get_interval_timer);
    shim_add("sigwaitinfo,sigtimedwait", wait_for_signal);
    shim_add("sigsuspend,pselect", wait_for_handler);
    shim_add("timerfd_create", create_timerfd);
    shim_add("read", read_timer);
    shim_add("ppoll", poll_timer);
    shim_add("close", close_timer);
}

__attribute__((constructor)) static void begin(void)
{
    is_noting = getenv("HARDSTONE_CALLS") != NULL;
    world = shared_memory(sizeof *world + (is_noting ? MOST_NOTES * sizeof world->notes[0] : 0));
    atomic_store(&world->now_ns, 1000 * NS_PER_S);
    REAL(sem_init)(&world->alarm, 1, 0);
    tick_ns = number_of("HARDSTONE_TICK_NS", 1);
    read_ns = number_of("HARDSTONE_READ_NS", 0);
    if (getenv("HARDSTONE_COSTS")) {
        read_costs(getenv("HARDSTONE_COSTS"));
        take_costs();
    } else {
        return_at_once();
    }
}

const struct shim_script shim_scripts[] = {{NULL, NULL}};

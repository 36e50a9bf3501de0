/* A libc in which every call takes a known time, loaded before the real one (LD_PRELOAD):
 * CLOCK_MONOTONIC advances only by the costs of calls. Threads are real and block as usual; on one
 * CPU with fixed priorities their order is known, so each figure of a test is an exact sum. A
 * missing call, two swapped stamps or a batch in one value give another sum.
 *
 * HARDSTONE_COSTS: "CALL ENTER LEAVE BLOCKED,..." in ns, for the names of `call_names`: the time
 * that passes before the real call, after it, and additionally after it if the caller blocked.
 * Calls that are not named cost nothing. Reading the clock first costs `clock_gettime` ENTER, but
 * for the supervisor.
 *
 * A sleep until an absolute time ends when the costs of other threads have advanced the clock to
 * it, or at once if none of them can run; nanosleep advances the clock by its duration. CPU-time
 * clocks show the same time as CLOCK_MONOTONIC, so no CPU time appears to be lost. A wait with a
 * limit has none, so that no limit passes while the host lets nobody run.
 *
 * HARDSTONE_CALLS: a file for a log of the first MOST_NOTES calls in order, a line each: "TID
 * PRIORITY CALL OBJECT +|-" (+ before the real call, - after it). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/futex.h>

enum {
    NS_PER_S = 1000000000,
    MOST_NOTES = 200000,
    MOST_MUTEXES = 64,
    LEAST_PRIORITY = 1,
    IDLE_NS = 100000000
};

/* Locking costs by the protocol of the mutex. */
#define CALLS(X)                                                                                   \
    X(clock_gettime)                                                                               \
    X(sem_init)                                                                                    \
    X(sem_init_shared)                                                                             \
    X(sem_destroy)                                                                                 \
    X(sem_open)                                                                                    \
    X(sem_close)                                                                                   \
    X(sem_unlink)                                                                                  \
    X(sem_post)                                                                                    \
    X(sem_wait)                                                                                    \
    X(sem_timedwait)                                                                               \
    X(semget)                                                                                      \
    X(semctl)                                                                                      \
    X(semop_signal)                                                                                \
    X(semop_wait)                                                                                  \
    X(eventfd)                                                                                     \
    X(close)                                                                                       \
    X(read)                                                                                        \
    X(write)                                                                                       \
    X(futex_wake)                                                                                  \
    X(futex_wait)                                                                                  \
    X(mutex_init)                                                                                  \
    X(mutex_init_shared)                                                                           \
    X(lock_none)                                                                                   \
    X(lock_inherit)                                                                                \
    X(lock_protect)                                                                                \
    X(unlock_none)                                                                                 \
    X(unlock_inherit)                                                                              \
    X(unlock_protect)                                                                              \
    X(cond_init)                                                                                   \
    X(cond_init_shared)                                                                            \
    X(cond_signal)                                                                                 \
    X(cond_wait)                                                                                   \
    X(sched_yield)                                                                                 \
    X(pthread_create)                                                                              \
    X(pthread_cancel)                                                                              \
    X(pthread_join)                                                                                \
    X(pthread_setschedprio)                                                                        \
    X(pthread_setschedparam)                                                                       \
    X(clock_nanosleep)                                                                             \
    X(sigqueue)                                                                                    \
    X(sigwaitinfo)                                                                                 \
    X(sigsuspend)
#define ENUM(name) CALL_##name,
#define NAME(name) #name,
enum call { CALLS(ENUM) CALL_COUNT };
static const char *const call_names[] = {CALLS(NAME)};

/* The real ones; found at the start, since looking for them takes a lock. */
#define REALS(X)                                                                                   \
    X(clock_gettime)                                                                               \
    X(sem_init)                                                                                    \
    X(sem_destroy)                                                                                 \
    X(sem_open)                                                                                    \
    X(sem_close)                                                                                   \
    X(sem_unlink)                                                                                  \
    X(sem_post)                                                                                    \
    X(sem_wait)                                                                                    \
    X(sem_trywait)                                                                                 \
    X(semget)                                                                                      \
    X(semctl)                                                                                      \
    X(semop)                                                                                       \
    X(eventfd)                                                                                     \
    X(close)                                                                                       \
    X(read)                                                                                        \
    X(write)                                                                                       \
    X(syscall)                                                                                     \
    X(pthread_mutex_init)                                                                          \
    X(pthread_mutex_trylock)                                                                       \
    X(pthread_mutex_lock)                                                                          \
    X(pthread_mutex_unlock)                                                                        \
    X(pthread_cond_init)                                                                           \
    X(pthread_cond_signal)                                                                         \
    X(pthread_cond_wait)                                                                           \
    X(sched_yield)                                                                                 \
    X(pthread_create)                                                                              \
    X(pthread_cancel)                                                                              \
    X(pthread_join)                                                                                \
    X(pthread_setschedprio)                                                                        \
    X(pthread_setschedparam)                                                                       \
    X(nanosleep)                                                                                   \
    X(sigqueue)                                                                                    \
    X(sigwaitinfo)                                                                                 \
    X(sigtimedwait)                                                                                \
    X(sigsuspend)                                                                                  \
    X(fork)
#define POINTER(name) static __typeof__(&(name)) real_##name;
#define FIND(name) real_##name = (__typeof__(&(name)))dlsym(RTLD_NEXT, #name);
REALS(POINTER)

struct cost {
    int64_t enter_ns, leave_ns, blocked_ns;
};
static struct cost costs[CALL_COUNT];

struct note {
    atomic_bool is_written;
    bool is_leave;
    int thread, priority;
    enum call call;
    const void *object;
};

/* How a thread is scheduled. */
struct rank {
    pid_t thread;
    int policy;
    struct sched_param parameters;
};

/* Shared with processes that are forked. */
static struct world {
    _Atomic int64_t now_ns;
    _Atomic int64_t until_ns; /* of the one who sleeps; 0: nobody */
    struct rank sleeper;
    atomic_uint note_count;
    struct note notes[];
} * world;
static bool is_noting, is_forked;

static struct {
    pthread_mutex_t *_Atomic mutex;
    atomic_int protocol;
} mutexes[MOST_MUTEXES];

static void read_costs(const char *text)
{
    char name[32];
    long long enter, leave, blocked;
    for (; text && *text; text += strcspn(text, ","), text += *text == ',') {
        if (sscanf(text, "%31s %lld %lld %lld", name, &enter, &leave, &blocked) != 4)
            continue;
        for (int i = 0; i < CALL_COUNT; i++)
            if (strcmp(call_names[i], name) == 0)
                costs[i] = (struct cost){enter, leave, blocked};
    }
}

__attribute__((constructor)) static void begin(void)
{
    REALS(FIND)
    is_noting = getenv("HARDSTONE_CALLS") != NULL;
    size_t bytes = sizeof *world + (is_noting ? MOST_NOTES * sizeof world->notes[0] : 0);
    world = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (world == MAP_FAILED)
        abort();
    atomic_store(&world->now_ns, 1000 * (int64_t)NS_PER_S);
    read_costs(getenv("HARDSTONE_COSTS"));
}

__attribute__((destructor)) static void write_notes(void)
{
    FILE *file = is_noting ? fopen(getenv("HARDSTONE_CALLS"), "w") : NULL;
    if (!file)
        return;
    for (unsigned i = 0; i < MOST_NOTES && i < atomic_load(&world->note_count); i++) {
        const struct note *note = &world->notes[i];
        if (atomic_load(&note->is_written))
            fprintf(file, "%d %d %s %p %c\n", note->thread, note->priority, call_names[note->call],
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

static void take_note(enum call call, const void *object, bool is_leave)
{
    struct sched_param own = {0};
    int error = errno;
    unsigned place =
        is_noting && !is_bystander() ? atomic_fetch_add(&world->note_count, 1) : MOST_NOTES;
    if (place >= MOST_NOTES)
        return;
    sched_getparam(0, &own);
    struct note *note = &world->notes[place];
    note->thread = gettid();
    note->priority = own.sched_priority;
    note->call = call;
    note->object = object;
    note->is_leave = is_leave;
    atomic_store(&note->is_written, true);
    errno = error;
}

/* Lowers the caller below all threads of the test: it goes on when each of them on its CPU has
 * blocked, however long the host lets nobody run. */
static void step_aside(const struct rank *own)
{
    struct sched_param least = {.sched_priority = LEAST_PRIORITY};
    if (own->parameters.sched_priority > 0)
        sched_setscheduler(0, own->policy, &least);
}

static void step_back(const struct rank *rank)
{
    sched_setscheduler(rank->thread, rank->policy, &rank->parameters);
}

static struct rank own_rank(void)
{
    struct rank own = {.thread = gettid(), .policy = sched_getscheduler(0)};
    sched_getparam(0, &own.parameters);
    return own;
}

/* Wakes who sleeps until then. Returns the time. */
static int64_t advance(int64_t ns)
{
    ns = is_bystander() ? 0 : ns;
    int64_t now_ns = atomic_fetch_add(&world->now_ns, ns) + ns;
    int64_t until_ns = atomic_load(&world->until_ns);
    if (until_ns != 0 && now_ns >= until_ns &&
        atomic_compare_exchange_strong(&world->until_ns, &until_ns, 0))
        step_back(&world->sleeper);
    return now_ns;
}

static void enter(enum call call, const void *object)
{
    take_note(call, object, false);
    advance(costs[call].enter_ns);
}

static void leave(enum call call, const void *object, bool has_blocked)
{
    advance(costs[call].leave_ns + (has_blocked ? costs[call].blocked_ns : 0));
    take_note(call, object, true);
}

/* ---- time ---- */

static struct timespec timespec_of(int64_t ns)
{
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static int64_t ns_of(const struct timespec *time)
{
    return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

/* The main thread supervises: on its own CPU it reads the clock when the host lets it. */
static bool is_supervisor(void)
{
    return !is_forked && gettid() == getpid();
}

#define VIRTUAL_BOOT_NS INT64_C(1700000000000000000) /* the wall clock at time 0 */

int clock_gettime(clockid_t id, struct timespec *time)
{
    if (id == CLOCK_MONOTONIC)
        *time = timespec_of(advance(is_supervisor() ? 0 : costs[CALL_clock_gettime].enter_ns));
    else if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_BOOTTIME) /* it does not sleep */
        *time = timespec_of(atomic_load(&world->now_ns));
    else if (id == CLOCK_REALTIME && is_supervisor()) /* nobody sets it */
        *time = timespec_of(VIRTUAL_BOOT_NS + atomic_load(&world->now_ns));
    else if (id < 0) /* CPU time of another process: the first one has had it all */
        *time = (struct timespec){0};
    else
        return real_clock_gettime(id, time);
    return 0;
}

static int64_t own_cpu_ns(void)
{
    struct timespec now;
    real_clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return ns_of(&now);
}

/* Below the others this thread has the CPU only when they wait, and after IDLE_NS of it not for a
 * file alone. */
static void sleep_until(int64_t until_ns)
{
    if (until_ns <= atomic_load(&world->now_ns))
        return;
    struct rank own = world->sleeper = own_rank();
    atomic_store(&world->until_ns, until_ns);
    step_aside(&own);
    int64_t idle_ns = own_cpu_ns() + IDLE_NS;
    while (atomic_load(&world->until_ns) != 0 && own_cpu_ns() < idle_ns)
        ;
    if (atomic_exchange(&world->until_ns, 0) != 0)
        atomic_store(&world->now_ns, until_ns);
    step_back(&own);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    if (id != CLOCK_MONOTONIC)
        return EINVAL;
    enter(CALL_clock_nanosleep, NULL);
    sleep_until(ns_of(wanted) + (flags & TIMER_ABSTIME ? 0 : atomic_load(&world->now_ns)));
    leave(CALL_clock_nanosleep, NULL, false);
    return 0;
}

/* Others that were ready run until they block; those that are not real-time get a moment. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    struct timespec moment = {.tv_nsec = 50000};
    advance(ns_of(wanted));
    struct rank own = own_rank();
    step_aside(&own);
    int answer = real_nanosleep(&moment, NULL);
    step_back(&own);
    return answer;
}

/* A call that blocks nobody. */
#define SIMPLE(call, object, expression)                                                           \
    enter(CALL_##call, object);                                                                    \
    __typeof__(expression) answer = expression;                                                    \
    leave(CALL_##call, object, false);                                                             \
    return answer

/* ---- signals ---- */

int sigqueue(pid_t process, int number, const union sigval value)
{
    SIMPLE(sigqueue, NULL, real_sigqueue(process, number, value));
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    static const struct timespec at_once = {0, 0};
    enter(CALL_sigwaitinfo, NULL);
    int number = real_sigtimedwait(set, info, &at_once);
    bool has_blocked = number < 0 && errno == EAGAIN;
    if (has_blocked)
        number = (int)TEMP_FAILURE_RETRY(real_sigwaitinfo(set, info));
    leave(CALL_sigwaitinfo, NULL, has_blocked);
    return number;
}

/* A handler runs before this call ends: what it costs from then on is after the handler's stamps.
 */
int sigsuspend(const sigset_t *mask)
{
    enter(CALL_sigsuspend, NULL);
    int answer = real_sigsuspend(mask);
    leave(CALL_sigsuspend, NULL, true);
    return answer;
}

/* ---- semaphores ---- */

int sem_init(sem_t *semaphore, int shared, unsigned value)
{
    if (shared) {
        SIMPLE(sem_init_shared, semaphore, real_sem_init(semaphore, shared, value));
    }
    SIMPLE(sem_init, semaphore, real_sem_init(semaphore, shared, value));
}

int sem_destroy(sem_t *semaphore)
{
    SIMPLE(sem_destroy, semaphore, real_sem_destroy(semaphore));
}

sem_t *sem_open(const char *name, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (mode_t)va_arg(rest, int);
    unsigned value = va_arg(rest, unsigned);
    va_end(rest);
    SIMPLE(sem_open, NULL, real_sem_open(name, flags, mode, value));
}

int sem_close(sem_t *semaphore)
{
    SIMPLE(sem_close, semaphore, real_sem_close(semaphore));
}

int sem_unlink(const char *name)
{
    SIMPLE(sem_unlink, NULL, real_sem_unlink(name));
}

int sem_post(sem_t *semaphore)
{
    SIMPLE(sem_post, semaphore, real_sem_post(semaphore));
}

int sem_wait(sem_t *semaphore)
{
    enter(CALL_sem_wait, semaphore);
    bool has_blocked = real_sem_trywait(semaphore) != 0;
    int answer = has_blocked ? real_sem_wait(semaphore) : 0;
    leave(CALL_sem_wait, semaphore, has_blocked);
    return answer;
}

/* Nobody lets the caller wait in vain. */
int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
    (void)until;
    enter(CALL_sem_timedwait, semaphore);
    int answer = real_sem_wait(semaphore);
    leave(CALL_sem_timedwait, semaphore, false);
    return answer;
}

int semget(key_t key, int count, int flags)
{
    SIMPLE(semget, NULL, real_semget(key, count, flags));
}

int semctl(int set, int place, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    SIMPLE(semctl, (void *)(intptr_t)set, real_semctl(set, place, command, argument));
}

int semop(int set, struct sembuf *operations, size_t count)
{
    enum call call = operations[0].sem_op > 0 ? CALL_semop_signal : CALL_semop_wait;
    struct sembuf at_once = operations[0];
    at_once.sem_flg |= IPC_NOWAIT;
    enter(call, (void *)(intptr_t)set);
    int answer = real_semop(set, &at_once, 1);
    bool has_blocked = answer != 0 && errno == EAGAIN;
    if (has_blocked)
        answer = (int)TEMP_FAILURE_RETRY(real_semop(set, operations, count));
    leave(call, (void *)(intptr_t)set, has_blocked);
    return answer;
}

pid_t fork(void)
{
    pid_t child = real_fork();
    is_forked = is_forked || child == 0;
    return child;
}

int eventfd(unsigned value, int flags)
{
    SIMPLE(eventfd, NULL, real_eventfd(value, flags));
}

int close(int file)
{
    if (is_supervisor())
        return real_close(file);
    SIMPLE(close, (void *)(intptr_t)file, real_close(file));
}

ssize_t write(int file, const void *data, size_t bytes)
{
    SIMPLE(write, (void *)(intptr_t)file, real_write(file, data, bytes));
}

ssize_t read(int file, void *data, size_t bytes)
{
    if (is_supervisor()) /* files of the kernel, when the host lets it */
        return real_read(file, data, bytes);
    struct pollfd ready = {.fd = file, .events = POLLIN};
    enter(CALL_read, (void *)(intptr_t)file);
    bool has_blocked = poll(&ready, 1, 0) == 0;
    ssize_t answer = real_read(file, data, bytes);
    leave(CALL_read, (void *)(intptr_t)file, has_blocked);
    return answer;
}

long syscall(long number, ...)
{
    long words[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        words[i] = va_arg(rest, long);
    va_end(rest);
    if (number != SYS_futex)
        return real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    bool is_wait = (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
    enum call call = is_wait ? CALL_futex_wait : CALL_futex_wake;
    enter(call, (void *)words[0]);
    long answer = real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    leave(call, (void *)words[0], is_wait && answer == 0);
    return answer;
}

/* ---- mutexes ---- */

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
    int protocol = PTHREAD_PRIO_NONE, scope = PTHREAD_PROCESS_PRIVATE;
    if (attributes) {
        pthread_mutexattr_getprotocol(attributes, &protocol);
        pthread_mutexattr_getpshared(attributes, &scope);
    }
    for (int i = 0; i < MOST_MUTEXES; i++) {
        pthread_mutex_t *none = NULL;
        if (atomic_load(&mutexes[i].mutex) != mutex &&
            !atomic_compare_exchange_strong(&mutexes[i].mutex, &none, mutex))
            continue;
        atomic_store(&mutexes[i].protocol, protocol);
        break;
    }
    if (scope == PTHREAD_PROCESS_SHARED) {
        SIMPLE(mutex_init_shared, mutex, real_pthread_mutex_init(mutex, attributes));
    }
    SIMPLE(mutex_init, mutex, real_pthread_mutex_init(mutex, attributes));
}

static int protocol_of(const pthread_mutex_t *mutex)
{
    for (int i = 0; i < MOST_MUTEXES; i++)
        if (atomic_load(&mutexes[i].mutex) == mutex)
            return atomic_load(&mutexes[i].protocol);
    return PTHREAD_PRIO_NONE;
}

static enum call by_protocol(const pthread_mutex_t *mutex, enum call of_none)
{
    int protocol = protocol_of(mutex);
    return of_none + (protocol == PTHREAD_PRIO_INHERIT   ? 1
                      : protocol == PTHREAD_PRIO_PROTECT ? 2
                                                         : 0);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    enum call call = by_protocol(mutex, CALL_lock_none);
    enter(call, mutex);
    int error = real_pthread_mutex_trylock(mutex);
    bool has_blocked = error == EBUSY;
    if (has_blocked)
        error = real_pthread_mutex_lock(mutex);
    leave(call, mutex, has_blocked);
    return error;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    enum call call = by_protocol(mutex, CALL_unlock_none);
    enter(call, mutex);
    int error = real_pthread_mutex_unlock(mutex);
    leave(call, mutex, false);
    return error;
}

int pthread_cond_init(pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
    int scope = PTHREAD_PROCESS_PRIVATE;
    if (attributes)
        pthread_condattr_getpshared(attributes, &scope);
    if (scope == PTHREAD_PROCESS_SHARED) {
        SIMPLE(cond_init_shared, condition, real_pthread_cond_init(condition, attributes));
    }
    SIMPLE(cond_init, condition, real_pthread_cond_init(condition, attributes));
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    SIMPLE(cond_signal, condition, real_pthread_cond_signal(condition));
}

/* Its unlock and lock are its own and cost nothing beside it. */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    enter(CALL_cond_wait, condition);
    int error = real_pthread_cond_wait(condition, mutex);
    leave(CALL_cond_wait, condition, true);
    return error;
}

/* ---- threads ---- */

int sched_yield(void)
{
    SIMPLE(sched_yield, NULL, real_sched_yield());
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument)
{
    SIMPLE(pthread_create, NULL, real_pthread_create(thread, attributes, body, argument));
}

int pthread_cancel(pthread_t thread)
{
    SIMPLE(pthread_cancel, NULL, real_pthread_cancel(thread));
}

int pthread_join(pthread_t thread, void **result)
{
    SIMPLE(pthread_join, NULL, real_pthread_join(thread, result));
}

int pthread_setschedprio(pthread_t thread, int priority)
{
    SIMPLE(pthread_setschedprio, NULL, real_pthread_setschedprio(thread, priority));
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *wanted)
{
    SIMPLE(pthread_setschedparam, NULL, real_pthread_setschedparam(thread, policy, wanted));
}

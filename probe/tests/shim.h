/* A library that stands between the probe and the C library (LD_PRELOAD), for calls whose words are
 * integers or pointers. What it does with a call is a chain of rules, the last of which is the real
 * call. A rule is a function, or a script of one line:
 *
 *   CALL [CONDITION...] [ACTION...]
 *
 *   N=V N!V N>V N<V  the N-th word of the call, from 1, is V, is not V, is above V, below V
 *   N&V          it has all bits of V
 *   N~TEXT       it is a string with TEXT in it
 *   0>V 0<V ...  in place of a word: the real-time priority of the caller; 0: none
 *   child        the process is not the first one
 *   nth=C from=C each=C  of these calls of a process the C-th; from the C-th on; each C-th
 *
 *   before_ms=T after_ms=T   sleeps before the call, after it
 *   N:V N-V N+V N^V  the word becomes V, loses the bits of V, gets them, has them turned round
 *   return=V     returns V, and makes no real call
 *   errno=E      the same with -1 and errno
 *   made         makes the real call all the same, and replaces its answer
 *   failed       makes it, and replaces a failure only
 *   stop         sends SIGINT to the first process before the call
 *   kill         kills the first process after the call
 *   end          kills its own process before it
 *
 * Values are numbers or names that value_of() knows. HARDSTONE_SCRIPT has such lines, with
 * semicolons between; HARDSTONE_BROKEN names rules that the library has, with commas between. */
#ifndef HS_SHIM_H
#define HS_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* clang-format off */
#define SHIM_CALLS(X)                                                                             \
    X(aio_cancel64) X(aio_error64) X(aio_read64) X(aio_suspend64) X(aio_write64) X(lio_listio64)  \
    X(clock_getcpuclockid) X(clock_gettime) X(clock_nanosleep) X(nanosleep) X(timer_create)       \
    X(timer_delete) X(timer_getoverrun) X(timer_settime) X(timerfd_create) X(timerfd_settime)     \
    X(setitimer) X(getitimer) X(fork) X(kill) X(prctl) X(syscall) X(sysconf) X(posix_spawn)       \
    X(getpriority) X(setpriority) X(getrusage) X(setrlimit64) X(setresuid) X(open64) X(close)     \
    X(read) X(write) X(pread64) X(pwrite64) X(fcntl64) X(ioctl) X(fdatasync) X(fsync)             \
    X(fallocate64) X(posix_fallocate64) X(fstatfs64) X(fstatvfs64) X(mkdir) X(mkfifo) X(shm_open) \
    X(symlink) X(rename) X(unlink) X(poll) X(ppoll) X(select) X(pselect) X(posix_openpt)          \
    X(ftrylockfile) X(madvise) X(mlock) X(mlockall) X(mmap64) X(mprotect) X(mq_close) X(mq_open)  \
    X(mq_receive) X(mq_send) X(mq_setattr) X(mq_timedreceive) X(mq_timedsend) X(msgget) X(msgrcv) \
    X(msgsnd) X(recv) X(send) X(socketpair) X(eventfd) X(sem_close) X(sem_destroy) X(sem_init)    \
    X(sem_open) X(sem_post) X(sem_timedwait) X(sem_trywait) X(sem_unlink) X(sem_wait) X(semctl)   \
    X(semget) X(semop) X(sigaction) X(sigpending) X(sigqueue) X(sigsuspend) X(sigtimedwait)       \
    X(sigwaitinfo) X(pthread_attr_setschedparam) X(pthread_attr_setschedpolicy)                   \
    X(pthread_attr_setstack) X(pthread_attr_setstacksize) X(pthread_barrier_wait)                 \
    X(pthread_cancel) X(pthread_cond_init) X(pthread_cond_signal) X(pthread_cond_wait)            \
    X(pthread_condattr_setclock) X(pthread_create) X(pthread_getschedparam) X(pthread_join)       \
    X(pthread_mutex_init) X(pthread_mutex_lock) X(pthread_mutex_timedlock)                        \
    X(pthread_mutex_trylock) X(pthread_mutex_unlock) X(pthread_mutexattr_setprioceiling)          \
    X(pthread_mutexattr_setprotocol) X(pthread_rwlock_destroy) X(pthread_rwlock_init)             \
    X(pthread_rwlock_rdlock) X(pthread_rwlock_trywrlock) X(pthread_rwlock_unlock)                 \
    X(pthread_rwlock_wrlock) X(pthread_setschedparam) X(pthread_setschedprio) X(pthread_sigmask)  \
    X(pthread_spin_destroy) X(pthread_spin_init) X(pthread_spin_lock) X(pthread_spin_trylock)     \
    X(pthread_spin_unlock) X(sched_get_priority_max) X(sched_rr_get_interval)                     \
    X(sched_setaffinity) X(sched_setscheduler) X(sched_yield) X(regexec)
/* clang-format on */
#define SHIM_ENUM(name) CALL_##name,
enum shim_call { SHIM_CALLS(SHIM_ENUM) SHIM_CALL_COUNT };

struct shim_rule;

/* A call on its way through the rules. */
struct call {
    enum shim_call id;
    long word[7];
    struct shim_rule *rule; /* whose turn it is; NULL: the real call's */
    struct shim_rule *own;  /* the rule that has the call now */
};

static inline void *at(const struct call *call, int place)
{
    return (void *)call->word[place];
}

static inline int int_at(const struct call *call, int place)
{
    return (int)call->word[place];
}

/* What a word of the call points to, in a variable that takes its place. */
#define OWN(type, name, place)                                                                     \
    type name = *(const type *)at(call, place);                                                    \
    call->word[place] = (long)&(name)

/* Passes the call on to the next rule, or to the real one. Returns its answer, of which a call that
 * returns an int fills the lower half only. */
long pass(struct call *call);

/* The real call, or that of the next library. */
#define REAL(name) ((__typeof__(&(name)))shim_real(CALL_##name))
void *shim_real(enum shim_call id);

/* A rule that is a function with the argument `call`, for some calls; it is in force where
 * HARDSTONE_BROKEN has one of the names. Names and calls are lists with commas. */
#define BREACH(names, calls) BREACH_IN(__LINE__, names, calls)
#define BREACH_IN(line, names, calls) BREACH_AS(line, names, calls)
#define BREACH_AS(line, names, calls)                                                              \
    static long act_##line(struct call *call);                                                     \
    __attribute__((constructor(102))) static void add_##line(void)                                 \
    {                                                                                              \
        shim_breach(names, calls, act_##line);                                                     \
    }                                                                                              \
    static long act_##line(struct call *call)

/* Such a rule of one statement: gives the answer in place of the call while the condition holds;
 * acts before the call, or after it, when `answer` is there to be changed. */
#define BREACH_IF(names, calls, condition, instead)                                                \
    BREACH(names, calls)                                                                           \
    {                                                                                              \
        return (condition) ? (long)(instead) : pass(call);                                         \
    }                                                                                              \
    struct call
#define BREACH_BEFORE(names, calls, condition, effect)                                             \
    BREACH(names, calls)                                                                           \
    {                                                                                              \
        if (condition)                                                                             \
            effect;                                                                                \
        return pass(call);                                                                         \
    }                                                                                              \
    struct call
#define BREACH_AFTER(names, calls, condition, effect)                                              \
    BREACH(names, calls)                                                                           \
    {                                                                                              \
        long answer = pass(call);                                                                  \
        if (condition)                                                                             \
            effect;                                                                                \
        return answer;                                                                             \
    }                                                                                              \
    struct call

void shim_add(const char *calls, long (*act)(struct call *call));
void shim_breach(const char *names, const char *calls, long (*act)(struct call *call));

/* Rules of the library that are scripts, before all others; a row of NULL ends them. A process ends
 * at a name that is in no list: those that only breaks() is asked for have a row without lines. */
struct shim_script {
    const char *names, *lines; /* with commas, with semicolons */
};
extern const struct shim_script shim_scripts[];

extern const char *const shim_call_names[];

/* Whether HARDSTONE_BROKEN has one of these names. */
bool breaks(const char *names);

bool is_child(void); /* not the first process */
int own_priority(void);
long fail(int error); /* sets errno */
int64_t ns_of(const struct timespec *time);
struct timespec timespec_of(int64_t ns);
int64_t real_now_ns(void); /* CLOCK_MONOTONIC */
void sleep_ns(int64_t ns);
void *shared_memory(size_t bytes); /* with processes that are forked */

#endif

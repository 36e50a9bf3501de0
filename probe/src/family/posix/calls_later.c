/* What came later: further real-time options (1003.1d), advanced ones (1003.1j), tracing (1003.1q),
 * and of the joint revision of 2001 what the profiles of 1003.13 need. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/clock.h"
#include "base/options.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if HS_HAS_SPAWN
#include <spawn.h>
#endif
#if HS_HAS_TRACE
#include <trace.h>
#endif
#if HS_HAS_SOCKETS
#include <netinet/in.h>
#include <sys/socket.h>
#endif
#if HS_HAS_REGEXP
#include <regex.h>
#endif
#if HS_HAS_FORK || HS_HAS_SPAWN
#include <sys/wait.h>
#endif

/* ---- 1003.1d ---- */

#define SHORT_NS INT64_C(10000000)
#define SPIN_NS INT64_C(1000000)

#if HS_HAS_SPAWN
/* The new process must be the program that was named. */
struct answer call_spawn(const struct call_tools *tools)
{
    (void)tools;
    struct call_program program;
    char *const environment[] = {NULL};
    int status = 0;
    pid_t process;
    if (!call_program(&program))
        return answer_untried("no program to execute");
    int error = posix_spawn(&process, program.path, NULL, NULL, program.arguments, environment);
    if (error)
        return answer_error("posix_spawn", error);
    if (waitpid(process, &status, 0) != process)
        return answer_fails("posix_spawn started no process");
    return WIFEXITED(status) && WEXITSTATUS(status) == program.status
               ? answer_works()
               : answer_fails("posix_spawn ran another program");
}
#else
struct answer call_spawn(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("posix_spawn");
}
#endif

#if HS_HAS_SPORADIC_SERVER
static struct sched_param sporadic(void)
{
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_SPORADIC) + 1};
    param.sched_ss_low_priority = sched_get_priority_min(SCHED_SPORADIC);
    param.sched_ss_repl_period.tv_nsec = 100000000;
    param.sched_ss_init_budget.tv_nsec = 10000000;
    param.sched_ss_max_repl = 1;
    return param;
}

struct answer call_sporadic_server(const struct call_tools *tools)
{
    (void)tools;
    struct sched_param param = sporadic();
    if (sched_setscheduler(0, SCHED_SPORADIC, &param) < 0)
        return answer_error("sched_setscheduler with SCHED_SPORADIC", errno);
    return sched_getscheduler(0) == SCHED_SPORADIC ? answer_works()
                                                   : answer_fails("a different policy is reported");
}

struct answer call_thread_sporadic_server(const struct call_tools *tools)
{
    (void)tools;
    if (!HS_HAS_SPORADIC_END)
        return answer_untried("left out by the port: the end of a thread that was under "
                              "SCHED_SPORADIC ends this system");
    struct sched_param param = sporadic();
    int policy, error = pthread_setschedparam(pthread_self(), SCHED_SPORADIC, &param);
    if (error)
        return answer_error("pthread_setschedparam with SCHED_SPORADIC", error);
    return pthread_getschedparam(pthread_self(), &policy, &param) == 0 && policy == SCHED_SPORADIC
               ? answer_works()
               : answer_fails("a different policy is reported");
}
#else
struct answer call_sporadic_server(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("SCHED_SPORADIC");
}

struct answer call_thread_sporadic_server(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("SCHED_SPORADIC");
}
#endif

#if HS_HAS_CPU_CLOCKS
static int64_t read_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? clock_timespec_ns(&now) : -1;
}

/* A clock of CPU time moves while the caller runs, and not while it sleeps. */
static struct answer try_cpu_clock(clockid_t clock, const struct call_tools *tools)
{
    int64_t begin_ns = read_ns(clock), limit_ns = clock_monotonic_ns() + tools->wait_ns / 2;
    if (begin_ns < 0)
        return answer_error("clock_gettime", errno);
    while (read_ns(clock) < begin_ns + SPIN_NS)
        if (clock_monotonic_ns() > limit_ns)
            return answer_fails("the clock does not advance while the caller runs");
    begin_ns = read_ns(clock);
    call_nap(4 * SHORT_NS);
    return read_ns(clock) - begin_ns < 2 * SHORT_NS
               ? answer_works()
               : answer_fails("the clock advances while the caller sleeps");
}

struct answer call_cputime(const struct call_tools *tools)
{
    clockid_t clock;
    int error = clock_getcpuclockid(0, &clock);
    if (error)
        return answer_error("clock_getcpuclockid", error);
    struct answer answer = try_cpu_clock(clock, tools);
    return answer.result == CALL_WORKS ? try_cpu_clock(CLOCK_PROCESS_CPUTIME_ID, tools) : answer;
}

struct answer call_thread_cputime(const struct call_tools *tools)
{
    clockid_t clock;
    int error = pthread_getcpuclockid(pthread_self(), &clock);
    if (error)
        return answer_error("pthread_getcpuclockid", error);
    struct answer answer = try_cpu_clock(clock, tools);
    return answer.result == CALL_WORKS ? try_cpu_clock(CLOCK_THREAD_CPUTIME_ID, tools) : answer;
}
#else
struct answer call_cputime(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("clock_getcpuclockid");
}

struct answer call_thread_cputime(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_getcpuclockid");
}
#endif

#if HS_HAS_TIMEOUTS && HS_HAS_UNNAMED_SEMAPHORES
static int lock_timed(void *mutex)
{
    struct timespec end = call_time_in(CLOCK_REALTIME, SHORT_NS);
    return pthread_mutex_timedlock(mutex, &end);
}

/* A wait for what does not come ends at its time, and says so. */
struct answer call_timeouts(const struct call_tools *tools)
{
    (void)tools;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    sem_t semaphore;
    pthread_mutex_lock(&mutex);
    int64_t begin_ns = clock_monotonic_ns();
    int error = call_on_thread(lock_timed, &mutex, ETIMEDOUT);
    if (error != ETIMEDOUT)
        return error ? answer_error("pthread_mutex_timedlock", error)
                     : answer_fails("pthread_mutex_timedlock locked a mutex that is held");
    sem_init(&semaphore, 0, 0);
    struct timespec end = call_time_in(CLOCK_REALTIME, SHORT_NS);
    if (sem_timedwait(&semaphore, &end) == 0)
        return answer_fails("sem_timedwait passed at value 0");
    if (errno != ETIMEDOUT)
        return answer_error("sem_timedwait", errno);
    return clock_monotonic_ns() - begin_ns > SHORT_NS ? answer_works()
                                                      : answer_fails("waits of 10 ms ended early");
}
#else
struct answer call_timeouts(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing(HS_HAS_TIMEOUTS ? "sem_init" : "pthread_mutex_timedlock");
}
#endif

#if HS_HAS_ADVISORY_INFO
struct answer call_advisory_info(const struct call_tools *tools)
{
    enum { BYTES = 8192, ALIGNMENT = 4096 };
    struct answer answer;
    struct stat facts;
    void *memory = NULL;
    int file = call_file(tools, &answer);
    if (file < 0)
        return answer;
    int error = posix_memalign(&memory, ALIGNMENT, BYTES);
    if (error || (uintptr_t)memory % ALIGNMENT != 0)
        return error ? answer_error("posix_memalign", error)
                     : answer_fails("posix_memalign gives memory that is not aligned");
    if ((error = posix_madvise(memory, BYTES, POSIX_MADV_WILLNEED)) != 0)
        return answer_error("posix_madvise", error);
    if ((error = posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL)) != 0)
        return answer_error("posix_fadvise", error);
    error = posix_fallocate(file, 0, BYTES);
    if (error == EINVAL || error == EOPNOTSUPP)
        return answer_partly("this file system cannot allocate in advance");
    if (error)
        return answer_error("posix_fallocate", error);
    return fstat(file, &facts) == 0 && facts.st_size == BYTES
               ? answer_works()
               : answer_fails("posix_fallocate did not allocate");
}
#else
struct answer call_advisory_info(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("posix_fallocate");
}
#endif

/* ---- 1003.1j ---- */

#define MOMENT_NS INT64_C(10000000)

#if HS_HAS_TYPED_MEMORY
/* The names of typed memory are the system's own, so that an unknown one is all that can be asked
 * for here. */
struct answer call_typed_memory_objects(const struct call_tools *tools)
{
    int object = posix_typed_mem_open(tools->name, O_RDWR, POSIX_TYPED_MEM_ALLOCATE);
    if (object >= 0)
        return answer_fails("typed memory of an unknown name was opened");
    return errno == ENOENT ? answer_partly("the call exists, but no object for it is known")
                           : answer_error("posix_typed_mem_open", errno);
}
#else
struct answer call_typed_memory_objects(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("posix_typed_mem_open");
}
#endif

#if HS_HAS_BARRIERS
struct barrier {
    pthread_barrier_t barrier;
    atomic_bool has_begun, has_passed;
    int result;
};

static void *wait_at_barrier(void *argument)
{
    struct barrier *barrier = argument;
    atomic_store(&barrier->has_begun, true);
    barrier->result = pthread_barrier_wait(&barrier->barrier);
    atomic_store(&barrier->has_passed, true);
    return NULL;
}

/* Of two threads none passes before the other has come, and exactly one is the serial thread. */
struct answer call_barriers(const struct call_tools *tools)
{
    struct barrier barrier = {.result = 0};
    pthread_t thread;
    int error = pthread_barrier_init(&barrier.barrier, NULL, 2);
    if (error)
        return answer_error("pthread_barrier_init", error);
    error = pthread_create(&thread, NULL, wait_at_barrier, &barrier);
    if (error)
        return answer_error("pthread_create", error);
    call_wait_for(&barrier.has_begun, tools);
    call_nap(MOMENT_NS);
    if (atomic_load(&barrier.has_passed))
        return answer_fails("a barrier of two let one thread pass");
    int own = pthread_barrier_wait(&barrier.barrier);
    pthread_join(thread, NULL);
    bool is_one =
        (own == PTHREAD_BARRIER_SERIAL_THREAD) != (barrier.result == PTHREAD_BARRIER_SERIAL_THREAD);
    return is_one && (own == 0 || barrier.result == 0)
               ? answer_works()
               : answer_fails("a barrier did not name one serial thread");
}
#else
struct answer call_barriers(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_barrier_wait");
}
#endif

#if HS_HAS_READER_WRITER_LOCKS
static int try_read(void *lock)
{
    int error = pthread_rwlock_tryrdlock(lock);
    if (error == 0)
        pthread_rwlock_unlock(lock);
    return error;
}

static int try_write(void *lock)
{
    int error = pthread_rwlock_trywrlock(lock);
    if (error == 0)
        pthread_rwlock_unlock(lock);
    return error;
}

struct answer call_reader_writer_locks(const struct call_tools *tools)
{
    (void)tools;
    pthread_rwlock_t lock;
    int error = pthread_rwlock_init(&lock, NULL);
    if (!error)
        error = pthread_rwlock_rdlock(&lock);
    if (error)
        return answer_error("pthread_rwlock_rdlock", error);
    if (call_on_thread(try_read, &lock, 0) != 0)
        return answer_fails("a reader keeps other readers out");
    if (call_on_thread(try_write, &lock, EBUSY) != EBUSY)
        return answer_fails("a writer enters while a reader holds the lock");
    pthread_rwlock_unlock(&lock);
    error = pthread_rwlock_wrlock(&lock);
    if (error)
        return answer_error("pthread_rwlock_wrlock", error);
    return call_on_thread(try_read, &lock, EBUSY) == EBUSY &&
                   call_on_thread(try_write, &lock, EBUSY) == EBUSY
               ? answer_works()
               : answer_fails("another thread enters while a writer holds the lock");
}
#else
struct answer call_reader_writer_locks(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_rwlock_rdlock");
}
#endif

#if HS_HAS_SPIN_LOCKS
static int try_spin(void *lock)
{
    int error = pthread_spin_trylock(lock);
    if (error == 0)
        pthread_spin_unlock(lock);
    return error;
}

struct answer call_spin_locks(const struct call_tools *tools)
{
    (void)tools;
    if (!HS_HAS_CALLS_IN_SPIN_LOCK)
        return answer_untried("left out by the port: starting a thread while a spin lock is held "
                              "ends this system");
    pthread_spinlock_t lock;
    int error = pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    if (!error)
        error = pthread_spin_lock(&lock);
    if (error)
        return answer_error("pthread_spin_lock", error);
    if (call_on_thread(try_spin, (void *)&lock, EBUSY) != EBUSY)
        return answer_fails("a spin lock that one thread holds, another takes");
    pthread_spin_unlock(&lock);
    return call_on_thread(try_spin, (void *)&lock, 0) == 0
               ? answer_works()
               : answer_fails("a released spin lock cannot be taken");
}
#else
struct answer call_spin_locks(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_spin_lock");
}
#endif

#ifdef CLOCK_MONOTONIC
struct answer call_monotonic_clock(const struct call_tools *tools)
{
    (void)tools;
    struct timespec begin, end;
    if (clock_gettime(CLOCK_MONOTONIC, &begin) != 0)
        return answer_error("clock_gettime", errno);
    call_nap(MOMENT_NS);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return clock_timespec_ns(&end) - clock_timespec_ns(&begin) >= MOMENT_NS
               ? answer_works()
               : answer_fails("CLOCK_MONOTONIC does not move by a sleep of 10 ms");
}
#else
struct answer call_monotonic_clock(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("CLOCK_MONOTONIC");
}
#endif

#if HS_HAS_CLOCK_SELECTION
/* A condition that waited by another clock would find its time in the past, and end at once. */
static struct answer wait_by_monotonic(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attributes;
    pthread_cond_t cond;
    pthread_condattr_init(&attributes);
    int error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!error)
        error = pthread_cond_init(&cond, &attributes);
    if (error)
        return answer_error("pthread_condattr_setclock", error);
    int64_t begin_ns = clock_monotonic_ns();
    struct timespec end = call_timespec(begin_ns + MOMENT_NS);
    pthread_mutex_lock(&mutex);
    while ((error = pthread_cond_timedwait(&cond, &mutex, &end)) == 0)
        ;
    if (error != ETIMEDOUT)
        return answer_error("pthread_cond_timedwait", error);
    return clock_monotonic_ns() - begin_ns >= MOMENT_NS
               ? answer_works()
               : answer_fails("a condition does not wait by CLOCK_MONOTONIC");
}

struct answer call_clock_selection(const struct call_tools *tools)
{
    (void)tools;
    int64_t end_ns = clock_monotonic_ns() + MOMENT_NS;
    struct timespec end = call_timespec(end_ns);
    int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    if (error)
        return answer_error("clock_nanosleep", error);
    return clock_monotonic_ns() >= end_ns ? wait_by_monotonic()
                                          : answer_fails("clock_nanosleep ended early");
}
#else
struct answer call_clock_selection(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_condattr_setclock");
}
#endif

/* ---- 1003.1q and 2001 ---- */

#if HS_HAS_TRACE
static struct answer try_trace(void)
{
    trace_attr_t attributes;
    trace_id_t trace;
    int error = posix_trace_attr_init(&attributes);
    if (!error)
        error = posix_trace_create(getpid(), &attributes, &trace);
    if (error)
        return answer_error("posix_trace_create", error);
    error = posix_trace_start(trace);
    if (!error)
        error = posix_trace_stop(trace);
    posix_trace_shutdown(trace);
    return error ? answer_error("posix_trace_start", error) : answer_works();
}
#else
static struct answer try_trace(void)
{
    return answer_missing("posix_trace_create");
}
#endif

struct answer call_trace(const struct call_tools *tools)
{
    (void)tools;
    return try_trace();
}

struct answer call_trace_event_filter(const struct call_tools *tools)
{
    (void)tools;
    struct answer answer = try_trace();
    return answer.result == CALL_WORKS ? answer_partly("a trace works; filters are not tried")
                                       : answer;
}

struct answer call_trace_log(const struct call_tools *tools)
{
    (void)tools;
    struct answer answer = try_trace();
    return answer.result == CALL_WORKS ? answer_partly("a trace works; its log is not tried")
                                       : answer;
}

#if HS_HAS_SOCKETS
struct answer call_raw_sockets(const struct call_tools *tools)
{
    (void)tools;
    int end = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    return end >= 0 ? answer_works() : answer_error("socket of SOCK_RAW", errno);
}

struct answer call_networking(const struct call_tools *tools)
{
    (void)tools;
    int ends[2];
    char back = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return answer_error("socketpair", errno);
    if (send(ends[0], "x", 1, 0) != 1 || recv(ends[1], &back, 1, 0) != 1 || back != 'x')
        return answer_fails("a byte does not pass through a pair of sockets");
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? answer_works()
                                                : answer_error("socket of AF_INET", errno);
}
#else
struct answer call_raw_sockets(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("socket");
}

struct answer call_networking(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("socket");
}
#endif

#if HS_HAS_REGEXP
struct answer call_regexp(const struct call_tools *tools)
{
    (void)tools;
    regex_t expression;
    regmatch_t match;
    if (regcomp(&expression, "b+c", REG_EXTENDED) != 0)
        return answer_fails("regcomp refuses b+c");
    bool is_good = regexec(&expression, "abbc", 1, &match, 0) == 0 && match.rm_so == 1 &&
                   match.rm_eo == 4 && regexec(&expression, "ac", 1, &match, 0) == REG_NOMATCH;
    return is_good ? answer_works() : answer_fails("b+c does not match abbc at 1, or matches ac");
}
#else
struct answer call_regexp(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("regcomp");
}
#endif

#if HS_HAS_FORK
struct answer call_shell(const struct call_tools *tools)
{
    (void)tools;
    if (access("/bin/sh", X_OK) != 0)
        return answer_untried("no /bin/sh here");
    int status = system("exit 7"); /* NOLINT: the call is what is tried */
    if (status < 0)
        return answer_error("system", errno);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7 ? answer_works()
                                                         : answer_fails("no shell ran `exit 7`");
}
#else
struct answer call_shell(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("system");
}
#endif

#if HS_HAS_PSELECT
static int ready_ends(int end, long ns)
{
    struct timespec wait = {.tv_nsec = ns};
    fd_set set;
    FD_ZERO(&set);
    FD_SET(end, &set);
    return pselect(end + 1, &set, NULL, NULL, &wait, NULL);
}

struct answer call_event_mgmt(const struct call_tools *tools)
{
    (void)tools;
    int ends[2];
    if (pipe(ends) != 0)
        return answer_error("pipe", errno);
    if (ends[0] >= FD_SETSIZE)
        return answer_untried("too many open files for a set of pselect");
    if (ready_ends(ends[0], 1000000) != 0)
        return answer_fails("an empty pipe is ready");
    return write(ends[1], "x", 1) == 1 && ready_ends(ends[0], 1000000) == 1
               ? answer_works()
               : answer_fails("a pipe with a byte is not ready");
}
#else
struct answer call_event_mgmt(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pselect");
}
#endif

#if HS_HAS_SYMBOLIC_LINKS
struct answer call_symbolic_links(const struct call_tools *tools)
{
    struct answer answer;
    char path[CALL_PATH_BYTES], back[16] = "";
    if (!call_path(tools, "link", path, &answer))
        return answer;
    if (symlink("there", path) != 0)
        return answer_error("symlink", errno);
    ssize_t length = readlink(path, back, sizeof back - 1);
    unlink(path);
    return length == 5 && strcmp(back, "there") == 0 ? answer_works()
                                                     : answer_fails("readlink returns another "
                                                                    "path");
}
#else
struct answer call_symbolic_links(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("symlink");
}
#endif

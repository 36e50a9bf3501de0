/* Further real-time options, 1003.1d. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/clock.h"
#include "base/options.h"
#include "family/posix/call_help.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#if HS_HAS_SPAWN
#include <spawn.h>
#include <sys/wait.h>
#endif

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
                                                   : answer_fails("another policy is told");
}

struct answer call_thread_sporadic_server(const struct call_tools *tools)
{
    (void)tools;
    struct sched_param param = sporadic();
    int policy, error = pthread_setschedparam(pthread_self(), SCHED_SPORADIC, &param);
    if (error)
        return answer_error("pthread_setschedparam with SCHED_SPORADIC", error);
    return pthread_getschedparam(pthread_self(), &policy, &param) == 0 && policy == SCHED_SPORADIC
               ? answer_works()
               : answer_fails("another policy is told");
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
            return answer_fails("the clock does not move while the caller runs");
    begin_ns = read_ns(clock);
    call_nap(4 * SHORT_NS);
    return read_ns(clock) - begin_ns < 2 * SHORT_NS
               ? answer_works()
               : answer_fails("the clock moves while the caller sleeps");
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

#if HS_HAS_TIMEOUTS
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
    return answer_missing("pthread_mutex_timedlock");
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

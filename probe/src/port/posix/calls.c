/* Port to any POSIX system: uses only the standard, and reports what that lacks as ENOTSUP, -1 or
 * false. */
#include "port/port.h"

#include "base/posix_optional.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#ifdef RUSAGE_HAS_COUNTS
#include <sys/resource.h>
#endif

#if HS_HAS_FORK
#include <sys/wait.h>
#endif

const char *port_name(void)
{
    return "posix";
}

int port_allowed_cpus(struct cpus *allowed)
{
    cpus_clear(allowed);
    return -1;
}

int port_pin_self(int cpu)
{
    (void)cpu;
    return ENOTSUP;
}

int port_pin_for_now(int cpu, struct cpus *before)
{
    (void)cpu, (void)before;
    return ENOTSUP;
}

int port_pin_back(const struct cpus *before)
{
    (void)before;
    return ENOTSUP;
}

bool port_thread_cpus(pid_t thread, struct cpus *cpus)
{
    (void)thread;
    cpus_clear(cpus);
    return false;
}

bool port_cpuset(char *group, size_t bytes, char *command, size_t command_bytes)
{
    (void)group, (void)bytes, (void)command, (void)command_bytes;
    return false;
}

int port_current_cpu(void)
{
    return -1;
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
#if defined(__aarch64__) || defined(__riscv)
    (void)reason, (void)reason_bytes;
    return true; /* the architecture guarantees one rate; clock_open checks it against the clock */
#else
    snprintf(reason, reason_bytes,
             "POSIX does not say whether the counter runs at one rate on all CPUs");
    return false;
#endif
}

int port_clock_system_call(clockid_t id, struct timespec *time)
{
    (void)id, (void)time;
    errno = ENOTSUP;
    return -1;
}

int port_clocks(const struct port_clock **clocks)
{
    static const struct port_clock table[] = {
        {"CLOCK_MONOTONIC", CLOCK_MONOTONIC, true, false},
        {"CLOCK_REALTIME", CLOCK_REALTIME, true, true},
        {"CLOCK_PROCESS_CPUTIME_ID", CLOCK_PROCESS_CPUTIME_ID, false, false},
        {"CLOCK_THREAD_CPUTIME_ID", CLOCK_THREAD_CPUTIME_ID, false, false},
    };
    *clocks = table;
    return sizeof table / sizeof table[0];
}

int port_event_timer_open(int64_t start_ns, int64_t period_ns)
{
    (void)start_ns, (void)period_ns;
    errno = ENOTSUP;
    return -1;
}

int port_event_timer_open_ready(int64_t start_ns, int64_t period_ns)
{
    return port_event_timer_open(start_ns, period_ns);
}

int64_t port_event_timer_take(int descriptor)
{
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
}

int port_event_timer_arm(int descriptor, int64_t start_ns)
{
    (void)descriptor, (void)start_ns;
    errno = ENOTSUP;
    return -1;
}

int64_t port_event_timer_wait(int descriptor, int64_t timeout_ns)
{
    (void)descriptor, (void)timeout_ns;
    errno = ENOTSUP;
    return -1;
}

int port_event_timer_disarm(int descriptor)
{
    (void)descriptor;
    errno = ENOTSUP;
    return -1;
}

int port_interrupt_register(void)
{
    return ENOTSUP;
}

int port_interrupt_send(void)
{
    return ENOTSUP;
}

int port_semaphore_descriptor(void)
{
    errno = ENOTSUP;
    return -1;
}

int64_t port_message_limit(enum port_message_limit limit)
{
    (void)limit;
    return -1;
}

int port_futex_wait(atomic_int *word, int value, bool is_shared)
{
    (void)word, (void)value, (void)is_shared;
    return ENOTSUP;
}

int port_futex_wake(atomic_int *word, bool is_shared)
{
    (void)word, (void)is_shared;
    return ENOTSUP;
}

int port_remove_semaphore_files(time_t since, mode_t mode)
{
    (void)since, (void)mode;
    return ENOTSUP;
}

int port_kill_with_parent(pid_t parent)
{
    (void)parent;
    return ENOTSUP;
}

#if HS_HAS_FORK

bool port_has_processes(void)
{
    return true;
}

pid_t port_fork(void)
{
    return fork();
}

bool port_has_ended(pid_t process, bool *is_well)
{
    siginfo_t end = {0};
    if (waitid(P_PID, (id_t)process, &end, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        end.si_pid != process)
        return false;
    *is_well = end.si_code == CLD_EXITED && end.si_status == 0;
    return true;
}

int port_wait_for(pid_t process)
{
    int status = 0;
    pid_t ended;
    while ((ended = waitpid(process, &status, 0)) < 0 && errno == EINTR)
        ;
    return ended == process && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : ECHILD;
}

void port_leave_session(void)
{
    setsid();
}

#else

bool port_has_processes(void)
{
    return false;
}

pid_t port_fork(void)
{
    errno = ENOSYS;
    return -1;
}

bool port_has_ended(pid_t process, bool *is_well)
{
    (void)process, (void)is_well;
    return false;
}

int port_wait_for(pid_t process)
{
    (void)process;
    return ECHILD;
}

void port_leave_session(void)
{
}

#endif

pid_t port_own_id(void)
{
    return 0;
}

int port_stops_open(int end)
{
    (void)end;
    errno = ENOTSUP;
    return -1;
}

bool port_wait_for_stop(int stops)
{
    (void)stops;
    return false;
}

int port_threads(pid_t process, pid_t *threads, int most)
{
    (void)process, (void)threads, (void)most;
    return -1;
}

bool port_thread_times(pid_t process, pid_t thread, struct port_thread_times *times)
{
    (void)process, (void)thread, (void)times;
    return false;
}

int port_bound_processes(int cpu, pid_t *list, int most)
{
    (void)cpu, (void)list, (void)most;
    return -1;
}

bool port_realtime_budget(struct port_realtime_budget *budget)
{
    memset(budget, 0, sizeof *budget);
    return false;
}

int64_t port_tick_ns(void)
{
    return -1;
}

void port_heat(int cpu, struct port_heat each[PORT_HEATS])
{
    (void)cpu;
    for (int i = 0; i < PORT_HEATS; i++)
        each[i] = (struct port_heat){-1, -1};
}

void port_environment(int cpu, struct port_environment *environment)
{
    (void)cpu;
    *environment = (struct port_environment){-1, -1, -1, -1};
}

/* POSIX defines only the times of struct rusage; the build checks for the counts. */
void port_usage(struct port_usage *usage)
{
    *usage = (struct port_usage){-1, -1, -1, -1};
#ifdef RUSAGE_HAS_COUNTS
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) == 0)
        *usage = (struct port_usage){used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw};
#endif
}

int64_t port_uptime_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int64_t port_stack_bytes(void)
{
    return -1;
}

void port_trim_heap(void)
{
}

void port_keep_from_forks(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void port_give_to_forks(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void port_facts(const struct port_fact_sink *sink)
{
    (void)sink;
}

void port_refusal(int error, enum port_asked asked, struct port_refusal *refusal)
{
    bool is_any_thread = asked == PORT_ASKED_ANY_THREAD;
    memset(refusal, 0, sizeof *refusal);
    refusal->is_any_thread = is_any_thread;
    refusal->cause = "other";
    snprintf(refusal->reason, sizeof refusal->reason, "%s%s",
             is_any_thread ? "no thread can be started: " : "", strerror(error));
    snprintf(refusal->remedy, sizeof refusal->remedy, "%s",
             is_any_thread ? "raise the limits on threads and memory"
                           : "run as a user who may use SCHED_FIFO");
}

void port_lock_refusal(int error, struct port_refusal *refusal)
{
    memset(refusal, 0, sizeof *refusal);
    refusal->cause = "limit";
    snprintf(refusal->reason, sizeof refusal->reason, "%s", strerror(error));
    snprintf(refusal->remedy, sizeof refusal->remedy, "raise the limit of locked memory");
}

int port_hold_dma_latency(int32_t us, int *descriptor, int32_t *in_force_us)
{
    (void)us, (void)descriptor, (void)in_force_us;
    return ENOTSUP;
}

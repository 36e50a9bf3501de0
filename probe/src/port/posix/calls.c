/* Port to any POSIX system: only what the standard has. What it lacks is said, with
 * ENOTSUP, -1 or false. */
#include "port/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *port_name(void)
{
    return "posix";
}

int port_allowed_cpus(bool allowed[PORT_CPUS])
{
    (void)allowed;
    return -1;
}

int port_pin_self(int cpu)
{
    (void)cpu;
    return ENOTSUP;
}

int port_current_cpu(void)
{
    return -1;
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
#if defined(__aarch64__) || defined(__riscv)
    (void)reason, (void)reason_bytes;
    return true; /* one rate on all CPUs by architecture */
#else
    snprintf(reason, reason_bytes,
             "POSIX does not tell whether the counter runs at one rate on all CPUs");
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

int port_semaphore_descriptor(void)
{
    errno = ENOTSUP;
    return -1;
}

int port_word_wait(atomic_int *word, int value, bool is_shared)
{
    (void)word, (void)value, (void)is_shared;
    return ENOTSUP;
}

int port_word_wake(atomic_int *word, bool is_shared)
{
    (void)word, (void)is_shared;
    return ENOTSUP;
}

int port_remove_semaphore_files(time_t since, mode_t mode)
{
    (void)since, (void)mode;
    return ENOTSUP;
}

int port_die_with(pid_t parent)
{
    (void)parent;
    return ENOTSUP;
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

bool port_realtime_budget(int64_t *runtime_ns, int64_t *period_ns)
{
    (void)runtime_ns, (void)period_ns;
    return false;
}

void port_environment(int cpu, struct port_environment *environment)
{
    (void)cpu;
    *environment = (struct port_environment){-1, -1, -1, -1};
}

void port_facts(const struct port_fact_sink *sink)
{
    (void)sink;
}

void port_realtime_remedy(char *text, size_t bytes)
{
    snprintf(text, bytes, "run as a user who may use SCHED_FIFO");
}

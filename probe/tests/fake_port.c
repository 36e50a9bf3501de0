#include "base/posix_source.h"

#include "fake_port.h"

#include "port/port.h"
#include "tap.h"

#include "base/clock.h"
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A port that is made up answers whatever it is asked. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct fake_port fake_port = {.is_counter_trusted = true, .cpu_count = 1};
_Thread_local int fake_port_cpu;

ANSWERS(const char *, port_name, (void), "fake");

int port_allowed_cpus(struct cpus *allowed)
{
    cpus_clear(allowed);
    for (int cpu = 0; cpu < fake_port.cpu_count; cpu++)
        cpus_add(allowed, cpu);
    return fake_port.cpu_count < 0 ? -1 : fake_port.cpu_count;
}

int port_pin_self(int cpu)
{
    if (fake_port.on_pin)
        fake_port.on_pin();
    if (fake_port.pin_error != 0)
        return fake_port.pin_error;
    if (cpu == fake_port.lacks_cpu && cpu > 0)
        return EINVAL;
    fake_port_cpu = cpu;
    return 0;
}

static int visit(int cpu, int error)
{
    if (fake_port.on_visit)
        fake_port.on_visit(cpu);
    return error;
}

ANSWERS(int, port_pin_for_now, (int cpu, struct cpus *before), visit(cpu, fake_port.pin_error));
ANSWERS(int, port_pin_back, (const struct cpus *before), visit(-1, fake_port.pin_back_error));
ANSWERS(bool, port_thread_cpus, (pid_t thread, struct cpus *cpus), false);
ANSWERS(bool, port_cpuset, (char *group, size_t bytes, char *command, size_t command_bytes), false);
ANSWERS(int, port_bind_self, (const struct cpus *cpus), ENOTSUP);
ANSWERS(int, port_current_cpu, (void), fake_port.current_cpu > 0 ? fake_port.current_cpu : -1);

void port_heat(int cpu, struct port_heat each[PORT_HEATS])
{
    (void)cpu;
    for (int i = 0; i < PORT_HEATS; i++)
        each[i] = (struct port_heat){-1, -1};
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
    snprintf(reason, reason_bytes, FAKE_REASON);
    return fake_port.is_counter_trusted;
}

ANSWERS(int, port_clock_system_call, (clockid_t id, struct timespec *time), tap_fail(ENOTSUP));

int port_clocks(const struct port_clock **clocks)
{
    static const struct port_clock table[] = {{"CLOCK_MONOTONIC", CLOCK_MONOTONIC, true, false}};
    *clocks = table;
    return 1;
}

ANSWERS(int, port_event_timer_open, (int64_t start_ns, int64_t period_ns),
        fake_port.on_arm ? dup(STDIN_FILENO) : tap_fail(ENOTSUP)); /* it is closed */
ANSWERS(int, port_event_timer_open_ready, (int64_t start_ns, int64_t period_ns),
        port_event_timer_open(start_ns, period_ns));
ANSWERS(int64_t, port_event_timer_take, (int descriptor), tap_fail(ENOTSUP));
ANSWERS(int, port_event_timer_arm, (int descriptor, int64_t start_ns),
        fake_port.on_arm ? fake_port.on_arm(start_ns) : tap_fail(ENOTSUP));
ANSWERS(int64_t, port_event_timer_wait, (int descriptor, int64_t timeout_ns),
        fake_port.on_timer_wait ? fake_port.on_timer_wait() : tap_fail(ENOTSUP));
ANSWERS(int, port_event_timer_disarm, (int descriptor), tap_fail(ENOTSUP));
ANSWERS(int, port_interrupt_register, (void),
        fake_port.interrupt_error ? fake_port.interrupt_error : ENOTSUP);
ANSWERS(int, port_interrupt_send, (void), ENOTSUP);
ANSWERS(bool, port_interrupt_lines,
        (const struct cpus *cpus,
         void (*take)(void *context, const struct port_interrupt_line *line), void *context),
        false);

void port_softirqs(int cpu, struct port_softirqs *softirqs)
{
    *softirqs = (struct port_softirqs){-1, -1, -1};
}

ANSWERS(int, port_kill_with_parent, (pid_t parent), ENOTSUP);
ANSWERS(bool, port_has_processes, (void), !fake_port.has_no_processes);

ANSWERS(pid_t, port_fork, (void),
        fake_port.has_no_processes || fake_port.refuses_fork ? tap_fail(ENOSYS) : fork());

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

ANSWERS(pid_t, port_own_id, (void), 0);
ANSWERS(int, port_stops_open, (int end), tap_fail(ENOTSUP));
ANSWERS(bool, port_wait_for_stop, (int stops), false);

int port_threads(pid_t process, pid_t *threads, int most)
{
    for (int i = 0; i < 2 && i < most; i++)
        threads[i] = i + 1;
    return fake_port.counts_waits ? 2 : -1;
}

bool port_thread_times(pid_t process, pid_t thread, struct port_thread_times *times)
{
    *times = (struct port_thread_times){fake_port.ran_ns, thread == 1 ? fake_port.waited_ns : 0};
    return fake_port.counts_waits;
}

ANSWERS(bool, port_thread_counters,
        (pid_t process, pid_t thread, struct port_thread_counters *counters), false);
ANSWERS(int64_t, port_run_delay_ns, (void), -1);
ANSWERS(int, port_deadline_self, (int64_t runtime_ns, int64_t period_ns), ENOTSUP);

ANSWERS(bool, port_own_switches, (int64_t * voluntary, int64_t *involuntary),
        (*voluntary = *involuntary = -1, false));

int port_bound_processes(int cpu, pid_t *list, int most)
{
    for (int i = 0; i < fake_port.bound_count && i < most; i++)
        list[i] = i + 1;
    return fake_port.bound_count;
}

bool port_realtime_budget(struct port_realtime_budget *budget)
{
    memset(budget, 0, sizeof *budget);
    budget->runtime_ns = fake_port.runtime_ns;
    budget->period_ns = fake_port.period_ns;
    budget->most_ns = fake_port.most_ns;
    if (fake_port.group)
        snprintf(budget->group, sizeof budget->group, "%s", fake_port.group);
    return fake_port.has_budget;
}

ANSWERS(bool, port_throttling_group, (char *group, size_t bytes), false);
ANSWERS(bool, port_throttled, (const char *group, int64_t *count, int64_t *ns), false);
ANSWERS(int64_t, port_tick_ns, (void), fake_port.tick_ns > 0 ? fake_port.tick_ns : -1);

void port_environment(int cpu, struct port_environment *environment)
{
    *environment = (struct port_environment){-1, -1, -1, -1};
    environment->steal_ns = fake_port.steal_ns > 0 ? fake_port.steal_ns : -1;
    if (fake_port.steal_cpu > 0 && cpu != fake_port.steal_cpu)
        environment->steal_ns = 1;
}

void port_steal(const struct cpus *cpus, int64_t *each)
{
    for (int i = cpus_count(cpus); i-- > 0;)
        each[i] = -1;
}

ANSWERS(int64_t, port_uptime_ns, (void), clock_monotonic_ns());

void port_usage(struct port_usage *usage)
{
    struct rusage used;
    *usage = (struct port_usage){-1, -1, -1, -1};
    if (!fake_port.lacks_usage && getrusage(RUSAGE_SELF, &used) == 0)
        *usage = (struct port_usage){used.ru_minflt, used.ru_majflt, used.ru_nvcsw, used.ru_nivcsw};
}

ANSWERS(int64_t, port_stack_bytes, (void), fake_port.stack_bytes > 0 ? fake_port.stack_bytes : -1);

void port_refusal(int error, enum port_asked asked, struct port_refusal *refusal)
{
    bool is_any_thread = asked == PORT_ASKED_ANY_THREAD;
    memset(refusal, 0, sizeof *refusal);
    refusal->is_any_thread = is_any_thread;
    refusal->cause = is_any_thread ? "thread_filter" : "capability";
    snprintf(refusal->reason, sizeof refusal->reason, "%s", strerror(error));
    snprintf(refusal->remedy, sizeof refusal->remedy, FAKE_REMEDY);
}

void port_lock_refusal(int error, struct port_refusal *refusal)
{
    port_refusal(error, PORT_ASKED_REALTIME, refusal);
}

int port_hold_dma_latency(int32_t us, int *descriptor, int32_t *in_force_us)
{
    int32_t others_us = fake_port.latency_of_others;
    if (fake_port.latency_error)
        return fake_port.latency_error;
    *descriptor = fake_port.latency_descriptor = dup(STDERR_FILENO);
    *in_force_us = others_us > 0 && others_us < us ? others_us : us;
    return 0;
}

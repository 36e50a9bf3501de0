/* Limits on real-time threads: throttling, and since Linux 6.12 the fair server. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>

struct server {
    int64_t runtime_ns, period_ns;
    bool is_known, is_same;
    int cpus;
};

static bool server_file(int cpu, const char *name, int64_t *value_ns)
{
    char path[64], text[32], *end;
    snprintf(path, sizeof path, "sched/fair_server/cpu%d/%s", cpu, name);
    if (!linux_read_debug("debugfs", path, text, sizeof text))
        return false;
    *value_ns = strtoll(text, &end, 10);
    return end != text && !*end && *value_ns >= 0;
}

static void look_at_server(void *context, int cpu)
{
    struct server *all = context;
    int64_t runtime_ns, period_ns;
    all->is_known = all->is_known && server_file(cpu, "runtime", &runtime_ns) &&
                    server_file(cpu, "period", &period_ns);
    if (!all->is_known)
        return;
    if (all->cpus++ == 0) {
        all->runtime_ns = runtime_ns;
        all->period_ns = period_ns;
    }
    all->is_same &= runtime_ns == all->runtime_ns && period_ns == all->period_ns;
}

/* The fair server's budget for starving ordinary tasks, if it is the same on every CPU. */
static void fair_server_facts(const struct port_fact_sink *sink)
{
    struct server all = {.is_known = true, .is_same = true};
    if (!linux_each_online(look_at_server, &all) || !all.is_known || !all.is_same || !all.cpus)
        return;
    sink->number(sink->context, "kernel.fair_server_runtime_ns", all.runtime_ns);
    sink->number(sink->context, "kernel.fair_server_period_ns", all.period_ns);
}

void linux_throttling_facts(const struct port_fact_sink *sink)
{
    int64_t span_us;
    if (linux_read_number("/proc/sys/kernel/sched_rt_runtime_us", &span_us))
        sink->number(sink->context, "kernel.rt_runtime_us", span_us);
    if (linux_read_number("/proc/sys/kernel/sched_rt_period_us", &span_us))
        sink->number(sink->context, "kernel.rt_period_us", span_us);
    fair_server_facts(sink);
}

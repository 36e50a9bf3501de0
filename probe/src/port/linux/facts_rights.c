/* The user's limits, capabilities and real-time group budget. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { IPC_LOCK = 14, SYS_ADMIN = 21, SYS_NICE = 23 }; /* capabilities, by their kernel numbers */

static void limit_facts(const struct port_fact_sink *sink)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_RTPRIO, &limit) == 0) {
        if (limit.rlim_cur == RLIM_INFINITY)
            sink->text(sink->context, "limits.rtprio", "unlimited");
        else
            sink->number(sink->context, "limits.rtprio", (int64_t)limit.rlim_cur);
    }
    if (getrlimit(RLIMIT_RTTIME, &limit) == 0) {
        if (limit.rlim_cur == RLIM_INFINITY)
            sink->text(sink->context, "limits.rttime_us", "unlimited");
        else
            sink->number(sink->context, "limits.rttime_us", (int64_t)limit.rlim_cur);
    }
}

/* The effective capabilities, from "CapEff: 000001ffffffffff". */
static bool capabilities(uint64_t *set)
{
    FILE *file = linux_open("/proc/self/status");
    char line[512];
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file))
        if (strncmp(line, "CapEff:", 7) == 0) {
            *set = strtoull(line + 7, NULL, 16);
            is_found = true;
        }
    if (file)
        fclose(file);
    return is_found;
}

static void capability_facts(const struct port_fact_sink *sink)
{
    uint64_t set;
    if (!capabilities(&set))
        return;
    sink->truth(sink->context, "user.cap_ipc_lock", set >> IPC_LOCK & 1);
    sink->truth(sink->context, "user.cap_sys_admin", set >> SYS_ADMIN & 1);
    sink->truth(sink->context, "user.cap_sys_nice", set >> SYS_NICE & 1);
}

static void group_facts(const struct port_fact_sink *sink)
{
    char path[600];
    int64_t budget_us;
    if (!linux_group_budget_us(&budget_us))
        return;
    sink->number(sink->context, "limits.group_rt_runtime_us", budget_us);
    if (linux_cpu_group(path, sizeof path))
        sink->text(sink->context, "limits.group_path", path);
}

void linux_right_facts(const struct port_fact_sink *sink)
{
    limit_facts(sink);
    capability_facts(sink);
    group_facts(sink);
    linux_granted_facts(sink);
}

/* The user's limits, capabilities and real-time group budget. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <sys/resource.h>

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

static void capability_facts(const struct port_fact_sink *sink)
{
    struct linux_rights rights;
    linux_rights_read(&rights);
    sink->truth(sink->context, "virtual.user_namespace", rights.is_user_namespace);
    if (rights.rtprio_most == LINUX_UNLIMITED)
        sink->text(sink->context, "limits.rtprio_most", "unlimited");
    else
        sink->number(sink->context, "limits.rtprio_most", rights.rtprio_most);
    if (!rights.is_known)
        return;
    sink->truth(sink->context, "limits.has_filter", rights.has_filter);
    sink->truth(sink->context, "user.cap_ipc_lock", rights.has_lock);
    sink->truth(sink->context, "user.cap_sys_admin", rights.has_admin);
    sink->truth(sink->context, "user.cap_sys_nice", rights.has_nice);
    sink->truth(sink->context, "user.can_use_setcap", rights.why_not == NULL);
}

static void group_facts(const struct port_fact_sink *sink)
{
    struct linux_group_limit limit;
    char path[PORT_CPU_GROUP_BYTES + 32];
    if (linux_group_budget(&limit))
        sink->text(sink->context, "limits.group_path", limit.limit_us < 0 ? NULL : limit.group);
    bool is_read_only = limit.limit_us >= 0 && linux_is_read_only(limit.group);
    if (limit.limit_us >= 0) {
        sink->number(sink->context, "limits.group_rt_runtime_us", limit.limit_us);
        sink->number(sink->context, "limits.group_rt_period_us", limit.period_us);
        sink->number(sink->context, "limits.group_rt_above_ppm",
                     (int64_t)(limit.above_share * 1000000));
    }
    if (linux_group_quota(&limit)) {
        sink->number(sink->context, "limits.quota_us", limit.limit_us);
    }
    if (limit.limit_us >= 0) {
        sink->number(sink->context, "limits.quota_period_us", limit.period_us);
        snprintf(path, sizeof path, "%s/%s", limit.group, limit.file);
        sink->text(sink->context, "limits.quota_file", path);
        is_read_only = is_read_only || linux_is_read_only(path);
    }
    sink->truth(sink->context, "limits.groups_read_only", is_read_only);
}

void linux_right_facts(const struct port_fact_sink *sink)
{
    limit_facts(sink);
    capability_facts(sink);
    group_facts(sink);
    linux_granted_facts(sink);
}

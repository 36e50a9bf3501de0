/* Limits of control groups, made up: the tightest on the way to the root group is the one in force.
 */
#include "linux_machine.h"
#include "port/linux/facts.h"
#include "tap.h"

#define MOUNT "/sys/fs/cgroup/cpu"

static void put_system(const char *runtime_us)
{
    machine_put("/proc/sys/kernel/sched_rt_runtime_us", runtime_us);
    machine_put("/proc/sys/kernel/sched_rt_period_us", "1000000");
    machine_put("/proc/self/cgroup", "3:cpuset:/x\n2:cpuacct,cpu:/a/b\n0::/c/d\n");
}

static void put_budget(const char *group, const char *runtime_us, const char *period_us)
{
    char path[128];
    snprintf(path, sizeof path, MOUNT "%s/cpu.rt_runtime_us", group);
    machine_put(path, runtime_us);
    snprintf(path, sizeof path, MOUNT "%s/cpu.rt_period_us", group);
    machine_put(path, period_us);
}

MACHINE_TEST(the_tightest_budget_is_in_force)
{
    static const struct {
        const char *system, *root, *a, *b, *group;
        int64_t runtime_ns, most_ns;
    } rows[] = {
        {"950000", "950000", "950000", "100000", MOUNT "/a/b", 100000000, 950000000},
        {"950000", "950000", "100000", "100000", MOUNT "/a", 100000000, 950000000},
        {"950000", "950000", "500000", "100000", MOUNT "/a/b", 100000000, 500000000},
        {"950000", "950000", "100000", "-1", MOUNT "/a", 100000000, 950000000},
        {"950000", "950000", "950000", "950000", "", 950000000, 950000000},
        {"300000", "950000", "950000", "500000", "", 300000000, 300000000},
        {"950000", "950000", "950000", "0", "", 950000000, 950000000}, /* no thread is held to it */
    };
    struct port_realtime_budget budget;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        put_system(rows[i].system);
        put_budget("", rows[i].root, "1000000");
        put_budget("/a", rows[i].a, "1000000");
        put_budget("/a/b", rows[i].b, "1000000");
        CHECK(port_realtime_budget(&budget));
        CHECK_TEXT(budget.group, rows[i].group);
        CHECK_SAME(budget.runtime_ns, rows[i].runtime_ns);
        CHECK_SAME(budget.period_ns, 1000000000);
        CHECK_SAME(budget.most_ns, rows[i].most_ns);
    }
}

MACHINE_TEST(budgets_are_compared_by_their_share)
{
    struct port_realtime_budget budget;
    put_system("950000");
    put_budget("", "950000", "1000000");
    put_budget("/a", "40000", "100000");
    put_budget("/a/b", "100000", "200000");
    CHECK(port_realtime_budget(&budget));
    CHECK_TEXT(budget.group, MOUNT "/a");
    CHECK_SAME(budget.runtime_ns, 40000000);
    CHECK_SAME(budget.period_ns, 100000000);
    CHECK_SAME(budget.most_ns, 95000000);
}

MACHINE_TEST(without_the_limit_of_the_system_groups_have_none)
{
    struct port_realtime_budget budget;
    put_system("-1");
    put_budget("/a/b", "100000", "1000000");
    CHECK(!port_realtime_budget(&budget));
}

MACHINE_TEST(quotas_of_both_versions)
{
    struct linux_group_limit quota;
    put_system("950000");
    CHECK(!linux_group_quota(&quota)); /* no group is seen */
    machine_put("/sys/fs/cgroup/c/d/cpu.stat", "usage_usec 1");
    machine_put("/sys/fs/cgroup/c/d/cpu.max", "max 100000");
    CHECK(linux_group_quota(&quota) && quota.limit_us == -1);
    machine_put("/sys/fs/cgroup/c/cpu.max", "20000 100000");
    CHECK(linux_group_quota(&quota));
    CHECK_SAME(quota.limit_us, 20000);
    CHECK_SAME(quota.period_us, 100000);
    CHECK_TEXT(quota.group, "/sys/fs/cgroup/c");
    machine_put(MOUNT "/a/b/cpu.cfs_quota_us", "-1"); /* version 1 has the controller */
    machine_put(MOUNT "/a/b/cpu.cfs_period_us", "100000");
    CHECK(linux_group_quota(&quota) && quota.limit_us == -1);
    machine_put(MOUNT "/a/cpu.cfs_quota_us", "30000");
    machine_put(MOUNT "/a/cpu.cfs_period_us", "100000");
    CHECK(linux_group_quota(&quota));
    CHECK_SAME(quota.limit_us, 30000);
    CHECK_TEXT(quota.group, MOUNT "/a");
}

/* Docker without a name space of control groups: the path is that of the host. */
MACHINE_TEST(the_group_that_is_mounted_where_the_path_is_not_seen)
{
    struct linux_group_limit limit;
    put_budget("", "50000", "1000000");
    machine_put("/proc/self/cgroup", "2:cpu:/docker/4711\n");
    CHECK(linux_group_budget(&limit));
    CHECK_SAME(limit.limit_us, 50000);
    CHECK_TEXT(limit.group, MOUNT);
    machine_remove(MOUNT);
    CHECK(!linux_group_budget(&limit));
    machine_put("/proc/self/cgroup", "0::/\n"); /* version 2 has no such file */
    CHECK(linux_group_budget(&limit) && limit.limit_us == -1);
}

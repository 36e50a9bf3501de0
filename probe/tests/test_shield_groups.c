/* Threads and control groups (version 1, version 2, none) under a shield: change, refusal with its
 * reason, undo. The kernel is made up (made_up_kernel.h). */
#include "made_up_kernel.h"
#include "tap.h"

#include <errno.h>
#include <unistd.h>

#define RESERVED_1 MADE_UP_V1 "/" LINUX_GROUP_RESERVED
#define OTHERS_1 MADE_UP_V1 "/" LINUX_GROUP_OTHERS
#define RESERVED_2 MADE_UP_V2 "/" LINUX_GROUP_RESERVED
#define CONTROL MADE_UP_V2 "/cgroup.subtree_control"

enum {
    ANYWHERE = 101,
    PINNED = 102,
    NARROW = 103,
    ELSEWHERE = 104,
    MOVABLE = 201,
    BOUND = 202,
    PER_CPU = 203,
    HEIR_ANYWHERE = 401,
    HEIR_PINNED = 402,
    OWN_WISH = 403,
    ORPHAN = 404,
    INSIDE = 405,
    BORN = 406
};

static char text[SHIELD_TEXT_BYTES];
static int counts[MADE_UP_UNDO_KINDS];

static bool begin(void (*groups)(void))
{
    const char *why = made_up_is_missing();
    if (why) {
        tap_skip(why);
        return false;
    }
    made_up_open();
    if (groups)
        groups();
    made_up_thread(ANYWHERE, "anywhere", MADE_UP_USER, "0-3");
    made_up_thread(PINNED, "pinned", MADE_UP_USER, "3");
    made_up_thread(NARROW, "narrow", MADE_UP_USER, "0-1");
    made_up_thread(MOVABLE, "kswapd0", MADE_UP_MOVABLE, "2-3");
    made_up_thread(BOUND, "kthread", MADE_UP_BOUND, "0-3");
    made_up_thread(PER_CPU, "ksoftirqd/3", MADE_UP_BOUND, "3");
    return true;
}

static int apply(void)
{
    text[0] = '\0';
    return port_shield_apply(&made_up.shield, SHIELD_CPUSET, text, sizeof text);
}

static void the_threads_are_back(void)
{
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "0-3");
    CHECK_TEXT(made_up_mask_of(PINNED), "3");
    CHECK_TEXT(made_up_mask_of(NARROW), "0-1");
    CHECK_TEXT(made_up_mask_of(MOVABLE), "2-3");
    CHECK_TEXT(made_up_group_of(ANYWHERE), "");
    CHECK_TEXT(made_up_group_of(PINNED), "");
}

/* Undone for the first time, then once more: the second changes nothing. */
static void put_back(void)
{
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED] + counts[PORT_UNDO_FOREIGN], 0);
    CHECK(counts[PORT_UNDONE] > 0);
}

/* ---- version 1 ---- */

TEST_IN(begin(made_up_groups_v1), made_up_close(), version_1)
{
    made_up_group("wide", "0-3");
    made_up_group("wide/inner", "3");
    CHECK_SAME(apply(), 0);
    CHECK_HOLDS(text, "version 1");
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/wide/cpuset.cpus"), "0-2");
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/wide/inner/cpuset.cpus"), "0-2");
    CHECK_TEXT(made_up_text(RESERVED_1 "/cpuset.cpus"), "3");
    CHECK_TEXT(made_up_text(RESERVED_1 "/cpuset.mems"), "0");
    CHECK_TEXT(made_up_text(RESERVED_1 "/" LINUX_EXCLUSIVE), "1");
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/" LINUX_GROUP_OTHERS "/cpuset.cpus"), "0-2");
    CHECK_TEXT(made_up_group_of(ANYWHERE), "/" LINUX_GROUP_OTHERS);
    CHECK_TEXT(made_up_group_of(PINNED), "/" LINUX_GROUP_OTHERS);
    CHECK_TEXT(made_up_group_of(MOVABLE), "");
    CHECK_TEXT(made_up_mask_of(MOVABLE), "2");
    CHECK_TEXT(made_up_mask_of(BOUND), "0-3");
    CHECK(made_up_is_noted("cpuset", "bound to it by the kernel"));
    CHECK(made_up_is_noted("cpuset", "whose affinity the kernel keeps for itself"));
    CHECK_SAME(made_up_lines("mask"), 0);
    CHECK_SAME(made_up_lines("task"), 1); /* those of the kernel that it cannot move are left out */
    put_back();
    the_threads_are_back();
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/wide/cpuset.cpus"), "0-3");
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/wide/inner/cpuset.cpus"), "3");
    CHECK(!made_up_has(RESERVED_1) && !made_up_has(MADE_UP_V1 "/" LINUX_GROUP_OTHERS));
    made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDONE], 0);
}

TEST_IN(begin(made_up_groups_v1), made_up_close(), threads_of_a_group_go_back_to_the_shields_own)
{
    made_up_group("session", "0-3");
    made_up_put("/proc/self/cgroup", "3:cpuset:/session");
    CHECK_SAME(apply(), 0);
    CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_1 "/tasks", "102"), 0);
    CHECK_TEXT(made_up_group_of(PINNED), "/" LINUX_GROUP_RESERVED);
    put_back();
    CHECK_TEXT(made_up_group_of(PINNED), "/session");
    CHECK_TEXT(made_up_group_of(ANYWHERE), "");
}

/* Members that cannot leave keep the group; what it kept from others is theirs again. */
TEST_IN(begin(made_up_groups_v1), made_up_close(), a_group_that_cannot_be_removed_lets_its_cpus_go)
{
    CHECK_SAME(apply(), 0);
    CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_1 "/tasks", "102"), 0);
    made_up_refuse(MADE_UP_V1 "/tasks", EINVAL, NULL);
    const char *why = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FAILED], 2);
    CHECK_HOLDS(why, "could not be emptied and removed: Invalid argument; it has all CPUs now");
    CHECK_TEXT(made_up_text(RESERVED_1 "/" LINUX_EXCLUSIVE), "0");
    CHECK_TEXT(made_up_text(RESERVED_1 "/cpuset.cpus"), "0-3");
    CHECK_TEXT(made_up_text(OTHERS_1 "/cpuset.cpus"), "0-3");
    /* two groups, ten seconds each at most, and not at an even pace */
    CHECK(made_up.waited_ns > 18000000000 && made_up.waited_ns < 22000000000);
    CHECK(made_up.longest_wait_ns > 10 * made_up.shortest_wait_ns);
    made_up_group("new", "");
    CHECK_SAME(linux_shield_write(&made_up.shield, MADE_UP_V1 "/new/cpuset.cpus", "0-3"), 0);
}

/* COMMAND, or somebody else, has made groups inside of the shield's. */
TEST_IN(begin(made_up_groups_v1), made_up_close(), groups_inside_of_ours_go_with_them)
{
    static const char *const inside[] = {"x", "x/y", "x/z", "w"};
    char name[64], tasks[128];
    CHECK_SAME(apply(), 0);
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        snprintf(name, sizeof name, LINUX_GROUP_OTHERS "/%s", inside[i]);
        made_up_group(name, "0");
    }
    made_up_group(LINUX_GROUP_RESERVED "/x", "3");
    made_up_put(RESERVED_1 "/x/" LINUX_EXCLUSIVE, "1");
    snprintf(tasks, sizeof tasks, "%s", OTHERS_1 "/x/y/tasks");
    CHECK_SAME(linux_shield_write(&made_up.shield, tasks, "101"), 0);
    CHECK_SAME(linux_shield_write(&made_up.shield, OTHERS_1 "/w/tasks", "103"), 0);
    CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_1 "/x/tasks", "102"), 0);
    put_back();
    the_threads_are_back();
    CHECK_TEXT(made_up_group_of(NARROW), "");
    CHECK(!made_up_has(RESERVED_1) && !made_up_has(OTHERS_1));
}

TEST_IN(begin(made_up_groups_v2), made_up_close(), groups_inside_of_a_partition_go_with_it)
{
    CHECK_SAME(apply(), 0);
    made_up_group(LINUX_GROUP_RESERVED "/x", "");
    made_up_group(LINUX_GROUP_RESERVED "/x/y", "");
    CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_2 "/x/y/cgroup.procs", "102"), 0);
    put_back();
    the_threads_are_back();
    CHECK(!made_up_has(RESERVED_2));
    CHECK_TEXT(made_up_text(CONTROL), "");
}

/* One that cannot leave stays with the groups around it; all of those get all CPUs. */
TEST_IN(begin(made_up_groups_v1), made_up_close(),
        groups_inside_of_ours_that_stay_let_their_cpus_go)
{
    CHECK_SAME(apply(), 0);
    made_up_group(LINUX_GROUP_RESERVED "/x", "3");
    made_up_put(RESERVED_1 "/x/" LINUX_EXCLUSIVE, "1");
    made_up_group(LINUX_GROUP_RESERVED "/x/y", "3");
    made_up_group(LINUX_GROUP_RESERVED "/free", "3");
    CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_1 "/x/y/tasks", "102"), 0);
    made_up_group(LINUX_GROUP_OTHERS "/x", "0");
    made_up_put(OTHERS_1 "/x/" LINUX_EXCLUSIVE, "1");
    CHECK_SAME(linux_shield_write(&made_up.shield, OTHERS_1 "/x/tasks", "101"), 0);
    made_up_refuse(MADE_UP_V1 "/tasks", EINVAL, NULL);
    made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FAILED], 2);
    CHECK_TEXT(made_up_text(OTHERS_1 "/x/" LINUX_EXCLUSIVE), "0");
    CHECK_TEXT(made_up_text(OTHERS_1 "/x/cpuset.cpus"), "0-3");
    CHECK(!made_up_has(RESERVED_1 "/free"));
    CHECK_TEXT(made_up_text(RESERVED_1 "/x/" LINUX_EXCLUSIVE), "0");
    CHECK_TEXT(made_up_text(RESERVED_1 "/cpuset.cpus"), "0-3");
    CHECK_TEXT(made_up_text(RESERVED_1 "/x/cpuset.cpus"), "0-3");
    CHECK_TEXT(made_up_text(RESERVED_1 "/x/y/cpuset.cpus"), "0-3");
}

TEST_IN(begin(made_up_groups_v1), made_up_close(), a_link_inside_of_ours_is_not_followed)
{
    char link[256];
    CHECK_SAME(apply(), 0);
    made_up_group("victim", "0");
    made_up_group("victim/inner", "0");
    CHECK_SAME(linux_shield_write(&made_up.shield, MADE_UP_V1 "/victim/tasks", "103"), 0);
    snprintf(link, sizeof link, "%s" RESERVED_1 "/link", made_up.root);
    CHECK_SAME(symlink("../victim", link), 0);
    made_up_undo(counts);
    CHECK_TEXT(made_up_group_of(NARROW), "/victim");
    CHECK(made_up_has(MADE_UP_V1 "/victim/inner"));
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/victim/cpuset.cpus"), "0");
    unlink(link);
}

/* Nothing is changed, and the answer says who has it. */
static void is_held(const char *by)
{
    made_up.log[0] = '\0';
    CHECK_SAME(apply(), PORT_SHIELD_HELD);
    CHECK_HOLDS(text, by);
    CHECK_TEXT(made_up.log, "");
    CHECK_SAME(made_up_lines(NULL), 0);
}

TEST(cpus_that_somebody_has_to_himself)
{
    static const char *const cpus[] = {"3", "2-3", "0-2"}; /* the last: nothing for the others */
    for (int i = 0; i < 3; i++) {
        if (!begin(made_up_groups_v1))
            return;
        made_up_group("rt", cpus[i]);
        made_up_put(MADE_UP_V1 "/rt/" LINUX_EXCLUSIVE, "1");
        is_held(MADE_UP_V1 "/rt has");
        made_up_close();
    }
    for (int i = 0; i < 2; i++) {
        if (!begin(made_up_groups_v2))
            return;
        made_up_put(CONTROL, "cpuset");
        made_up_group("slice", "");
        made_up_group("slice/rt", "3");
        made_up_put(MADE_UP_V2 "/slice/rt/" LINUX_PARTITION, i ? "isolated" : "root");
        is_held(MADE_UP_V2 "/slice/rt has");
        made_up_close();
    }
}

/* Not those that are to be reserved: they stay his, also while others are narrowed. */
TEST_IN(begin(made_up_groups_v1), made_up_close(), other_cpus_that_somebody_has_to_himself)
{
    made_up_group("rt", "0");
    made_up_put(MADE_UP_V1 "/rt/" LINUX_EXCLUSIVE, "1");
    made_up_group("only", "3");
    CHECK_SAME(apply(), 0);
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/rt/cpuset.cpus"), "0");
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/only/cpuset.cpus"), "1-2");
    CHECK_TEXT(made_up_text(OTHERS_1 "/cpuset.cpus"), "1-2");
    CHECK_TEXT(made_up_text(RESERVED_1 "/" LINUX_EXCLUSIVE), "1");
    put_back();
    the_threads_are_back();
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/only/cpuset.cpus"), "3");
}

/* A partition that the kernel has not granted holds nothing. */
TEST_IN(begin(made_up_groups_v2), made_up_close(), a_partition_of_others_that_is_void)
{
    made_up_put(CONTROL, "cpuset");
    made_up_group("rt", "2-3");
    made_up_put(MADE_UP_V2 "/rt/" LINUX_PARTITION, "root invalid (Cpu list not exclusive)");
    CHECK_SAME(apply(), 0);
    CHECK_TEXT(made_up_text(MADE_UP_V2 "/rt/cpuset.cpus"), "2");
    put_back();
}

TEST_IN(begin(made_up_groups_v1), made_up_close(), a_group_that_was_left_is_made_anew)
{
    made_up_group(LINUX_GROUP_RESERVED, "3");
    made_up_put(RESERVED_1 "/" LINUX_EXCLUSIVE, "1");
    CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_1 "/tasks", "102"), 0);
    CHECK_SAME(apply(), 0);
    CHECK_TEXT(made_up_group_of(PINNED), "/" LINUX_GROUP_OTHERS);
    put_back();
    the_threads_are_back();
}

TEST(version_1_that_is_refused)
{
    static const struct {
        const char *path;
        int error;
    } refused[] = {{MADE_UP_V1 "/wide/cpuset.cpus", EACCES},
                   {MADE_UP_V1 "/wide/cpuset.cpus", EROFS},
                   {RESERVED_1 "/cpuset.cpus", EPERM},
                   {RESERVED_1 "/cpuset.mems", EINVAL}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (!begin(made_up_groups_v1))
            return;
        made_up_group("wide", "0-3");
        made_up_refuse(refused[i].path, refused[i].error, NULL);
        CHECK_SAME(apply(), refused[i].error);
        CHECK_HOLDS(text, strerror(refused[i].error));
        CHECK(made_up_undo(counts) != NULL);
        CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED], 0);
        CHECK_TEXT(made_up_text(MADE_UP_V1 "/wide/cpuset.cpus"), "0-3");
        CHECK(!made_up_has(RESERVED_1));
        made_up_close();
    }
}

TEST_IN(begin(made_up_groups_v1), made_up_close(), groups_and_threads_of_version_1_that_stay)
{
    made_up_group("busy", "2-3");
    made_up_refuse(MADE_UP_V1 "/busy/cpuset.cpus", EBUSY, NULL);
    made_up_refuse(RESERVED_1 "/" LINUX_EXCLUSIVE, 0, NULL);
    made_up_thread(301, "stubborn", MADE_UP_BOUND & ~0x00200000u, "0-3");
    CHECK_SAME(apply(), 0);
    CHECK(made_up_is_noted("cpuset", "groups whose CPUs could not be changed: "));
    CHECK(made_up_is_noted("cpuset", "new groups of others may take the CPU"));
    put_back();
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/busy/cpuset.cpus"), "2-3");
}

/* Linux up to 6.1 gives a thread that changes its group the CPUs of the group. */
TEST_IN(begin(made_up_groups_v1), made_up_close(), a_kernel_that_forgets_affinities)
{
    made_up.release = "6.1.0-13-amd64";
    made_up.forgets_masks = true;
    CHECK_SAME(apply(), 0);
    CHECK_SAME(made_up_lines("mask"), 4);
    CHECK_TEXT(made_up_mask_of(NARROW), "0-2");
    put_back();
    the_threads_are_back();
}

/* ---- version 2 ---- */

TEST(version_2)
{
    for (int i = 0; i < 3; i++) {
        if (!begin(made_up_groups_v2))
            return;
        made_up.has_exclusive = i != 1;
        bool is_on = i > 0; /* then groups below the root have CPUs of their own */
        if (is_on) {
            made_up_put(CONTROL, "cpuset");
            made_up_group("slice", "0-3");
        }
        CHECK_SAME(apply(), 0);
        CHECK_HOLDS(text, "a partition (control groups, version 2)");
        CHECK_TEXT(made_up_text(CONTROL), "cpuset");
        CHECK_TEXT(made_up_text(MADE_UP_V2 "/slice/cpuset.cpus"), is_on ? "0-2" : "-");
        CHECK_TEXT(made_up_text(RESERVED_2 "/cpuset.cpus"), "3");
        CHECK_TEXT(made_up_text(RESERVED_2 "/cpuset.cpus.exclusive"), i == 1 ? "-" : "3");
        CHECK_TEXT(made_up_text(RESERVED_2 "/cpuset.cpus.partition"), "root");
        CHECK_TEXT(made_up_group_of(ANYWHERE), ""); /* nobody changes its group */
        CHECK_TEXT(made_up_mask_of(MOVABLE), "2");
        CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_2 "/cgroup.procs", "102"), 0);
        made_up.log[0] = '\0';
        put_back();
        the_threads_are_back();
        CHECK(!made_up_has(RESERVED_2));
        CHECK_TEXT(made_up_text(MADE_UP_V2 "/slice/cpuset.cpus"), is_on ? "0-3" : "-");
        CHECK_TEXT(made_up_text(CONTROL), is_on ? "cpuset" : ""); /* it stays on, or goes */
        int member = made_up_when(RESERVED_2 "/cpuset.cpus.partition=member");
        CHECK(member >= 0 && made_up_when("rmdir " RESERVED_2) > member);
        made_up_close();
    }
}

/* Each change of version 2 is on the disk before it is made. */
TEST_IN(begin(made_up_groups_v2), made_up_close(), the_journal_of_version_2_comes_first)
{
    CHECK_SAME(apply(), 0);
    CHECK(made_up_when("journal;sync;" CONTROL "=+cpuset;journal;sync;mkdir " RESERVED_2 ";") >= 0);
}

TEST_IN(begin(made_up_groups_v2), made_up_close(), a_cpu_that_the_boot_line_isolates)
{
    made_up.boot_isolated = "2-3";
    CHECK_SAME(apply(), 0);
    CHECK_TEXT(made_up_text(RESERVED_2 "/cpuset.cpus.partition"), "isolated");
    put_back();
    the_threads_are_back();
    CHECK(!made_up_has(RESERVED_2));
}

TEST(a_partition_that_is_not_granted)
{
    static const char why[] = "root invalid (Parent is not a partition root)";
    if (!begin(made_up_groups_v2))
        return;
    made_up_refuse(RESERVED_2 "/cpuset.cpus.partition", 0, why);
    CHECK_SAME(apply(), 0);
    CHECK_HOLDS(text, "threads moved by their affinity");
    CHECK_HOLDS(text, why);
    CHECK(made_up_is_noted("cpuset", "a thread that asks for the CPU still gets it"));
    CHECK(!made_up_has(RESERVED_2));
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "0-2");
    CHECK_TEXT(made_up_mask_of(PINNED), "0-2");
    CHECK_TEXT(made_up_mask_of(0), "0-3"); /* of the shield itself: it goes there later */
    put_back();
    the_threads_are_back();
    CHECK_TEXT(made_up_text(CONTROL), "");
    made_up_close();
}

TEST(version_2_that_is_refused)
{
    static const int errors[] = {EACCES, EPERM, EROFS};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (!begin(made_up_groups_v2))
            return;
        made_up_refuse(CONTROL, errors[i], NULL);
        CHECK_SAME(apply(), errors[i]);
        CHECK_HOLDS(text, strerror(errors[i]));
        CHECK(!made_up_has(RESERVED_2));
        CHECK_TEXT(made_up_mask_of(ANYWHERE), "0-3");
        made_up_close();
    }
}

TEST(a_controller_that_somebody_uses_by_now)
{
    if (!begin(made_up_groups_v2))
        return;
    CHECK_SAME(apply(), 0);
    made_up.control_is_used = true;
    const char *told = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 1);
    CHECK_HOLDS(told, "keeps the cpuset controller, which other groups use now");
    CHECK_TEXT(made_up_text(CONTROL), "cpuset");
    CHECK(!made_up_has(RESERVED_2));
    made_up_close();
    if (!begin(made_up_groups_v2))
        return;
    CHECK_SAME(apply(), 0);
    made_up_refuse(CONTROL, EROFS, NULL);
    told = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FAILED], 1);
    CHECK_HOLDS(told, strerror(EROFS));
    made_up_close();
}

/* Somebody has given CPUs to a group of his since, which has its files from us alone. */
TEST_IN(begin(made_up_groups_v2), made_up_close(), groups_that_somebody_has_set_up_by_now)
{
    CHECK_SAME(apply(), 0);
    made_up_group("new", "0");
    const char *told = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 1);
    CHECK_HOLDS(told, "keeps the cpuset controller, which other groups use now");
    CHECK_TEXT(made_up_text(CONTROL), "cpuset");
}

TEST_IN(begin(made_up_groups_v2), made_up_close(), the_owner_joins)
{
    char id[24];
    CHECK_SAME(apply(), 0);
    snprintf(id, sizeof id, "%ld", (long)getpid());
    made_up_thread(getpid(), "shield", MADE_UP_USER, "0-3");
    CHECK_SAME(port_shield_enter(&made_up.shield), 0);
    CHECK_TEXT(made_up_group_of(getpid()), "/" LINUX_GROUP_RESERVED);
    CHECK_TEXT(made_up_text(RESERVED_2 "/cgroup.procs"), id);
    CHECK_TEXT(made_up_mask_of(0), "3");
    put_back();
    CHECK_TEXT(made_up_group_of(getpid()), "");
}

/* ---- none ---- */

/* Made while the shield is there: by threads that were moved, by COMMAND, by one that has ended. */
static void make_inherited_affinity(void)
{
    made_up.start = 50;
    made_up.parent = ANYWHERE;
    made_up_thread(HEIR_ANYWHERE, "heir", MADE_UP_USER, "0-2");
    made_up_thread(OWN_WISH, "heir", MADE_UP_USER, "1");
    made_up.parent = PINNED;
    made_up_thread(HEIR_PINNED, "heir", MADE_UP_USER, "0-2");
    made_up.parent = 1;
    made_up_thread(ORPHAN, "heir", MADE_UP_USER, "0-2");
    made_up_thread(INSIDE, "inside", MADE_UP_USER, "3");
}

TEST_IN(begin(NULL), made_up_close(), no_cpusets)
{
    made_up_thread(ELSEWHERE, "elsewhere", MADE_UP_USER, "0-2");
    CHECK_SAME(apply(), 0);
    CHECK_HOLDS(text, "3 threads moved by their affinity (there are no cpusets)");
    CHECK(made_up_is_noted("cpuset", "there are no cpusets: a thread that asks for the CPU"));
    CHECK(made_up_is_noted("cpuset", "bound to it by the kernel"));
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "0-2");
    CHECK_TEXT(made_up_mask_of(PINNED), "0-2");
    CHECK_TEXT(made_up_mask_of(NARROW), "0-1");
    CHECK_TEXT(made_up_mask_of(MOVABLE), "2");
    CHECK_TEXT(made_up_mask_of(PER_CPU), "3");
    CHECK_TEXT(made_up_mask_of(ELSEWHERE), "0-2");
    make_inherited_affinity();
    put_back();
    the_threads_are_back();
    CHECK_TEXT(made_up_mask_of(ELSEWHERE), "0-2"); /* as an heir would have it, but older */
    CHECK_TEXT(made_up_mask_of(HEIR_ANYWHERE), "0-3");
    CHECK_TEXT(made_up_mask_of(HEIR_PINNED), "3");
    CHECK_TEXT(made_up_mask_of(ORPHAN), "0-3"); /* the widest that is possible */
    CHECK_TEXT(made_up_mask_of(INSIDE), "0-3");
    CHECK_TEXT(made_up_mask_of(OWN_WISH), "1");
}

/* Its maker was looked at before, it was not: another look finds it. */
TEST(threads_that_are_made_while_others_are_moved)
{
    for (int i = 0; i < 2; i++) {
        if (!begin(i ? made_up_groups_v1 : NULL))
            return;
        made_up.birth.mother = PINNED;
        made_up.birth.id = BORN;
        made_up.birth.cpus = "3";
        CHECK_SAME(apply(), 0);
        CHECK_SAME(made_up.birth.id, 0);
        CHECK_TEXT(made_up_mask_of(BORN), i ? "3" : "0-2");
        CHECK_TEXT(made_up_group_of(BORN), i ? "/" LINUX_GROUP_OTHERS : "");
        put_back();
        the_threads_are_back();
        CHECK_TEXT(made_up_mask_of(BORN), "3");
        CHECK_TEXT(made_up_group_of(BORN), "");
        made_up_close();
    }
}

/* The child has the CPUs of the group without having asked for them; the other one has asked.
 * `start`: of both; the shield started at 40. */
static void a_fork_is_interrupted(unsigned long start, const char *late)
{
    if (!begin(made_up_groups_v1))
        return;
    CHECK_SAME(apply(), 0);
    made_up.start = start;
    made_up.fork.mother = ANYWHERE;
    made_up.fork.id = BORN;
    made_up_thread(OWN_WISH, "own wish", MADE_UP_USER, "0-2");
    put_back();
    the_threads_are_back();
    CHECK_SAME(made_up.fork.id, 0);
    CHECK_TEXT(made_up_mask_of(BORN), late);
    CHECK_TEXT(made_up_group_of(BORN), "");
    CHECK_TEXT(made_up_mask_of(OWN_WISH), "0-2");
    CHECK_TEXT(made_up_group_of(OWN_WISH), "");
    CHECK(!made_up_has(OTHERS_1));
    made_up_close();
}

TEST(a_fork_that_the_way_back_interrupts)
{
    a_fork_is_interrupted(41, "0-3");
    a_fork_is_interrupted(39, "0-2"); /* older than the shield */
}

/* The thread has ended, and another has its id. */
static void reuse(pid_t id)
{
    char path[64], line[128];
    snprintf(line, sizeof line, "%ld (another) S 1 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 %d 0",
             (long)id, MADE_UP_USER, 99);
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)id);
    made_up_put(path, line);
    snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", (long)id, (long)id);
    made_up_put(path, line);
}

TEST(a_thread_that_has_the_id_of_another)
{
    struct cpus own;
    if (!begin(NULL))
        return;
    CHECK_SAME(apply(), 0);
    reuse(PINNED);
    cpus_parse_list("1-2", &own);
    CHECK_SAME(linux_task_set_mask(PINNED, &own), 0);
    reuse(ANYWHERE); /* with an affinity as the shield gave it, by its own wish or its maker's */
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 0); /* it is not said to have changed */
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 2);
    CHECK_TEXT(made_up_mask_of(PINNED), "1-2");
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "0-3"); /* as one that was made meanwhile */
    made_up_close();
    if (!begin(made_up_groups_v1)) /* where any value would be replaced */
        return;
    made_up.release = "6.1.0";
    made_up.forgets_masks = true;
    CHECK_SAME(apply(), 0);
    reuse(PINNED);
    CHECK(made_up_undo(counts) != NULL);
    CHECK_TEXT(made_up_mask_of(PINNED), "0-3"); /* that of the root, not the other's 3 */
    made_up_close();
}

TEST_IN(begin(NULL), made_up_close(), threads_that_ask_for_something_else_meanwhile)
{
    struct cpus wish;
    CHECK_SAME(apply(), 0);
    cpus_parse_list("1", &wish);
    CHECK_SAME(linux_task_set_mask(ANYWHERE, &wish), 0);
    const char *told = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 1);
    CHECK_HOLDS(told, "thread 101 has the affinity 1 now, not the 0-2 that the shield set");
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "1");
    CHECK_TEXT(made_up_mask_of(PINNED), "3");
}

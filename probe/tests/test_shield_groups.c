/* Threads and control groups (version 1, version 2, none) under a shield: change, refusal with its
 * reason, undo. The kernel is made up (made_up_kernel.h). */
#include "made_up_shield.h"
#include "port/linux/cpus.h"

#include <unistd.h>

#define RESERVED_1 MADE_UP_V1 "/" LINUX_GROUP_RESERVED
#define OTHERS_1 MADE_UP_V1 "/" LINUX_GROUP_OTHERS
#define RESERVED_2 MADE_UP_V2 "/" LINUX_GROUP_RESERVED
#define CONTROL MADE_UP_V2 "/cgroup.subtree_control"

enum { ANYWHERE = 101, PINNED, NARROW, ELSEWHERE, MOVABLE = 201, BOUND, PER_CPU };
enum { HEIR_ANYWHERE = 401, HEIR_PINNED, OWN_WISH, ORPHAN, INSIDE, BORN };

static bool begin(void (*groups)(void))
{
    if (!made_up_open())
        return false;
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

static void begin_again(void (*groups)(void))
{
    made_up_close();
    begin(groups);
}

#define V1_TEST(what) TEST_IN(begin(made_up_groups_v1), made_up_close(), what)
#define V2_TEST(what) TEST_IN(begin(made_up_groups_v2), made_up_close(), what)

/* The affinity of each thread that exists, and behind it its group; first of those of begin(). */
static const char *threads(void)
{
    static const pid_t ids[] = {ANYWHERE, PINNED,    NARROW,        MOVABLE,     BOUND,
                                PER_CPU,  ELSEWHERE, HEIR_ANYWHERE, HEIR_PINNED, OWN_WISH,
                                ORPHAN,   INSIDE,    BORN};
    static char all[512];
    size_t used = 0;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        if (strcmp(made_up_group_of(ids[i]), "-") == 0)
            continue;
        used += snprintf(all + used, sizeof all - used, "%s", made_up_mask_of(ids[i]));
        used += snprintf(all + used, sizeof all - used, "%s ", made_up_group_of(ids[i]));
    }
    return all;
}

#define THREADS "0-3 3 0-1 2-3 0-3 3 "

/* The CPUs of groups of version 1, with "!" those of an exclusive one. */
static const char *cpus_of(const char *groups)
{
    static char all[256];
    char path[128];
    size_t used = 0, length;
    for (; *groups; groups += length + strspn(groups + length, " ")) {
        length = strcspn(groups, " ");
        snprintf(path, sizeof path, MADE_UP_V1 "/%.*s/cpuset.cpus", (int)length, groups);
        used += snprintf(all + used, sizeof all - used, "%s", made_up_text(path));
        snprintf(path, sizeof path, MADE_UP_V1 "/%.*s/" LINUX_EXCLUSIVE, (int)length, groups);
        bool is_exclusive = strcmp(made_up_text(path), "1") == 0;
        used += snprintf(all + used, sizeof all - used, is_exclusive ? "! " : " ");
    }
    return all;
}

#define RESERVED LINUX_GROUP_RESERVED
#define OTHERS LINUX_GROUP_OTHERS

/* A thread of somebody moves itself, by its number. */
static void move_to(const char *group, const char *thread)
{
    char path[128];
    snprintf(path, sizeof path, MADE_UP_V1 "/%s/tasks", group);
    CHECK_SAME(linux_shield_write(&made_up.shield, path, thread), 0);
}

static void put_back(void)
{
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED] + counts[PORT_UNDO_FOREIGN], 0);
    CHECK(counts[PORT_UNDONE] > 0);
}

/* A change that is not undone, for the reason that is told. */
static void undo_all_but_one(enum port_undo left, const char *why)
{
    CHECK_HOLDS(made_up_undo(counts), why);
    CHECK_SAME(counts[left], 1);
}

static void put_all_back(const char *other_threads)
{
    char wanted[512];
    snprintf(wanted, sizeof wanted, THREADS "%s", other_threads);
    put_back();
    CHECK_TEXT(threads(), wanted);
}

/* ---- version 1 ---- */

#define ALL "wide wide/inner wide/only away empty " RESERVED " " OTHERS

V1_TEST(version_1)
{
    made_up_group("wide", "0-3");
    made_up_group("wide/inner", "2-3");
    made_up_group("wide/only", "3"); /* it gets others, never nothing */
    made_up_group("away", "0");
    made_up_group("empty", "");
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_HOLDS(text, "version 1");
    CHECK_TEXT(cpus_of(ALL), "0-2 2 0-2 0  3! 0-2 ");
    CHECK_TEXT(made_up_text(RESERVED_1 "/cpuset.mems"), "0");
    CHECK_TEXT(threads(), "0-3/" OTHERS " 3/" OTHERS " 0-1/" OTHERS " 2 0-3 3 ");
    CHECK(made_up_is_noted("cpuset", "that the kernel has bound to one CPU"));
    CHECK(made_up_is_noted("cpuset", "whose affinity only the kernel may change"));
    CHECK_SAME(made_up_lines("mask"), 0);
    CHECK_SAME(made_up_lines("task"), 1); /* those of the kernel that it cannot move are left out */
    put_all_back("");
    CHECK_TEXT(cpus_of(ALL), "0-3 2-3 3 0  - - ");
    made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDONE], 0);
}

V1_TEST(threads_of_a_group_go_back_to_the_shields_own)
{
    made_up_group("session", "0-3");
    made_up_put("/proc/self/cgroup", "3:cpuset:/session");
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    move_to(RESERVED, "102");
    CHECK_TEXT(made_up_group_of(PINNED), "/" LINUX_GROUP_RESERVED);
    put_back();
    CHECK_TEXT(made_up_group_of(PINNED), "/session");
    CHECK_TEXT(made_up_group_of(ANYWHERE), "");
}

/* Members that cannot leave keep the group; what it kept from others is theirs again. */
V1_TEST(a_group_that_cannot_be_removed_lets_its_cpus_go)
{
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    move_to(RESERVED, "102");
    made_up_refuse(MADE_UP_V1 "/tasks", EINVAL, NULL);
    CHECK_HOLDS(made_up_undo(counts),
                "could not be emptied and removed: Invalid argument; it now has all CPUs");
    CHECK_SAME(counts[PORT_UNDO_FAILED], 2);
    CHECK_TEXT(cpus_of(RESERVED " " OTHERS), "0-3 0-3 ");
    /* two groups, ten seconds each at most, and not at an even pace */
    CHECK(made_up.waited_ns > 18000000000 && made_up.waited_ns < 22000000000);
    CHECK(made_up.longest_wait_ns > 10 * made_up.shortest_wait_ns);
    made_up_group("new", "");
    CHECK_SAME(linux_shield_write(&made_up.shield, MADE_UP_V1 "/new/cpuset.cpus", "0-3"), 0);
}

/* COMMAND, or somebody else, has made groups inside of the shield's. */
V1_TEST(groups_inside_of_ours_go_with_them)
{
    static const char *const inside[] = {"x", "x/y", "x/z", "w"};
    char name[64];
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        snprintf(name, sizeof name, LINUX_GROUP_OTHERS "/%s", inside[i]);
        made_up_group(name, "0");
    }
    made_up_group(LINUX_GROUP_RESERVED "/x", "3");
    made_up_put(RESERVED_1 "/x/" LINUX_EXCLUSIVE, "1");
    move_to(OTHERS "/x/y", "101");
    move_to(OTHERS "/w", "103");
    move_to(RESERVED "/x", "102");
    put_all_back("");
    CHECK_TEXT(cpus_of(RESERVED " " OTHERS), "- - ");
}

/* Each change is on the disk before it is made. */
V2_TEST(groups_inside_of_a_partition_go_with_it)
{
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK(made_up_when("journal;sync;" CONTROL "=+cpuset;journal;sync;mkdir " RESERVED_2 ";") >= 0);
    made_up_group(LINUX_GROUP_RESERVED "/x", "");
    made_up_group(LINUX_GROUP_RESERVED "/x/y", "");
    CHECK_SAME(linux_shield_write(&made_up.shield, RESERVED_2 "/x/y/cgroup.procs", "102"), 0);
    put_all_back("");
    CHECK(!made_up_has(RESERVED_2));
    CHECK_TEXT(made_up_text(CONTROL), "");
}

/* One that cannot leave stays with the groups around it; all of those get all CPUs. */
V1_TEST(groups_inside_of_ours_that_stay_let_their_cpus_go)
{
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    made_up_group(LINUX_GROUP_RESERVED "/x", "3");
    made_up_put(RESERVED_1 "/x/" LINUX_EXCLUSIVE, "1");
    made_up_group(LINUX_GROUP_RESERVED "/x/y", "3");
    made_up_group(LINUX_GROUP_RESERVED "/free", "3");
    move_to(RESERVED "/x/y", "102");
    made_up_group(LINUX_GROUP_OTHERS "/x", "0");
    made_up_put(OTHERS_1 "/x/" LINUX_EXCLUSIVE, "1");
    move_to(OTHERS "/x", "101");
    made_up_refuse(MADE_UP_V1 "/tasks", EINVAL, NULL);
    made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FAILED], 2);
    CHECK_TEXT(cpus_of(OTHERS "/x " RESERVED "/free " RESERVED " " RESERVED "/x " RESERVED "/x/y"),
               "0-3 - 0-3 0-3 0-3 ");
}

V1_TEST(a_link_inside_of_ours_is_not_followed)
{
    const char *link = RESERVED_1 "/link";
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    made_up_group("victim", "0");
    made_up_group("victim/inner", "0");
    move_to("victim", "103");
    CHECK_SAME(symlink("../victim", machine_path(link)), 0);
    made_up_undo(counts);
    CHECK_TEXT(made_up_group_of(NARROW), "/victim");
    CHECK_TEXT(cpus_of("victim victim/inner"), "0 0 ");
    unlink(machine_path(link));
}

/* Nothing is changed, and the answer says who has it. */
static void is_held(const char *by)
{
    made_up.log[0] = '\0';
    CHECK_SAME(apply(SHIELD_CPUSET), PORT_SHIELD_HELD);
    CHECK_HOLDS(text, by);
    CHECK_TEXT(made_up.log, "");
    CHECK_SAME(made_up_lines(NULL), 0);
}

V1_TEST(cpus_that_somebody_has_to_himself)
{
    static const char *const cpus[] = {"3", "2-3", "0-2"}; /* the last: nothing for the others */
    for (int i = 0; i < 3; i++) {
        made_up_group("rt", cpus[i]);
        made_up_put(MADE_UP_V1 "/rt/" LINUX_EXCLUSIVE, "1");
        is_held(i < 2 ? MADE_UP_V1 "/rt has the CPU" : MADE_UP_V1 "/rt has the only CPUs left");
        begin_again(made_up_groups_v1);
    }
    for (int i = 0; i < 2; i++) {
        begin_again(made_up_groups_v2);
        made_up_put(CONTROL, "cpuset");
        made_up_group("slice", "");
        made_up_group("slice/rt", "3");
        made_up_put(MADE_UP_V2 "/slice/rt/" LINUX_PARTITION, i ? "isolated" : "root");
        is_held(MADE_UP_V2 "/slice/rt has");
    }
}

/* Not those that are to be reserved: they stay his, also while others are narrowed. */
V1_TEST(other_cpus_that_somebody_has_to_himself)
{
    made_up_group("rt", "0");
    made_up_put(MADE_UP_V1 "/rt/" LINUX_EXCLUSIVE, "1");
    made_up_group("only", "3");
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_TEXT(cpus_of("rt only " OTHERS " " RESERVED), "0! 1-2 1-2 3! ");
    put_all_back("");
    CHECK_TEXT(cpus_of("rt only"), "0! 3 ");
}

/* A partition that the kernel has not granted holds nothing. */
V2_TEST(a_partition_of_others_that_is_void)
{
    made_up_put(CONTROL, "cpuset");
    made_up_group("rt", "2-3");
    made_up_put(MADE_UP_V2 "/rt/" LINUX_PARTITION, "root invalid (Cpu list not exclusive)");
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_TEXT(made_up_text(MADE_UP_V2 "/rt/cpuset.cpus"), "2");
    put_back();
}

V1_TEST(a_group_that_was_left_is_made_anew)
{
    made_up_group(LINUX_GROUP_RESERVED, "3");
    made_up_put(RESERVED_1 "/" LINUX_EXCLUSIVE, "1");
    move_to(RESERVED, "102");
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_TEXT(made_up_group_of(PINNED), "/" LINUX_GROUP_OTHERS);
    put_all_back("");
}

V1_TEST(groups_that_are_refused)
{
    static const struct {
        const char *path;
        int error;
    } refused[] = {{MADE_UP_V1 "/wide/cpuset.cpus", EACCES},
                   {MADE_UP_V1 "/wide/cpuset.cpus", EROFS},
                   {RESERVED_1 "/cpuset.cpus", EPERM},
                   {RESERVED_1 "/cpuset.mems", EINVAL},
                   {CONTROL, EACCES},
                   {CONTROL, EPERM},
                   {CONTROL, EROFS}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        bool is_v2 = strcmp(refused[i].path, CONTROL) == 0;
        tap_row(refused[i].path);
        begin_again(is_v2 ? made_up_groups_v2 : made_up_groups_v1);
        made_up_group("wide", "0-3");
        made_up_refuse(refused[i].path, refused[i].error, NULL);
        CHECK_SAME(apply(SHIELD_CPUSET), refused[i].error);
        CHECK_HOLDS(text, strerror(refused[i].error));
        CHECK(made_up_undo(counts) != NULL);
        CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED], 0);
        CHECK_TEXT(cpus_of("wide " RESERVED), is_v2 ? "- - " : "0-3 - ");
        CHECK(!made_up_has(RESERVED_2));
        CHECK_TEXT(threads(), THREADS);
    }
}

V1_TEST(groups_and_threads_of_version_1_that_stay)
{
    made_up_group("busy", "2-3");
    made_up_refuse(MADE_UP_V1 "/busy/cpuset.cpus", EBUSY, NULL);
    made_up_refuse(RESERVED_1 "/" LINUX_EXCLUSIVE, 0, NULL);
    made_up_thread(301, "stubborn", MADE_UP_BOUND & ~0x00200000u, "0-3");
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK(made_up_is_noted("cpuset", "groups whose CPUs could not be changed: "));
    CHECK(made_up_is_noted("cpuset", "new groups of others may take the CPU"));
    put_back();
    CHECK_TEXT(made_up_text(MADE_UP_V1 "/busy/cpuset.cpus"), "2-3");
}

/* Linux up to 6.1 gives a thread that changes its group the CPUs of the group. */
V1_TEST(a_kernel_that_forgets_affinities)
{
    made_up.release = "6.1.0-13-amd64";
    made_up.forgets_masks = true;
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_SAME(made_up_lines("mask"), 4);
    CHECK_TEXT(made_up_mask_of(NARROW), "0-2");
    put_all_back("");
}

/* ---- version 2 ---- */

V2_TEST(version_2)
{
    for (int i = 0; i < 3; i++) {
        made_up.has_exclusive = i != 1;
        bool is_on = i > 0; /* then groups below the root have CPUs of their own */
        if (is_on) {
            made_up_put(CONTROL, "cpuset");
            made_up_group("slice", "0-3");
        }
        CHECK_SAME(apply(SHIELD_CPUSET), 0);
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
        put_all_back("");
        CHECK(!made_up_has(RESERVED_2));
        CHECK_TEXT(made_up_text(MADE_UP_V2 "/slice/cpuset.cpus"), is_on ? "0-3" : "-");
        CHECK_TEXT(made_up_text(CONTROL), is_on ? "cpuset" : ""); /* it stays on, or goes */
        int member = made_up_when(RESERVED_2 "/cpuset.cpus.partition=member");
        CHECK(member >= 0 && made_up_when("rmdir " RESERVED_2) > member);
        begin_again(made_up_groups_v2);
    }
}

V2_TEST(a_cpu_that_the_boot_line_isolates)
{
    made_up.boot_isolated = "2-3";
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_TEXT(made_up_text(RESERVED_2 "/cpuset.cpus.partition"), "isolated");
    put_all_back("");
    CHECK(!made_up_has(RESERVED_2));
}

V2_TEST(a_partition_that_is_not_granted)
{
    static const char why[] = "root invalid (Parent is not a partition root)";
    made_up_refuse(RESERVED_2 "/cpuset.cpus.partition", 0, why);
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_HOLDS(text, "threads moved by their affinity");
    CHECK_HOLDS(text, why);
    CHECK(made_up_is_noted("cpuset", "a thread that sets its affinity still gets the CPU"));
    CHECK(!made_up_has(RESERVED_2));
    CHECK_TEXT(threads(), "0-2 0-2 0-1 2 0-3 3 ");
    CHECK_TEXT(made_up_mask_of(0), "0-3"); /* of the shield itself: it goes there later */
    put_all_back("");
    CHECK_TEXT(made_up_text(CONTROL), "");
}

V2_TEST(a_controller_that_somebody_uses_by_now)
{
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    made_up.control_is_used = true;
    undo_all_but_one(PORT_UNDO_FOREIGN, "keeps the cpuset controller, which other groups use now");
    CHECK_TEXT(made_up_text(CONTROL), "cpuset");
    CHECK(!made_up_has(RESERVED_2));
    begin_again(made_up_groups_v2);
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    made_up_refuse(CONTROL, EROFS, NULL);
    undo_all_but_one(PORT_UNDO_FAILED, strerror(EROFS));
    /* somebody has given CPUs to a group of his since, which has its files from us alone */
    begin_again(made_up_groups_v2);
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    made_up_group("new", "0");
    undo_all_but_one(PORT_UNDO_FOREIGN, "keeps the cpuset controller, which other groups use now");
    CHECK_TEXT(made_up_text(CONTROL), "cpuset");
}

V2_TEST(the_owner_joins)
{
    char id[24];
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
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
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    CHECK_HOLDS(text, "3 threads moved by their affinity (there are no cpusets)");
    CHECK(made_up_is_noted("cpuset", "there are no cpusets: a thread that sets its affinity"));
    CHECK(made_up_is_noted("cpuset", "that the kernel has bound to one CPU"));
    CHECK_TEXT(threads(), "0-2 0-2 0-1 2 0-3 3 0-2 ");
    make_inherited_affinity();
    /* the first has what an heir would have, but is older; the orphan gets the widest possible */
    put_all_back("0-2 0-3 3 1 0-3 0-3 ");
}

/* Its maker was looked at before, it was not: another look finds it. */
TEST_IN(begin(NULL), made_up_close(), threads_that_are_made_while_others_are_moved)
{
    for (int i = 0; i < 2; i++) {
        made_up.birth.mother = PINNED;
        made_up.birth.id = BORN;
        made_up.birth.cpus = "3";
        CHECK_SAME(apply(SHIELD_CPUSET), 0);
        CHECK_SAME(made_up.birth.id, 0);
        CHECK_HOLDS(threads(), i ? " 3 3/" OTHERS " " : " 3 0-2 ");
        put_all_back("3 ");
        begin_again(made_up_groups_v1);
    }
}

/* The child, the last of the threads, has the CPUs of the group without having asked for them; the
 * other one has asked. `start`: of both; the shield started at 40. */
static void a_fork_is_interrupted(unsigned long start, const char *threads_after)
{
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    made_up.start = start;
    made_up.fork.mother = ANYWHERE;
    made_up.fork.id = BORN;
    made_up_thread(OWN_WISH, "own wish", MADE_UP_USER, "0-2");
    put_all_back(threads_after);
    CHECK_SAME(made_up.fork.id, 0);
    CHECK(!made_up_has(OTHERS_1));
}

V1_TEST(a_fork_that_the_way_back_interrupts)
{
    a_fork_is_interrupted(41, "0-2 0-3 ");
    begin_again(made_up_groups_v1);
    a_fork_is_interrupted(39, "0-2 0-2 "); /* older than the shield */
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

TEST_IN(begin(NULL), made_up_close(), a_thread_that_has_the_id_of_another)
{
    struct cpus own;
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    reuse(PINNED);
    cpus_parse_list("1-2", &own);
    CHECK_SAME(linux_affinity_set(PINNED, &own), 0);
    reuse(ANYWHERE); /* with an affinity as the shield gave it, by its own wish or its maker's */
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 0); /* it is not said to have changed */
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 2);
    CHECK_TEXT(made_up_mask_of(PINNED), "1-2");
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "0-3"); /* as one that was made meanwhile */
    begin_again(made_up_groups_v1);               /* where any value would be replaced */
    made_up.release = "6.1.0";
    made_up.forgets_masks = true;
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    reuse(PINNED);
    CHECK(made_up_undo(counts) != NULL);
    CHECK_TEXT(made_up_mask_of(PINNED), "0-3"); /* that of the root, not the other's 3 */
}

TEST_IN(begin(NULL), made_up_close(), threads_that_ask_for_something_else_meanwhile)
{
    struct cpus wish;
    CHECK_SAME(apply(SHIELD_CPUSET), 0);
    cpus_parse_list("1", &wish);
    CHECK_SAME(linux_affinity_set(ANYWHERE, &wish), 0);
    undo_all_but_one(PORT_UNDO_FOREIGN,
                     "thread 101 has the affinity 1 now, not the 0-2 that the shield set");
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "1");
    CHECK_TEXT(made_up_mask_of(PINNED), "3");
}

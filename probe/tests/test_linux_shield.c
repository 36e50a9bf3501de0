/* The Linux shield in a folder that stands for /: it writes the right values, restores them, and
 * does nothing that a damaged or hostile journal names. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "made_up_files.h"
#include "port/linux/shield.h"
#include "shield/guard.h"
#include "shield/undo.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HEAD "hardstone-shield\t1\nboot\tabc\nowner\t5\t77\nsince\t9\ncpus\t1\n"
#define MOUNT "/sys/fs/cgroup/cpuset"

struct place {
    char root[64];
    struct journal journal;
    struct shield_notes notes;
    struct port_shield shield;
};

static void put(const struct place *place, const char *path, const char *text)
{
    made_up_file(place->root, path, text);
}

static void holds(const struct place *place, const char *path, const char *wanted)
{
    char text[CPUS_TEXT_BYTES];
    CHECK_SAME(linux_shield_read(&place->shield, path, text, sizeof text), 0);
    CHECK_TEXT(text, wanted);
}

/* Four CPUs, of which the last is to be reserved; two interrupts; control groups, version 1. */
static void open_place(struct place *place)
{
    *place = (struct place){.root = "/tmp/hardstone-test-XXXXXX"};
    CHECK(mkdtemp(place->root) != NULL);
    place->shield = (struct port_shield){
        .root = place->root, .journal = &place->journal, .notes = &place->notes, .latency = -1};
    cpus_parse_list("3", &place->shield.reserved);
    cpus_parse_list("0-2", &place->shield.others);
    CHECK_SAME(journal_create(&place->journal, place->root), 0);
    struct journal_head head = {.boot = "abc", .owner = 5};
    CHECK_SAME(journal_begin(&place->journal, &head), 0);
    put(place, "/proc/irq/default_smp_affinity", "f\n");
    put(place, "/proc/irq/7/smp_affinity_list", "3\n");
    put(place, "/proc/irq/7/effective_affinity_list", "3\n");
    put(place, "/proc/irq/8/smp_affinity_list", "0-1\n");
    put(place, "/proc/irq/9/smp_affinity_list", "0-3\n");
    put(place, "/proc/sys/kernel/watchdog_cpumask", "0-3\n");
    put(place, "/proc/sys/kernel/timer_migration", "1\n");
    put(place, "/sys/devices/virtual/workqueue/cpumask", "8\n");
    put(place, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "ondemand\n");
    put(place, "/proc/self/mounts", "cgroup " MOUNT " cgroup rw,cpuset 0 0\n");
    put(place, "/proc/self/cgroup", "3:cpuset:/\n");
    put(place, MOUNT "/cpuset.cpus", "0-3\n");
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static void close_place(struct place *place)
{
    journal_close(&place->journal);
    nftw(place->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Undoes what the journal tells; counts the answers. */
static void undo(struct place *place, int counts[PORT_UNDO_REFUSED + 1])
{
    struct journal_image image;
    char text[600];
    memset(counts, 0, (PORT_UNDO_REFUSED + 1) * sizeof *counts);
    CHECK_SAME(journal_reread(&place->journal, &image, text, sizeof text), 0);
    for (size_t i = image.count; i > 0; i--)
        counts[port_shield_undo(&place->shield, &image, i - 1, text, sizeof text)]++;
    journal_free_image(&image);
}

static void apply(struct place *place, enum shield_setting setting)
{
    char text[SHIELD_TEXT_BYTES];
    CHECK_SAME(port_shield_apply(&place->shield, setting, text, sizeof text), 0);
}

TEST(there_and_back)
{
    struct place place;
    int counts[PORT_UNDO_REFUSED + 1];
    open_place(&place);
    apply(&place, SHIELD_GOVERNOR);
    apply(&place, SHIELD_WATCHDOG);
    apply(&place, SHIELD_TIMERS);
    apply(&place, SHIELD_WORKQUEUES);
    apply(&place, SHIELD_INTERRUPTS);
    holds(&place, "/proc/irq/7/smp_affinity_list", "0-2"); /* never an empty set */
    holds(&place, "/proc/irq/8/smp_affinity_list", "0-1");
    holds(&place, "/proc/irq/9/smp_affinity_list", "0-2");
    holds(&place, "/proc/irq/default_smp_affinity", "7");
    holds(&place, "/proc/sys/kernel/watchdog_cpumask", "0-2");
    holds(&place, "/proc/sys/kernel/timer_migration", "0");
    holds(&place, "/sys/devices/virtual/workqueue/cpumask", "7");
    holds(&place, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance");
    CHECK_SAME(place.shield.unchanged, 0);
    undo(&place, counts);
    CHECK_SAME(counts[PORT_UNDONE], 7);
    holds(&place, "/proc/irq/7/smp_affinity_list", "3");
    holds(&place, "/proc/irq/9/smp_affinity_list", "0-3");
    holds(&place, "/proc/irq/default_smp_affinity", "f");
    holds(&place, "/proc/sys/kernel/watchdog_cpumask", "0-3");
    holds(&place, "/proc/sys/kernel/timer_migration", "1");
    holds(&place, "/sys/devices/virtual/workqueue/cpumask", "8");
    holds(&place, "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "ondemand");
    undo(&place, counts); /* once more does nothing */
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 7);
    close_place(&place);
}

/* Applied again, each setting finds what it wants. */
TEST(what_was_as_wanted_is_known)
{
    static const enum shield_setting settings[] = {SHIELD_GOVERNOR, SHIELD_WATCHDOG, SHIELD_TIMERS,
                                                   SHIELD_WORKQUEUES, SHIELD_INTERRUPTS};
    struct place place;
    int counts[PORT_UNDO_REFUSED + 1];
    open_place(&place);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        apply(&place, settings[i]);
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        place.shield.unchanged = 0;
        apply(&place, settings[i]);
        CHECK_SAME(place.shield.unchanged, 1u << settings[i]);
    }
    undo(&place, counts);
    close_place(&place);
}

TEST(what_others_changed_stays)
{
    struct place place;
    int counts[PORT_UNDO_REFUSED + 1];
    open_place(&place);
    apply(&place, SHIELD_INTERRUPTS);
    apply(&place, SHIELD_WATCHDOG);
    put(&place, "/proc/irq/9/smp_affinity_list", "1\n");
    put(&place, "/proc/sys/kernel/watchdog_cpumask", "0,1,2,3\n"); /* as before, otherwise put */
    undo(&place, counts);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 1);
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 1);
    CHECK_SAME(counts[PORT_UNDONE], 2);
    holds(&place, "/proc/irq/9/smp_affinity_list", "1");
    close_place(&place);
}

TEST(what_is_not_here)
{
    struct place place;
    char text[SHIELD_TEXT_BYTES], path[128];
    open_place(&place);
    snprintf(path, sizeof path, "%s/proc/sys/kernel/watchdog_cpumask", place.root);
    unlink(path);
    CHECK_SAME(port_shield_apply(&place.shield, SHIELD_WATCHDOG, text, sizeof text), ENOTSUP);
    CHECK_HOLDS(text, "No such file");
    CHECK_SAME(port_shield_apply(&place.shield, SHIELD_DMA_LATENCY, text, sizeof text), ENOTSUP);
    put(&place, "/proc/sys/kernel/watchdog_cpumask", "strange\n");
    CHECK_SAME(port_shield_apply(&place.shield, SHIELD_WATCHDOG, text, sizeof text), EINVAL);
    close_place(&place);
}

static void make_group(const struct place *place, const char *name, const char *cpus)
{
    char path[128];
    snprintf(path, sizeof path, MOUNT "/%s/cpuset.cpus", name);
    put(place, path, cpus);
}

/* Groups are narrowed in place; one of the reserved CPU alone gets others, never nothing. */
TEST(groups_are_narrowed)
{
    struct place place;
    struct linux_groups groups;
    int counts[PORT_UNDO_REFUSED + 1];
    open_place(&place);
    make_group(&place, "wide", "0-3");
    make_group(&place, "wide/inner", "2-3");
    make_group(&place, "wide/only", "3");
    make_group(&place, "away", "0");
    make_group(&place, "empty", "");
    linux_groups_find(&place.shield, &groups);
    CHECK_SAME(groups.kind, LINUX_GROUPS_V1);
    CHECK_TEXT(groups.origin, MOUNT);
    CHECK_SAME(linux_groups_narrow(&place.shield, &groups, &place.shield.others), 0);
    holds(&place, MOUNT "/wide/cpuset.cpus", "0-2");
    holds(&place, MOUNT "/wide/inner/cpuset.cpus", "2");
    holds(&place, MOUNT "/wide/only/cpuset.cpus", "0-2");
    holds(&place, MOUNT "/away/cpuset.cpus", "0");
    holds(&place, MOUNT "/empty/cpuset.cpus", "");
    undo(&place, counts);
    CHECK_SAME(counts[PORT_UNDO_REFUSED] + counts[PORT_UNDO_FAILED], 0);
    holds(&place, MOUNT "/wide/cpuset.cpus", "0-3");
    holds(&place, MOUNT "/wide/inner/cpuset.cpus", "2-3");
    holds(&place, MOUNT "/wide/only/cpuset.cpus", "3");
    close_place(&place);
}

TEST(kinds_of_groups)
{
    struct place place;
    struct linux_groups groups;
    open_place(&place);
    put(&place, "/proc/self/mounts", "none /cg cgroup2 rw 0 0\n");
    put(&place, "/proc/self/cgroup", "0::/user/x\n");
    linux_groups_find(&place.shield, &groups);
    CHECK_SAME(groups.kind, LINUX_GROUPS_NONE); /* without the controller */
    put(&place, "/cg/cgroup.controllers", "cpu cpuset io\n");
    linux_groups_find(&place.shield, &groups);
    CHECK_SAME(groups.kind, LINUX_GROUPS_NONE); /* this process is not in it */
    put(&place, "/cg/user/x/cgroup.procs", "");
    linux_groups_find(&place.shield, &groups);
    CHECK_SAME(groups.kind, LINUX_GROUPS_V2);
    CHECK_TEXT(groups.origin, "/cg/user/x");
    /* both: the cpusets are where version 1 has them */
    put(&place, "/proc/self/mounts",
        "c /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\nn /u cgroup2 rw 0 0\nx " MOUNT
        " cgroup rw,cpuset,noprefix 0 0\n");
    put(&place, "/proc/self/cgroup", "4:cpu:/a\n3:cpuset:/\n0::/\n");
    linux_groups_find(&place.shield, &groups);
    CHECK_SAME(groups.kind, LINUX_GROUPS_V1);
    close_place(&place);
}

TEST(lines_about_threads)
{
    static const char good[] =
        "71 (a) b (c) S 1 71 71 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 4242 0";
    struct linux_task task;
    CHECK(linux_task_parse(good, &task));
    CHECK_TEXT(task.name, "a) b (c");
    CHECK_SAME(task.id, 71);
    CHECK_SAME(task.parent, 1);
    CHECK_SAME(task.start, 4242);
    CHECK(linux_task_is_kernel(&task));
    CHECK(!linux_task_parse("71 (a S 1", &task));
    CHECK(!linux_task_parse(")(", &task));
    CHECK(!linux_task_parse("71 (a) S 1 2 3", &task));
    CHECK(!linux_task_parse("", &task));
}

/* None of these may be acted upon: a file elsewhere, a way out of the place, a thread's line that
 * is none, a group of somebody else's. */
TEST(hostile_lines)
{
    static const char *const lines[] = {
        "file\t/etc/passwd\t\troot",
        "file\t/proc/irq/default_smp_affinity\t1\t../x",
        "file\t/proc/irq/default_smp_affinity\t$(id)\tf",
        "file\t/proc/sys/kernel/../kernel/timer_migration\t1\t0",
        "file\t/proc/sys/kernel/panic\t1\t0",
        "file\t/sys/devices/system/cpu/cpu3/../../../x/cpufreq/scaling_governor\ta\tb",
        "file\t" MOUNT "/../../../victim/cpuset.cpus\t1\t0",
        "file\t" MOUNT "/cpuset.cpus\t0\t0-3",
        "file\t" MOUNT "x/cpuset.cpus\t0\t0-3",
        "file\t/proc/irq/default_smp_affinity\t1",
        "file\t/proc/irq/default_smp_affinity\t1\tf\tx",
        "irq\t../../victim\t1\t0\t1",
        "irq\t7/../8\t1\t0\t1",
        "irq\t7\t1;2\t3\t1",
        "irq\t7\t1\t3",
        "irq\t12345678901234567890\t1\t3\t1",
        "task\t-1\t1\t0\t1",
        "task\tall\t1\t0\t1",
        "task\t1\t\t0\t1",
        "task\t1\t1\t\t1",
        "task\t1\t1\t0",
        "mask\t99999999999\t1\t0\t1",
        "group\t" MOUNT "\t" MOUNT,
        "group\t/victim\t" MOUNT,
        "group\t" MOUNT "/hardstone-others\t/victim",
        "group\t" MOUNT "/hardstone-others\t" MOUNT "/../../..",
        "group\t" MOUNT "/hardstone-others/../other\t" MOUNT,
        "control\t" MOUNT "/cgroup.subtree_control",
        "control\t/victim",
        "heirs",
        "heirs\tall",
        "exec\trm",
        "",
        "a\tb\tc\td\te\tf\tg\th\ti",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct place place;
        struct journal_image image;
        char text[1024], reason[600] = "";
        open_place(&place);
        put(&place, "/victim/cpuset.cpus", "0\n");
        put(&place, "/victim/tasks", "");
        snprintf(text, sizeof text, HEAD "%s\n", lines[i]);
        CHECK_SAME(journal_parse(text, &image, reason, sizeof reason), 0);
        if (!CHECK_SAME(port_shield_undo(&place.shield, &image, 0, reason, sizeof reason),
                        PORT_UNDO_REFUSED))
            printf("# it was '%s'\n", lines[i]);
        CHECK(reason[0] != '\0');
        free(image.records);
        holds(&place, "/victim/cpuset.cpus", "0");
        holds(&place, "/proc/irq/default_smp_affinity", "f");
        holds(&place, MOUNT "/cpuset.cpus", "0-3");
        close_place(&place);
    }
}

/* A link in the place of a file that is written to is not followed. */
TEST(links_are_not_followed)
{
    struct place place;
    char victim[128], path[128];
    open_place(&place);
    put(&place, "/victim", "0-3\n");
    snprintf(victim, sizeof victim, "%s/victim", place.root);
    snprintf(path, sizeof path, "%s/proc/sys/kernel/watchdog_cpumask", place.root);
    unlink(path);
    CHECK_SAME(symlink(victim, path), 0);
    char text[SHIELD_TEXT_BYTES];
    CHECK_SAME(port_shield_apply(&place.shield, SHIELD_WATCHDOG, text, sizeof text), ELOOP);
    holds(&place, "/victim", "0-3");
    close_place(&place);
}

/* No kernel here fills a new group: the files that are written to are not there. */
TEST(a_reserve_that_is_not_exclusive_is_noted)
{
    struct place place;
    struct linux_groups groups;
    open_place(&place);
    linux_groups_find(&place.shield, &groups);
    CHECK_SAME(linux_groups_make(&place.shield, MOUNT "/" LINUX_GROUP_RESERVED, MOUNT), 0);
    linux_shield_v1_exclusive(&place.shield, &groups);
    CHECK_SAME(place.notes.count, 1);
    CHECK_HOLDS(place.notes.note[0].reason, "new groups of others may take the CPU");
    put(&place, MOUNT "/" LINUX_GROUP_RESERVED "/" LINUX_EXCLUSIVE, "0\n");
    linux_shield_v1_exclusive(&place.shield, &groups);
    CHECK_SAME(place.notes.note[0].count, 1);
    holds(&place, MOUNT "/" LINUX_GROUP_RESERVED "/" LINUX_EXCLUSIVE, "1");
    close_place(&place);
}

/* ---- what cannot be put back ---- */

struct told {
    int count;
    char last[600], about[200];
};

static void listen(void *context, const struct datum *data, const char *text)
{
    struct told *told = context;
    told->count++;
    char room[200];
    data_pack(room, sizeof room, data);
    const char *path = data_find_text(room, sizeof room, "path");
    const char *setting = data_find_text(room, sizeof room, "setting");
    snprintf(told->about, sizeof told->about, "%s", path ? path : setting ? setting : "");
    snprintf(told->last, sizeof told->last, "%s", text);
}

/* Two changes, of which the second cannot be undone: its file is a link now. */
static void break_one(struct place *place)
{
    char path[512];
    apply(place, SHIELD_TIMERS);
    apply(place, SHIELD_WATCHDOG);
    snprintf(path, sizeof path, "%s/proc/sys/kernel/watchdog_cpumask", place->root);
    unlink(path);
    put(place, "/target", "0-2\n");
    CHECK_SAME(symlink("../../../target", path), 0);
}

static void mend(struct place *place)
{
    char path[512];
    snprintf(path, sizeof path, "%s/proc/sys/kernel/watchdog_cpumask", place->root);
    unlink(path);
    put(place, "/proc/sys/kernel/watchdog_cpumask", "0-2\n");
}

static struct shield_undone undo_whole(struct place *place, struct told *told)
{
    struct journal_image image;
    char reason[200];
    struct shield_undone undone = {.failed = -1};
    memset(told, 0, sizeof *told);
    if (!CHECK_SAME(journal_reread(&place->journal, &image, reason, sizeof reason), 0))
        return undone;
    undone = shield_undo_all(&place->shield, &place->journal, &image, listen, told);
    journal_free_image(&image);
    return undone;
}

/* What the journal in the file has, found anew: its lines, or -1 when there is none. */
static int lines_kept(struct place *place, char *first, size_t bytes)
{
    struct journal found;
    struct journal_image image;
    char reason[200];
    enum journal_state state = journal_find(&found, place->root, &image, reason, sizeof reason);
    int count = -1;
    if (state == JOURNAL_STALE || state == JOURNAL_HELD) {
        count = (int)image.count;
        snprintf(first, bytes, "%s", count ? image.records[0].field[1] : "");
        CHECK_TEXT(image.head.boot, "abc");
        CHECK_SAME(image.head.owner, 5);
        journal_free_image(&image);
    }
    journal_close(&found);
    return count;
}

TEST(what_cannot_be_put_back_is_kept)
{
    struct place place;
    struct told told;
    char first[200] = "";
    open_place(&place);
    break_one(&place);
    for (int i = 0; i < 2; i++) { /* each time anew, and the rest is not touched again */
        struct shield_undone undone = undo_whole(&place, &told);
        CHECK_SAME(undone.failed, 1);
        CHECK_SAME(undone.undone, i == 0 ? 1 : 0);
        CHECK_SAME(told.count, 1);
        CHECK_HOLDS(told.last, "watchdog_cpumask could not be restored to 0-3");
        CHECK_TEXT(undone.failure, told.last);
        CHECK_TEXT(told.about, "/proc/sys/kernel/watchdog_cpumask");
        CHECK_SAME(lines_kept(&place, first, sizeof first), 1);
        CHECK_TEXT(first, "/proc/sys/kernel/watchdog_cpumask");
        holds(&place, "/proc/sys/kernel/timer_migration", i == 0 ? "1" : "0");
        put(&place, "/proc/sys/kernel/timer_migration", "0\n"); /* somebody's wish by now */
    }
    put(&place, "/hardstone-shield.journal.new", "cut sh"); /* one was killed at the next attempt */
    mend(&place);
    CHECK_SAME(undo_whole(&place, &told).undone, 1);
    CHECK_SAME(told.count, 0);
    CHECK_SAME(lines_kept(&place, first, sizeof first), -1);
    CHECK(!linux_shield_exists(&place.shield, "/hardstone-shield.journal.new"));
    holds(&place, "/proc/sys/kernel/watchdog_cpumask", "0-3");
    holds(&place, "/proc/sys/kernel/timer_migration", "0");
    close_place(&place);
}

/* A group is widened, then narrowed: while the second cannot be undone the first is not either. */
TEST(two_changes_of_one_file_are_undone_in_their_order)
{
    struct place place;
    struct told told;
    struct linux_groups groups;
    char first[200] = "", path[512];
    open_place(&place);
    make_group(&place, "only", "3");
    linux_groups_find(&place.shield, &groups);
    CHECK_SAME(linux_groups_narrow(&place.shield, &groups, &place.shield.others), 0);
    holds(&place, MOUNT "/only/cpuset.cpus", "0-2");
    snprintf(path, sizeof path, "%s" MOUNT "/only/cpuset.cpus", place.root);
    put(&place, "/target", "0-2\n");
    unlink(path);
    CHECK_SAME(symlink("../../../../../target", path), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_SAME(undo_whole(&place, &told).failed, 1);
        CHECK_SAME(told.count, 1);
        CHECK_SAME(lines_kept(&place, first, sizeof first), 2);
    }
    unlink(path);
    make_group(&place, "only", "0-2");
    CHECK_SAME(undo_whole(&place, &told).failed, 0);
    holds(&place, MOUNT "/only/cpuset.cpus", "3");
    close_place(&place);
}

/* The guard of an owner that ends without a word. */
static void let_the_guard_work(struct place *place)
{
    struct shield_guard guard;
    if (!CHECK_SAME(shield_guard_start(&guard, &place->shield), 0))
        return;
    close(guard.pipe);
    CHECK_SAME(waitpid(guard.pid, NULL, 0), guard.pid);
}

enum { USUAL = 32 };

static void wait_until_it_leads_a_session(pid_t pid)
{
    const struct timespec wait = {.tv_nsec = 1000000};
    pid_t session; /* 0: its leader is in a PID namespace around this one; -1: it has ended */
    while ((session = getsid(pid)) != pid && session != -1)
        nanosleep(&wait, NULL);
}

/* Whatever ends a program, but for the two that nobody can hold off, and those between the usual
 * and the real-time ones, which the C library keeps for itself. */
TEST(signals_do_not_reach_the_guard)
{
    struct place place;
    struct shield_guard guard;
    int status = -1;
    open_place(&place);
    apply(&place, SHIELD_TIMERS);
    if (!CHECK_SAME(shield_guard_start(&guard, &place.shield), 0))
        return;
    wait_until_it_leads_a_session(guard.pid);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGKILL && number != SIGSTOP && (number < USUAL || number >= SIGRTMIN))
            kill(guard.pid, number);
    holds(&place, "/proc/sys/kernel/timer_migration", "0");
    close(guard.pipe);
    CHECK_SAME(waitpid(guard.pid, &status, 0), guard.pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    holds(&place, "/proc/sys/kernel/timer_migration", "1");
    close_place(&place);
}

/* Its id may be that of another process by now. */
TEST(an_owner_is_known_by_its_start)
{
    struct journal_head head = {.owner = getpid(), .owner_start = port_process_start(getpid())};
    CHECK(shield_owner_lives(&head));
    head.owner_start++;
    CHECK(!shield_owner_lives(&head));
    head.owner_start = 0;
    CHECK(!shield_owner_lives(&head));
    head.owner = 0;
    CHECK(!shield_owner_lives(&head));
}

TEST(the_guard_keeps_what_it_cannot_put_back)
{
    struct place place;
    char first[200] = "";
    open_place(&place);
    break_one(&place);
    let_the_guard_work(&place);
    CHECK_SAME(lines_kept(&place, first, sizeof first), 1);
    CHECK_TEXT(first, "/proc/sys/kernel/watchdog_cpumask");
    holds(&place, "/proc/sys/kernel/timer_migration", "1");
    close_place(&place);
    open_place(&place);
    apply(&place, SHIELD_TIMERS);
    let_the_guard_work(&place);
    CHECK_SAME(lines_kept(&place, first, sizeof first), -1);
    holds(&place, "/proc/sys/kernel/timer_migration", "1");
    close_place(&place);
}

/* A damaged line is kept too, until somebody drops the journal by name. */
TEST(forgetting)
{
    struct place place;
    struct told told;
    struct journal other;
    char first[200];
    const char *line[] = {"exec", "rm"};
    open_place(&place);
    CHECK_SAME(journal_note(&place.journal, 2, line), 0);
    CHECK_SAME(journal_sync(&place.journal), 0);
    CHECK_SAME(undo_whole(&place, &told).failed, 1);
    CHECK_SAME(lines_kept(&place, first, sizeof first), 1);
    CHECK_SAME(journal_forget(&other, place.root), EBUSY); /* its owner lives */
    CHECK_SAME(lines_kept(&place, first, sizeof first), 1);
    journal_close(&place.journal);
    CHECK_SAME(journal_forget(&other, place.root), 0);
    CHECK_SAME(lines_kept(&place, first, sizeof first), -1);
    CHECK_SAME(journal_forget(&other, place.root), ENOENT);
    close_place(&place);
}

/* An affinity of CPUs that are not there: the kernel says EINVAL, as for a thread it has bound. */
static enum port_undo undo_bound(struct place *place, unsigned flags, const char *start, char *text,
                                 size_t bytes)
{
    char id[24], path[64], line[200], now[CPUS_TEXT_BYTES], none[16];
    struct cpus mask;
    snprintf(id, sizeof id, "%ld", (long)getpid());
    snprintf(path, sizeof path, "/proc/%s/stat", id);
    snprintf(line, sizeof line, "%s (kworker/u8:1) S 2 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 42 0\n",
             id, flags);
    put(place, path, line);
    CHECK_SAME(linux_task_mask(0, &mask), 0);
    cpus_format_list(&mask, now, sizeof now);
    snprintf(none, sizeof none, "%d", PORT_CPUS - 1);
    struct journal_record record = {5, {"task", id, start, none, now}, false};
    return linux_shield_undo_task(&place->shield, &record, text, bytes);
}

TEST(threads_that_the_kernel_has_bound_since)
{
    struct place place;
    char text[600] = "";
    open_place(&place);
    CHECK_SAME(undo_bound(&place, 0x04208060, "42", text, sizeof text), PORT_UNDO_TAKEN);
    CHECK_HOLDS(text, "that the kernel has bound it to");
    CHECK_SAME(undo_bound(&place, 0x00208060, "42", text, sizeof text), PORT_UNDO_FAILED);
    CHECK_SAME(undo_bound(&place, 0x00208060, "41", text, sizeof text), PORT_UNDO_NOTHING);
    close_place(&place);
}

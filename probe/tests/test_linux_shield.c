/* The Linux shield on a made-up kernel: it restores what it has written, and does nothing that a
 * damaged or hostile journal names. */
#include "made_up_shield.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define HEAD "hardstone-shield\t1\nboot\tabc\nowner\t5\t77\nsince\t9\ncpus\t1\n"
#define MOUNT MADE_UP_V1
#define IRQ(number) "/proc/irq/" #number "/smp_affinity_list"
#define DEFAULT "/proc/irq/default_smp_affinity"
#define WATCHDOG "/proc/sys/kernel/watchdog_cpumask"
#define TIMERS "/proc/sys/kernel/timer_migration"
#define WORKQUEUES "/sys/devices/virtual/workqueue/cpumask"
#define GOVERNOR "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor"

/* Four CPUs, of which the last is to be reserved; three interrupts; control groups, version 1. */
static bool begin(void)
{
    if (!made_up_open())
        return false;
    made_up_groups_v1();
    made_up_put(DEFAULT, "f");
    made_up_put(IRQ(7), "3");
    made_up_put("/proc/irq/7/effective_affinity_list", "3");
    made_up_put(IRQ(8), "0-1");
    made_up_put(IRQ(9), "0-3");
    made_up_put(WATCHDOG, "0-3");
    made_up_put(TIMERS, "1");
    made_up_put(WORKQUEUES, "8");
    made_up_put(GOVERNOR, "ondemand");
    return true;
}

#define SHIELD_TEST(what) TEST_IN(begin(), made_up_close(), what)

/* A link in the place of a file, to one of the same text. */
static void make_link(const char *path, const char *content)
{
    char target[300];
    made_up_put("/target", content);
    snprintf(target, sizeof target, "%s/target", machine_root);
    unlink(machine_path(path));
    CHECK_SAME(symlink(target, machine_path(path)), 0);
}

static void undo_link(const char *path, const char *content)
{
    unlink(machine_path(path));
    made_up_put(path, content);
}

SHIELD_TEST(what_others_changed_stays)
{
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_SAME(apply(SHIELD_WATCHDOG), 0);
    made_up_put(IRQ(9), "1");
    made_up_put(WATCHDOG, "0,1,2,3"); /* as before, otherwise put */
    made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 1);
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 1);
    CHECK_SAME(counts[PORT_UNDONE], 2);
    CHECK_TEXT(made_up_text(IRQ(9)), "1");
    made_up_put(WATCHDOG, "strange");
    CHECK_SAME(apply(SHIELD_WATCHDOG), EINVAL);
}

static void expect_kind(enum linux_group_kind kind, const char *origin)
{
    struct linux_groups groups;
    linux_groups_find(&made_up.shield, &groups);
    CHECK_SAME(groups.kind, kind);
    if (*origin)
        CHECK_TEXT(groups.origin, origin);
}

SHIELD_TEST(kinds_of_groups)
{
    expect_kind(LINUX_GROUPS_V1, MOUNT);
    made_up_put("/proc/self/mounts", "none /cg cgroup2 rw 0 0");
    made_up_put("/proc/self/cgroup", "0::/user/x");
    expect_kind(LINUX_GROUPS_NONE, ""); /* without the controller */
    made_up_put("/cg/cgroup.controllers", "cpu cpuset io");
    expect_kind(LINUX_GROUPS_NONE, ""); /* this process is not in it */
    made_up_put("/cg/user/x/cgroup.procs", "");
    expect_kind(LINUX_GROUPS_V2, "/cg/user/x");
    /* both: the cpusets are where version 1 has them */
    made_up_put("/proc/self/mounts",
                "c /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\nn /u cgroup2 rw 0 0\nx " MOUNT
                " cgroup rw,cpuset,noprefix 0 0");
    made_up_put("/proc/self/cgroup", "4:cpu:/a\n3:cpuset:/\n0::/");
    expect_kind(LINUX_GROUPS_V1, "");
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

#define CPU "/sys/devices/system/cpu/cpu3/"
#define TRACING "/sys/kernel/tracing"
#define OWN "hardstone-1-1" /* instance of tracing */

/* Whoever restores is root: none of these may be acted upon. A file elsewhere, a way out of the
 * place, a thread's line that is none, a group of somebody else's. */
SHIELD_TEST(hostile_lines)
{
    static const char *const files[][2] = {
        {"/victim/cpuset.cpus", "0"},
        {"/victim/tasks", ""},
        {CPU "online", "1"},
        {CPU "cpuidle/state1/disable", "1"},
        {"/sys/kernel/debug/sched/preempt", "(none) full"},
        {TRACING "/osnoise/options", "NO_OSNOISE_WORKLOAD"},
        {TRACING "/osnoise/timerlat_period_us", "1234"},
    };
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
        "online\t-1",
        "online\t3/../../x",
        "online\t99999",
        "online\t",
        "kept\t/etc/passwd\t1",
        "kept\t" CPU "online\t0",
        "kept\t" CPU "cpuidle/state1/../../online\t0",
        "kept\t" CPU "cpuidle/state1/disable\t1;2",
        "kept\t" CPU "cpuidle/state1/disable",
        "preempt\tfull\t",
        "preempt\tfull\tnone none",
        "preempt\t../../x\tnone",
        "preempt\tabcdefghijklmnop\tnone",
        "preempt\tFULL\tnone",
        "timerlat\t/etc\t" OWN "\t1\t2\tOSNOISE_WORKLOAD",
        "timerlat\t" TRACING "\t../../x\t1\t2\tOSNOISE_WORKLOAD",
        "timerlat\t" TRACING "\thardstone-1/../x\t1\t2\tOSNOISE_WORKLOAD",
        "timerlat\t" TRACING "\t" OWN "\t1 2\t2\tOSNOISE_WORKLOAD",
        "timerlat\t" TRACING "\t" OWN "\t1\t\tOSNOISE_WORKLOAD",
        "timerlat\t" TRACING "\t" OWN "\t1\t2\tPANIC_ON_STOP",
        "exec\trm",
        "",
        "a\tb\tc\td\te\tf\tg\th\ti",
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        made_up_put(files[i][0], files[i][1]);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct journal_image image;
        char journal[1024], reason[600] = "";
        tap_row(lines[i]);
        snprintf(journal, sizeof journal, HEAD "%s\n", lines[i]);
        CHECK_SAME(journal_parse(journal, &image, reason, sizeof reason), 0);
        CHECK_SAME(port_shield_undo(&made_up.shield, &image.changes, 0, reason, sizeof reason),
                   PORT_UNDO_REFUSED);
        CHECK(reason[0] != '\0');
        free(image.changes.each);
        CHECK_TEXT(made_up.log, ""); /* nothing is written, nor a group made or removed */
    }
}

SHIELD_TEST(links_are_not_followed)
{
    make_link(WATCHDOG, "0-3");
    CHECK_SAME(apply(SHIELD_WATCHDOG), ELOOP);
    CHECK_TEXT(made_up_text("/target"), "0-3");
}

/* ---- what cannot be put back ---- */

struct told {
    int count;
    char last[600], about[200];
};

static void listen(void *context, const struct datum *data, const char *line)
{
    struct told *told = context;
    told->count++;
    char room[200];
    data_pack(room, sizeof room, data);
    const char *path = data_find_text(room, sizeof room, "path");
    const char *setting = data_find_text(room, sizeof room, "setting");
    snprintf(told->about, sizeof told->about, "%s", path ? path : setting ? setting : "");
    snprintf(told->last, sizeof told->last, "%s", line);
}

/* Two changes, of which the second cannot be undone: its file is a link now. */
static void break_one(void)
{
    CHECK_SAME(apply(SHIELD_TIMERS), 0);
    CHECK_SAME(apply(SHIELD_WATCHDOG), 0);
    make_link(WATCHDOG, "0-2");
}

static struct shield_undone undo_whole(struct told *told)
{
    struct journal_image image;
    char reason[200];
    struct shield_undone undone = {.failed = -1};
    memset(told, 0, sizeof *told);
    if (!CHECK_SAME(journal_reread(&made_up.journal, &image, reason, sizeof reason), 0))
        return undone;
    undone = shield_undo_all(&made_up.shield, &made_up.journal, &image, listen, told);
    journal_free_image(&image);
    return undone;
}

/* The journal in the file, found anew, has so many lines, the first about `first`; -1: there is
 * none. */
static void expect_lines(int wanted, const char *first)
{
    struct journal found;
    struct journal_image image;
    char reason[200];
    enum journal_state state = journal_find(&found, machine_root, &image, reason, sizeof reason);
    bool is_there = state == JOURNAL_STALE || state == JOURNAL_HELD;
    CHECK_SAME(is_there ? (int)image.changes.count : -1, wanted);
    if (is_there) {
        CHECK_TEXT(image.changes.count ? image.changes.each[0].field[1] : "", first);
        CHECK_TEXT(image.head.boot, "abc");
        CHECK_SAME(image.head.owner, 5);
        journal_free_image(&image);
    }
    journal_close(&found);
}

SHIELD_TEST(what_cannot_be_put_back_is_kept)
{
    struct told told;
    break_one();
    for (int i = 0; i < 2; i++) { /* each time anew, and the rest is not touched again */
        struct shield_undone undone = undo_whole(&told);
        CHECK_SAME(undone.failed, 1);
        CHECK_SAME(undone.undone, i == 0 ? 1 : 0);
        CHECK_SAME(told.count, 1);
        CHECK_HOLDS(told.last, "watchdog_cpumask could not be restored to 0-3");
        CHECK_TEXT(undone.failure, told.last);
        CHECK_TEXT(told.about, WATCHDOG);
        expect_lines(1, WATCHDOG);
        CHECK_TEXT(made_up_text(TIMERS), i == 0 ? "1" : "0");
        made_up_put(TIMERS, "0"); /* somebody's wish by now */
    }
    /* one was killed at the next attempt */
    machine_put("/hardstone-shield.journal.new", "cut sh");
    undo_link(WATCHDOG, "0-2");
    CHECK_SAME(undo_whole(&told).undone, 1);
    CHECK_SAME(told.count, 0);
    expect_lines(-1, "");
    CHECK(!made_up_has("/hardstone-shield.journal.new"));
    CHECK_TEXT(made_up_text(WATCHDOG), "0-3");
    CHECK_TEXT(made_up_text(TIMERS), "0");
}

/* A group is widened, then narrowed: while the second cannot be undone the first is not either. */
SHIELD_TEST(two_changes_of_one_file_are_undone_in_their_order)
{
    static const char path[] = MOUNT "/only/cpuset.cpus";
    struct told told;
    struct linux_groups groups;
    made_up_group("only", "3");
    linux_groups_find(&made_up.shield, &groups);
    CHECK_SAME(linux_groups_narrow(&made_up.shield, &groups, &made_up.shield.others), 0);
    CHECK_TEXT(made_up_text(path), "0-2");
    make_link(path, "0-2");
    for (int i = 0; i < 2; i++) {
        CHECK_SAME(undo_whole(&told).failed, 1);
        CHECK_SAME(told.count, 1);
        expect_lines(2, path);
    }
    undo_link(path, "0-2");
    CHECK_SAME(undo_whole(&told).failed, 0);
    CHECK_TEXT(made_up_text(path), "3");
}

/* The guard of an owner that ends without a word; `before_end`: what comes first. */
static void let_the_guard_work(void (*before_end)(pid_t guard))
{
    struct guard guard;
    int status = -1;
    if (!CHECK_SAME(shield_guard_start(&guard, &made_up.shield), 0))
        return;
    if (before_end)
        before_end(guard.pid);
    close(guard.pipe);
    CHECK_SAME(waitpid(guard.pid, &status, 0), guard.pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Whatever ends a program, but for the two that nobody can hold off, and those between the usual
 * and the real-time ones, which the C library keeps for itself. */
static void send_signals(pid_t guard)
{
    enum { USUAL = 32 };
    pid_t session; /* 0: its leader is in a PID namespace around this one; -1: it has ended */
    while ((session = getsid(guard)) != guard && session != -1)
        sched_yield();
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGKILL && number != SIGSTOP && (number < USUAL || number >= SIGRTMIN))
            kill(guard, number);
    CHECK_TEXT(made_up_text(TIMERS), "0");
}

SHIELD_TEST(signals_do_not_reach_the_guard)
{
    CHECK_SAME(apply(SHIELD_TIMERS), 0);
    let_the_guard_work(send_signals);
    expect_lines(-1, "");
    CHECK_TEXT(made_up_text(TIMERS), "1");
}

SHIELD_TEST(the_guard_keeps_what_it_cannot_put_back)
{
    break_one();
    let_the_guard_work(NULL);
    expect_lines(1, WATCHDOG);
    CHECK_TEXT(made_up_text(TIMERS), "1");
}

/* Leaves two processes behind: the guard, and one that has the guard's pipe, too, until the test
 * closes its own. */
static void own_and_end(const int keep[2])
{
    struct guard guard;
    char none;
    close(keep[1]);
    if (shield_guard_start(&guard, &made_up.shield) != 0)
        _exit(1);
    if (fork() == 0)
        _exit(read(keep[0], &none, 1) == 0 ? 0 : 1);
    _exit(0);
}

static bool ends_well(pid_t process)
{
    int status = -1;
    return waitpid(process, &status, 0) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A guard that waits for the pipe never ends, and so does this test. */
SHIELD_TEST(a_child_that_outlives_the_owner_does_not_hold_the_guard_up)
{
    int keep[2];
    CHECK_SAME(apply(SHIELD_TIMERS), 0);
    CHECK_SAME(prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L), 0); /* both become its children */
    CHECK_SAME(pipe(keep), 0);
    pid_t owner = fork();
    if (owner == 0)
        own_and_end(keep);
    CHECK(ends_well(owner));
    CHECK(ends_well(-1)); /* the guard: the other one waits for the test */
    CHECK_TEXT(made_up_text(TIMERS), "1");
    close(keep[1]);
    close(keep[0]);
    CHECK(ends_well(-1));
    CHECK_SAME(prctl(PR_SET_CHILD_SUBREAPER, 0L, 0L, 0L, 0L), 0);
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

/* A damaged line is kept too, until somebody drops the journal by name. */
SHIELD_TEST(forgetting)
{
    struct told told;
    struct journal other;
    const char *line[] = {"exec", "rm"};
    CHECK_SAME(journal_note(&made_up.journal, 2, line), 0);
    CHECK_SAME(journal_sync(&made_up.journal), 0);
    CHECK_SAME(undo_whole(&told).failed, 1);
    expect_lines(1, "rm");
    CHECK_SAME(journal_forget(&other, machine_root), EBUSY); /* its owner lives */
    expect_lines(1, "rm");
    journal_close(&made_up.journal);
    CHECK_SAME(journal_forget(&other, machine_root), 0);
    expect_lines(-1, "");
    CHECK_SAME(journal_forget(&other, machine_root), ENOENT);
}

/* The kernel says EINVAL for a thread that it has bound, and for CPUs that are not there. */
SHIELD_TEST(threads_that_the_kernel_has_bound_since)
{
    static const struct {
        unsigned flags;
        const char *start;
        enum port_undo undone;
        const char *why;
    } rows[] = {{MADE_UP_BOUND, "30", PORT_UNDO_TAKEN, "that the kernel has bound it to"},
                {MADE_UP_MOVABLE, "30", PORT_UNDO_FAILED, ""},
                {MADE_UP_MOVABLE, "29", PORT_UNDO_NOTHING, ""}};
    made_up_thread(71, "kworker/u8:1", MADE_UP_BOUND, "0-3");
    for (int i = 0; i < 3; i++) {
        char line[120];
        struct port_change record = {5, {"task", "71", rows[i].start, "2", "0-3"}, false};
        snprintf(line, sizeof line,
                 "71 (kworker/u8:1) S 2 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 30 0", rows[i].flags);
        made_up_put("/proc/71/stat", line);
        text[0] = '\0';
        CHECK_SAME(linux_shield_undo_task(&made_up.shield, &record, text, sizeof text),
                   rows[i].undone);
        CHECK_HOLDS(text, rows[i].why);
    }
}

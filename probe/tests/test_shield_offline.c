/* CPUs that a shield takes offline: what the kernel would forget comes back, a refusal leaves
 * nothing changed, and an undo may begin anywhere. The kernel is made up (made_up_kernel.h). */
#include "made_up_shield.h"

#define CPU_3 "/sys/devices/system/cpu/cpu3/"
#define CPU_2 "/sys/devices/system/cpu/cpu2/"
#define IRQ "/proc/irq/7/smp_affinity_list"
#define SERVED "/proc/irq/7/effective_affinity_list"
#define WIDE MADE_UP_V1 "/wide/cpuset.cpus"
#define ALONE MADE_UP_V1 "/alone/cpuset.cpus"

/* Of CPU 3: values that no kernel has by itself. */
static const char *const values[][2] = {
    {CPU_3 "online", "1"},
    {CPU_3 "cpuidle/state0/disable", "0"},
    {CPU_3 "cpuidle/state1/disable", "1"},
    {CPU_3 "cpufreq/scaling_governor", "userspace"},
    {CPU_3 "cpufreq/scaling_min_freq", "300"},
    {CPU_3 "cpufreq/scaling_max_freq", "600"},
};
enum { VALUES = sizeof values / sizeof values[0] };

enum { ANYWHERE = 101, PINNED = 102 };

/* Two CPUs that may go offline. */
static bool begin(void (*groups)(void))
{
    if (!made_up_open())
        return false;
    if (groups)
        groups();
    made_up_thread(ANYWHERE, "anywhere", MADE_UP_USER, "0-3");
    made_up_thread(PINNED, "pinned", MADE_UP_USER, "3");
    made_up_put("/sys/devices/system/cpu/online", "0-3");
    made_up_put(CPU_2 "online", "1");
    for (int i = 0; i < VALUES; i++)
        made_up_put(values[i][0], values[i][1]);
    made_up_put(IRQ, "3");
    made_up_put(SERVED, "3");
    made_up_put("/proc/irq/default_smp_affinity", "f");
    return true;
}

#define NONE_TEST(what) TEST_IN(begin(NULL), made_up_close(), what)
#define V1_TEST(what) TEST_IN(begin_v1(), made_up_close(), what)

static bool begin_v1(void)
{
    if (!begin(made_up_groups_v1))
        return false;
    made_up_group("wide", "1-3");
    made_up_group("alone", "3");
    return true;
}

/* In the order in which a shield applies them. */
static void apply_all(void)
{
    for (int i = 0; i < SHIELD_SETTINGS; i++)
        if (SHIELD_SINGLE & 1 << i)
            CHECK_SAME(apply((enum shield_setting)i), 0);
}

static void its_own_values_are_back(void)
{
    for (int i = 0; i < VALUES; i++) {
        tap_row(values[i][0]);
        CHECK_TEXT(made_up_text(values[i][0]), values[i][1]);
    }
    tap_row(NULL);
}

static void all_is_back(void)
{
    its_own_values_are_back();
    CHECK_TEXT(made_up_text(IRQ), "3");
    CHECK_TEXT(made_up_mask_of(ANYWHERE), "0-3");
    CHECK_TEXT(made_up_mask_of(PINNED), "3");
    CHECK_TEXT(made_up_group_of(PINNED), "");
    CHECK_TEXT(made_up_text(WIDE), made_up_has(MADE_UP_V1) ? "1-3" : "-");
    CHECK_TEXT(made_up_text(ALONE), made_up_has(MADE_UP_V1) ? "3" : "-");
}

static void undo(void)
{
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED] + counts[PORT_UNDO_FOREIGN], 0);
    CHECK(counts[PORT_UNDONE] > 0);
}

static void undo_all(void)
{
    undo();
    all_is_back();
}

V1_TEST(each_version_of_groups_and_none)
{
    void (*const next[])(void) = {made_up_groups_v2, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        apply_all();
        CHECK_TEXT(made_up_text(CPU_3 "online"), "0");
        CHECK_TEXT(made_up_text(CPU_3 "cpuidle/state1/disable"), "-");
        CHECK_TEXT(made_up_text(CPU_2 "online"), "1");
        undo_all();
        CHECK(!made_up_has(MADE_UP_V1 "/" LINUX_GROUP_RESERVED));
        CHECK(made_up_undo(counts) != NULL); /* again, from the beginning */
        CHECK(i > 0 || counts[PORT_UNDONE] == 0);
        all_is_back();
        made_up_close();
        begin(next[i]);
    }
}

/* The tool was killed between the journal and the write. */
NONE_TEST(killed_before_the_write)
{
    made_up_refuse(CPU_3 "online", EINTR, NULL);
    CHECK_SAME(apply(SHIELD_OFFLINE), EINTR);
    CHECK_SAME(made_up_lines("online"), 1);
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDO_NOTHING], made_up_lines(NULL));
    all_is_back();
}

NONE_TEST(the_second_cpu_is_refused)
{
    cpus_parse_list("2-3", &made_up.shield.reserved);
    cpus_parse_list("0-1", &made_up.shield.others);
    made_up_refuse(CPU_3 "online", EBUSY, NULL);
    CHECK_SAME(apply(SHIELD_OFFLINE), EBUSY);
    CHECK_HOLDS(text, "CPU 3");
    CHECK_HOLDS(text, strerror(EBUSY));
    CHECK_TEXT(made_up_text(CPU_2 "online"), "0");
    undo();
    CHECK_TEXT(made_up_text(CPU_2 "online"), "1");
    all_is_back();
}

V1_TEST(somebody_brings_it_back)
{
    apply_all();
    made_up_switch_cpu(3, true);
    undo_all();
}

NONE_TEST(somebody_takes_it_offline_before)
{
    made_up_switch_cpu(3, false);
    CHECK_SAME(apply(SHIELD_OFFLINE), 0);
    CHECK_SAME(made_up_lines(NULL), 0);
    CHECK(made_up_undo(counts) != NULL);
    CHECK_TEXT(made_up_text(CPU_3 "online"), "0");
}

/* The journal comes first. What hangs on the CPU stays in the journal with it, and is done the next
 * time. */
NONE_TEST(it_does_not_come_back)
{
    CHECK_SAME(apply(SHIELD_OFFLINE), 0);
    CHECK(made_up_when("sync;" CPU_3 "online=0;") >= 0);
    made_up_refuse(CPU_3 "online", EIO, NULL);
    CHECK_HOLDS(made_up_undo(counts), "CPU 3 could not be brought online again");
    CHECK_SAME(counts[PORT_UNDO_FAILED], made_up_lines(NULL));
    made_up.refusal[0].path = NULL;
    undo();
    its_own_values_are_back();
}

/* One that moves when it fires, and has not yet. */
NONE_TEST(an_interrupt_that_has_not_moved)
{
    made_up_refuse(IRQ, 0, "3");
    apply_all();
    CHECK_TEXT(made_up_text(IRQ), "0-3");
    made_up.refusal[0].path = NULL;
    undo_all();
}

NONE_TEST(an_interrupt_that_somebody_moves)
{
    apply_all();
    made_up_put(IRQ, "1");
    CHECK_HOLDS(made_up_undo(counts), "left alone");
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], 1);
    CHECK_TEXT(made_up_text(IRQ), "1");
}

V1_TEST(groups_that_learn_of_it_late)
{
    apply_all();
    made_up.waits_for_groups = 3;
    undo_all();
}

V1_TEST(a_group_that_would_lose_it)
{
    CHECK_SAME(apply(SHIELD_OFFLINE), EBUSY);
    CHECK_HOLDS(text, "would lose it");
    CHECK_SAME(made_up_lines(NULL), 0);
    CHECK_TEXT(made_up_text(CPU_3 "online"), "1");
}

/* ---- which CPU stays ---- */

NONE_TEST(the_cpu_that_stays)
{
    struct cpus others, wanted;
    CHECK_SAME(shield_staying_cpu(), -1); /* 0 and 1 cannot go */
    CHECK_SAME(port_offline_error(1), ENOTSUP);
    made_up_put("/sys/devices/system/cpu/cpu1/online", "1");
    CHECK_SAME(shield_staying_cpu(), 0);
    made_up_put("/sys/devices/system/cpu/cpu0/online", "1");
    CHECK_SAME(shield_staying_cpu(), -1); /* any may */
    made_up_put("/sys/devices/system/cpu/online", "0,2-3");
    shield_other_cpus(2, &others);
    cpus_parse_list("0,3", &wanted);
    CHECK(cpus_same(&others, &wanted)); /* one that is offline is not touched */
}

/* Settings that do not exist, that the kernel refuses, or accepts and does not keep: the reason is
 * reported, the others are applied, and changes are undone. The kernel is made up. */
#include "made_up_kernel.h"
#include "shield/shield.h"
#include "tap.h"

#include <errno.h>
#include <unistd.h>

#define IRQ(number) "/proc/irq/" #number "/smp_affinity_list"
#define SERVED(number) "/proc/irq/" #number "/effective_affinity_list"
#define GOVERNOR(cpu) "/sys/devices/system/cpu/cpu" #cpu "/cpufreq/scaling_governor"
#define LATENCY "/dev/cpu_dma_latency"
#define CPUS "/sys/devices/system/cpu/"

/* In the place of the port's: facts of the boot line are read below it too. */
const char *linux_root(void);
const char *linux_root(void)
{
    return made_up.root;
}

static char text[SHIELD_TEXT_BYTES];
static int counts[MADE_UP_UNDO_KINDS];

static bool begin(void)
{
    const char *why = made_up_is_missing();
    if (why)
        tap_skip(why);
    else
        made_up_open();
    return !why;
}

static int apply(enum shield_setting setting)
{
    text[0] = '\0';
    return port_shield_apply(&made_up.shield, setting, text, sizeof text);
}

static bool shows(enum shield_setting setting)
{
    text[0] = '\0';
    return port_shield_show(&made_up.shield, setting, text, sizeof text);
}

/* ---- interrupts ---- */

TEST_IN(begin(), made_up_close(), interrupts_that_cannot_be_moved)
{
    made_up_put("/proc/irq/default_smp_affinity", "8");
    made_up_put(IRQ(1), "0-3");
    made_up_put(SERVED(1), "3");
    made_up_put(IRQ(2), "3"); /* managed, as newer and as older kernels say it */
    made_up_put(IRQ(3), "2-3");
    made_up_put(IRQ(4), "0-3");
    made_up_put(IRQ(5), "1,3");
    made_up_refuse(IRQ(2), EPERM, NULL);
    made_up_refuse(IRQ(3), EIO, NULL);
    made_up_refuse(IRQ(4), ENOSPC, NULL);
    made_up_refuse(IRQ(5), 0, NULL);
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(text, "1 of 5 interrupts moved");
    CHECK(made_up_is_noted("interrupts", "managed, or of one CPU"));
    CHECK(made_up_is_noted("interrupts", "no interrupt vector left"));
    CHECK(made_up_is_noted("interrupts", "did not keep it"));
    CHECK(made_up_is_noted("interrupts",
                           "they move when they next fire")); /* number 1 is served there */
    CHECK_TEXT(made_up_text(IRQ(1)), "0-2");
    CHECK_TEXT(made_up_text("/proc/irq/default_smp_affinity"), "7");
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDONE], 2);
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 4);
    CHECK_TEXT(made_up_text(IRQ(1)), "0-3");
    CHECK_TEXT(made_up_text("/proc/irq/default_smp_affinity"), "8");
}

TEST_IN(begin(), made_up_close(), a_default_mask_that_is_refused)
{
    made_up_put("/proc/irq/default_smp_affinity", "f");
    made_up_put(IRQ(1), "0-3");
    made_up_refuse("/proc/irq/default_smp_affinity", EIO, NULL);
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(made_up.notes.note[0].names, "default");
}

TEST(interrupts_without_right)
{
    static const int errors[] = {EACCES, EROFS};
    for (int i = 0; i < 2; i++) {
        if (!begin())
            return;
        made_up_put(IRQ(1), "0-3");
        made_up_put("/proc/irq/default_smp_affinity", "f");
        made_up_refuse(IRQ(1), errors[i], NULL);
        CHECK_SAME(apply(SHIELD_INTERRUPTS), errors[i]);
        CHECK_HOLDS(text, strerror(errors[i]));
        CHECK_TEXT(made_up_text("/proc/irq/default_smp_affinity"), "f");
        made_up_close();
    }
}

TEST_IN(begin(), made_up_close(), no_interrupts)
{
    CHECK(!shows(SHIELD_INTERRUPTS));
    CHECK_SAME(apply(SHIELD_INTERRUPTS), ENOTSUP);
    CHECK_HOLDS(text, "/proc/irq: ");
}

TEST_IN(begin(), made_up_close(), an_interrupt_that_cannot_go_back)
{
    made_up_put(IRQ(1), "0-3");
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    made_up_refuse(IRQ(1), ENOSPC, NULL);
    const char *told = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FAILED], 1);
    CHECK_HOLDS(told, "interrupt 1 could not be restored to CPUs 0-3: No space left");
}

TEST_IN(begin(), made_up_close(), a_balancer)
{
    made_up_put(IRQ(1), "0-2");
    made_up_thread(77, "irqbalance", MADE_UP_USER, "0-3");
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK(made_up_is_noted("interrupts", "irqbalance runs"));
    CHECK_SAME(made_up_lines(NULL), 0);
}

/* ---- the governor ---- */

TEST_IN(begin(), made_up_close(), the_governor)
{
    cpus_add(&made_up.shield.reserved, 2);
    made_up_put(GOVERNOR(2), "schedutil");
    made_up_put(GOVERNOR(3), "powersave");
    CHECK(shows(SHIELD_GOVERNOR));
    CHECK_HOLDS(text, "schedutil");
    CHECK_SAME(apply(SHIELD_GOVERNOR), 0);
    CHECK_TEXT(text, "performance");
    CHECK_TEXT(made_up_text(GOVERNOR(2)), "performance");
    CHECK_TEXT(made_up_text(GOVERNOR(3)), "performance");
    CHECK(made_up_when("journal;sync;" GOVERNOR(2) "=performance;") >= 0);
    CHECK(made_up_undo(counts) != NULL);
    CHECK_SAME(counts[PORT_UNDONE], 2);
    CHECK_TEXT(made_up_text(GOVERNOR(2)), "schedutil");
    CHECK_TEXT(made_up_text(GOVERNOR(3)), "powersave");
}

TEST_IN(begin(), made_up_close(), the_governor_is_what_it_should_be)
{
    made_up_put(GOVERNOR(3), "performance");
    CHECK_SAME(apply(SHIELD_GOVERNOR), 0);
    CHECK_SAME(made_up_lines(NULL), 0);
    CHECK_SAME(made_up_when(GOVERNOR(3)), -1);
}

TEST_IN(begin(), made_up_close(), no_governor)
{
    CHECK(!shows(SHIELD_GOVERNOR));
    CHECK_SAME(apply(SHIELD_GOVERNOR), ENOTSUP);
    CHECK_TEXT(text, "the CPU has no frequency governor");
    CHECK_SAME(made_up.notes.count, 0);
}

TEST(a_governor_that_is_refused)
{
    static const struct {
        int error, answer;
        const char *why;
    } refused[] = {{EINVAL, EINVAL, "its driver has no governor 'performance'"},
                   {EACCES, EACCES, "Permission denied"},
                   {0, EAGAIN, "Resource temporarily unavailable"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (!begin())
            return;
        made_up_put(GOVERNOR(3), "powersave");
        made_up_refuse(GOVERNOR(3), refused[i].error, NULL);
        CHECK_SAME(apply(SHIELD_GOVERNOR), refused[i].answer);
        CHECK_TEXT(text, refused[i].why);
        CHECK(made_up_is_noted("governor", refused[i].why));
        CHECK(made_up_undo(counts) != NULL);
        CHECK_SAME(counts[PORT_UNDO_NOTHING], 1);
        made_up_close();
    }
}

/* ---- one file each ---- */

static const struct {
    enum shield_setting setting;
    const char *path, *odd, *ours;
} single[] = {
    {SHIELD_WATCHDOG, "/proc/sys/kernel/watchdog_cpumask", "1,3", "1"},
    {SHIELD_TIMERS, "/proc/sys/kernel/timer_migration", "1", "0"},
    {SHIELD_WORKQUEUES, "/sys/devices/virtual/workqueue/cpumask", "c", "4"},
};
enum { SINGLE = sizeof single / sizeof single[0] };

TEST(settings_of_one_file)
{
    for (int i = 0; i < SINGLE; i++) {
        if (!begin())
            return;
        made_up_put(single[i].path, single[i].odd);
        CHECK(shows(single[i].setting));
        CHECK_SAME(apply(single[i].setting), 0);
        CHECK_TEXT(made_up_text(single[i].path), single[i].ours);
        CHECK_SAME(made_up.notes.count, 0); /* all is done that was found */
        CHECK(made_up_undo(counts) != NULL);
        CHECK_SAME(counts[PORT_UNDONE], 1);
        CHECK_TEXT(made_up_text(single[i].path), single[i].odd);
        made_up_put(single[i].path, single[i].ours); /* as it should be: nothing is written */
        made_up.log[0] = '\0';
        CHECK_SAME(apply(single[i].setting), 0);
        CHECK_TEXT(made_up.log, "");
        made_up_close();
    }
}

/* Only a CPU of nohz_full= gives its timers away, and is given none. */
TEST(where_timers_go)
{
    static const struct {
        const char *reserved, *tickless, *ours;
    } machines[] = {{"3", NULL, "0"},  {"3", "", "0"},     {"3", " (null)", "0"},
                    {"3", "2", "0"},   {"3", "3", "1"},    {"3", "1-3", "1"},
                    {"2-3", "3", "0"}, {"2-3", "2-3", "1"}};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        for (int now = 0; now < 2; now++) {
            if (!begin())
                return;
            cpus_parse_list(machines[i].reserved, &made_up.shield.reserved);
            if (machines[i].tickless)
                made_up_put(CPUS "nohz_full", machines[i].tickless);
            made_up_put("/proc/sys/kernel/timer_migration", now ? "1" : "0");
            CHECK_SAME(apply(SHIELD_TIMERS), 0);
            if (!CHECK_TEXT(made_up_text("/proc/sys/kernel/timer_migration"), machines[i].ours))
                printf("# it was machine %zu\n", i);
            CHECK_HOLDS(text, machines[i].ours);
            CHECK_SAME(made_up.notes.count, 0);
            CHECK(made_up_undo(counts) != NULL);
            CHECK_TEXT(made_up_text("/proc/sys/kernel/timer_migration"), now ? "1" : "0");
            made_up_close();
        }
}

TEST(settings_of_one_file_that_are_refused)
{
    static const int errors[] = {EACCES, EPERM, EROFS, EINVAL, 0};
    for (int i = 0; i < SINGLE; i++)
        for (size_t k = 0; k < sizeof errors / sizeof errors[0]; k++) {
            int wanted = errors[k] ? errors[k] : EAGAIN;
            if (!begin())
                return;
            made_up_put(single[i].path, single[i].odd);
            made_up_refuse(single[i].path, errors[k], NULL);
            CHECK_SAME(apply(single[i].setting), wanted);
            CHECK_HOLDS(text, strerror(wanted));
            CHECK(made_up_undo(counts) != NULL);
            CHECK_SAME(counts[PORT_UNDO_NOTHING], 1);
            CHECK_TEXT(made_up_text(single[i].path), single[i].odd);
            made_up_close();
        }
}

TEST(settings_of_one_file_that_are_not_there)
{
    for (int i = 0; i < SINGLE; i++) {
        if (!begin())
            return;
        CHECK(!shows(single[i].setting));
        CHECK_HOLDS(text, "No such file");
        CHECK_SAME(apply(single[i].setting), ENOTSUP);
        CHECK_HOLDS(text, "No such file");
        made_up_close();
    }
}

/* ---- the latency request ---- */

TEST_IN(begin(), made_up_close(), the_latency_request)
{
    CHECK(!shows(SHIELD_DMA_LATENCY));
    CHECK_HOLDS(text, "is not there");
    CHECK_SAME(apply(SHIELD_DMA_LATENCY), ENOTSUP);
    CHECK_HOLDS(text, LATENCY ": No such file");
    made_up_put(LATENCY, "");
    CHECK(shows(SHIELD_DMA_LATENCY));
    CHECK_SAME(apply(SHIELD_DMA_LATENCY), 0);
    CHECK(made_up.shield.latency >= 0); /* held open: the kernel drops it with its descriptor */
    CHECK_SAME(made_up_lines(NULL), 0);
    close(made_up.shield.latency);
}

TEST(a_latency_request_that_is_refused)
{
    static const struct {
        int error, answer;
        const char *kept;
    } refused[] = {{EPERM, EPERM, NULL}, {EIO, EIO, NULL}, {0, EAGAIN, "2000000000"}};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (!begin())
            return;
        made_up_put(LATENCY, "");
        made_up_refuse(LATENCY, refused[i].error, refused[i].kept);
        CHECK_SAME(apply(SHIELD_DMA_LATENCY), refused[i].answer);
        CHECK_HOLDS(text, strerror(refused[i].answer));
        CHECK_SAME(made_up.shield.latency, -1);
        made_up_close();
    }
}

/* ---- the boot line ---- */

TEST(the_cpu_that_is_taken_when_none_is_named)
{
    static const struct {
        const char *online, *isolated, *tickless;
        int cpu;
    } machines[] = {
        {"0-3", "", "", 3},        {"0-3", "1-2", "", 2},  {"0-3", "", "1", 1},
        {"0-3", "", " (null)", 3}, /* as the kernel has it without nohz_full= */
        {"0-3", "1-2", "1", 1},    {"0-3", "1", "2", 1},   {"0-1", "2-3", "2-3", 1},
        {"0-3,8", "8", "8", 8},    {"0,2-3", "1", "1", 3},
    };
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
        if (!begin())
            return;
        made_up_put(CPUS "online", machines[i].online);
        made_up_put(CPUS "isolated", machines[i].isolated);
        made_up_put(CPUS "nohz_full", machines[i].tickless);
        if (!CHECK_SAME(shield_default_cpu(), machines[i].cpu))
            printf("# it was machine %zu\n", i);
        made_up_close();
    }
}

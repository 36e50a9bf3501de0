/* Settings that do not exist, that the kernel refuses, or accepts and does not keep: the reason is
 * reported, the others are applied, and changes are undone. The kernel is made up. */
#include "made_up_shield.h"
#include "port/tracing.h"

#include <unistd.h>

#define IRQ(number) "/proc/irq/" #number "/smp_affinity_list"
#define SERVED(number) "/proc/irq/" #number "/effective_affinity_list"
#define GOVERNOR(cpu) "/sys/devices/system/cpu/cpu" #cpu "/cpufreq/scaling_governor"
#define WATCHDOG "/proc/sys/kernel/watchdog_cpumask"
#define QUEUES "/sys/devices/virtual/workqueue/cpumask"
#define LATENCY "/dev/cpu_dma_latency"
#define CPUS "/sys/devices/system/cpu/"
#define PREEMPT "/sys/kernel/debug/sched/preempt"
#define LOCKDOWN "/sys/kernel/security/lockdown"
#define TRACING "/sys/kernel/tracing"
#define OPTIONS TRACING "/osnoise/options"
#define PERIOD TRACING "/osnoise/timerlat_period_us"
#define DEFAULT "/proc/irq/default_smp_affinity"
#define MIGRATION "/proc/sys/kernel/timer_migration"

static void begin_again(void)
{
    made_up_close();
    made_up_open();
}

#define SHIELD_TEST(what) TEST_IN(made_up_open(), made_up_close(), what)

static bool shows(enum shield_setting setting)
{
    text[0] = '\0';
    return port_shield_show(&made_up.shield, setting, text, sizeof text);
}

/* How many changes the first undo restores, leaves to others, and fails to restore. */
static const char *put_back(int undone, int foreign, int failed)
{
    const char *said = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDONE], undone);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], foreign);
    CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED], failed);
    return said;
}

/* ---- interrupts ---- */

SHIELD_TEST(interrupts_that_cannot_be_moved)
{
    made_up_put(DEFAULT, "8");
    made_up_put(IRQ(1), "0-3");
    made_up_put(SERVED(1), "3");
    made_up_put(IRQ(2), "3"); /* managed, as newer and as older kernels say it */
    made_up_put(IRQ(3), "2-3");
    made_up_put(SERVED(3), "3");
    made_up_put(IRQ(4), "0-3");
    made_up_put(IRQ(5), "1,3");
    made_up_refuse(IRQ(2), EPERM, NULL);
    made_up_refuse(IRQ(3), EIO, NULL);
    made_up_refuse(IRQ(4), ENOSPC, NULL);
    made_up_refuse(IRQ(5), 0, NULL);
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(text, "1 of 5 interrupts moved");
    CHECK_SAME(made_up.shield.unchanged, 0);
    CHECK(made_up_is_noted("interrupts", "managed, or of one CPU"));
    CHECK(made_up_is_noted("interrupts", "no interrupt vector left"));
    CHECK(made_up_is_noted("interrupts", "did not keep it"));
    CHECK(made_up_is_noted("interrupts", "they move when they next fire"));
    CHECK_TEXT(made_up.notes.note[made_up.notes.count - 1].names, "1"); /* of those that moved */
    CHECK_TEXT(made_up_text(IRQ(1)), "0-2");
    CHECK_TEXT(made_up_text(DEFAULT), "7");
    put_back(2, 0, 0);
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 4);
    CHECK_TEXT(made_up_text(IRQ(1)), "0-3");
    CHECK_TEXT(made_up_text(DEFAULT), "8");
}

SHIELD_TEST(a_default_mask_that_is_refused)
{
    made_up_put(DEFAULT, "f");
    made_up_put(IRQ(1), "0-3");
    made_up_refuse(DEFAULT, EIO, NULL);
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(made_up.notes.note[0].names, "default");
}

SHIELD_TEST(an_interrupt_that_cannot_go_back)
{
    made_up_put(IRQ(1), "0-3");
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    made_up_refuse(IRQ(1), ENOSPC, NULL);
    const char *told = made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDO_FAILED], 1);
    CHECK_HOLDS(told, "interrupt 1 could not be restored to CPUs 0-3: No space left");
}

SHIELD_TEST(a_balancer)
{
    made_up_put(IRQ(1), "0-2");
    made_up_thread(77, "irqbalance", MADE_UP_USER, "0-3");
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK(made_up_is_noted("interrupts", "irqbalance runs"));
    CHECK_SAME(made_up_lines(NULL), 0);
    CHECK_SAME(made_up.shield.unchanged, 1u << SHIELD_INTERRUPTS);
}

SHIELD_TEST(an_interrupt_goes_to_the_cpu_that_served_it_first)
{
    made_up_put(IRQ(7), "0-3");
    made_up_put(SERVED(7), "3");
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(made_up.log, "journal;sync;" IRQ(7) "=0-2;");
    made_up.log[0] = '\0';
    put_back(1, 0, 0);
    CHECK_TEXT(made_up.log, IRQ(7) "=3;" IRQ(7) "=0-3;");
}

/* In the moment in which an interrupt moves, its file shows CPUs of before. */
SHIELD_TEST(an_interrupt_that_moves_is_looked_at_again)
{
    made_up_put(IRQ(7), "1");
    made_up.shown.path = IRQ(7);
    made_up.shown.text[0] = "2";
    made_up.shown.text[1] = "0-3";
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(text, "1 of 1 interrupts moved");
    made_up_put(IRQ(7), "2");
    made_up.shown.waits = 0;
    made_up.shown.text[0] = "0-2";
    made_up.shown.text[1] = NULL;
    put_back(1, 0, 0);
    CHECK_TEXT(made_up_text(IRQ(7)), "0-3");
    made_up.log[0] = '\0';
    put_back(0, 0, 0);
    CHECK_TEXT(made_up.log, IRQ(7) "=0-3;"); /* a move to the shield's CPUs may be pending */
}

SHIELD_TEST(a_move_that_shows_late_is_one)
{
    made_up_put(IRQ(7), "0-3");
    made_up_put(SERVED(7), "3");
    made_up_refuse(IRQ(7), 0, NULL);
    made_up.shown.path = IRQ(7);
    made_up.shown.text[1] = "0-2"; /* the first wait comes before the write */
    CHECK_SAME(apply(SHIELD_INTERRUPTS), 0);
    CHECK_TEXT(text, "1 of 1 interrupts moved");
    CHECK_SAME(made_up.notes.count, 1);
    CHECK(made_up_is_noted("interrupts", "they move when they next fire"));
}

/* ---- the governor ---- */

SHIELD_TEST(the_governor)
{
    cpus_add(&made_up.shield.reserved, 2);
    made_up_put(GOVERNOR(2), "schedutil");
    made_up_put(GOVERNOR(3), "powersave");
    CHECK(shows(SHIELD_GOVERNOR));
    CHECK_HOLDS(text, "schedutil");
    CHECK_SAME(apply(SHIELD_GOVERNOR), 0);
    CHECK_SAME(made_up.shield.unchanged, 0);
    CHECK_TEXT(text, "performance");
    CHECK_TEXT(made_up_text(GOVERNOR(2)), "performance");
    CHECK_TEXT(made_up_text(GOVERNOR(3)), "performance");
    CHECK(made_up_when("journal;sync;" GOVERNOR(2) "=performance;") >= 0);
    put_back(2, 0, 0);
    CHECK_TEXT(made_up_text(GOVERNOR(2)), "schedutil");
    CHECK_TEXT(made_up_text(GOVERNOR(3)), "powersave");
}

SHIELD_TEST(the_governor_is_what_it_should_be)
{
    made_up_put(GOVERNOR(3), "performance");
    CHECK_SAME(apply(SHIELD_GOVERNOR), 0);
    CHECK_TEXT(made_up.log, "");
    CHECK_SAME(made_up.shield.unchanged, 1u << SHIELD_GOVERNOR);
}

/* ---- tables ---- */

static const struct {
    enum shield_setting setting;
    const char *path, *odd;
    const char *ours;    /* NULL: not a setting of one file */
    const char *missing; /* told where the file is not there */
    int errors[6];       /* 0: accepted and not kept; -1: the end */
} rows[] = {
    {SHIELD_INTERRUPTS, IRQ(1), "0-3", NULL, "/proc/irq: ", {EACCES, EROFS, -1}},
    {SHIELD_GOVERNOR, GOVERNOR(3), "x", NULL, "the CPU has no frequency governor", {EACCES, 0, -1}},
    {SHIELD_WATCHDOG, WATCHDOG, "1,3", "1", "No such file", {EACCES, EPERM, EROFS, EINVAL, 0, -1}},
    {SHIELD_TIMERS, MIGRATION, "1", "0", "No such file", {EACCES, EPERM, EROFS, EINVAL, 0, -1}},
    {SHIELD_WORKQUEUES, QUEUES, "c", "4", "No such file", {EACCES, EPERM, EROFS, EINVAL, 0, -1}},
    {SHIELD_DMA_LATENCY, LATENCY, "", NULL, LATENCY ": No such file", {EPERM, EIO, 0, -1}},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

SHIELD_TEST(settings_of_one_file)
{
    char wanted[128];
    for (int i = 0; i < ROWS; i++) {
        if (!rows[i].ours)
            continue;
        tap_row(rows[i].path);
        made_up_put(rows[i].path, rows[i].odd);
        CHECK(shows(rows[i].setting));
        CHECK_SAME(apply(rows[i].setting), 0);
        snprintf(wanted, sizeof wanted, "journal;sync;%s=%s;", rows[i].path, rows[i].ours);
        CHECK_TEXT(made_up.log, wanted); /* the journal is on the disk before a change */
        CHECK_SAME(made_up.shield.unchanged, 0);
        CHECK_TEXT(made_up_text(rows[i].path), rows[i].ours);
        CHECK_SAME(made_up.notes.count, 0); /* all is done that was found */
        put_back(1, 0, 0);
        CHECK_TEXT(made_up_text(rows[i].path), rows[i].odd);
        made_up_put(rows[i].path, rows[i].ours); /* as it should be: nothing is written */
        made_up.log[0] = '\0';
        CHECK_SAME(apply(rows[i].setting), 0);
        CHECK_TEXT(made_up.log, "");
        CHECK_SAME(made_up.shield.unchanged, 1u << rows[i].setting);
        begin_again();
    }
}

SHIELD_TEST(without_the_journal_on_the_disk_nothing_is_changed)
{
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].setting == SHIELD_DMA_LATENCY) /* it needs no journal */
            continue;
        tap_row(rows[i].path);
        made_up_put(rows[i].path, rows[i].odd);
        made_up.sync_error = EIO;
        CHECK_SAME(apply(rows[i].setting), EIO);
        CHECK_TEXT(made_up.log, "journal;sync;");
        begin_again();
    }
}

/* Only a CPU of nohz_full= gives its timers away, and is given none. */
SHIELD_TEST(where_timers_go)
{
    static const struct {
        const char *reserved, *tickless, *ours;
    } machines[] = {{"3", NULL, "0"},  {"3", "", "0"},     {"3", " (null)", "0"},
                    {"3", "2", "0"},   {"3", "3", "1"},    {"3", "1-3", "1"},
                    {"2-3", "3", "0"}, {"2-3", "2-3", "1"}};
    for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++)
        for (int now = 0; now < 2; now++) {
            tap_row(machines[i].tickless);
            cpus_parse_list(machines[i].reserved, &made_up.shield.reserved);
            if (machines[i].tickless)
                made_up_put(CPUS "nohz_full", machines[i].tickless);
            made_up_put(MIGRATION, now ? "1" : "0");
            CHECK_SAME(apply(SHIELD_TIMERS), 0);
            CHECK_TEXT(made_up_text(MIGRATION), machines[i].ours);
            CHECK_HOLDS(text, machines[i].ours);
            CHECK_SAME(made_up.notes.count, 0);
            CHECK(made_up_undo(counts) != NULL);
            CHECK_TEXT(made_up_text(MIGRATION), now ? "1" : "0");
            begin_again();
        }
}

SHIELD_TEST(the_latency_request)
{
    made_up_put(LATENCY, "");
    CHECK(shows(SHIELD_DMA_LATENCY));
    CHECK_SAME(apply(SHIELD_DMA_LATENCY), 0);
    CHECK(made_up.shield.latency >= 0); /* held open: the kernel drops it with its descriptor */
    CHECK_SAME(made_up_lines(NULL), 0);
    close(made_up.shield.latency);
}

SHIELD_TEST(settings_that_are_refused)
{
    for (int i = 0; i < ROWS; i++)
        for (const int *error = rows[i].errors; *error >= 0; error++) {
            bool is_latency = rows[i].setting == SHIELD_DMA_LATENCY;
            int wanted = *error ? *error : EAGAIN;
            tap_row(rows[i].path);
            made_up_put(rows[i].path, rows[i].odd);
            made_up_put(DEFAULT, "f");
            made_up_refuse(rows[i].path, *error, is_latency && !*error ? "2000000000" : NULL);
            CHECK_SAME(apply(rows[i].setting), wanted);
            CHECK_HOLDS(text, strerror(wanted));
            CHECK_SAME(made_up.shield.latency, -1);
            put_back(0, 0, 0);
            CHECK_SAME(counts[PORT_UNDO_NOTHING], made_up_lines(NULL));
            CHECK(made_up_lines(NULL) == 1 || !rows[i].ours);
            if (!is_latency)
                CHECK_TEXT(made_up_text(rows[i].path), rows[i].odd);
            CHECK_TEXT(made_up_text(DEFAULT), "f");
            begin_again();
        }
}

SHIELD_TEST(settings_that_are_not_there)
{
    for (int i = 0; i < ROWS; i++) {
        tap_row(rows[i].path);
        CHECK(!shows(rows[i].setting));
        /* those of several files say nothing */
        CHECK(i < 2 || strstr(text, "No such file") || strstr(text, "is not there"));
        CHECK_SAME(apply(rows[i].setting), ENOTSUP);
        CHECK_HOLDS(text, rows[i].missing);
        CHECK_SAME(made_up.notes.count, 0);
        CHECK_SAME(made_up_lines(NULL), 0);
    }
}

SHIELD_TEST(a_governor_that_the_driver_lacks)
{
    made_up_put(GOVERNOR(3), "powersave");
    made_up_refuse(GOVERNOR(3), EINVAL, NULL);
    CHECK_SAME(apply(SHIELD_GOVERNOR), EINVAL);
    CHECK_TEXT(text, "its driver has no governor 'performance'");
    CHECK(made_up_is_noted("governor", text));
    put_back(0, 0, 0);
    CHECK_SAME(counts[PORT_UNDO_NOTHING], 1);
}

/* ---- the boot line ---- */

SHIELD_TEST(the_cpu_that_is_taken_when_none_is_named)
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
        tap_row(machines[i].isolated);
        made_up_put(CPUS "online", machines[i].online);
        made_up_put(CPUS "isolated", machines[i].isolated);
        made_up_put(CPUS "nohz_full", machines[i].tickless);
        CHECK_SAME(shield_default_cpu(), machines[i].cpu);
        begin_again();
    }
}

/* ---- the preemption model ---- */

/* The made-up file has, after a write, the word alone: it is the model in force. */
static int switch_to(const char *wanted, const char *models)
{
    if (models)
        made_up_put(PREEMPT, models);
    made_up.shield.preemption = wanted;
    return apply(SHIELD_PREEMPTION);
}

SHIELD_TEST(a_model_that_is_switched)
{
    CHECK_SAME(switch_to("none", "none voluntary (full) lazy"), 0);
    CHECK_TEXT(text, "none instead of full");
    CHECK_TEXT(made_up_text(PREEMPT), "none");
    CHECK(made_up_when("journal;sync;" PREEMPT "=none") >= 0);
    CHECK_SAME(made_up_lines("preempt"), 1);
    CHECK(shows(SHIELD_PREEMPTION));
    CHECK_TEXT(text, "none");
    put_back(1, 0, 0);
    CHECK_TEXT(made_up_text(PREEMPT), "full");
    put_back(0, 0, 0);
}

SHIELD_TEST(the_model_in_force)
{
    CHECK_SAME(switch_to("full", "none voluntary (full) lazy"), 0);
    CHECK_TEXT(text, "full already");
    CHECK_SAME(made_up_lines(NULL), 0);
    CHECK_SAME(made_up.shield.unchanged, 1u << SHIELD_PREEMPTION);
    CHECK_TEXT(made_up_text(PREEMPT), "none voluntary (full) lazy");
}

SHIELD_TEST(a_model_that_somebody_switches_or_that_stays)
{
    CHECK_SAME(switch_to("none", "none voluntary (full) lazy"), 0);
    made_up_put(PREEMPT, "none voluntary full (lazy)");
    CHECK_HOLDS(put_back(0, 1, 0), "is lazy now, not the none that was set");
    CHECK_TEXT(made_up_text(PREEMPT), "none voluntary full (lazy)");
    begin_again();
    CHECK_SAME(switch_to("none", "none (full)"), 0);
    made_up_refuse(PREEMPT, EIO, NULL);
    CHECK_HOLDS(put_back(0, 0, 1), "could not be set back to full");
}

SHIELD_TEST(a_model_that_is_refused)
{
    static const struct {
        const char *models, *lockdown; /* NULL: no such file */
        int error, answer;
        const char *why;
        int lines;
    } models[] = {
        {"(full) lazy", NULL, -1, ENOTSUP, "no model 'none'; it offers (full) lazy", 0}, /* RT */
        {NULL, NULL, -1, ENOTSUP, "cannot switch its preemption model at run time", 0},
        /* no model is marked: what was in force could not be restored */
        {"none voluntary full", NULL, -1, ENOTSUP, "", 0},
        {"none (full)", NULL, 0, EAGAIN, "", 1},
        {"none (full)", "none [integrity] x", EPERM, EPERM, "the kernel is locked down", 1},
        {"none (full)", "[none] integrity x", EPERM, EPERM, "Operation not permitted", 1},
    };
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        tap_row(models[i].why);
        if (models[i].lockdown)
            made_up_put(LOCKDOWN, models[i].lockdown);
        if (models[i].error >= 0)
            made_up_refuse(PREEMPT, models[i].error, NULL);
        CHECK_SAME(switch_to("none", models[i].models), models[i].answer);
        CHECK_HOLDS(text, models[i].why);
        CHECK_SAME(made_up_lines(NULL), models[i].lines);
        CHECK_SAME(shows(SHIELD_PREEMPTION), models[i].models && strchr(models[i].models, '('));
        put_back(0, 0, 0);
        begin_again();
    }
}

/* ---- timerlat ---- */

static int forbid_workload(const char *options)
{
    made_up_put(OPTIONS, options);
    made_up_put(PERIOD, "1234");
    made_up.shield.timerlat_us = 10000;
    return apply(SHIELD_TIMERLAT);
}

static void check_timerlat(const char *period, const char *options)
{
    CHECK_TEXT(made_up_text(PERIOD), period);
    CHECK_TEXT(made_up_text(OPTIONS), options);
}

/* The kernel prints a list after a word was written: this one prints the word. */
SHIELD_TEST(timerlat)
{
    CHECK_SAME(forbid_workload("DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP"), 0);
    check_timerlat("10000", "NO_OSNOISE_WORKLOAD");
    int synced = made_up_when("journal;sync;");
    CHECK(synced >= 0 && synced < made_up_when(PERIOD "=10000"));
    CHECK(synced < made_up_when(OPTIONS "=NO_OSNOISE_WORKLOAD"));
    CHECK_SAME(made_up_lines("timerlat"), 1);
    put_back(1, 0, 0);
    check_timerlat("1234", "OSNOISE_WORKLOAD");
    put_back(0, 0, 0);
    begin_again();
    CHECK_SAME(forbid_workload("DEFAULTS NO_OSNOISE_WORKLOAD"), 0);
    put_back(1, 0, 0);
    check_timerlat("1234", "NO_OSNOISE_WORKLOAD");
    begin_again();
    CHECK_SAME(forbid_workload("OSNOISE_WORKLOAD"), 0);
    made_up_put(PERIOD, "77"); /* somebody else */
    put_back(0, 1, 0);
    check_timerlat("77", "OSNOISE_WORKLOAD");
}

/* While its instance cannot be removed the tracer may run: its threads stay forbidden. */
SHIELD_TEST(an_instance_that_stays)
{
    char name[64], path[160];
    CHECK_SAME(forbid_workload("OSNOISE_WORKLOAD"), 0);
    port_tracing_name(name, sizeof name);
    snprintf(path, sizeof path, TRACING "/instances/%s/tracing_on", name);
    made_up_put(path, "1"); /* a folder with a file is not removed */
    put_back(0, 0, 1);
    check_timerlat("10000", "NO_OSNOISE_WORKLOAD");
}

SHIELD_TEST(timerlat_that_is_refused)
{
    CHECK_SAME(forbid_workload("DEFAULTS"), ENOTSUP); /* a kernel before 6.1 */
    CHECK_SAME(made_up_lines(NULL), 0);
    begin_again();
    made_up_refuse(PERIOD, EINVAL, NULL);
    CHECK_SAME(forbid_workload("OSNOISE_WORKLOAD"), EINVAL);
    CHECK_HOLDS(text, "timerlat_period_us");
    put_back(1, 0, 0);
    check_timerlat("1234", "OSNOISE_WORKLOAD");
    begin_again();
    made_up_refuse(OPTIONS, 0, NULL); /* accepted, not kept */
    CHECK_SAME(forbid_workload("OSNOISE_WORKLOAD"), EAGAIN);
    CHECK_TEXT(made_up_text(PERIOD), "1234");
}

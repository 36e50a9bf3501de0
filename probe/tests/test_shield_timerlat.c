/* timerlat's settings in the journal: changed, and put back whoever does it. */
#include "base/posix_source.h"

#include "made_up_kernel.h"
#include "port/tracing.h"
#include "tap.h"

#include <errno.h>

#define PLACE "/sys/kernel/tracing"
#define OPTIONS PLACE "/osnoise/options"
#define PERIOD PLACE "/osnoise/timerlat_period_us"

static char text[SHIELD_TEXT_BYTES];

static bool open_machine(const char *options)
{
    if (made_up_is_missing()) {
        tap_skip(made_up_is_missing());
        return false;
    }
    made_up_open();
    made_up_put(OPTIONS, options);
    made_up_put(PERIOD, "1234");
    made_up.shield.timerlat_us = 10000;
    return true;
}

static int apply(void)
{
    text[0] = '\0';
    return port_shield_apply(&made_up.shield, SHIELD_TIMERLAT, text, sizeof text);
}

static void put_back(int undone, int foreign, int failed)
{
    int counts[MADE_UP_UNDO_KINDS];
    made_up_undo(counts);
    CHECK_SAME(counts[PORT_UNDONE], undone);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], foreign);
    CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED], failed);
}

/* The kernel prints a list after a word was written: this one prints the word. */
TEST_IN(open_machine("DEFAULTS OSNOISE_WORKLOAD NO_PANIC_ON_STOP"), made_up_close(), put_back)
{
    CHECK_SAME(apply(), 0);
    CHECK_TEXT(made_up_text(PERIOD), "10000");
    CHECK_TEXT(made_up_text(OPTIONS), "NO_OSNOISE_WORKLOAD");
    CHECK(made_up_when("journal;") >= 0 && made_up_when("sync;") >= 0);
    CHECK(made_up_when("sync;") < made_up_when(PERIOD "=10000"));
    CHECK(made_up_when("sync;") < made_up_when(OPTIONS "=NO_OSNOISE_WORKLOAD"));
    CHECK_SAME(made_up_lines("timerlat"), 1);
    put_back(1, 0, 0);
    CHECK_TEXT(made_up_text(PERIOD), "1234");
    CHECK_TEXT(made_up_text(OPTIONS), "OSNOISE_WORKLOAD");
    put_back(0, 0, 0);
}

TEST_IN(open_machine("DEFAULTS NO_OSNOISE_WORKLOAD"), made_up_close(), was_off)
{
    CHECK_SAME(apply(), 0);
    put_back(1, 0, 0);
    CHECK_TEXT(made_up_text(OPTIONS), "NO_OSNOISE_WORKLOAD");
}

TEST_IN(open_machine("OSNOISE_WORKLOAD"), made_up_close(), foreign)
{
    CHECK_SAME(apply(), 0);
    made_up_put(PERIOD, "77");
    put_back(0, 1, 0);
    CHECK_TEXT(made_up_text(PERIOD), "77");
    CHECK_TEXT(made_up_text(OPTIONS), "OSNOISE_WORKLOAD");
}

/* While its instance cannot be removed the tracer may run: its threads stay forbidden. */
TEST_IN(open_machine("OSNOISE_WORKLOAD"), made_up_close(), instance_stays)
{
    char name[64], path[160];
    CHECK_SAME(apply(), 0);
    port_tracing_name(name, sizeof name);
    snprintf(path, sizeof path, PLACE "/instances/%s/tracing_on", name);
    made_up_put(path, "1"); /* a folder with a file is not removed */
    put_back(0, 0, 1);
    CHECK_TEXT(made_up_text(OPTIONS), "NO_OSNOISE_WORKLOAD");
    CHECK_TEXT(made_up_text(PERIOD), "10000");
}

TEST(refused)
{
    if (!open_machine("DEFAULTS"))
        return;
    CHECK_SAME(apply(), ENOTSUP); /* a kernel before 6.1 */
    CHECK_SAME(made_up_lines(NULL), 0);
    made_up_close();
    if (!open_machine("OSNOISE_WORKLOAD"))
        return;
    made_up_refuse(PERIOD, EINVAL, NULL);
    CHECK_SAME(apply(), EINVAL);
    CHECK_HOLDS(text, "timerlat_period_us");
    put_back(1, 0, 0);
    CHECK_TEXT(made_up_text(OPTIONS), "OSNOISE_WORKLOAD");
    made_up_close();
    if (!open_machine("OSNOISE_WORKLOAD"))
        return;
    made_up_refuse(OPTIONS, 0, NULL); /* accepted, not kept */
    CHECK_SAME(apply(), EAGAIN);
    CHECK_TEXT(made_up_text(PERIOD), "1234");
    made_up_close();
}

/* Whoever restores is root: a journal may name nothing but what a run writes into it. */
TEST(hostile)
{
    static const char *const lines[][6] = {
        {"timerlat", "/etc", "hardstone-1-1", "1", "2", "OSNOISE_WORKLOAD"},
        {"timerlat", PLACE, "../../x", "1", "2", "OSNOISE_WORKLOAD"},
        {"timerlat", PLACE, "hardstone-1/../x", "1", "2", "OSNOISE_WORKLOAD"},
        {"timerlat", PLACE, "hardstone-1-1", "1 2", "2", "OSNOISE_WORKLOAD"},
        {"timerlat", PLACE, "hardstone-1-1", "1", "", "OSNOISE_WORKLOAD"},
        {"timerlat", PLACE, "hardstone-1-1", "1", "2", "PANIC_ON_STOP"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        int counts[MADE_UP_UNDO_KINDS];
        if (!open_machine("NO_OSNOISE_WORKLOAD"))
            return;
        CHECK_SAME(journal_note(&made_up.journal, 6, lines[i]), 0);
        CHECK_SAME(journal_sync(&made_up.journal), 0);
        made_up_undo(counts);
        CHECK_SAME(counts[PORT_UNDO_REFUSED], 1);
        CHECK_TEXT(made_up_text(OPTIONS), "NO_OSNOISE_WORKLOAD");
        made_up_close();
    }
}

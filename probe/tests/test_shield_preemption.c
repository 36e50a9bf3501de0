/* The preemption model in the journal: switched, and put back whoever does it. */
#include "base/posix_source.h"

#include "made_up_kernel.h"
#include "tap.h"

#include <errno.h>

#define SWITCH "/sys/kernel/debug/sched/preempt"
#define LOCKDOWN "/sys/kernel/security/lockdown"

static char text[SHIELD_TEXT_BYTES];

/* The made-up file has, after a write, the word alone: it is the model in force. */
static bool open_machine(const char *models, const char *wanted)
{
    if (made_up_is_missing()) {
        tap_skip(made_up_is_missing());
        return false;
    }
    made_up_open();
    if (models)
        made_up_put(SWITCH, models);
    made_up.shield.preemption = wanted;
    return true;
}

static int apply(void)
{
    text[0] = '\0';
    return port_shield_apply(&made_up.shield, SHIELD_PREEMPTION, text, sizeof text);
}

static void put_back(int undone, int foreign, int failed)
{
    int counts[MADE_UP_UNDO_KINDS];
    const char *said = made_up_undo(counts);
    snprintf(text, sizeof text, "%s", said ? said : "");
    CHECK_SAME(counts[PORT_UNDONE], undone);
    CHECK_SAME(counts[PORT_UNDO_FOREIGN], foreign);
    CHECK_SAME(counts[PORT_UNDO_FAILED] + counts[PORT_UNDO_REFUSED], failed);
}

TEST_IN(open_machine("none voluntary (full) lazy", "none"), made_up_close(), put_back)
{
    CHECK_SAME(apply(), 0);
    CHECK_TEXT(text, "none instead of full");
    CHECK_TEXT(made_up_text(SWITCH), "none");
    CHECK(made_up_when("journal;") >= 0);
    CHECK(made_up_when("sync;") > made_up_when("journal;"));
    CHECK(made_up_when("sync;") < made_up_when(SWITCH "=none"));
    CHECK_SAME(made_up_lines("preempt"), 1);
    CHECK(port_shield_show(&made_up.shield, SHIELD_PREEMPTION, text, sizeof text));
    CHECK_TEXT(text, "none");
    put_back(1, 0, 0);
    CHECK_TEXT(made_up_text(SWITCH), "full");
    put_back(0, 0, 0);
}

TEST_IN(open_machine("none voluntary (full) lazy", "full"), made_up_close(), in_force)
{
    CHECK_SAME(apply(), 0);
    CHECK_TEXT(text, "full already");
    CHECK_SAME(made_up_lines(NULL), 0);
    CHECK_SAME(made_up.shield.unchanged, 1u << SHIELD_PREEMPTION);
    CHECK_TEXT(made_up_text(SWITCH), "none voluntary (full) lazy");
}

TEST_IN(open_machine("none voluntary (full) lazy", "none"), made_up_close(), foreign)
{
    CHECK_SAME(apply(), 0);
    made_up_put(SWITCH, "none voluntary full (lazy)");
    put_back(0, 1, 0);
    CHECK_HOLDS(text, "is lazy now, not the none that was set");
    CHECK_TEXT(made_up_text(SWITCH), "none voluntary full (lazy)");
}

TEST(refused)
{
    if (!open_machine("(full) lazy", "none"))
        return;
    CHECK_SAME(apply(), ENOTSUP); /* PREEMPT_RT */
    CHECK_HOLDS(text, "no model 'none'; it offers (full) lazy");
    CHECK_SAME(made_up_lines(NULL), 0);
    made_up_close();
    if (!open_machine(NULL, "none"))
        return;
    CHECK_SAME(apply(), ENOTSUP);
    CHECK_HOLDS(text, "cannot switch its preemption model at run time");
    CHECK(!port_shield_show(&made_up.shield, SHIELD_PREEMPTION, text, sizeof text));
    made_up_close();
    if (!open_machine("none voluntary full", "none"))
        return;
    CHECK_SAME(apply(), ENOTSUP); /* no model is marked: what was in force could not be restored */
    CHECK_SAME(made_up_lines(NULL), 0);
    made_up_close();
}

TEST(not_taken)
{
    if (!open_machine("none (full)", "none"))
        return;
    made_up_refuse(SWITCH, 0, NULL);
    CHECK_SAME(apply(), EAGAIN);
    put_back(0, 0, 0);
    made_up_close();
    if (!open_machine("none (full)", "none"))
        return;
    made_up_put(LOCKDOWN, "none [integrity] confidentiality");
    made_up_refuse(SWITCH, EPERM, NULL);
    CHECK_SAME(apply(), EPERM);
    CHECK_HOLDS(text, "the kernel is locked down");
    put_back(0, 0, 0);
    made_up_close();
    if (!open_machine("none (full)", "none"))
        return;
    made_up_put(LOCKDOWN, "[none] integrity confidentiality");
    made_up_refuse(SWITCH, EPERM, NULL);
    CHECK_SAME(apply(), EPERM);
    CHECK_HOLDS(text, "Operation not permitted");
    made_up_close();
}

TEST_IN(open_machine("none (full)", "none"), made_up_close(), stays)
{
    CHECK_SAME(apply(), 0);
    made_up_refuse(SWITCH, EIO, NULL);
    put_back(0, 0, 1);
    CHECK_HOLDS(text, "could not be set back to full");
}

/* Whoever restores is root: a journal may name nothing but what a run writes into it. */
TEST(hostile)
{
    static const char *const lines[][4] = {
        {"preempt", "full", "", "4"},       {"preempt", "full", "none none", "4"},
        {"preempt", "../../x", "none", ""}, {"preempt", "abcdefghijklmnop", "none", ""},
        {"preempt", "FULL", "none", ""},
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (!open_machine("(none) full", "none"))
            return;
        CHECK_SAME(journal_note(&made_up.journal, 3, lines[i]), 0);
        CHECK_SAME(journal_sync(&made_up.journal), 0);
        put_back(0, 0, 1);
        CHECK_TEXT(made_up_text(SWITCH), "(none) full");
        made_up_close();
    }
}

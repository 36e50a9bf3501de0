#include "base/posix_source.h"

#include "command/commands.h"

#include "base/options.h"
#include "base/rt_thread.h"
#include "base/status.h"
#include "port/tracing.h"
#include "shield/shield.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#if HS_SHIELD

enum {
    DEFAULT_PRIORITY = 50,
    LINE_BYTES = 2048,
    CPUS_LIST_BYTES = 200,
    NOTES_FOLDED_BYTES = 1024,
    COUNT_BYTES = 64,
    LOOKS = 200,
    LOOK_NS = 50000000
};

static void say(const char *text)
{
    message_print("shield: %s", text);
}

static void report(void *context, const struct datum *data, const char *text)
{
    const char *command = data_command(data);
    (void)context;
    message_print("shield: %s%s%s", text, command ? ": " : "", command ? command : "");
}

/* ---- shield --restore ---- */

static int report_bad(const struct journal *journal, const char *reason)
{
    char text[LINE_BYTES];
    bool is_denied = strcmp(reason, strerror(EACCES)) == 0;
    snprintf(text, sizeof text, "%s: %s%s", journal->path, reason,
             is_denied ? "; run it as root (sudo)" : "; " SHIELD_DROP ": " SHIELD_DROP_COMMAND);
    say(text);
    return is_denied ? SHIELD_EXIT_PRIVILEGE : SHIELD_EXIT_USAGE;
}

/* Deletes the journal: settings that are not restored by now stay as they are. */
static int forget(void)
{
    struct journal journal;
    char text[LINE_BYTES];
    int error = journal_forget(&journal, NULL);
    if (error)
        snprintf(text, sizeof text, "%s could not be deleted: %s", journal.path,
                 error == EBUSY ? "its shield still runs: end the shield instead"
                                : strerror(error));
    else
        snprintf(text, sizeof text, "%s is deleted: the settings named above stay as they are",
                 journal.path);
    say(text);
    return error == 0                          ? 0
           : error == EACCES || error == EPERM ? SHIELD_EXIT_PRIVILEGE
           : error == EBUSY                    ? SHIELD_EXIT_USAGE
                                               : SHIELD_EXIT_INTERNAL;
}

/* Finds the journal. If its owner has died and the guard still restores, waits up to 10 s for the
 * guard to finish. */
static enum journal_state find_at_rest(struct journal *journal, struct journal_image *image,
                                       char *reason, size_t reason_bytes)
{
    static const struct timespec wait = {.tv_nsec = LOOK_NS};
    for (int i = 0;; i++) {
        enum journal_state state = journal_find(journal, NULL, image, reason, reason_bytes);
        if (state != JOURNAL_HELD || shield_owner_lives(&image->head) || i == LOOKS)
            return state;
        journal_free_image(image);
        journal_close(journal);
        nanosleep(&wait, NULL);
    }
}

static int report_held(const struct journal_head *head)
{
    char text[LINE_BYTES];
    snprintf(text, sizeof text,
             shield_owner_lives(head)
                 ? "process %ld has reserved the CPU and still runs: end it instead"
                 : "process %ld has ended, and its guard is still restoring settings: wait for it",
             (long)head->owner);
    say(text);
    return SHIELD_EXIT_USAGE;
}

static int restore(bool may_forget)
{
    struct journal journal;
    struct journal_image image;
    struct shield_undone undone = {0};
    char reason[200], text[LINE_BYTES];
    bool is_void = false;
    int code = 0;
    int traces = port_tracing_remove_left();
    if (traces > 0) {
        snprintf(text, sizeof text, "%d traces of runs that were killed are removed", traces);
        say(text);
    }
    switch (find_at_rest(&journal, &image, reason, sizeof reason)) {
    case JOURNAL_NONE:
        say("there is nothing to restore");
        return 0;
    case JOURNAL_BAD:
        code = report_bad(&journal, reason);
        return may_forget && code != SHIELD_EXIT_PRIVILEGE ? forget() : code;
    case JOURNAL_HELD:
        code = report_held(&image.head);
        break;
    case JOURNAL_STALE:
        undone = shield_undo_stale(&journal, &image, &is_void, report, NULL);
        snprintf(text, sizeof text,
                 is_void ? "the journal was from an earlier boot: deleted"
                         : "%d restored, %d changed by others since and left alone, %d failed",
                 undone.undone, undone.foreign, undone.failed);
        say(text);
        code = undone.failed ? SHIELD_EXIT_INTERNAL : 0;
        if (undone.failed && !may_forget)
            say(SHIELD_WAY_OUT ": " SHIELD_RESTORE_COMMAND);
        break;
    }
    journal_free_image(&image);
    journal_close(&journal);
    return undone.failed && may_forget ? forget() : code;
}

/* ---- shield --show ---- */

struct look {
    enum journal_state state;
    struct journal_head head;
    char reason[200];
    struct port_shield port;
    struct shield_notes notes;
};

static void look_at_journal(struct look *look)
{
    struct journal journal;
    struct journal_image image;
    look->state = journal_find(&journal, NULL, &image, look->reason, sizeof look->reason);
    if (look->state == JOURNAL_STALE || look->state == JOURNAL_HELD) {
        look->head = image.head;
        journal_free_image(&image);
    }
    journal_close(&journal);
}

static void settings_json(struct emit *emit, struct look *look)
{
    char text[SHIELD_TEXT_BYTES];
    emit_member_array(emit, "settings");
    for (int i = 0; i < SHIELD_OFFLINE; i++) {
        bool is_there = port_shield_show(&look->port, (enum shield_setting)i, text, sizeof text);
        emit_begin_object(emit);
        emit_member_text(emit, "name", shield_setting_name((enum shield_setting)i));
        emit_member_bool(emit, "available", is_there);
        emit_member_text(emit, "now", text);
        emit_end_object(emit);
    }
    emit_end_array(emit);
}

static void show_json(struct emit *emit, struct look *look)
{
    static const char *const states[] = {[JOURNAL_NONE] = "free",
                                         [JOURNAL_STALE] = "left behind",
                                         [JOURNAL_HELD] = "reserved",
                                         [JOURNAL_BAD] = "unknown"};
    char list[CPUS_TEXT_BYTES];
    bool has_owner = look->state == JOURNAL_STALE || look->state == JOURNAL_HELD;
    emit_begin_object(emit);
    emit_member_text(emit, "schema", "hardstone.shield/1");
    emit_member_text(emit, "state", states[look->state]);
    emit_member_text_or_null(emit, "reason", look->state == JOURNAL_BAD ? look->reason : "");
    cpus_format_list(&look->head.reserved, list, sizeof list);
    emit_member_text_or_null(emit, "reserved_cpus", has_owner ? list : "");
    if (has_owner) {
        emit_member_integer(emit, "owner_pid", look->head.owner);
        emit_member_integer(emit, "since_utc_ns", look->head.since_utc_ns);
    } else {
        emit_member_null(emit, "owner_pid");
        emit_member_null(emit, "since_utc_ns");
    }
    cpus_format_list(&look->port.reserved, list, sizeof list);
    emit_member_text_or_null(emit, "cpus", list);
    settings_json(emit, look);
    emit_end_object(emit);
    emit_line(emit);
}

static void show_text(struct emit *emit, struct look *look)
{
    char list[CPUS_TEXT_BYTES], text[SHIELD_TEXT_BYTES];
    cpus_format_list(&look->head.reserved, list, sizeof list);
    if (look->state == JOURNAL_HELD)
        emit_format(emit, "CPU %.200s is reserved by process %ld\n", list, (long)look->head.owner);
    else if (look->state == JOURNAL_STALE)
        emit_format(emit,
                    "CPU %.200s was reserved by process %ld, which ended without restoring the "
                    "settings: " SHIELD_RESTORE_COMMAND "\n",
                    list, (long)look->head.owner);
    else if (look->state == JOURNAL_BAD)
        emit_format(emit, "cannot tell whether a CPU is reserved: %s\n", look->reason);
    else
        emit_raw(emit, "no CPU is reserved\n");
    cpus_format_list(&look->port.reserved, list, sizeof list);
    emit_format(emit, "settings available for CPU %.200s:\n", list[0] ? list : "-");
    for (int i = SHIELD_OFFLINE - 1; i >= 0; i--) {
        bool is_there = port_shield_show(&look->port, (enum shield_setting)i, text, sizeof text);
        emit_format(emit, "  %-12s %-4s %s\n", shield_setting_name((enum shield_setting)i),
                    is_there ? "yes" : "no", text);
    }
}

static int show(const struct request *request, struct emit *emit)
{
    struct look look;
    struct cpus online;
    memset(&look, 0, sizeof look);
    look_at_journal(&look);
    look.port = (struct port_shield){.root = "", .notes = &look.notes, .latency = -1};
    look.port.reserved = request->cpus;
    if (!request->has_cpus)
        cpus_add(&look.port.reserved, shield_default_cpu());
    if (port_online_cpus(&online) > 0)
        look.port.others = cpus_without(&online, &look.port.reserved);
    if (request->json)
        show_json(emit, &look);
    else
        show_text(emit, &look);
    return 0;
}

/* ---- shield -- COMMAND ---- */

static int exit_of(enum shield_answer answer)
{
    switch (answer) {
    case SHIELD_DONE:
        return 0;
    case SHIELD_HELD:
    case SHIELD_WRONG:
        return SHIELD_EXIT_USAGE;
    case SHIELD_DENIED:
    case SHIELD_UNSUPPORTED:
        return SHIELD_EXIT_PRIVILEGE;
    case SHIELD_FAILED:
        break;
    }
    return SHIELD_EXIT_INTERNAL;
}

static int explain(const struct shield_child_end *end, const struct shield_child *child)
{
    char text[LINE_BYTES], remedy[LINE_BYTES / 2];
    struct port_refusal refusal;
    struct rt_thread_setup setup = {SCHED_FIFO, child->priority, -1};
    const char *error = strerror(end->error);
    switch (end->step) {
    case CHILD_RAN:
        return end->code;
    case CHILD_EXEC:
        snprintf(text, sizeof text, "%.200s: %s", child->words[0], error);
        say(text);
        return end->error == ENOENT ? SHIELD_EXIT_NOT_FOUND : SHIELD_EXIT_CANNOT_RUN;
    case CHILD_POLICY:
        rt_thread_refusal(end->error, &setup, &refusal);
        remedy_text(rt_thread_remedy(&refusal), remedy, sizeof remedy);
        snprintf(text, sizeof text, "priority %d was refused: %s; %s", child->priority,
                 refusal.reason, remedy);
        say(text);
        return end->error == EINVAL ? SHIELD_EXIT_USAGE : SHIELD_EXIT_PRIVILEGE;
    case CHILD_FORK:
    case CHILD_ENTER:
        break;
    }
    snprintf(text, sizeof text, "the command could not be moved to the reserved CPU: %s", error);
    say(text);
    return SHIELD_EXIT_INTERNAL;
}

static int run_shielded(struct shield *shield, const struct request *request,
                        const struct shield_signals *before)
{
    static const int policies[] = {
        [ARGS_FIFO] = SCHED_FIFO, [ARGS_RR] = SCHED_RR, [ARGS_OTHER] = SCHED_OTHER};
    struct shield_child child = {.words = request->words,
                                 .has_policy = request->has_policy,
                                 .policy = policies[request->policy],
                                 .priority = request->priority};
    if (child.priority < 0)
        child.priority = child.policy == SCHED_OTHER ? 0 : DEFAULT_PRIORITY;
    int asked = shield_child_asked_to_end();
    if (asked)
        return 128 + asked;
    struct shield_child_end end = shield_child_run(shield, &child, before);
    return explain(&end, &child);
}

/* One line before COMMAND; --verbose lists what was not moved. */
static void report_reserved(const struct shield *shield, bool is_verbose)
{
    char text[LINE_BYTES], list[CPUS_LIST_BYTES], folded[NOTES_FOLDED_BYTES];
    if (is_verbose) { /* what was not moved has already been listed */
        shield_describe(shield, text, sizeof text);
        say(text);
        return;
    }
    cpus_format_list(&shield->port.reserved, list, sizeof list);
    bool has_notes = shield_notes_fold(&shield->notes, folded, sizeof folded);
    snprintf(text, sizeof text, "CPU %s is reserved%s%s%s", list, has_notes ? "; not moved: " : "",
             folded, has_notes ? "; --verbose lists each one and why" : "");
    say(text);
}

/* One line after COMMAND; shield_close has listed what could not be restored. */
static void report_given_back(const struct shield *shield, const struct shield_undone *undone)
{
    char text[LINE_BYTES], list[CPUS_LIST_BYTES], foreign[COUNT_BYTES] = "",
                                                  failed[COUNT_BYTES] = "";
    cpus_format_list(&shield->port.reserved, list, sizeof list);
    if (undone->foreign)
        snprintf(foreign, sizeof foreign, ", %d changed by others since and left alone",
                 undone->foreign);
    if (undone->failed)
        snprintf(failed, sizeof failed, ", %d failed", undone->failed);
    snprintf(text, sizeof text, "CPU %s is %sgiven back: %d restored%s%s", list,
             undone->failed ? "not fully " : "", undone->undone, foreign, failed);
    say(text);
}

static int reserve(const struct request *request)
{
    struct shield shield;
    struct shield_wish wish = {.reserved = request->cpus,
                               .settings = request->has_settings ? request->settings : SHIELD_ALL,
                               .is_verbose = request->verbose,
                               .tell = report};
    struct shield_signals before;
    char text[LINE_BYTES], remedy[LINE_BYTES / 2];
    struct shield_earlier restored;
    shield_clear_way(report, NULL, &restored);
    if (restored.text[0])
        say(restored.text);
    wish.required = request->has_settings ? request->settings : 1u << SHIELD_CPUSET;
    if (!request->has_cpus)
        cpus_add(&wish.reserved, shield_default_cpu());
    shield_child_hold_signals(&before);
    enum shield_answer answer = shield_open(&shield, &wish);
    if (shield.restored.text[0])
        say(shield.restored.text);
    if (answer != SHIELD_DONE) {
        struct remedy help = {shield.remedy, shield.command};
        snprintf(text, sizeof text, "%s; %s", shield.reason,
                 remedy_text(help, remedy, sizeof remedy));
        say(text);
        return exit_of(answer);
    }
    report_reserved(&shield, request->verbose);
    int code = run_shielded(&shield, request, &before);
    struct shield_undone undone = shield_close(&shield, report, NULL);
    report_given_back(&shield, &undone);
    return code == 0 && undone.failed ? SHIELD_EXIT_INTERNAL : code;
}

int shield_command(const struct request *request, struct emit *emit)
{
    if (request->restore)
        return restore(request->forget);
    return request->show ? show(request, emit) : reserve(request);
}

#else

/* A build without shield, which links nothing of shield/: requests for a shield are refused with a
 * reason. */

#define WHY "this build has no shields"
#define REMEDY "build the probe with -Dshield=true"

const char *shield_setting_name(enum shield_setting setting)
{
    (void)setting; /* none is ever applied */
    return "";
}

/* Accepts any text, so that a run's result can say why nothing is reserved. */
int shield_parse_settings(const char *text, unsigned *settings, char *bad, size_t bad_bytes)
{
    (void)text, (void)bad, (void)bad_bytes;
    *settings = 1u << SHIELD_DMA_LATENCY;
    return 0;
}

int shield_default_cpu(void)
{
    return -1;
}

int shield_staying_cpu(void)
{
    return -1;
}

int shield_other_cpus(int cpu, struct cpus *others)
{
    (void)cpu;
    cpus_clear(others);
    return -1;
}

void shield_clear_way(shield_tell tell, void *context, struct shield_earlier *restored)
{
    (void)tell, (void)context;
    memset(restored, 0, sizeof *restored);
}

bool shield_is_left(struct shield_earlier *left)
{
    (void)left;
    return false;
}

enum shield_answer shield_open(struct shield *shield, const struct shield_wish *wish)
{
    (void)wish;
    memset(shield, 0, sizeof *shield);
    snprintf(shield->reason, sizeof shield->reason, WHY);
    snprintf(shield->remedy, sizeof shield->remedy, REMEDY);
    return SHIELD_UNSUPPORTED;
}

enum shield_answer shield_add_timerlat(struct shield *shield, int64_t period_us)
{
    (void)shield, (void)period_us;
    return SHIELD_UNSUPPORTED;
}

enum shield_answer shield_add_preemption(struct shield *shield, const char *model)
{
    (void)shield, (void)model;
    return SHIELD_UNSUPPORTED;
}

bool shield_preemption(struct shield *shield, char *text, size_t bytes)
{
    (void)shield;
    snprintf(text, bytes, WHY);
    return false;
}

int shield_enter(struct shield *shield)
{
    (void)shield;
    return ENOTSUP;
}

struct shield_undone shield_close(struct shield *shield, shield_tell tell, void *context)
{
    struct shield_undone none = {0};
    (void)shield, (void)tell, (void)context;
    return none;
}

int shield_settings(const struct shield *shield, bool is_changed,
                    const char *settings[SHIELD_SETTINGS])
{
    (void)shield, (void)is_changed, (void)settings;
    return 0;
}

void shield_describe(const struct shield *shield, char *text, size_t bytes)
{
    (void)shield;
    snprintf(text, bytes, WHY);
}

void shield_note_text(const struct shield_note *note, char *text, size_t bytes)
{
    (void)note;
    snprintf(text, bytes, WHY);
}

struct remedy shield_remedy(int cpu)
{
    (void)cpu;
    return (struct remedy){"choose one of cpu.allowed in hardstone-probe facts", NULL};
}

int shield_command(const struct request *request, struct emit *emit)
{
    (void)request, (void)emit;
    message_print(WHY "; " REMEDY);
    return SHIELD_EXIT_PRIVILEGE;
}

#endif

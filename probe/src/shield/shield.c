#include "base/posix_source.h"

#include "shield/shield.h"

#include "base/text.h"
#include "port/port.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS = 200, LOOK_NS = 50000000 };

static const char *const names[SHIELD_SETTINGS] = {
    [SHIELD_DMA_LATENCY] = "dma_latency", [SHIELD_GOVERNOR] = "governor",
    [SHIELD_WATCHDOG] = "watchdog",       [SHIELD_TIMERS] = "timers",
    [SHIELD_WORKQUEUES] = "workqueues",   [SHIELD_INTERRUPTS] = "interrupts",
    [SHIELD_CPUSET] = "cpuset",           [SHIELD_OFFLINE] = "offline",
    [SHIELD_TIMERLAT] = "timerlat",       [SHIELD_PREEMPTION] = "preemption",
};

const char *shield_setting_name(enum shield_setting setting)
{
    return names[setting];
}

int shield_parse_settings(const char *text, unsigned *settings, char *bad, size_t bad_bytes)
{
    *settings = 0;
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        unsigned bit = 0;
        for (int i = 0; SHIELD_ALL >> i; i++)
            if (strlen(names[i]) == length && strncmp(at, names[i], length) == 0)
                bit = 1u << i;
        if (bit == 0) {
            snprintf(bad, bad_bytes, "%.*s", (int)(length > 40 ? 40 : length), at);
            return -1;
        }
        *settings |= bit;
        at += length;
        if (*at == '\0')
            return 0;
    }
}

int shield_default_cpu(void)
{
    struct cpus isolated, tickless, online, allowed;
    if (port_online_cpus(&online) < 0 || port_allowed_cpus(&allowed) < 1)
        return -1;
    port_isolated_cpus(&isolated, &tickless);
    int best = -1, best_rank = -1;
    for (int cpu = cpus_first(&online); cpu >= 0; cpu = cpus_next(&online, cpu)) {
        int rank = (cpus_has(&isolated, cpu) ? 2 : 0) + (cpus_has(&tickless, cpu) ? 1 : 0);
        if ((cpus_has(&allowed, cpu) || rank > 0) && rank >= best_rank) {
            best = cpu;
            best_rank = rank;
        }
    }
    return best;
}

int shield_staying_cpu(void)
{
    struct cpus online;
    int staying = -1;
    if (port_online_cpus(&online) < 0)
        return -1;
    for (int cpu = cpus_first(&online); cpu >= 0; cpu = cpus_next(&online, cpu)) {
        if (port_offline_error(cpu) == 0)
            continue;
        if (staying >= 0)
            return -1;
        staying = cpu;
    }
    return staying;
}

int shield_other_cpus(int cpu, struct cpus *others)
{
    bool is_known = port_online_cpus(others) > 0;
    if (!is_known)
        cpus_clear(others);
    cpus_remove(others, cpu);
    return is_known ? cpus_count(others) : -1;
}

static enum shield_answer answer(struct shield *shield, enum shield_answer what, const char *remedy,
                                 const char *format, ...) __attribute__((format(printf, 4, 5)));

static enum shield_answer answer(struct shield *shield, enum shield_answer what, const char *remedy,
                                 const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(shield->reason, sizeof shield->reason, format, arguments);
    va_end(arguments);
    snprintf(shield->remedy, sizeof shield->remedy, "%s", remedy);
    shield->command[0] = '\0';
    return what;
}

static enum shield_answer with_command(struct shield *shield, enum shield_answer what,
                                       const char *command)
{
    snprintf(shield->command, sizeof shield->command, "%s", command);
    return what;
}

/* PORT_SHIELD_HELD, EACCES, EPERM and EROFS: denied; ENOTSUP: unsupported; other errors: failed.
 * With PORT_SHIELD_HELD, `text` names the group that has the CPUs. */
static enum shield_answer answer_error(struct shield *shield, int error, const char *what,
                                       const char *text)
{
    bool is_denied = error == EACCES || error == EPERM || error == EROFS;
    if (error == PORT_SHIELD_HELD)
        return answer(shield, SHIELD_DENIED,
                      "take the CPU from that group, or choose another one with --cpu", "%s: %s",
                      what, text);
    if (is_denied)
        return answer(shield, SHIELD_DENIED, port_hint(PORT_HINT_SHIELD_RIGHT), "%s: %s", what,
                      text);
    if (error == ENOTSUP)
        return answer(shield, SHIELD_UNSUPPORTED, "leave it out with --settings", "%s: %s", what,
                      text);
    answer(shield, SHIELD_FAILED, "see who has reserved it", "%s: %s", what, text);
    return with_command(shield, SHIELD_FAILED, "hardstone shield --show");
}

static enum shield_answer refuse(struct shield *shield, int error, enum shield_setting setting)
{
    enum shield_answer refused = answer_error(shield, error, names[setting], shield->did[setting]);
    bool is_of_kernel =
        refused == SHIELD_UNSUPPORTED || (refused == SHIELD_DENIED && geteuid() == 0);
    if (setting == SHIELD_PREEMPTION && is_of_kernel)
        snprintf(shield->remedy, sizeof shield->remedy,
                 "boot with preempt=, or measure a kernel of the lab (--target lab:NAME)");
    return refused;
}

/* ---- the steps of opening ---- */

static enum shield_answer check_cpus(struct shield *shield)
{
    struct cpus online;
    char list[160];
    if (port_online_cpus(&online) < 0)
        return port_allowed_cpus(&online) < 0
                   ? answer(shield, SHIELD_UNSUPPORTED, "use a port that can bind threads",
                            "this port cannot tell CPUs apart")
                   : answer(shield, SHIELD_UNSUPPORTED, port_hint(PORT_HINT_ONLINE), "%s",
                            port_hint(PORT_HINT_ONLINE_UNKNOWN));
    struct cpus missing = cpus_without(&shield->port.reserved, &online);
    shield->port.others = cpus_without(&online, &shield->port.reserved);
    cpus_format_list(cpus_first(&missing) >= 0 ? &missing : &shield->port.reserved, list,
                     sizeof list);
    if (cpus_first(&missing) >= 0)
        return answer(shield, SHIELD_WRONG, "choose from cpu.allowed in hardstone-probe facts",
                      "CPU %s does not exist or is offline", list);
    if (cpus_first(&shield->port.others) < 0)
        return answer(shield, SHIELD_UNSUPPORTED, "leave at least one CPU for other tasks",
                      "CPU %s cannot be reserved: no CPU would be left for other tasks", list);
    return SHIELD_DONE;
}

/* Checks all CPUs before the first change. */
static enum shield_answer check_offline(struct shield *shield, const struct shield_wish *wish)
{
    const struct cpus *cpus = &shield->port.reserved;
    if (!(wish->settings & 1u << SHIELD_OFFLINE))
        return SHIELD_DONE;
    for (int cpu = cpus_first(cpus); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        char text[SHIELD_TEXT_BYTES];
        int error = port_offline_error(cpu);
        snprintf(text, sizeof text, "CPU %d: %s", cpu,
                 error == ENOTSUP ? "the kernel cannot take it offline" : strerror(error));
        if (error)
            return answer_error(shield, error, names[SHIELD_OFFLINE], text);
    }
    return SHIELD_DONE;
}

static enum shield_answer answer_held(struct shield *shield, const struct journal_head *head)
{
    char list[80], since[UTC_BYTES];
    cpus_format_list(&head->reserved, list, sizeof list);
    utc_format(head->since_utc_ns, since);
    if (list[0] == '\0')
        return answer(shield, SHIELD_HELD, "wait for it to end",
                      "process %ld has changed settings of this machine since %s",
                      (long)head->owner, since);
    return answer(shield, SHIELD_HELD, "wait for it to end",
                  "CPU %s is reserved by process %ld since %s", list, (long)head->owner, since);
}

static enum shield_answer restore_stale(struct shield *shield, const struct shield_wish *wish,
                                        struct journal *found, struct journal_image *image)
{
    bool is_void;
    char since[UTC_BYTES];
    utc_format(image->head.since_utc_ns, since);
    struct shield_undone undone =
        shield_undo_stale(found, image, &is_void, wish->tell, wish->context);
    if (undone.failed) {
        answer(shield, SHIELD_FAILED, SHIELD_WAY_OUT,
               "process %ld changed settings and ended; %d of its changes could not be restored: "
               "%.160s",
               (long)image->head.owner, undone.failed, undone.failure);
        return with_command(shield, SHIELD_FAILED, SHIELD_RESTORE_COMMAND);
    }
    if (image->head.owner == 0)
        return SHIELD_DONE;
    struct shield_earlier *restored = &shield->restored;
    *restored = (struct shield_earlier){.owner = image->head.owner,
                                        .undone = undone.undone,
                                        .foreign = undone.foreign,
                                        .is_void = is_void};
    cpus_format_list(&image->head.reserved, restored->cpus, sizeof restored->cpus);
    if (is_void)
        snprintf(restored->text, sizeof restored->text,
                 "the journal of process %ld is from an earlier boot and was deleted",
                 (long)image->head.owner);
    else
        snprintf(restored->text, sizeof restored->text,
                 "process %ld changed settings at %s and ended without restoring them; restored "
                 "now (%d restored, %d changed by others since and left alone)",
                 (long)image->head.owner, since, undone.undone, undone.foreign);
    return SHIELD_DONE;
}

/* Returns SHIELD_DONE when there is no journal: restores a stale one, and waits up to 10 s while a
 * guard restores. */
static enum shield_answer make_way(struct shield *shield, const struct shield_wish *wish)
{
    static const struct timespec wait = {.tv_nsec = LOOK_NS};
    char reason[200];
    for (int i = 0;; i++) {
        struct journal found;
        struct journal_image image;
        enum journal_state state = journal_find(&found, NULL, &image, reason, sizeof reason);
        enum shield_answer held = SHIELD_DONE;
        if (state == JOURNAL_BAD && geteuid() != 0)
            return answer(shield, SHIELD_DENIED, port_hint(PORT_HINT_SHIELD_RIGHT), "%s: %s",
                          found.path, reason);
        if (state == JOURNAL_BAD) {
            answer(shield, SHIELD_FAILED, SHIELD_DROP, "%s: %s", found.path, reason);
            return with_command(shield, SHIELD_FAILED, SHIELD_DROP_COMMAND);
        }
        if (state == JOURNAL_STALE)
            held = restore_stale(shield, wish, &found, &image);
        if (state == JOURNAL_HELD && (shield_owner_lives(&image.head) || i >= LOOKS))
            held = answer_held(shield, &image.head);
        if (state != JOURNAL_NONE)
            journal_free_image(&image);
        journal_close(&found);
        if (state == JOURNAL_NONE || held != SHIELD_DONE)
            return held;
        if (state == JOURNAL_HELD)
            nanosleep(&wait, NULL);
    }
}

void shield_clear_way(shield_tell tell, void *context, struct shield_earlier *restored)
{
    struct shield shield;
    const struct shield_wish wish = {.tell = tell, .context = context};
    memset(&shield, 0, sizeof shield);
    (void)make_way(&shield, &wish);
    *restored = shield.restored;
}

static int write_head(struct shield *shield)
{
    struct journal_head head = {.owner = getpid(), .reserved = shield->port.reserved};
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    head.since_utc_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    head.owner_start = port_process_start(head.owner);
    if (!port_boot_name(head.boot, sizeof head.boot))
        snprintf(head.boot, sizeof head.boot, "unknown");
    return journal_begin(&shield->journal, &head);
}

/* dma_latency needs no journal: the kernel drops the request when its descriptor is closed. */
static bool needs_journal(const struct shield_wish *wish)
{
    return (wish->settings & ~(1u << SHIELD_DMA_LATENCY)) != 0;
}

/* A journal that cannot be read does not count as a holder. */
static enum shield_answer look_for_holder(struct shield *shield)
{
    struct journal found;
    struct journal_image image;
    char reason[200];
    enum shield_answer held = SHIELD_DONE;
    enum journal_state state = journal_find(&found, NULL, &image, reason, sizeof reason);
    if (state == JOURNAL_HELD && shield_owner_lives(&image.head))
        held = answer_held(shield, &image.head);
    if (state == JOURNAL_HELD || state == JOURNAL_STALE)
        journal_free_image(&image);
    journal_close(&found);
    return held;
}

static enum shield_answer begin(struct shield *shield, const struct shield_wish *wish)
{
    int error = EEXIST;
    if (!needs_journal(wish)) {
        enum shield_answer held = look_for_holder(shield);
        shield->is_open = held == SHIELD_DONE;
        return held;
    }
    for (int i = 0; error == EEXIST && i < LOOKS; i++) {
        enum shield_answer way = make_way(shield, wish);
        if (way != SHIELD_DONE)
            return way;
        error = journal_create(&shield->journal, NULL);
    }
    if (error)
        return answer_error(shield, error, shield->journal.path, strerror(error));
    error = shield_guard_start(&shield->guard, &shield->port);
    if (error == 0) {
        shield->is_open = true;
        error = write_head(shield);
        return error ? answer_error(shield, error, shield->journal.path, strerror(error))
                     : SHIELD_DONE;
    }
    journal_remove(&shield->journal);
    return answer(shield, SHIELD_DENIED, "raise ulimit -u and ulimit -n",
                  "the guard process could not be started: %s", strerror(error));
}

static enum shield_answer apply(struct shield *shield, const struct shield_wish *wish)
{
    for (int i = 0; i < SHIELD_SETTINGS; i++) {
        unsigned bit = 1u << i;
        if (!(wish->settings & bit))
            continue;
        int error = port_shield_apply(&shield->port, (enum shield_setting)i, shield->did[i],
                                      sizeof shield->did[i]);
        if (error == 0)
            shield->applied |= bit;
        else if (wish->required & bit)
            return refuse(shield, error, (enum shield_setting)i);
        else if (error != ENOTSUP)
            shield_note(&shield->notes, names[i], NULL, shield->did[i]);
    }
    return SHIELD_DONE;
}

enum shield_answer shield_open(struct shield *shield, const struct shield_wish *wish)
{
    memset(shield, 0, sizeof *shield);
    shield->notes.is_verbose = wish->is_verbose;
    shield->journal.descriptor = -1;
    shield->port = (struct port_shield){.root = "",
                                        .reserved = wish->reserved,
                                        .log = &shield_log,
                                        .journal = &shield->journal,
                                        .notes = &shield->notes,
                                        .timerlat_us = wish->timerlat_us,
                                        .preemption = wish->preemption,
                                        .latency = -1};
    enum shield_answer done = check_cpus(shield);
    if (done == SHIELD_DONE)
        done = check_offline(shield, wish);
    if (done == SHIELD_DONE)
        done = begin(shield, wish);
    shield->has_begun = done == SHIELD_DONE;
    if (done == SHIELD_DONE)
        done = apply(shield, wish);
    if (done != SHIELD_DONE)
        shield_close(shield, wish->tell, wish->context);
    return done;
}

static enum shield_answer add(struct shield *shield, enum shield_setting setting)
{
    if (shield->journal.descriptor < 0)
        return answer(shield, SHIELD_UNSUPPORTED, "leave dma_latency out of --settings",
                      "%s: this shield keeps no journal", names[setting]);
    char *did = shield->did[setting];
    int error = port_shield_apply(&shield->port, setting, did, sizeof shield->did[setting]);
    if (error)
        return refuse(shield, error, setting);
    shield->applied |= 1u << setting;
    return SHIELD_DONE;
}

enum shield_answer shield_add_timerlat(struct shield *shield, int64_t period_us)
{
    shield->port.timerlat_us = period_us;
    return add(shield, SHIELD_TIMERLAT);
}

enum shield_answer shield_add_preemption(struct shield *shield, const char *model)
{
    shield->port.preemption = model;
    return add(shield, SHIELD_PREEMPTION);
}

bool shield_preemption(struct shield *shield, char *text, size_t bytes)
{
    return port_shield_show(&shield->port, SHIELD_PREEMPTION, text, bytes);
}

int shield_enter(struct shield *shield)
{
    return port_shield_enter(&shield->port);
}

struct shield_undone shield_close(struct shield *shield, shield_tell tell, void *context)
{
    struct shield_undone undone = {0};
    struct journal_image image;
    char reason[200];
    if (!shield->is_open)
        return undone;
    shield->is_open = false;
    if (shield->port.latency >= 0)
        close(shield->port.latency);
    shield->port.latency = -1;
    if (shield->journal.descriptor < 0)
        return undone;
    if (journal_reread(&shield->journal, &image, reason, sizeof reason) == 0) {
        undone = shield_undo_all(&shield->port, &shield->journal, &image, tell, context);
        journal_free_image(&image);
        if (undone.failed && tell)
            tell(context,
                 DATA(data_integer("failed_count", undone.failed),
                      data_text("command", SHIELD_RESTORE_COMMAND)),
                 "the journal keeps what could not be restored; fix the cause and restore again "
                 "(--forget keeps these settings as they are)");
    } else {
        undone.failed = 1;
        snprintf(undone.failure, sizeof undone.failure, "%s", reason);
        if (tell)
            tell(context, DATA(data_text("reason", reason)), reason);
    }
    journal_close(&shield->journal);
    guard_dismiss(&shield->guard);
    return undone;
}

int shield_settings(const struct shield *shield, bool is_changed,
                    const char *settings[SHIELD_SETTINGS])
{
    unsigned wanted =
        shield->applied & (is_changed ? ~shield->port.unchanged : shield->port.unchanged);
    int count = 0;
    for (int i = SHIELD_SETTINGS - 1; i >= 0; i--)
        if (wanted & 1u << i)
            settings[count++] = names[i];
    return count;
}

void shield_describe(const struct shield *shield, char *text, size_t bytes)
{
    char list[80];
    cpus_format_list(&shield->port.reserved, list, sizeof list);
    size_t used = (size_t)snprintf(text, bytes, "CPU %s:", list);
    for (int i = SHIELD_SETTINGS - 1; i >= 0 && used < bytes; i--)
        if (shield->applied & 1u << i)
            used +=
                (size_t)snprintf(text + used, bytes - used, " %s (%s);", names[i], shield->did[i]);
    if (used < bytes && used > 0)
        text[used - 1] = '\0';
}

struct remedy shield_remedy(int cpu)
{
    struct journal journal;
    struct journal_image image;
    char reason[SHIELD_REASON_BYTES];
    struct remedy remedy = {"choose one of cpu.allowed in hardstone-probe facts", NULL};
    enum journal_state state = journal_find(&journal, NULL, &image, reason, sizeof reason);
    bool is_known = state == JOURNAL_STALE || state == JOURNAL_HELD;
    if (is_known && cpus_has(&image.head.reserved, cpu))
        remedy =
            state == JOURNAL_HELD
                ? (struct remedy){"a shield has reserved it; wait until it ends, or see whose it "
                                  "is",
                                  "hardstone shield --show"}
                : (struct remedy){"a shield that was not restored has reserved it; restore it",
                                  SHIELD_RESTORE_COMMAND};
    if (is_known)
        journal_free_image(&image);
    journal_close(&journal);
    return remedy;
}

/* timerlat's settings, which all its users share: its period, and that it starts no thread of its
 * own.
 *
 * One line of the journal has both, and the instance that runs the tracer. Undoing removes the
 * instance first: the kernel would start timerlat's threads on all CPUs if they were allowed again
 * while the tracer of a killed process still ran. */
#include "port/linux/shield.h"
#include "port/linux/tracefs.h"
#include "port/tracing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKLOAD "OSNOISE_WORKLOAD"
#define NO_WORKLOAD "NO_" WORKLOAD

enum { PLACE_FIELD = 1, INSTANCE_FIELD, BEFORE_FIELD, OURS_FIELD, OPTION_FIELD, TIMERLAT_FIELDS };

static const char *const places[] = {TRACEFS_PLACE, TRACEFS_OLD_PLACE};

static bool join(char path[LINUX_PATH_BYTES], const char *place, const char *name)
{
    return snprintf(path, LINUX_PATH_BYTES, "%s/%s", place, name) < LINUX_PATH_BYTES;
}

static const char *find_place(const struct port_shield *shield)
{
    char path[LINUX_PATH_BYTES];
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (join(path, places[i], "osnoise/options") && linux_shield_exists(shield, path))
            return places[i];
    return NULL;
}

/* WORKLOAD or NO_WORKLOAD, whichever is in force. */
static int read_option(const struct port_shield *shield, const char *place, const char **option)
{
    char path[LINUX_PATH_BYTES], list[512];
    join(path, place, "osnoise/options");
    int error = linux_shield_read(shield, path, list, sizeof list);
    *option = tracefs_has_word(list, NO_WORKLOAD) ? NO_WORKLOAD
              : tracefs_has_word(list, WORKLOAD)  ? WORKLOAD
                                                  : NULL;
    return error ? error : *option ? 0 : ENOTSUP;
}

static int write_option(const struct port_shield *shield, const char *place, const char *option)
{
    char path[LINUX_PATH_BYTES];
    const char *now;
    join(path, place, "osnoise/options");
    int error = linux_shield_write(shield, path, option);
    if (error == 0)
        error = read_option(shield, place, &now);
    return error ? error : strcmp(now, option) == 0 ? 0 : EAGAIN;
}

static int fail(char *text, size_t bytes, const char *what, int error)
{
    snprintf(text, bytes, "%s: %s", what, strerror(error));
    return error;
}

static int note(struct port_shield *shield, const char *place, const char *before, const char *ours,
                const char *option)
{
    char instance[64];
    port_tracing_name(instance, sizeof instance);
    const char *fields[] = {"timerlat", place, instance, before, ours, option};
    if (linux_shield_note(shield, TIMERLAT_FIELDS, fields) != 0)
        return EINVAL;
    return linux_shield_sync(shield);
}

int linux_shield_timerlat(struct port_shield *shield, char *text, size_t bytes)
{
    char period[LINUX_PATH_BYTES], before[32], ours[32];
    const char *place = find_place(shield), *option;
    if (!place)
        return fail(text, bytes, "osnoise/options", ENOTSUP);
    join(period, place, "osnoise/timerlat_period_us");
    snprintf(ours, sizeof ours, "%lld", (long long)shield->timerlat_us);
    int error = linux_shield_read(shield, period, before, sizeof before);
    if (error == 0)
        error = read_option(shield, place, &option);
    if (error)
        return fail(text, bytes, period, error);
    error = note(shield, place, before, ours, option);
    if (error)
        return fail(text, bytes, "the journal", error);
    error = write_option(shield, place, NO_WORKLOAD);
    if (error)
        return fail(text, bytes, "osnoise/options", error);
    error = linux_shield_change(shield, period, ours);
    if (error)
        return fail(text, bytes, period, error);
    snprintf(text, bytes, "a period of %s us, no threads of its own", ours);
    return 0;
}

/* ---- undo ---- */

static bool is_number(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length < 12 && strspn(text, "0123456789") == length;
}

static bool is_instance(const char *name)
{
    size_t prefix = sizeof TRACEFS_INSTANCE - 1;
    return strncmp(name, TRACEFS_INSTANCE, prefix) == 0 && strlen(name) < 64 &&
           name[prefix + strspn(name + prefix, "0123456789-")] == '\0';
}

static bool is_sound(const struct port_change *record)
{
    const char *const *field = record->field;
    return record->count == TIMERLAT_FIELDS &&
           (strcmp(field[PLACE_FIELD], places[0]) == 0 ||
            strcmp(field[PLACE_FIELD], places[1]) == 0) &&
           is_instance(field[INSTANCE_FIELD]) && is_number(field[BEFORE_FIELD]) &&
           is_number(field[OURS_FIELD]) &&
           (strcmp(field[OPTION_FIELD], WORKLOAD) == 0 ||
            strcmp(field[OPTION_FIELD], NO_WORKLOAD) == 0);
}

static int remove_instance(const struct port_shield *shield, const struct port_change *record)
{
    char path[LINUX_PATH_BYTES], full[LINUX_PATH_BYTES];
    snprintf(path, sizeof path, "%s/instances/%s", record->field[PLACE_FIELD],
             record->field[INSTANCE_FIELD]);
    if (!linux_shield_path(shield, path, full))
        return ENAMETOOLONG;
    return rmdir(full) == 0 || errno == ENOENT ? 0 : errno;
}

static enum port_undo restore_option(const struct port_shield *shield,
                                     const struct port_change *record, int *error)
{
    const char *now, *before = record->field[OPTION_FIELD];
    *error = read_option(shield, record->field[PLACE_FIELD], &now);
    if (*error == 0 && strcmp(now, before) == 0)
        return PORT_UNDO_NOTHING;
    if (*error == 0)
        *error = write_option(shield, record->field[PLACE_FIELD], before);
    return *error ? PORT_UNDO_FAILED : PORT_UNDONE;
}

static enum port_undo restore_period(const struct port_shield *shield,
                                     const struct port_change *record, int *error)
{
    char path[LINUX_PATH_BYTES], now[32];
    join(path, record->field[PLACE_FIELD], "osnoise/timerlat_period_us");
    *error = linux_shield_read(shield, path, now, sizeof now);
    if (*error == 0 && strcmp(now, record->field[BEFORE_FIELD]) == 0)
        return PORT_UNDO_NOTHING;
    if (*error == 0 && strcmp(now, record->field[OURS_FIELD]) != 0)
        return PORT_UNDO_FOREIGN;
    if (*error == 0)
        *error = linux_shield_change(shield, path, record->field[BEFORE_FIELD]);
    return *error ? PORT_UNDO_FAILED : PORT_UNDONE;
}

enum port_undo linux_shield_undo_timerlat(struct port_shield *shield,
                                          const struct port_change *record, char *text,
                                          size_t bytes)
{
    if (!is_sound(record)) {
        snprintf(text, bytes, "a line that names no settings of timerlat");
        return PORT_UNDO_REFUSED;
    }
    int error = remove_instance(shield, record), of_period = 0;
    if (error) {
        snprintf(text, bytes, "the instance %s/instances/%s could not be removed: %s",
                 record->field[PLACE_FIELD], record->field[INSTANCE_FIELD], strerror(error));
        return PORT_UNDO_FAILED;
    }
    enum port_undo option = restore_option(shield, record, &error);
    enum port_undo period = restore_period(shield, record, &of_period);
    if (option == PORT_UNDO_FAILED || period == PORT_UNDO_FAILED) {
        snprintf(text, bytes, "timerlat's settings could not be restored: %s",
                 strerror(error ? error : of_period));
        return PORT_UNDO_FAILED;
    }
    if (period == PORT_UNDO_FOREIGN)
        snprintf(text, bytes, "timerlat's period is not the %s us that was set: left alone",
                 record->field[OURS_FIELD]);
    return period != PORT_UNDO_NOTHING ? period : option;
}

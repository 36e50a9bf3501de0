/* timerlat's interface for threads of programs (Linux 6.5 and later). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/tracefs.h"
#include "port/tracing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES = TRACEFS_PATH_BYTES + 300 };

/* osnoise and timerlat share their settings and their threads. */
static bool uses_it(const char *folder)
{
    char path[FILE_BYTES], tracer[64];
    snprintf(path, sizeof path, "%.500s/current_tracer", folder);
    return linux_read(path, tracer, sizeof tracer) &&
           (strcmp(tracer, "timerlat") == 0 || strcmp(tracer, "osnoise") == 0);
}

static bool is_used_in_instance(const char *place, char *name, size_t bytes)
{
    char path[FILE_BYTES];
    bool is_used = false;
    snprintf(path, sizeof path, "%s/instances", place);
    DIR *folder = linux_open_folder(path);
    for (struct dirent *entry; folder && !is_used && (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/instances/%s", place, entry->d_name);
        is_used = entry->d_name[0] != '.' && uses_it(path);
        if (is_used)
            snprintf(name, bytes, "in the instance %.100s", entry->d_name);
    }
    if (folder)
        closedir(folder);
    return is_used;
}

static int look_at_use(const char *place, struct outcome *outcome)
{
    char where[128] = "at the top";
    if (!uses_it(place) && !is_used_in_instance(place, where, sizeof where))
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, "wait until it ends",
                       "timerlat or osnoise is in use by somebody else (%s), and has one period "
                       "for all",
                       where);
}

/* A bound that somebody has set would stop the tracer in the middle. */
static int look_at_bounds(const char *place, struct outcome *outcome)
{
    static const char *const names[] = {"stop_tracing_us", "stop_tracing_total_us"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[FILE_BYTES];
        int64_t us;
        snprintf(path, sizeof path, "%s/osnoise/%s", place, names[i]);
        if (linux_read_number(path, &us) && us != 0)
            return outcome_set(outcome, STATUS_UNSUPPORTED, "write 0 to it",
                               "%s is %lld: timerlat would stop there", path, (long long)us);
    }
    return 0;
}

static int look_at_period(int64_t period_us, struct outcome *outcome)
{
    if (period_us >= PORT_TIMERLAT_LEAST_US && period_us <= PORT_TIMERLAT_MOST_US)
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED, "choose interval_ns in this range",
                       "timerlat takes a period of %d to %d us", PORT_TIMERLAT_LEAST_US,
                       PORT_TIMERLAT_MOST_US);
}

int port_timerlat_look(int64_t period_us, struct outcome *outcome)
{
    static const struct port_tracing_wish wish = {.tracer = "timerlat"};
    char path[FILE_BYTES];
    if (port_tracing_look(&wish, outcome) != 0 || look_at_period(period_us, outcome) != 0)
        return -1;
    const char *place = tracefs_find(outcome);
    if (!place)
        return -1;
    tracefs_remove_left(place);
    snprintf(path, sizeof path, "%s/osnoise/per_cpu", place);
    if (!linux_exists(path))
        return outcome_set(outcome, STATUS_UNSUPPORTED, "use Linux 6.5 or later",
                           "timerlat has no interface for threads of programs");
    return look_at_use(place, outcome) != 0 ? -1 : look_at_bounds(place, outcome);
}

int port_timerlat_open(int cpu)
{
    struct outcome outcome = {0};
    char path[FILE_BYTES], full[LINUX_PLACE_BYTES];
    const char *place = tracefs_find(&outcome);
    if (!place) {
        errno = ENOENT;
        return -1;
    }
    snprintf(path, sizeof path, "%s/osnoise/per_cpu/cpu%d/timerlat_fd", place, cpu);
    return open(linux_rooted(path, full), O_RDONLY | O_CLOEXEC);
}

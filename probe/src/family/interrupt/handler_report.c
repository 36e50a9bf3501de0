#include "base/posix_source.h"

#include "family/interrupt/handler_report.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const struct handler_sight *sight)
{
    return interrupt_source_names[sight->source];
}

void handler_tell_not_seen(struct run *run, int64_t source, const struct outcome *outcome)
{
    char text[2 * STATUS_TEXT_BYTES];
    struct remedy remedy = {outcome->remedy, outcome->command[0] ? outcome->command : NULL};
    remedy_text(remedy, text, sizeof text);
    arena_event(run->arena, "handler_not_seen", -1,
                DATA(data_text("source", interrupt_source_names[source]),
                     data_text("status", status_name(outcome->status)),
                     data_text("reason", outcome->reason),
                     outcome->remedy[0] ? data_text("remedy", outcome->remedy) : data_none(),
                     outcome->command[0] ? data_text("command", outcome->command) : data_none()),
                "%s: the interrupt's handler is not seen: %.200s%s%.120s",
                interrupt_source_names[source], outcome->reason, text[0] ? "; " : "", text);
}

void handler_tell_seen(const struct handler_sight *sight)
{
    const uint64_t *of = sight->of;
    uint64_t all = of[HANDLER_SINGLE] + of[HANDLER_NONE] + of[HANDLER_SEVERAL] + of[HANDLER_LOST];
    arena_event(sight->run->arena, "handler_seen", -1,
                DATA(data_text("source", name_of(sight)),
                     data_integer("interrupts_count", (int64_t)all),
                     data_integer("matched_count", (int64_t)of[HANDLER_SINGLE]),
                     data_integer("none_count", (int64_t)of[HANDLER_NONE]),
                     data_integer("several_count", (int64_t)of[HANDLER_SEVERAL]),
                     data_integer("lost_count", (int64_t)of[HANDLER_LOST]),
                     data_integer("reversed_count", (int64_t)sight->reversed_count),
                     data_integer("error_ns", sight->error_ns)),
                "%s: the handler of %llu of %llu interrupts was seen (not found %llu, several "
                "%llu, events lost %llu); its stamps are known to %lld ns beside the thread's",
                name_of(sight), (unsigned long long)of[HANDLER_SINGLE], (unsigned long long)all,
                (unsigned long long)of[HANDLER_NONE], (unsigned long long)of[HANDLER_SEVERAL],
                (unsigned long long)of[HANDLER_LOST], (long long)sight->error_ns);
}

void handler_tell_stopped(const struct handler_sight *sight)
{
    arena_event(sight->run->arena, "handler_stopped", -1, DATA(data_text("source", name_of(sight))),
                "%s: somebody has switched the instance's tracing_on off: later interrupts have no "
                "handler",
                name_of(sight));
}

void handler_tell_not_read(const struct handler_sight *sight)
{
    arena_event(
        sight->run->arena, "handler_not_read", -1,
        DATA(data_text("source", name_of(sight)), data_text("error", strerror(sight->read_error))),
        "%s: the kernel's events could not be read (%s): some interrupts have no handler",
        name_of(sight), strerror(sight->read_error));
}

void handler_tell_left(const struct handler_sight *sight, const char *path, int error)
{
    char command[300];
    snprintf(command, sizeof command, "rmdir %s", path);
    arena_event(sight->run->arena, "handler_not_removed", -1,
                DATA(data_text("source", name_of(sight)), data_text("path", path),
                     data_text("error", strerror(error)), data_text("command", command)),
                "the trace instance %s could not be removed: %s", path, strerror(error));
}

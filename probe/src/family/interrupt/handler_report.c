#include "base/posix_source.h"

#include "family/interrupt/handler_report.h"

#include <stdio.h>
#include <string.h>

void handler_tell_not_seen(struct run *run, const char *source, const struct outcome *outcome)
{
    arena_event(run->arena, "handler_not_seen", -1,
                DATA(data_text("source", source), data_text("status", status_name(outcome->status)),
                     data_text("reason", outcome->reason),
                     outcome->remedy[0] ? data_text("remedy", outcome->remedy) : data_none(),
                     outcome->command[0] ? data_text("command", outcome->command) : data_none()),
                "%s: the interrupt's handler is not seen: %.200s%s%.120s", source, outcome->reason,
                outcome->remedy[0] ? "; " : "", outcome->remedy);
}

void handler_tell_seen(struct run *run, const char *source, const struct handler_seen *seen)
{
    const uint64_t *of = seen->of;
    uint64_t all = of[HANDLER_SINGLE] + of[HANDLER_NONE] + of[HANDLER_SEVERAL] + of[HANDLER_LOST];
    arena_event(run->arena, "handler_seen", -1,
                DATA(data_text("source", source), data_integer("interrupts_count", (int64_t)all),
                     data_integer("matched_count", (int64_t)of[HANDLER_SINGLE]),
                     data_integer("none_count", (int64_t)of[HANDLER_NONE]),
                     data_integer("several_count", (int64_t)of[HANDLER_SEVERAL]),
                     data_integer("lost_count", (int64_t)of[HANDLER_LOST]),
                     data_integer("reversed_count", (int64_t)seen->reversed_count),
                     data_integer("error_ns", seen->error_ns)),
                "%s: the handler of %llu of %llu interrupts was seen (not found %llu, several "
                "%llu, events lost %llu); its stamps are known to %lld ns beside the thread's",
                source, (unsigned long long)of[HANDLER_SINGLE], (unsigned long long)all,
                (unsigned long long)of[HANDLER_NONE], (unsigned long long)of[HANDLER_SEVERAL],
                (unsigned long long)of[HANDLER_LOST], (long long)seen->error_ns);
}

void handler_tell_stopped(struct run *run, const char *source)
{
    arena_event(run->arena, "handler_stopped", -1, DATA(data_text("source", source)),
                "%s: somebody has switched the instance's tracing_on off: later interrupts have no "
                "handler",
                source);
}

void handler_tell_not_read(struct run *run, const char *source, int error)
{
    arena_event(run->arena, "handler_not_read", -1,
                DATA(data_text("source", source), data_text("error", strerror(error))),
                "%s: the kernel's events could not be read (%s): some interrupts have no handler",
                source, strerror(error));
}

void handler_tell_left(struct run *run, const char *source, const char *path, int error)
{
    char command[300];
    snprintf(command, sizeof command, "rmdir %s", path);
    arena_event(run->arena, "handler_not_removed", -1,
                DATA(data_text("source", source), data_text("path", path),
                     data_text("error", strerror(error)), data_text("command", command)),
                "the trace instance %s could not be removed: %s", path, strerror(error));
}

#include "posix_source.h"

#include "status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *status_name(enum status status)
{
    static const char *const names[] = {
        [STATUS_MEASURED] = "measured",       [STATUS_FAILED] = "failed",
        [STATUS_UNSUPPORTED] = "unsupported", [STATUS_DENIED] = "denied",
        [STATUS_TIMEOUT] = "timeout",         [STATUS_SKIPPED] = "skipped",
    };
    return names[status];
}

int outcome_set(struct outcome *outcome, enum status status, const char *remedy, const char *format,
                ...)
{
    if (outcome->status != STATUS_MEASURED)
        return -1;
    outcome->status = status;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(outcome->reason, sizeof outcome->reason, format, arguments);
    va_end(arguments);
    snprintf(outcome->remedy, sizeof outcome->remedy, "%s", remedy ? remedy : "");
    return -1;
}

static enum status status_of_errno(int error)
{
    switch (error) {
    case EPERM:
    case EACCES:
    case EAGAIN:
    case ENOMEM:
        return STATUS_DENIED;
    case ENOSYS:
    case ENOTSUP:
    case EINVAL:
        return STATUS_UNSUPPORTED;
    default:
        return STATUS_FAILED;
    }
}

int outcome_set_errno(struct outcome *outcome, int error, const char *what, const char *remedy)
{
    return outcome_set(outcome, status_of_errno(error), remedy, "%s: %s", what, strerror(error));
}

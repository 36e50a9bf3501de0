#include "base/posix_source.h"

#include "base/status.h"

#include "base/console.h"
#include "base/emit.h"
#include "port/port.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME "hardstone-probe: "

const char *status_name(enum status status)
{
    static const char *const names[] = {
        [STATUS_MEASURED] = "measured",       [STATUS_FAILED] = "failed",
        [STATUS_UNSUPPORTED] = "unsupported", [STATUS_DENIED] = "denied",
        [STATUS_TIMEOUT] = "timeout",         [STATUS_SKIPPED] = "skipped",
    };
    return names[status];
}

int status_exit_code(enum status status)
{
    switch (status) {
    case STATUS_MEASURED:
        return EXIT_FINE;
    case STATUS_UNSUPPORTED:
    case STATUS_DENIED:
        return EXIT_MISSING;
    case STATUS_FAILED:
    case STATUS_TIMEOUT:
    case STATUS_SKIPPED:
        return EXIT_NOT_MEASURED;
    }
    return EXIT_INTERNAL;
}

static int set(struct outcome *outcome, enum status status, struct remedy remedy,
               const char *format, va_list arguments) __attribute__((format(printf, 4, 0)));

static int set(struct outcome *outcome, enum status status, struct remedy remedy,
               const char *format, va_list arguments)
{
    if (outcome->status != STATUS_MEASURED)
        return -1;
    outcome->status = status;
    vsnprintf(outcome->reason, sizeof outcome->reason, format, arguments);
    snprintf(outcome->remedy, sizeof outcome->remedy, "%s", remedy.words ? remedy.words : "");
    snprintf(outcome->command, sizeof outcome->command, "%s", remedy.command ? remedy.command : "");
    return -1;
}

int outcome_set(struct outcome *outcome, enum status status, const char *remedy, const char *format,
                ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(outcome, status, (struct remedy){remedy, NULL}, format, arguments);
    va_end(arguments);
    return -1;
}

int outcome_set_remedy(struct outcome *outcome, enum status status, struct remedy remedy,
                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    set(outcome, status, remedy, format, arguments);
    va_end(arguments);
    return -1;
}

const char *remedy_text(struct remedy remedy, char *text, size_t bytes)
{
    const char *words = remedy.words ? remedy.words : "";
    const char *command = remedy.command ? remedy.command : "";
    snprintf(text, bytes, "%s%s%s", words, words[0] && command[0] ? ": " : "", command);
    return text;
}

const char *outcome_remedy_text(const struct outcome *outcome, char *text, size_t bytes)
{
    return remedy_text((struct remedy){outcome->remedy, outcome->command}, text, bytes);
}

bool status_is_missing(int error)
{
    return error == ENOSYS || error == ENOTSUP || error == EINVAL;
}

/* Whether the error names the limit by itself, whatever call failed. */
static bool is_certain(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOSPC || error == EROFS;
}

const char *status_limit_remedy(int error)
{
    switch (error) {
    case EMFILE:
        return port_hint(PORT_HINT_OWN_FILES);
    case ENFILE:
        return port_hint(PORT_HINT_OPEN_FILES);
    case ENOSPC:
        return port_hint(PORT_HINT_SPACE);
    case EROFS:
        return port_hint(PORT_HINT_READ_ONLY);
    case ENOMEM:
        return port_hint(PORT_HINT_MEMORY);
    case EAGAIN:
        return port_hint(PORT_HINT_THREADS);
    default:
        return NULL;
    }
}

static enum status status_of_errno(int error)
{
    if (error == EPERM || error == EACCES || status_limit_remedy(error))
        return STATUS_DENIED;
    return status_is_missing(error) ? STATUS_UNSUPPORTED : STATUS_FAILED;
}

int outcome_set_errno(struct outcome *outcome, int error, const char *what, const char *remedy)
{
    return outcome_set_errno_remedy(outcome, error, what, (struct remedy){remedy, NULL});
}

int outcome_set_errno_remedy(struct outcome *outcome, int error, const char *what,
                             struct remedy remedy)
{
    if (!remedy.words || is_certain(error))
        remedy = (struct remedy){status_limit_remedy(error), NULL};
    if (outcome->status == STATUS_MEASURED)
        outcome->error = error;
    return outcome_set_remedy(outcome, status_of_errno(error), remedy, "%s: %s", what,
                              strerror(error));
}

/* At file scope, because whoever has something to say knows no console. */
static struct console *console_of_messages;

void message_to(struct console *console)
{
    console_of_messages = console;
}

void message_print(const char *format, ...)
{
    enum { NAME_BYTES = sizeof NAME - 1 };
    char line[MESSAGE_BYTES] = NAME;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + NAME_BYTES, sizeof line - NAME_BYTES, format, arguments);
    va_end(arguments);
    utf8_make_printable(line);
    if (console_of_messages)
        console_message(console_of_messages, line);
    else
        fprintf(stderr, "%s\n", line);
}

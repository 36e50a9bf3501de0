/* The outcome of a test: status, reason, and remedy with the command to type; and messages. */
#ifndef HS_BASE_STATUS_H
#define HS_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>

enum status {
    STATUS_MEASURED,
    STATUS_FAILED,
    STATUS_UNSUPPORTED,
    STATUS_DENIED,
    STATUS_TIMEOUT,
    STATUS_SKIPPED,
};

enum { STATUS_TEXT_BYTES = 320, STATUS_COMMAND_BYTES = 128 };

/* What would help. Either may be NULL: no advice, nothing to type. */
struct remedy {
    const char *words;
    const char *command; /* what to type, without the words */
};

/* A zeroed outcome is STATUS_MEASURED with empty texts. */
struct outcome {
    enum status status;
    char reason[STATUS_TEXT_BYTES];
    char remedy[STATUS_TEXT_BYTES];
    char command[STATUS_COMMAND_BYTES];
    int error; /* errno value that it follows from; 0: from none */
};

/* Exit codes of the probe; the toolkit uses the same. The command `shield` adds some. */
enum status_exit {
    EXIT_FINE = 0,
    EXIT_USAGE = 2,
    EXIT_NOT_MEASURED = 3, /* the test failed, timed out or was skipped */
    EXIT_MISSING = 5,      /* a privilege or a feature of the system is missing */
    EXIT_INTERNAL = 70,
};

/* Exit code of a run with this status whose output succeeded. */
int status_exit_code(enum status status);

/* Name of a status in the stream ("measured", "denied", ...). */
const char *status_name(enum status status);

/* Sets status and reason; `remedy` may be NULL. Only the first outcome other than
 * STATUS_MEASURED is kept: later ones are its consequences. Returns -1, so that a caller can
 * `return outcome_set(...)`. */
int outcome_set(struct outcome *outcome, enum status status, const char *remedy, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* The same with a command to type. */
int outcome_set_remedy(struct outcome *outcome, enum status status, struct remedy remedy,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

/* outcome_set for a call that failed with `error`. EPERM, EACCES and the errors of
 * status_limit_remedy are STATUS_DENIED; ENOSYS, ENOTSUP and EINVAL are STATUS_UNSUPPORTED; others
 * are STATUS_FAILED. The reason reads "WHAT: message of the error". The remedy is that of
 * status_limit_remedy if `remedy` is NULL or the error itself names the cause (EMFILE, ENFILE,
 * ENOSPC, EROFS). */
int outcome_set_errno(struct outcome *outcome, int error, const char *what, const char *remedy);

/* The same with a command to type. */
int outcome_set_errno_remedy(struct outcome *outcome, int error, const char *what,
                             struct remedy remedy);

/* Writes the remedy of an outcome in one line: "WORDS: COMMAND". Returns `text`. */
const char *outcome_remedy_text(const struct outcome *outcome, char *text, size_t bytes);

/* The same for any remedy. */
const char *remedy_text(struct remedy remedy, char *text, size_t bytes);

/* Whether `error` means that the system lacks the feature: ENOSYS, ENOTSUP, EINVAL. */
bool status_is_missing(int error);

/* What to do after `error`: EMFILE and ENFILE (open files), ENOSPC (shared memory, System V
 * semaphores), EROFS (read-only), ENOMEM (memory), EAGAIN (threads, locked memory). NULL for other
 * errors. */
const char *status_limit_remedy(int error);

/* ---- messages to people: one line each on standard error ---- */

enum { MESSAGE_BYTES = 2560 }; /* of a line, which is cut there */

/* Writes "hardstone-probe: ", the text, and a line end. Characters that a terminal would act upon
 * (utf8_is_shown of base/emit.h) become '?'. */
void message_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct console;

/* From now on messages go to this console (base/console.h); NULL: to standard error. */
void message_to(struct console *console);

#endif

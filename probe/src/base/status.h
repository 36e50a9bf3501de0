/* How a test ended, with the reason and what would change it. */
#ifndef HS_STATUS_H
#define HS_STATUS_H

#include <stdbool.h>

enum status {
    STATUS_MEASURED,
    STATUS_FAILED,
    STATUS_UNSUPPORTED,
    STATUS_DENIED,
    STATUS_TIMEOUT,
    STATUS_SKIPPED,
};

enum { STATUS_TEXT_BYTES = 320 };

/* An outcome is STATUS_MEASURED with empty texts until something sets it. */
struct outcome {
    enum status status;
    char reason[STATUS_TEXT_BYTES];
    char remedy[STATUS_TEXT_BYTES];
};

/* The word of the contract for a status ("measured", "denied", ...). */
const char *status_name(enum status status);

/* Sets status and reason; `remedy` may be NULL. The first outcome that is not
 * STATUS_MEASURED stays: what follows is a consequence of it. Returns -1, so that
 * a caller can `return outcome_set(...)`. */
int outcome_set(struct outcome *outcome, enum status status, const char *remedy, const char *format,
                ...) __attribute__((format(printf, 4, 5)));

/* The same for a call that failed with `error`: EPERM, EACCES, and the limits of
 * status_limit_remedy are STATUS_DENIED (a limit or a right), ENOSYS, ENOTSUP and EINVAL
 * STATUS_UNSUPPORTED, anything else STATUS_FAILED. The reason reads "WHAT: message of the error".
 * `remedy` NULL: that of status_limit_remedy, which goes before it where the limit is certain (open
 * files, room). */
int outcome_set_errno(struct outcome *outcome, int error, const char *what, const char *remedy);

/* Whether `error` says that the system has no such thing: ENOSYS, ENOTSUP, EINVAL. */
bool status_is_missing(int error);

/* What to raise where a call failed with `error`, which some limit causes: descriptors, threads
 * and processes, memory, room. NULL: no limit that is known. */
const char *status_limit_remedy(int error);

#endif

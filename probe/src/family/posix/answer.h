/* What a real call said of an option. */
#ifndef HS_FAMILY_POSIX_ANSWER_H
#define HS_FAMILY_POSIX_ANSWER_H

#include "base/posix_source.h"

#include <stdint.h>

enum call_result {
    CALL_UNTRIED, /* it was not called: `why` says why */
    CALL_WORKS,
    CALL_PARTLY,  /* it does less than the option promises */
    CALL_FAILS,   /* it is there and does not do it, or did not end by its deadline */
    CALL_MISSING, /* no such call in this build or this kernel: ENOSYS, ENOTSUP */
    CALL_DENIED,  /* refused for want of a privilege, or by a limit of this user */
};

enum { ANSWER_WHY_BYTES = 120 };

/* Without pointers: it crosses to another process. */
struct answer {
    enum call_result result;
    char why[ANSWER_WHY_BYTES]; /* empty: it works */
    int64_t number;             /* that the call counted, if it counts something */
};

/* "works", "partly", ... */
const char *call_result_name(enum call_result result);

struct answer answer_works(void);
struct answer answer_partly(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct answer answer_fails(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct answer answer_untried(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct answer answer_denied(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The build has no such call. */
struct answer answer_missing(const char *call);

/* `call` failed with `error`: ENOSYS and ENOTSUP are missing; EPERM, EACCES and the limits of
 * status_limit_remedy denied, which `why` then says how to raise; all others fails. */
struct answer answer_error(const char *call, int error);

#endif

/* The limits of POSIX: what sysconf says, the least that the standard promises, and for those that
 * cost little a real call that reaches the least. */
#ifndef HS_FAMILY_POSIX_LIMITS_H
#define HS_FAMILY_POSIX_LIMITS_H

#include "base/posix_source.h"

#include "family/posix/option.h"

#include <stdbool.h>
#include <stdint.h>

struct posix_limit {
    const char *key;
    int name;         /* of sysconf; NO_NAME */
    int64_t least;    /* _POSIX_..._MAX of limits.h in POSIX.1-2008 */
    posix_call reach; /* NULL: no call */
    bool is_base;     /* not of threads and real-time */
};

/* The last has no key. */
extern const struct posix_limit posix_limits[];

/* What sysconf says; -1: no limit, or not determined. False: sysconf has no such name. */
bool limit_value(const struct posix_limit *limit, int64_t *value);

/* Whether the limit is below its least, or a call could not reach that. `value` as told. One that a
 * limit of this user keeps low (the call was denied) is no fault of the system. */
bool limit_is_low(const struct posix_limit *limit, bool is_told, int64_t value,
                  const struct answer *reached);

#endif

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

/* ---- calls that reach them ---- */

/* Real calls that reach the least value of a limit, and the priorities of real-time policies. Each
 * runs in a process of its own (call_runner.h). */

/* The least that POSIX.1-2008 promises, limits.h. */
enum {
    REACH_KEYS = 128,
    REACH_MQ_PRIO = 32,
    REACH_OPEN = 20,
    REACH_RTSIG = 8,
    REACH_SEM_VALUE = 32767,
    REACH_SIGQUEUE = 32,
    REACH_THREADS = 64,
    REACH_TIMERS = 32,
    REACH_PRIORITIES = 32,
};

struct answer reach_keys(const struct call_tools *tools);
struct answer reach_mq_prio(const struct call_tools *tools);
struct answer reach_open(const struct call_tools *tools);
struct answer reach_rtsig(const struct call_tools *tools);
struct answer reach_sem_value(const struct call_tools *tools);
struct answer reach_sigqueue(const struct call_tools *tools);
struct answer reach_threads(const struct call_tools *tools);
struct answer reach_timers(const struct call_tools *tools);

/* Sets every priority from sched_get_priority_min to _max; `number` has how many there are, also
 * where setting them is denied. */
struct answer reach_priorities_fifo(const struct call_tools *tools);
struct answer reach_priorities_rr(const struct call_tools *tools);

#endif

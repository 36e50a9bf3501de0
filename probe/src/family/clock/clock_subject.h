/* A clock that CLK-B-RES tests. */
#ifndef HS_FAMILY_CLOCK_CLOCK_SUBJECT_H
#define HS_FAMILY_CLOCK_CLOCK_SUBJECT_H

#include "base/posix_source.h"

#include "base/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Steps that show that a clock moves; the time limit for them is 50 times the coarsest step that
 * POSIX allows (_POSIX_CLOCKRES_MIN). */
enum { CLOCK_SUBJECT_STEPS = 3 };
#define CLOCK_SUBJECT_STEPS_NS INT64_C(100000000)

/* A clock under test; the last one is the processor's counter. */
struct clock_subject {
    const char *name;
    clockid_t id;
    bool is_counter, is_system_wide, is_steerable;
    bool is_absent; /* clock_gettime refuses it */
    uint64_t back_count, read_count;
    int64_t back_worst_ns;
    int cpu_count;
    int still_count; /* CPUs on which it did not move; their reads and time */
    uint64_t still_read_count;
    int64_t still_ns;
};

/* A reading, in the clock's own unit. */
static inline int64_t clock_subject_read(const struct clock *clock,
                                         const struct clock_subject *subject)
{
    if (subject->is_counter)
        return (int64_t)clock_begin(clock);
    struct timespec now;
    clock_gettime(subject->id, &now);
    return clock_timespec_ns(&now);
}

/* A difference of readings in ns. */
static inline int64_t clock_subject_ns(const struct clock *clock,
                                       const struct clock_subject *subject, int64_t length)
{
    return subject->is_counter ? clock_ns(clock, (uint64_t)length) : length;
}

#endif

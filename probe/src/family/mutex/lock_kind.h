/* What a thread can hold or wait for, behind one interface: mutexes of each protocol, and
 * the other means of exclusion in which priorities may be inverted. */
#ifndef HS_PRIMITIVE_H
#define HS_PRIMITIVE_H

#include "base/posix_source.h"

#include "run/run.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

enum primitive_kind {
    PRIMITIVE_NONE, /* mutexes of the three protocols */
    PRIMITIVE_INHERIT,
    PRIMITIVE_PROTECT,
    PRIMITIVE_SEMAPHORE, /* unnamed, of value 1 */
    PRIMITIVE_ROBUST,    /* mutex of protocol none */
    PRIMITIVE_ROBUST_INHERIT,
    PRIMITIVE_SPIN,
    PRIMITIVE_RWLOCK,    /* held for reading, asked for to write */
    PRIMITIVE_CONDITION, /* a flag that is waited for on a condition variable */
    PRIMITIVE_KINDS
};

/* Names for parameters: all; the mutexes of the three protocols; and those with the
 * semaphore. NULL-terminated. */
extern const char *const primitive_names[];
extern const char *const primitive_protocol_names[];
extern const char *const primitive_delay_names[];

struct primitive {
    enum primitive_kind kind;
    pthread_mutex_t mutex;
    sem_t semaphore;
    pthread_spinlock_t spin;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    bool is_taken;
};

/* Makes one that nobody holds. ceiling: priority of a mutex with protocol protect. 0, or an
 * errno value (ENOTSUP, EINVAL: not in this C library). */
int primitive_open(struct primitive *primitive, enum primitive_kind kind, int ceiling);
void primitive_close(struct primitive *primitive);

/* Takes it, waiting while another holds it; is_first: the one who will be waited for. 0 or
 * an errno value. */
int primitive_take(struct primitive *primitive, bool is_first);

/* A mutex, waited for until `until` of CLOCK_REALTIME at most: 0 or ETIMEDOUT. */
int primitive_take_until(struct primitive *primitive, const struct timespec *until);

void primitive_let_go(struct primitive *primitive);

/* Whether this system has the kind and lets the calling thread, of the run's priority, take
 * and release it. One that it has not is told as an event, which is an answer; one that a
 * limit or a missing right keeps from the test is told too, and sets the outcome (denied). */
bool primitive_is_here(struct run *run, enum primitive_kind kind);

/* Whether POSIX promises that priorities are not inverted. */
bool primitive_is_promised(enum primitive_kind kind);

/* For a test's `judge`: unsupported when nothing was measured, judged or told. */
int primitive_require_any(struct run *run, int tried_count);

#endif

/* The kinds of lock behind one interface: mutexes of each protocol, and the other means of mutual
 * exclusion in which priorities may be inverted. */
#ifndef HS_FAMILY_MUTEX_LOCK_KIND_H
#define HS_FAMILY_MUTEX_LOCK_KIND_H

#include "base/posix_source.h"

#include "base/options.h"
#include "run/run.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

enum lock_kind {
    LOCK_KIND_NONE, /* mutexes of the three protocols */
    LOCK_KIND_INHERIT,
    LOCK_KIND_PROTECT,
    LOCK_KIND_SEMAPHORE, /* unnamed, of value 1 */
    LOCK_KIND_ROBUST,    /* mutex of protocol none */
    LOCK_KIND_ROBUST_INHERIT,
    LOCK_KIND_SPIN,
    LOCK_KIND_RWLOCK,    /* read lock for the first owner, write lock for the others */
    LOCK_KIND_CONDITION, /* a flag under a mutex, with a condition variable */
    LOCK_KINDS
};

/* Names for parameters, NULL-terminated: all; the mutexes of the three protocols; these and the
 * semaphore. */
extern const char *const lock_kind_names[];
extern const char *const lock_kind_protocol_names[];
extern const char *const lock_kind_delay_names[];

#if HS_HAS_SPIN_LOCKS
typedef pthread_spinlock_t lock_spin;
#else
typedef int lock_spin;
#endif

struct lock {
    enum lock_kind kind;
    pthread_mutex_t mutex;
    sem_t semaphore;
    lock_spin spin;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    bool is_taken;
};

/* Makes a free lock. `ceiling`: priority, for a mutex of protocol protect. 0, or an errno value
 * (ENOTSUP, EINVAL: not in this C library). */
int lock_open(struct lock *lock, enum lock_kind kind, int ceiling);
void lock_close(struct lock *lock);

/* Locks; blocks or spins while another thread holds the lock. is_first: the caller is the thread
 * that others will wait for. 0 or an errno value. */
int lock_take(struct lock *lock, bool is_first);

/* Locks a mutex; waits until `until` (CLOCK_REALTIME) at most. 0, ETIMEDOUT or another errno
 * value. */
int lock_take_until(struct lock *lock, const struct timespec *until);

void lock_let_go(struct lock *lock);

/* Whether the calling thread, at the run's priority, can make, lock and unlock a lock of this kind.
 * If not, an event says why. A kind that the system lacks leaves the outcome as it is; a limit or a
 * missing right sets it (denied). */
bool lock_kind_is_here(struct run *run, enum lock_kind kind);

/* Whether POSIX promises that this kind avoids priority inversion. */
bool lock_kind_is_promised(enum lock_kind kind);

/* For a test's `judge`: 0, or -1 with STATUS_UNSUPPORTED if no kind could be tried. */
int lock_kind_require_any(struct run *run, int tried_count);

#endif

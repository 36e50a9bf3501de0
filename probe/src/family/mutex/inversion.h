/* The scenario of priority inversion that MUT-B-ARC, MUT-B-INV, MUT-P-ARC and MUT-P-INV
 * have in common. On one CPU, by priority from below: low, (two more owners of a chain,)
 * medium, high, and above them the measuring thread, which only starts a round and waits
 * for its end.
 *
 *   low     takes lock 0, wakes (the owners, then) high, and goes on when it is run again;
 *           makes medium ready, lets lock 0 go, ends
 *   owner i takes lock i, then asks for lock i - 1
 *   high    asks for the last lock, lets it go, ends
 *   medium  burns its time, ends
 *
 * Where high waits for a lock and medium runs meanwhile, the priorities are inverted.
 * The threads rest at gates between rounds, so that no creation is in a figure. A round
 * that does not end (a spin lock never lets low run) is ended by the measuring thread, the
 * watchdog: it lends low a priority above all others by hand.
 */
#ifndef HS_INVERSION_H
#define HS_INVERSION_H

#include "base/posix_source.h"

#include "family/mutex/lock_kind.h"
#include "realtime/burst.h"
#include "record/order_log.h"
#include "run/run.h"

#include <semaphore.h>

enum {
    INVERSION_LINKS = 3,
    INVERSION_THREADS = INVERSION_LINKS + 2,
    INVERSION_LEVELS = INVERSION_THREADS + 1, /* of priorities that a test needs */
};

#define INVERSION_LIMIT_NS INT64_C(100000000) /* of a round, beside what medium burns */

struct inversion;

struct inversion_party {
    struct inversion *scenario;
    int place; /* 0 to links - 1: owners, then medium, then high */
    struct actor actor;
    sem_t gate;
};

struct inversion_setup {
    enum primitive_kind kind;
    int links;          /* 1: one lock; INVERSION_LINKS: a chain */
    int64_t burn_ns;    /* of medium; 0: it only shows that it ran */
    bool is_logged;     /* the order is kept in `log`; timing tests leave it out */
    bool high_gives_up; /* waits for 5 ms only, while low keeps the lock */
};

struct inversion {
    const struct clock *clock;
    struct inversion_setup setup;
    struct primitive locks[INVERSION_LINKS];
    struct inversion_party parties[INVERSION_THREADS];
    int started, policy, low_priority, top_priority;
    atomic_int is_over, has_given_up;
    sem_t ended; /* by each party at the end of its part */
    struct order_log log;
    /* stamps of the round: low has the lock, high asks, low runs again, low is about to let
     * go, high has the lock */
    _Atomic uint64_t locked, asked, ran, letting_go, got;
};

/* Priority that a mutex of protocol protect must have: high's. */
int inversion_ceiling(const struct run *run);

/* Makes the locks, starts the threads and plays some rounds, without what medium burns, which
 * set up what the C library makes for each thread at its first call. 0 or an errno value,
 * with nothing left. */
int inversion_open(struct inversion *scenario, const struct run *run,
                   const struct inversion_setup *setup);

/* One round; returns when all threads rest. False when the watchdog had to end it. */
bool inversion_round(struct inversion *scenario);

/* Whether the stamps of the last round stand in the order of the scenario: high asked while
 * low had the lock and low ran again before it let go; with a ceiling, high asked only after
 * that. Where they do not, nothing between them means what a test says. */
bool inversion_took_place(const struct inversion *scenario);

/* Sets the outcome of a round that did not take place, or that the watchdog ended
 * (!is_in_time), and tells it. `test`: where to look. Returns -1. */
int inversion_refuse(const struct inversion *scenario, struct run *run, bool is_in_time,
                     const char *test);

void inversion_close(struct inversion *scenario);

/* Rounds of a logged scenario, `most` at most; the log is that of the last one. Ends at the
 * first one without the order that POSIX promises, where it promises one, and at one that the
 * watchdog ended. A round in which the CPU was taken from the threads may be out of order by
 * that; it is played again. Calls `each` after each other round (NULL:
 * nothing). Whether the inversion was avoided in all of them. */
bool inversion_rounds(struct inversion *scenario, struct pace *pace, int most,
                      void (*each)(struct run *run, int64_t now_ns, bool is_in_time));

/* Whether, in the order that was logged, high was done before medium ran. */
bool inversion_was_avoided(struct inversion *scenario);

/* The orders that POSIX promises for inherit and protect, in the words of the log. */
const char *inversion_promise(const struct inversion_setup *setup);

#endif

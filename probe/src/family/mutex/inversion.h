/* The priority inversion scenario of MUT-B-ARC, MUT-B-INV, MUT-P-ARC and MUT-P-INV. All threads run
 * on one CPU, each one priority above the one before: low, (two more owners of a chain,) medium,
 * high, and at the run's priority the measuring thread, which only starts a round and waits for its
 * end.
 *
 *   low     locks lock 0 and wakes (the owners, then) high; when it runs again it makes medium
 *           ready, unlocks lock 0, ends
 *   owner i locks lock i, then asks for lock i - 1
 *   high    asks for the last lock, unlocks it, ends
 *   medium  spins for its time, ends
 *
 * If medium runs while high waits for a lock, that is priority inversion. Between rounds the
 * threads wait at gates, so thread creation is in no figure.
 *
 * The measuring thread is also the watchdog: if a round does not end (a high that spins on a lock
 * never lets low run), it raises low and the owners of a chain to its own priority. Since a late
 * host looks the same, the round is then repeated with longer limits. It counts as a lock-up if the
 * watchdog ends every repeat. */
#ifndef HS_FAMILY_MUTEX_INVERSION_H
#define HS_FAMILY_MUTEX_INVERSION_H

#include "base/posix_source.h"

#include "family/mutex/lock_kind.h"
#include "record/order_log.h"
#include "run/run.h"

#include <semaphore.h>

/* ---- which rounds of MUT-B-ARC and MUT-B-INV count, and which are repeated ----
 *
 * The order of threads on one CPU follows from their priorities, except for two time limits: the
 * watchdog's, and that of a high that gives up waiting. If a host stops the machine for a while,
 * both expire and the order changes without any fault of the system under test. A lock-up locks up
 * in each repeat, a host is rarely late each time. So a round in which a limit expired is repeated,
 * each time with twice the limits. A round from which the CPU was taken is repeated too, with the
 * same limits, and so is one in which high asked too late to have to wait: it shows nothing of what
 * a waiter causes. */

/* Attempts at a round in which a limit expires; repeats in a claim because the CPU was taken, or
 * because high did not wait. */
enum { INVERSION_ATTEMPTS = 3, INVERSION_DISTURBED = 20, INVERSION_NOT_WAITED_MOST = 20 };

enum inversion_end {
    INVERSION_GOOD,
    INVERSION_BAD,               /* another order, and no limit expired */
    INVERSION_ENDED_BY_WATCHDOG, /* not good: the watchdog raised low */
    INVERSION_OUT_OF_PATIENCE,   /* not good: high timed out too early, or low went on too early */
    INVERSION_DISTURBED_BAD,     /* not good, and the CPU was taken from the threads meanwhile */
    INVERSION_NOT_WAITED,        /* not good: high should have waited for the lock, and did not */
};

enum inversion_answer {
    INVERSION_COUNTS,
    INVERSION_AGAIN,
    INVERSION_UNDECIDED, /* repeated as often as allowed, for different reasons */
};

/* For one claim; zero it before the first round. */
struct inversion_repeats {
    int watchdog_count, patience_count; /* of the current round */
    int disturbed_count;                /* of all rounds of the claim */
    int not_waited_count;               /* of all rounds of the claim */
};

/* What to do with a round that ended like this. Counts the repeats; starts counting anew when a
 * round is not repeated. */
enum inversion_answer inversion_answer(struct inversion_repeats *repeats, enum inversion_end end);

/* Factor of the next attempt's limits: 1, 2 or 4. */
int inversion_scale(const struct inversion_repeats *repeats);

/* ---- the scenario ---- */

enum {
    INVERSION_LINKS = 3,
    INVERSION_THREADS = INVERSION_LINKS + 2,
    INVERSION_LEVELS = INVERSION_THREADS + 1, /* priorities that a test needs */
};

/* Watchdog's limit for one thread's part of a round, plus what medium spins; doubled at each
 * repeat. */
#define INVERSION_LIMIT_NS INT64_C(100000000)

struct inversion;

struct inversion_party {
    struct inversion *scenario;
    int place; /* 0 to links - 1: owners, then medium, then high */
    struct rt_thread rt_thread;
    sem_t gate;
};

struct inversion_setup {
    enum lock_kind kind;
    int links;          /* 1: one lock; INVERSION_LINKS: a chain */
    int64_t burn_ns;    /* how long medium spins; 0: not at all */
    bool is_logged;     /* the order goes to `log`; timing tests do without */
    bool high_gives_up; /* high's wait times out after 5 ms, while low keeps the lock */
};

struct inversion {
    const struct clock *clock;
    struct run *run;
    struct inversion_setup setup;
    struct lock locks[INVERSION_LINKS];
    struct inversion_party parties[INVERSION_THREADS];
    int started, policy, low_priority, top_priority;
    int scale;             /* factor of the round's limits: 1, 2, 4 */
    int told_count;        /* `round_repeated` events; only the first few are sent */
    bool is_locking_up;    /* the watchdog ended a warm-up round */
    bool has_kept_in_vain; /* low went on before high had given up */
    bool has_never_waited; /* high, in too many rounds of the claim: it has no verdict */
    int64_t warm_at_ns;    /* begin of the burst of the last warm-up; it changes at a rest */
    atomic_int is_over, has_given_up;
    sem_t ended; /* posted by each party at the end of its part */
    struct order_log log;
    /* stamps of the round: low has the lock, high asks, low runs again, low is about to unlock,
     * high has the lock */
    _Atomic uint64_t locked, asked, ran, letting_go, got;
};

/* Ceiling for a mutex of protocol protect: high's priority. */
int inversion_ceiling(const struct run *run);

/* For `prepare`: one CPU, INVERSION_LEVELS priorities and `own_bytes` of memory. 0, or -1 with the
 * outcome. */
int inversion_prepare(struct run *run, size_t own_bytes);

/* Makes the locks, starts the threads and plays 8 warm-up rounds without medium's spinning, so that
 * page faults and the C library's first calls are over; then begins the first burst of a variant,
 * whose rounds take at least what medium spins. 0, or -1 with the outcome and nothing left open. */
int inversion_begin(struct inversion *scenario, struct run *run,
                    const struct inversion_setup *setup);

/* Plays one round; returns when all threads are at their gates. A round that the watchdog ended is
 * repeated up to INVERSION_ATTEMPTS - 1 times (event `round_repeated`). The log and the stamps are
 * those of the last attempt. False if the watchdog ended all attempts: a lock-up. If a thread's
 * priority cannot be changed or restored, the outcome says so and the test ends. */
bool inversion_round(struct inversion *scenario);

/* Plays warm-up rounds if the test has rested (run/run.h) since the last ones: caches are cold
 * after a rest, and the CPU frequency may be low. */
void inversion_warm_up(struct inversion *scenario);

/* Time since the start of the measurement, in ns, at which high got the lock in the last round. */
int64_t inversion_got_at_ns(const struct inversion *scenario);

/* Whether the stamps of the last round are in the order of the scenario: high asked while low had
 * the lock, and low ran again before it unlocked; with a ceiling, high asked only after that. If
 * not, the times between them must not be used. */
bool inversion_took_place(const struct inversion *scenario);

/* Reports a round that did not take place, or that the watchdog ended (!is_in_time), and sets the
 * outcome; `test`: the test that the remedy names. -1. */
int inversion_refuse(const struct inversion *scenario, struct run *run, bool is_in_time,
                     const char *test);

void inversion_close(struct inversion *scenario);

/* Plays up to `most` rounds of a logged scenario; the log is that of the last one. Stops at a
 * lock-up, and at the first round that is not in the order that POSIX promises for the kind, if it
 * promises one. Rounds in which a limit expired or the CPU was taken are repeated
 * (event `round_repeated`). If the repeats decide nothing, or after throttling,
 * it sets the outcome and asks the test to end; there is no verdict then, and neither where high
 * never waited (inversion_verdict). Calls `each` (may be
 * NULL) after each round that counts, with !is_in_time for a lock-up. Returns whether the inversion
 * was avoided in all rounds. */
bool inversion_rounds(struct inversion *scenario, struct run *run, int most,
                      void (*each)(struct run *run, bool is_in_time));

/* Whether high was done before medium ran, by the log. */
bool inversion_was_avoided(struct inversion *scenario);

/* The order that POSIX promises for inherit or protect, in the words of the log. */
const char *inversion_promise(const struct inversion_setup *setup);

/* The verdict `name` after inversion_rounds: whether the order is the promised one. If high never
 * had to wait, the event not_seen instead. */
void inversion_verdict(struct inversion *scenario, struct run *run, const char *name);

#endif

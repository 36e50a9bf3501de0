/* Which rounds of MUT-B-ARC and MUT-B-INV count, and which are repeated.
 *
 * The order of threads on one CPU follows from their priorities, except for two time limits: the
 * watchdog's, and that of a high that gives up waiting. If a host stops the machine for a while,
 * both expire and the order changes without any fault of the system under test. A lock-up locks up
 * in each repeat, a host is rarely late each time. So a round in which a limit expired is repeated,
 * each time with twice the limits. A round from which the CPU was taken is repeated too, with the
 * same limits. */
#ifndef HS_FAMILY_MUTEX_INVERSION_REPEAT_H
#define HS_FAMILY_MUTEX_INVERSION_REPEAT_H

/* Attempts at a round in which a limit expires; repeats in a claim because the CPU was taken. */
enum { INVERSION_ATTEMPTS = 3, INVERSION_DISTURBED = 20 };

enum inversion_end {
    INVERSION_GOOD,
    INVERSION_BAD,               /* another order, and no limit expired */
    INVERSION_ENDED_BY_WATCHDOG, /* not good: the watchdog raised low */
    INVERSION_OUT_OF_PATIENCE,   /* not good: high timed out too early, or low went on too early */
    INVERSION_DISTURBED_BAD,     /* not good, and the CPU was taken from the threads meanwhile */
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
};

/* What to do with a round that ended like this. Counts the repeats; starts counting anew when a
 * round is not repeated. */
enum inversion_answer inversion_answer(struct inversion_repeats *repeats, enum inversion_end end);

/* Factor of the next attempt's limits: 1, 2 or 4. */
int inversion_scale(const struct inversion_repeats *repeats);

#endif

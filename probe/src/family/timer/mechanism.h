/* The ways in which a POSIX system tells a thread that time has passed, behind one
 * interface: what TMR-P-JIT and TMR-B-EDGE compare. */
#ifndef HS_TIMER_MECHANISM_H
#define HS_TIMER_MECHANISM_H

#include "base/posix_source.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum timer_kind { TIMER_SIGNAL, TIMER_NANOSLEEP, TIMER_TIMERFD, TIMER_SETITIMER, TIMER_KINDS };

/* An armed timer. */
struct timer_armed {
    enum timer_kind kind;
    int64_t base_ns;        /* first expiry, CLOCK_MONOTONIC */
    int64_t uncertainty_ns; /* the true first expiry lies in base_ns .. + uncertainty_ns */
    int64_t period_ns;      /* 0: once */
    uint64_t served;        /* expirations told so far */
    bool has_served_ahead;  /* setitimer: signals of expirations already told may still come */
    timer_t timer;
    int descriptor;
};

/* "timer" (POSIX timer, real-time signal taken with sigwaitinfo; Obenland's),
 * "nanosleep" (clock_nanosleep, absolute), "timerfd", "setitimer" (HP's). */
extern const char *const timer_kind_names[TIMER_KINDS + 1];

/* Whether the kernel itself counts the expirations that were not served; where it does
 * not, they are derived from the time. */
bool timer_counts_overruns(enum timer_kind kind);

/* Whether a timer of this kind can be armed once, left alone and disarmed. */
bool timer_is_object(enum timer_kind kind);

/* Arms for `start_ns` (a time of CLOCK_MONOTONIC) and every `period_ns` after. 0 or
 * errno: ENOTSUP where the system has no such timer. The caller blocks the signals. */
int timer_arm(struct timer_armed *timer, enum timer_kind kind, int64_t start_ns, int64_t period_ns);

/* Blocks until expirations are due, at most `timeout_ns` (< 0: no limit). Returns how
 * many have passed since the last call (0: time-out), or -1 with errno. `now_ns` is the
 * time at which the thread ran again. */
int64_t timer_wait(struct timer_armed *timer, int64_t timeout_ns, int64_t *now_ns);

/* No expiry after it returns; what had already been queued is thrown away. 0 or errno. */
int timer_disarm(struct timer_armed *timer);

/* Frees the timer. */
void timer_release(struct timer_armed *timer);

#endif

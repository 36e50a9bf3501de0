/* The timer mechanisms of a POSIX system behind one interface, for TMR-P-JIT, TMR-B-EDGE and
 * CLK-B-RES. */
#ifndef HS_FAMILY_SHARED_TIMER_MECHANISM_H
#define HS_FAMILY_SHARED_TIMER_MECHANISM_H

#include "base/posix_source.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum timer_kind {
    TIMER_HANDLER,
    TIMER_SIGWAITINFO,
    TIMER_NANOSLEEP,
    TIMER_TIMERFD,
    TIMER_SETITIMER,
    TIMER_KINDS
};

/* What the handler of a POSIX timer's signal leaves for the thread that waits, on which it runs.
 * Only that thread reads and writes it, since the signal is blocked outside of its wait. */
struct timer_handler {
    timer_t timer;           /* set by the caller before the timer is armed */
    volatile int64_t count;  /* expirations not yet returned by mechanism_wait */
    volatile int64_t now_ns; /* CLOCK_MONOTONIC, the handler's first act */
    volatile int error;      /* errno value of timer_getoverrun */
    int number;              /* of the signal */
    sigset_t while_waiting;  /* the thread's mask without the signal */
    bool is_installed;
    struct sigaction before;
};

/* An armed timer. It must stay where it is until it is released. */
struct timer_armed {
    enum timer_kind kind;
    int64_t base_ns;        /* first expiry, CLOCK_MONOTONIC */
    int64_t uncertainty_ns; /* the true first expiry is in base_ns .. + uncertainty_ns */
    int64_t period_ns;      /* 0: one-shot */
    uint64_t served;        /* expirations returned so far */
    bool has_served_ahead;  /* setitimer: signals of expirations already returned may still come */
    timer_t timer;
    struct timer_handler handler;
    int descriptor;
};

/* "timer-handler" (POSIX timer whose SIGRTMIN runs a handler; Obenland's), "timer-sigwaitinfo" (the
 * same signal taken with sigwaitinfo), "nanosleep" (clock_nanosleep, absolute), "timerfd",
 * "setitimer" (HP's). NULL-terminated. */
extern const char *const mechanism_names[TIMER_KINDS + 1];

/* All of them, for the default of a parameter, and what they are. */
#define MECHANISM_ALL "timer-handler,timer-sigwaitinfo,nanosleep,timerfd,setitimer"
#define MECHANISM_ABOUT                                                                            \
    "POSIX timer whose SIGRTMIN runs a handler, or is taken with sigwaitinfo; clock_nanosleep "    \
    "absolute; timerfd; setitimer"

/* Whether the kernel counts missed expirations. If not, they are derived from the time. */
bool mechanism_counts_overruns(enum timer_kind kind);

/* Whether the kind is a timer that can be armed as a one-shot and disarmed; a sleep is not. */
bool mechanism_is_object(enum timer_kind kind);

/* Arms the timer for `start_ns` (CLOCK_MONOTONIC) and every `period_ns` after that (0: one-shot).
 * All threads must have blocked the signals. 0 or an errno value: ENOTSUP or ENOSYS, the system has
 * no such timer; EINVAL, setitimer cannot take a period that is not in whole microseconds. */
int mechanism_arm(struct timer_armed *timer, enum timer_kind kind, int64_t start_ns,
                  int64_t period_ns);

/* Blocks until the timer expires, at most `timeout_ns` (< 0: no limit; a sleep ignores it). Returns
 * the number of expirations since the last call (0: time-out), or -1 with errno. `now_ns`:
 * CLOCK_MONOTONIC when the thread ran again; with a handler, its first act. */
int64_t mechanism_wait(struct timer_armed *timer, int64_t timeout_ns, int64_t *now_ns);

/* Disarms the timer and drops pending signals: no expiration after it returns. 0 or an errno
 * value. */
int mechanism_disarm(struct timer_armed *timer);

/* Disarms and deletes the timer, and restores the action of its signal. */
void mechanism_release(struct timer_armed *timer);

#endif

/* The wait for a POSIX timer whose signal runs a handler on the waiting thread. */
#ifndef HS_FAMILY_SHARED_TIMER_HANDLER_H
#define HS_FAMILY_SHARED_TIMER_HANDLER_H

#include "base/posix_source.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What the handler tells. Only the thread that waits reads and writes it, since the signal is
 * blocked outside of its wait. */
struct timer_handler {
    timer_t timer;           /* set by the caller before the timer is armed */
    volatile int64_t count;  /* expirations not yet returned by handler_wait */
    volatile int64_t now_ns; /* CLOCK_MONOTONIC, the handler's first act */
    volatile int error;      /* errno value of timer_getoverrun */
    int number;              /* of the signal */
    sigset_t while_waiting;  /* the thread's mask without the signal */
    bool is_installed;
    struct sigaction before;
};

/* Installs the handler of signal `number` and fills sigev_value of `event`, which must be that of
 * the timer. The signal is directed at the process: the caller and all other threads must have
 * blocked it, so that only handler_wait lets it through, on its own thread. `handler` must stay
 * where it is until handler_remove. 0 or an errno value. */
int handler_install(struct timer_handler *handler, int number, struct sigevent *event);

/* Blocks until the handler has run, at most `timeout_ns` (< 0: no limit). Returns the expirations
 * since the last call (0: time-out), or -1 with errno. `now_ns`: the handler's stamp, or the time
 * of the time-out. */
int64_t handler_wait(struct timer_handler *handler, int64_t timeout_ns, int64_t *now_ns);

/* Restores the signal's action, if it was installed. No signal of the timer may be pending. */
void handler_remove(struct timer_handler *handler);

#endif

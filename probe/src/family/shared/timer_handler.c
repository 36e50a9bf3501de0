#include "base/posix_source.h"

#include "family/shared/timer_handler.h"

#include "base/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/select.h>

/* The overrun count is that of the signal being delivered, so it is read before the next one can
 * be. Each timer has a queue entry of its own: a queue that is full loses no signal. Signals of
 * others (kill) are no expirations. */
static void on_expiry(int number, siginfo_t *info, void *context)
{
    int64_t now_ns = clock_monotonic_ns();
    (void)number, (void)context;
    if (info->si_code != SI_TIMER)
        return;
    int error_before = errno;
    struct timer_handler *handler = info->si_value.sival_ptr;
    int overruns = timer_getoverrun(handler->timer);
    handler->now_ns = now_ns;
    handler->count += 1 + overruns;
    if (overruns < 0)
        handler->error = errno;
    errno = error_before;
}

int handler_install(struct timer_handler *handler, int number, struct sigevent *event)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_expiry;
    action.sa_flags = SA_SIGINFO; /* no SA_RESTART: pselect must end */
    sigfillset(&action.sa_mask);
    int error = pthread_sigmask(SIG_BLOCK, NULL, &handler->while_waiting);
    if (error)
        return error;
    sigdelset(&handler->while_waiting, number);
    if (sigaction(number, &action, &handler->before) != 0)
        return errno;
    handler->is_installed = true;
    handler->number = number;
    event->sigev_value.sival_ptr = handler;
    return 0;
}

/* Unblocks the signal and sleeps, in one step: one that is pending already ends the sleep. */
static void sleep_once(const struct timer_handler *handler, int64_t left_ns)
{
    if (left_ns < 0) {
        sigsuspend(&handler->while_waiting);
        return;
    }
    struct timespec left = clock_ns_timespec(left_ns);
    pselect(0, NULL, NULL, NULL, &left, &handler->while_waiting);
}

/* Sleeps again after a signal that was no expiry. Returns the time. */
static int64_t sleep_until_run(const struct timer_handler *handler, int64_t timeout_ns)
{
    int64_t now_ns = timeout_ns < 0 ? 0 : clock_monotonic_ns();
    int64_t until_ns = now_ns + timeout_ns;
    do {
        sleep_once(handler, timeout_ns < 0 ? -1 : until_ns - now_ns);
        now_ns = clock_monotonic_ns();
    } while (handler->count == 0 && handler->error == 0 && (timeout_ns < 0 || now_ns < until_ns));
    return now_ns;
}

/* A system may run the handler twice before the wait ends. Both expirations then have the later
 * stamp, so that none appears early. */
int64_t handler_wait(struct timer_handler *handler, int64_t timeout_ns, int64_t *now_ns)
{
    int64_t slept_until_ns = sleep_until_run(handler, timeout_ns);
    int64_t count = handler->count;
    errno = handler->error;
    *now_ns = count > 0 ? handler->now_ns : slept_until_ns;
    handler->count = 0;
    return handler->error ? -1 : count;
}

void handler_remove(struct timer_handler *handler)
{
    if (handler->is_installed)
        sigaction(handler->number, &handler->before, NULL);
    handler->is_installed = false;
}

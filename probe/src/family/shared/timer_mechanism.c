#include "base/posix_source.h"

#include "family/shared/timer_mechanism.h"

#include "base/clock.h"
#include "port/port.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- the wait for a signal that runs a handler ---- */

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

/* Installs the handler of signal `number` and fills sigev_value of `event`, which must be that of
 * the timer. The signal is directed at the process: the caller and all other threads must have
 * blocked it, so that only handler_wait lets it through, on its own thread. `handler` must stay
 * where it is until handler_remove. 0 or an errno value. */
static int handler_install(struct timer_handler *handler, int number, struct sigevent *event)
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
static int64_t handler_wait(struct timer_handler *handler, int64_t timeout_ns, int64_t *now_ns)
{
    int64_t slept_until_ns = sleep_until_run(handler, timeout_ns);
    int64_t count = handler->count;
    errno = handler->error;
    *now_ns = count > 0 ? handler->now_ns : slept_until_ns;
    handler->count = 0;
    return handler->error ? -1 : count;
}

/* Restores the signal's action, if it was installed. No signal of the timer may be pending. */
static void handler_remove(struct timer_handler *handler)
{
    if (handler->is_installed)
        sigaction(handler->number, &handler->before, NULL);
    handler->is_installed = false;
}

/* ---- the mechanisms ---- */

const char *const mechanism_names[TIMER_KINDS + 1] = {
    "timer-handler", "timer-sigwaitinfo", "nanosleep", "timerfd", "setitimer", NULL};

static bool is_posix_timer(enum timer_kind kind)
{
    return kind == TIMER_HANDLER || kind == TIMER_SIGWAITINFO;
}

bool mechanism_counts_overruns(enum timer_kind kind)
{
    return is_posix_timer(kind) || kind == TIMER_TIMERFD;
}

bool mechanism_is_object(enum timer_kind kind)
{
    return kind != TIMER_NANOSLEEP;
}

static int signal_of(enum timer_kind kind)
{
    return is_posix_timer(kind) ? SIGRTMIN : SIGALRM;
}

static int start_posix_timer(struct timer_armed *timer, struct sigevent *event)
{
    if (timer_create(CLOCK_MONOTONIC, event, &timer->timer) != 0)
        return errno;
    timer->handler.timer = timer->timer;
    struct itimerspec when;
    when.it_value = clock_ns_timespec(timer->base_ns);
    when.it_interval = clock_ns_timespec(timer->period_ns);
    if (timer_settime(timer->timer, TIMER_ABSTIME, &when, NULL) == 0)
        return 0;
    int error = errno;
    timer_delete(timer->timer);
    return error;
}

static int arm_posix_timer(struct timer_armed *timer)
{
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal_of(timer->kind);
    int error = 0;
    if (timer->kind == TIMER_HANDLER)
        error = handler_install(&timer->handler, event.sigev_signo, &event);
    if (!error)
        error = start_posix_timer(timer, &event);
    if (error)
        handler_remove(&timer->handler);
    return error;
}

static struct timeval to_timeval(int64_t ns)
{
    return (struct timeval){.tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
                            .tv_usec = (suseconds_t)(ns % CLOCK_NS_PER_S / 1000)};
}

/* setitimer takes no absolute time: the first expiry is uncertain by the length of the arming
 * call. */
static int arm_itimer(struct timer_armed *timer)
{
    int64_t before_ns = clock_monotonic_ns();
    int64_t wait_ns = (timer->base_ns - before_ns + 999) / 1000 * 1000;
    if (wait_ns < 1000)
        wait_ns = 1000;
    struct itimerval when = {.it_value = to_timeval(wait_ns),
                             .it_interval = to_timeval(timer->period_ns)};
    if (timer->period_ns % 1000 != 0)
        return EINVAL;
    if (setitimer(ITIMER_REAL, &when, NULL) != 0)
        return errno;
    timer->base_ns = before_ns + wait_ns;
    timer->uncertainty_ns = clock_monotonic_ns() - before_ns;
    return 0;
}

int mechanism_arm(struct timer_armed *timer, enum timer_kind kind, int64_t start_ns,
                  int64_t period_ns)
{
    memset(timer, 0, sizeof *timer);
    timer->kind = kind;
    timer->base_ns = start_ns;
    timer->period_ns = period_ns;
    timer->descriptor = -1;
    if (is_posix_timer(kind))
        return arm_posix_timer(timer);
    if (kind == TIMER_SETITIMER)
        return arm_itimer(timer);
    if (kind == TIMER_TIMERFD) {
        timer->descriptor = port_event_timer_open(start_ns, period_ns);
        return timer->descriptor < 0 ? errno : 0;
    }
    return HS_HAS_CLOCK_NANOSLEEP ? 0 : ENOSYS;
}

/* Waits for the timer's signal: 1 if it came, 0 time-out, -1 error. */
static int wait_signal(const struct timer_armed *timer, int64_t timeout_ns)
{
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, signal_of(timer->kind));
    int number;
    do {
        if (timeout_ns < 0) {
            number = sigwaitinfo(&wanted, NULL);
        } else {
            struct timespec timeout = clock_ns_timespec(timeout_ns);
            number = sigtimedwait(&wanted, NULL, &timeout);
        }
    } while (number < 0 && errno == EINTR);
    return number > 0 ? 1 : errno == EAGAIN ? 0 : -1;
}

/* The first expiry that was not yet returned. */
static int64_t next_ns_of(const struct timer_armed *timer)
{
    return timer->base_ns + (int64_t)timer->served * timer->period_ns;
}

/* Expirations due at `now_ns` that were not yet returned. A one-shot or an early wake-up counts as
 * one; the caller sees how early it was. */
static int64_t due_by_time(const struct timer_armed *timer, int64_t now_ns)
{
    int64_t next_ns = next_ns_of(timer);
    if (timer->period_ns == 0 || now_ns < next_ns + timer->period_ns)
        return 1;
    return (now_ns - next_ns) / timer->period_ns + 1;
}

static int64_t wait_nanosleep(const struct timer_armed *timer, int64_t *now_ns)
{
    struct timespec next = clock_ns_timespec(next_ns_of(timer));
    int error;
    while ((error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL)) == EINTR)
        ;
    *now_ns = clock_monotonic_ns();
    errno = error;
    return error ? -1 : due_by_time(timer, *now_ns);
}

/* Of the clock's timers, which expire up to a resolution after they are due; getitimer is as
 * coarse.
 */
static int64_t timer_resolution_ns(void)
{
    struct timespec resolution;
    return clock_getres(CLOCK_REALTIME, &resolution) == 0 ? clock_timespec_ns(&resolution) : 0;
}

/* Whether the kernel's timer is set for an expiry after the last one returned: all earlier signals
 * have then been sent. The clock does not show that, because the timer interrupt may be late. Linux
 * re-arms the timer when its signal is taken, other systems in the interrupt: getitimer returns 0
 * while it is not armed, and at most 1 us while its interrupt is late. */
static bool is_set_ahead(const struct timer_armed *timer)
{
    struct itimerval left;
    int64_t last_told_ns = next_ns_of(timer) - timer->period_ns;
    int64_t coarse_ns = 2 * timer_resolution_ns();
    int64_t before_ns = clock_monotonic_ns();
    if (getitimer(ITIMER_REAL, &left) != 0)
        return false;
    int64_t left_ns = left.it_value.tv_sec * CLOCK_NS_PER_S + left.it_value.tv_usec * 1000;
    return left_ns > 1000 && before_ns + left_ns > last_told_ns + timer->uncertainty_ns + coarse_ns;
}

/* The signal of setitimer carries no count: the number of expirations is derived from the time. An
 * expiry between taking a signal and reading the clock is counted by that reading, but its own
 * signal comes later, when the timer interrupt does. Taken for the next expiry it would be early by
 * a period. So after a reading that counted several, signals before the next expiry are dropped
 * until the timer is set for an expiry not yet returned and no signal is pending. At other times a
 * signal before the expiry is early, and counts. */
static int64_t wait_itimer(struct timer_armed *timer, int64_t timeout_ns, int64_t *now_ns)
{
    int64_t next_ns = next_ns_of(timer);
    for (;;) {
        bool is_all_sent = timer->has_served_ahead && is_set_ahead(timer);
        int got = wait_signal(timer, is_all_sent ? 0 : timeout_ns);
        *now_ns = clock_monotonic_ns();
        if (got > 0 && (!timer->has_served_ahead || *now_ns >= next_ns))
            break;
        if (got < 0 || (got == 0 && !is_all_sent))
            return got;
        if (got == 0)
            timer->has_served_ahead = false;
    }
    int64_t count = due_by_time(timer, *now_ns);
    if (count > 1)
        timer->has_served_ahead = true;
    return count;
}

static int64_t wait_posix_timer(const struct timer_armed *timer, int64_t timeout_ns,
                                int64_t *now_ns)
{
    int got = wait_signal(timer, timeout_ns);
    *now_ns = clock_monotonic_ns();
    if (got <= 0)
        return got;
    int overruns = timer_getoverrun(timer->timer);
    return overruns < 0 ? -1 : 1 + overruns;
}

int64_t mechanism_wait(struct timer_armed *timer, int64_t timeout_ns, int64_t *now_ns)
{
    int64_t count;
    if (timer->kind == TIMER_NANOSLEEP) {
        count = wait_nanosleep(timer, now_ns);
    } else if (timer->kind == TIMER_TIMERFD) {
        count = port_event_timer_wait(timer->descriptor, timeout_ns);
        *now_ns = clock_monotonic_ns();
    } else if (timer->kind == TIMER_SETITIMER) {
        count = wait_itimer(timer, timeout_ns, now_ns);
    } else if (timer->kind == TIMER_HANDLER) {
        count = handler_wait(&timer->handler, timeout_ns, now_ns);
    } else {
        count = wait_posix_timer(timer, timeout_ns, now_ns);
    }
    if (count > 0)
        timer->served += (uint64_t)count;
    return count;
}

static int stop_signals(struct timer_armed *timer)
{
    if (is_posix_timer(timer->kind)) {
        struct itimerspec never;
        memset(&never, 0, sizeof never);
        return timer_settime(timer->timer, 0, &never, NULL) == 0 ? 0 : errno;
    }
    struct itimerval never;
    memset(&never, 0, sizeof never);
    return setitimer(ITIMER_REAL, &never, NULL) == 0 ? 0 : errno;
}

static void drop_signals(const struct timer_armed *timer)
{
    while (wait_signal(timer, 0) > 0)
        ;
}

int mechanism_disarm(struct timer_armed *timer)
{
    if (timer->kind == TIMER_NANOSLEEP)
        return 0;
    if (timer->kind == TIMER_TIMERFD)
        return port_event_timer_disarm(timer->descriptor) == 0 ? 0 : errno;
    int error = stop_signals(timer);
    drop_signals(timer);
    return error;
}

/* Drop signals again after the timer is deleted: a signal taken later would point to a handler that
 * no longer exists. */
static void delete_posix_timer(struct timer_armed *timer)
{
    timer_delete(timer->timer);
    drop_signals(timer);
    handler_remove(&timer->handler);
}

void mechanism_release(struct timer_armed *timer)
{
    mechanism_disarm(timer);
    if (is_posix_timer(timer->kind))
        delete_posix_timer(timer);
    if (timer->descriptor >= 0)
        close(timer->descriptor);
}

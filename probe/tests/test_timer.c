/* The timer mechanisms: the expirations that each counts match the clock. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "family/shared/timer_mechanism.h"
#include "tap.h"

#include <signal.h>
#include <unistd.h>

enum { EXPIRATIONS = 60, STALL_EVERY = 10 };

#define PERIOD_NS INT64_C(2000000)
#define STALL_NS INT64_C(9000000)
#define AHEAD_NS INT64_C(5000000)
#define QUIET_NS INT64_C(40000000)
#define GIVE_UP_NS INT64_C(3600000000000)

static struct timer_armed timer;
static int64_t now_ns; /* when the latest wait ended */

static int64_t wait_for(int64_t timeout_ns)
{
    return mechanism_wait(&timer, timeout_ns, &now_ns);
}

static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* False when the mechanism is not on this system. */
static bool arm(enum timer_kind kind, int64_t period_ns)
{
    block_signals();
    int error = mechanism_arm(&timer, kind, clock_monotonic_ns() + AHEAD_NS, period_ns);
    if (error == ENOTSUP || error == ENOSYS)
        return false;
    return CHECK_SAME(error, 0);
}

static int64_t passed(int64_t base_ns, int64_t at_ns)
{
    return at_ns < base_ns ? 0 : (at_ns - base_ns) / timer.period_ns + 1;
}

static void stall(void)
{
    int64_t until_ns = clock_monotonic_ns() + STALL_NS;
    while (clock_monotonic_ns() < until_ns)
        ;
}

TEST(kinds_that_count_overruns)
{
    static const bool counts[TIMER_KINDS] = {
        [TIMER_HANDLER] = true, [TIMER_SIGWAITINFO] = true, [TIMER_TIMERFD] = true};
    for (int kind = 0; kind < TIMER_KINDS; kind++) {
        tap_row(mechanism_names[kind]);
        CHECK_SAME(mechanism_counts_overruns((enum timer_kind)kind), counts[kind]);
    }
}

/* A test of each kind of timer. */
#define KIND_TEST(what)                                                                            \
    static void check_##what(enum timer_kind kind);                                                \
    TEST(what)                                                                                     \
    {                                                                                              \
        for (int kind = 0; kind < TIMER_KINDS; kind++) {                                           \
            tap_row(mechanism_names[kind]);                                                        \
            check_##what((enum timer_kind)kind);                                                   \
        }                                                                                          \
    }                                                                                              \
    static void check_##what(enum timer_kind kind)

/* After each wait: served is at least what had passed before it, at most what has passed
 * after it; and no wait ends early. */
KIND_TEST(served)
{
    int64_t waits = 0, told = 0;
    if (!arm(kind, PERIOD_NS))
        return;
    while (timer.served < EXPIRATIONS) {
        if (++waits % STALL_EVERY == 0)
            stall();
        int64_t before_ns = clock_monotonic_ns();
        int64_t count = wait_for(kind == TIMER_NANOSLEEP ? -1 : GIVE_UP_NS);
        if (!CHECK(count > 0))
            break;
        told += count;
        CHECK_SAME(timer.served, told);
        CHECK(told >= passed(timer.base_ns + timer.uncertainty_ns, before_ns));
        CHECK(told <= passed(timer.base_ns, now_ns));
        CHECK(now_ns <= clock_monotonic_ns());
    }
    CHECK(told > waits); /* the stalls swallowed some */
    mechanism_release(&timer);
}

KIND_TEST(one_shot)
{
    if (!arm(kind, 0))
        return;
    CHECK_SAME(wait_for(GIVE_UP_NS), 1);
    CHECK(now_ns >= timer.base_ns);
    if (mechanism_is_object(kind))
        CHECK_SAME(wait_for(QUIET_NS), 0);
    CHECK_SAME(timer.served, 1);
    mechanism_release(&timer);
}

/* Also what had come while nobody waited is thrown away. */
KIND_TEST(disarm)
{
    if (!mechanism_is_object(kind) || !arm(kind, PERIOD_NS))
        return;
    CHECK(wait_for(GIVE_UP_NS) > 0);
    stall();
    CHECK_SAME(mechanism_disarm(&timer), 0);
    CHECK_SAME(wait_for(QUIET_NS), 0);
    CHECK_SAME(mechanism_disarm(&timer), 0);
    mechanism_release(&timer);
}

KIND_TEST(time_out)
{
    int64_t from_ns = clock_monotonic_ns();
    block_signals();
    if (!mechanism_is_object(kind) ||
        mechanism_arm(&timer, kind, from_ns + GIVE_UP_NS, PERIOD_NS) != 0)
        return;
    CHECK_SAME(wait_for(QUIET_NS), 0);
    CHECK(now_ns - from_ns >= QUIET_NS);
    CHECK_SAME(timer.served, 0);
    mechanism_release(&timer);
}

KIND_TEST(again_after_release)
{
    for (int i = 0; i < 5; i++) {
        if (!arm(kind, PERIOD_NS))
            return;
        CHECK(wait_for(GIVE_UP_NS) > 0);
        mechanism_release(&timer);
    }
}

static void on_others(int number)
{
    (void)number;
}

TEST(action_and_mask_are_restored)
{
    struct sigaction mine = {.sa_handler = on_others}, found;
    sigset_t mask;
    sigemptyset(&mine.sa_mask);
    sigaction(SIGRTMIN, &mine, NULL);
    if (!arm(TIMER_HANDLER, PERIOD_NS))
        return;
    CHECK(wait_for(-1) > 0);
    CHECK(wait_for(GIVE_UP_NS) > 0);
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    CHECK_SAME(sigismember(&mask, SIGRTMIN), 1);
    stall();
    mechanism_release(&timer);
    sigaction(SIGRTMIN, NULL, &found);
    CHECK(found.sa_handler == on_others);
    signal(SIGRTMIN, SIG_DFL);
    sigpending(&mask);
    CHECK_SAME(sigismember(&mask, SIGRTMIN), 0);
}

/* Pending before the wait, as if somebody had sent it. */
TEST(a_signal_of_others_is_no_expiry)
{
    block_signals();
    if (mechanism_arm(&timer, TIMER_HANDLER, clock_monotonic_ns() + GIVE_UP_NS, PERIOD_NS) != 0)
        return;
    kill(getpid(), SIGRTMIN);
    CHECK_SAME(wait_for(QUIET_NS), 0);
    CHECK_SAME(timer.served, 0);
    mechanism_release(&timer);
}

TEST(periods_that_setitimer_cannot)
{
    CHECK_SAME(mechanism_arm(&timer, TIMER_SETITIMER, clock_monotonic_ns() + AHEAD_NS, 1500),
               EINVAL);
}

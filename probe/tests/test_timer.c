/* The timer mechanisms: the expirations that each counts match the clock. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "family/shared/timer_mechanism.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

enum { EXPIRATIONS = 60, STALL_EVERY = 10 };

#define PERIOD_NS INT64_C(2000000)
#define STALL_NS INT64_C(9000000)
#define AHEAD_NS INT64_C(5000000)
#define QUIET_NS INT64_C(40000000)
#define GIVE_UP_NS INT64_C(5000000000)

static void block_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
}

/* False when the mechanism is not on this system. */
static bool arm(struct timer_armed *timer, enum timer_kind kind, int64_t period_ns)
{
    block_signals();
    int error = mechanism_arm(timer, kind, clock_monotonic_ns() + AHEAD_NS, period_ns);
    if (error == ENOTSUP || error == ENOSYS)
        return false;
    return CHECK_SAME(error, 0);
}

static int64_t passed(const struct timer_armed *timer, int64_t base_ns, int64_t at_ns)
{
    return at_ns < base_ns ? 0 : (at_ns - base_ns) / timer->period_ns + 1;
}

static void stall(void)
{
    int64_t until_ns = clock_monotonic_ns() + STALL_NS;
    while (clock_monotonic_ns() < until_ns)
        ;
}

/* After each wait: served is at least what had passed before it, at most what has passed
 * after it; and no wait ends early. */
static void check_served(enum timer_kind kind)
{
    struct timer_armed timer;
    int64_t now_ns = 0, waits = 0, told = 0;
    if (!arm(&timer, kind, PERIOD_NS))
        return;
    while (timer.served < EXPIRATIONS) {
        if (++waits % STALL_EVERY == 0)
            stall();
        int64_t before_ns = clock_monotonic_ns();
        int64_t count = mechanism_wait(&timer, kind == TIMER_NANOSLEEP ? -1 : GIVE_UP_NS, &now_ns);
        if (!CHECK(count > 0))
            break;
        told += count;
        CHECK_SAME(timer.served, told);
        CHECK(told >= passed(&timer, timer.base_ns + timer.uncertainty_ns, before_ns));
        CHECK(told <= passed(&timer, timer.base_ns, now_ns));
        CHECK(now_ns <= clock_monotonic_ns());
    }
    CHECK(told > waits); /* the stalls swallowed some */
    mechanism_release(&timer);
}

TEST(served_handler)
{
    check_served(TIMER_HANDLER);
}

TEST(served_sigwaitinfo)
{
    check_served(TIMER_SIGWAITINFO);
}

TEST(served_nanosleep)
{
    check_served(TIMER_NANOSLEEP);
}

TEST(served_timerfd)
{
    check_served(TIMER_TIMERFD);
}

TEST(served_setitimer)
{
    check_served(TIMER_SETITIMER);
}

TEST(one_shot)
{
    for (int kind = 0; kind < TIMER_KINDS; kind++) {
        struct timer_armed timer;
        int64_t now_ns;
        if (!arm(&timer, (enum timer_kind)kind, 0))
            continue;
        CHECK_SAME(mechanism_wait(&timer, GIVE_UP_NS, &now_ns), 1);
        CHECK(now_ns >= timer.base_ns);
        if (mechanism_is_object((enum timer_kind)kind))
            CHECK_SAME(mechanism_wait(&timer, QUIET_NS, &now_ns), 0);
        CHECK_SAME(timer.served, 1);
        mechanism_release(&timer);
    }
}

/* Also what had come while nobody waited is thrown away. */
TEST(disarm)
{
    for (int kind = 0; kind < TIMER_KINDS; kind++) {
        struct timer_armed timer;
        int64_t now_ns;
        if (!mechanism_is_object((enum timer_kind)kind) ||
            !arm(&timer, (enum timer_kind)kind, PERIOD_NS))
            continue;
        CHECK(mechanism_wait(&timer, GIVE_UP_NS, &now_ns) > 0);
        stall();
        CHECK_SAME(mechanism_disarm(&timer), 0);
        CHECK_SAME(mechanism_wait(&timer, QUIET_NS, &now_ns), 0);
        CHECK_SAME(mechanism_disarm(&timer), 0);
        mechanism_release(&timer);
    }
}

TEST(time_out)
{
    for (int kind = 0; kind < TIMER_KINDS; kind++) {
        struct timer_armed timer;
        int64_t now_ns = 0, from_ns = clock_monotonic_ns();
        block_signals();
        if (!mechanism_is_object((enum timer_kind)kind) ||
            mechanism_arm(&timer, (enum timer_kind)kind, from_ns + GIVE_UP_NS, PERIOD_NS) != 0)
            continue;
        CHECK_SAME(mechanism_wait(&timer, QUIET_NS, &now_ns), 0);
        CHECK(now_ns - from_ns >= QUIET_NS);
        CHECK_SAME(timer.served, 0);
        mechanism_release(&timer);
    }
}

TEST(again_after_release)
{
    for (int kind = 0; kind < TIMER_KINDS; kind++)
        for (int i = 0; i < 5; i++) {
            struct timer_armed timer;
            int64_t now_ns;
            if (!arm(&timer, (enum timer_kind)kind, PERIOD_NS))
                break;
            CHECK(mechanism_wait(&timer, GIVE_UP_NS, &now_ns) > 0);
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
    struct timer_armed timer;
    sigset_t mask;
    int64_t now_ns;
    sigemptyset(&mine.sa_mask);
    sigaction(SIGRTMIN, &mine, NULL);
    if (!arm(&timer, TIMER_HANDLER, PERIOD_NS))
        return;
    CHECK(mechanism_wait(&timer, -1, &now_ns) > 0);
    CHECK(mechanism_wait(&timer, GIVE_UP_NS, &now_ns) > 0);
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
    struct timer_armed timer;
    int64_t now_ns;
    block_signals();
    if (mechanism_arm(&timer, TIMER_HANDLER, clock_monotonic_ns() + GIVE_UP_NS, PERIOD_NS) != 0)
        return;
    kill(getpid(), SIGRTMIN);
    CHECK_SAME(mechanism_wait(&timer, QUIET_NS, &now_ns), 0);
    CHECK_SAME(timer.served, 0);
    mechanism_release(&timer);
}

TEST(periods_that_setitimer_cannot)
{
    struct timer_armed timer;
    CHECK_SAME(mechanism_arm(&timer, TIMER_SETITIMER, clock_monotonic_ns() + AHEAD_NS, 1500),
               EINVAL);
}

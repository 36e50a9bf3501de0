/* setitimer on a made-up system where every expiration is known: time passes while the caller
 * sleeps, between taking a signal and reading the clock, and at other readings. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "family/shared/timer_mechanism.h"
#include "tap.h"

#include <signal.h>
#include <sys/time.h>

enum { WAITS = 20000 };

#define PERIOD_NS INT64_C(100000)
#define AHEAD_NS INT64_C(5000000)

/* The system: its time, its timer, and how the time passes. */
static struct {
    int64_t now_ns;
    int64_t first_ns;    /* the true first expiry */
    int64_t sent;        /* expirations that have happened, also without a signal of their own */
    bool is_set;         /* for expiration `sent` */
    bool is_set_on_take; /* as Linux does it; else in the interrupt */
    bool is_pending;
    int64_t late_ns;  /* the interrupt of this expiration is so late */
    bool is_late;     /* at random */
    int64_t read_ns;  /* a reading of the clock takes so long */
    int64_t early_ns; /* the timer is wrong by so much */
    uint64_t random;
    bool is_random;
    int64_t stall_ns; /* once, at the next reading after a signal was taken */
    bool was_taken;
} fake;

/* What the kernel believes to be the time of expiration `sent`. */
static int64_t expiry_ns(void)
{
    return fake.first_ns + fake.sent * PERIOD_NS;
}

static int64_t interrupt_ns(void)
{
    return expiry_ns() - fake.early_ns + fake.late_ns;
}

/* Often by part of a period; at times so that the next expiry is near, or by several. */
static int64_t random_late_ns(void)
{
    uint64_t draw = tap_random(&fake.random);
    switch (draw % 8) {
    case 0:
        return (int64_t)(draw >> 8) % (3 * PERIOD_NS);
    case 1:
        return PERIOD_NS - (int64_t)(draw >> 8) % 1000;
    case 2:
        return 0;
    default:
        return (int64_t)(draw >> 8) % PERIOD_NS;
    }
}

/* Sets the timer for its first expiry after `at_ns`. */
static void set_after(int64_t at_ns)
{
    while (expiry_ns() - fake.early_ns <= at_ns)
        fake.sent++;
    fake.is_set = true;
    if (fake.is_late)
        fake.late_ns = random_late_ns();
}

static void interrupt(void)
{
    int64_t at_ns = interrupt_ns();
    fake.is_pending = true;
    fake.is_set = false;
    fake.sent++;
    if (!fake.is_set_on_take)
        set_after(at_ns);
}

static void pass(int64_t ns)
{
    fake.now_ns += ns;
    while (fake.is_set && interrupt_ns() <= fake.now_ns)
        interrupt();
}

/* Mostly nothing; at times about a period, or some; often close to an expiry. */
static int64_t random_stall_ns(void)
{
    uint64_t draw = tap_random(&fake.random);
    int64_t to_next_ns = expiry_ns() - fake.now_ns;
    switch (draw % 8) {
    case 0:
        return (int64_t)(draw >> 8) % (4 * PERIOD_NS);
    case 1:
        return to_next_ns - 500 + (int64_t)(draw >> 8) % 1000;
    case 2:
        return to_next_ns + PERIOD_NS - 500 + (int64_t)(draw >> 8) % 1000;
    default:
        return 0;
    }
}

static int64_t stall_ns(void)
{
    int64_t ns = fake.is_random && fake.first_ns > 0 ? random_stall_ns() : 0;
    if (fake.was_taken)
        ns += fake.stall_ns;
    fake.stall_ns = fake.was_taken ? 0 : fake.stall_ns;
    fake.was_taken = false;
    return ns > 0 ? ns : 0;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    pass(fake.read_ns + stall_ns());
    *time = clock_ns_timespec(fake.now_ns);
    return 0;
}

int setitimer(int which, const struct itimerval *wanted, struct itimerval *before)
{
    (void)which, (void)before;
    int64_t wait_ns = wanted->it_value.tv_sec * CLOCK_NS_PER_S + wanted->it_value.tv_usec * 1000;
    pass(200);
    fake.first_ns = wait_ns > 0 ? fake.now_ns + wait_ns : 0;
    fake.sent = 0;
    fake.is_set = wait_ns > 0;
    pass(100);
    return 0;
}

/* As Linux tells it: 0 while the timer is not set, 1 us while its interrupt is late. */
int getitimer(int which, struct itimerval *left)
{
    (void)which;
    pass(200);
    int64_t left_ns = expiry_ns() - fake.now_ns;
    memset(left, 0, sizeof *left);
    if (fake.is_set) {
        left->it_value.tv_sec = left_ns / CLOCK_NS_PER_S;
        left->it_value.tv_usec = left_ns <= 0 ? 1 : left_ns % CLOCK_NS_PER_S / 1000;
    }
    pass(100);
    return 0;
}

static int take(void)
{
    fake.is_pending = false;
    fake.was_taken = true;
    if (!fake.is_set)
        set_after(fake.now_ns);
    return SIGALRM;
}

int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    (void)set, (void)info;
    if (!fake.is_pending)
        pass(interrupt_ns() - fake.now_ns);
    return take();
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    (void)set, (void)info;
    int64_t left_ns = interrupt_ns() - fake.now_ns;
    int64_t timeout_ns = clock_timespec_ns(timeout);
    if (fake.is_pending)
        return take();
    if (fake.is_set && left_ns <= timeout_ns) {
        pass(left_ns);
        return take();
    }
    pass(timeout_ns);
    errno = EAGAIN;
    return -1;
}

static struct timer_armed timer;
static int64_t now_ns; /* that the last wait gave */

static bool arm(void)
{
    memset(&fake, 0, sizeof fake);
    fake.now_ns = 1000 * CLOCK_NS_PER_S;
    fake.read_ns = 30;
    CHECK_SAME(mechanism_arm(&timer, TIMER_SETITIMER, fake.now_ns + AHEAD_NS, PERIOD_NS), 0);
    CHECK(fake.first_ns >= timer.base_ns);
    return CHECK(fake.first_ns <= timer.base_ns + timer.uncertainty_ns);
}

#define ARMED_TEST(what) TEST_IN(arm(), (void)0, what)

static int64_t wait_one(void)
{
    return mechanism_wait(&timer, -1, &now_ns);
}

/* Each serves one, before its time or not. */
static void check_five_waits(bool is_early)
{
    for (int i = 0; i < 5; i++) {
        CHECK_SAME(wait_one(), 1);
        CHECK_SAME(now_ns < timer.base_ns + (int64_t)(timer.served - 1) * PERIOD_NS, is_early);
        CHECK_SAME(timer.served, fake.sent);
    }
}

static int64_t passed(int64_t base_ns, int64_t at_ns)
{
    return at_ns < base_ns ? 0 : (at_ns - base_ns) / PERIOD_NS + 1;
}

/* The interrupt of an expiry that the clock has told comes half a period after it. */
static void check_a_late_interrupt(bool is_set_on_take)
{
    arm();
    fake.is_set_on_take = is_set_on_take;
    fake.late_ns = PERIOD_NS / 2;
    CHECK_SAME(wait_one(), 1);
    fake.stall_ns = PERIOD_NS * 3 / 4;
    CHECK_SAME(wait_one(), 2);
    CHECK(!fake.is_pending);
    CHECK_SAME(fake.sent, 2);
    check_five_waits(false);
}

TEST(a_late_interrupt)
{
    check_a_late_interrupt(false);
    check_a_late_interrupt(true);
}

static void check_served(void)
{
    for (int i = 0; i < WAITS; i++) {
        int64_t before_ns = fake.now_ns;
        int64_t count = mechanism_wait(&timer, i % 2 ? -1 : 100 * PERIOD_NS, &now_ns);
        CHECK(count > 0);
        CHECK(now_ns >= timer.base_ns + (int64_t)(timer.served - 1) * PERIOD_NS);
        CHECK((int64_t)timer.served >= passed(timer.base_ns + timer.uncertainty_ns, before_ns));
        CHECK_SAME(timer.served, passed(timer.base_ns, now_ns));
    }
    CHECK(timer.served > WAITS);
}

ARMED_TEST(served_is_what_the_clock_says)
{
    fake.is_random = true;
    check_served();
}

TEST(served_with_late_interrupts)
{
    for (int on_take = 0; on_take < 2; on_take++) {
        arm();
        fake.is_random = fake.is_late = true;
        fake.is_set_on_take = on_take;
        check_served();
    }
}

/* A timer that is early is not to be hidden. */
ARMED_TEST(an_early_expiry_is_told)
{
    fake.early_ns = 2000;
    check_five_waits(true);
    fake.stall_ns = 3 * PERIOD_NS + PERIOD_NS / 2;
    CHECK(wait_one() > 1);
    check_five_waits(true);
}

ARMED_TEST(time_out_after_a_stall)
{
    fake.stall_ns = PERIOD_NS;
    CHECK_SAME(wait_one(), 2);
    CHECK_SAME(mechanism_wait(&timer, 1000, &now_ns), 0);
    CHECK_SAME(timer.served, 2);
    CHECK_SAME(mechanism_wait(&timer, PERIOD_NS, &now_ns), 1);
}

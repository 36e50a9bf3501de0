/* IRQ-S-SUS with sources that lose interrupts: what they lose is counted by name. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "port/port.h"

#include "child_run.h"
#include "tap.h"

enum { INTERRUPTS = 1000, LOSES = 10 };

enum source { REAL, LOSING, SILENT, REFUSED };
static enum source source;
static uint64_t calls;
static int64_t start_ns_, period_ns_, taken;

WRAP(int, port_interrupt_send, void)
{
    if (source == REFUSED)
        return EPERM;
    return source == LOSING && ++calls % LOSES == 0 ? 0 : __real_port_interrupt_send();
}

WRAP(int, port_event_timer_open_ready, int64_t start_ns, int64_t period_ns)
{
    start_ns_ = start_ns;
    period_ns_ = period_ns;
    taken = 0;
    if (source == REFUSED)
        return tap_fail(EMFILE);
    return __real_port_event_timer_open_ready(start_ns, source == REAL ? period_ns : 0);
}

/* Gives one expiry each time one is due; each LOSES-th time it waits for the next one and gives
 * both. */
WRAP(int64_t, port_event_timer_take, int descriptor)
{
    if (source == REAL)
        return __real_port_event_timer_take(descriptor);
    int64_t due = (clock_monotonic_ns() - start_ns_) / period_ns_ + 1 - taken;
    if (source == SILENT || due < 1)
        return 0;
    int64_t wanted = ++calls % LOSES == 0 ? 2 : 1;
    taken += wanted;
    return wanted;
}

/* The stream of a run of `of`: "source=ipi" or "source=timer". */
static const char *run_with(enum source kind, char *of)
{
    char *words[] = {
        "hardstone-probe",    "run", "IRQ-S-SUS",          "-p", of, "-p", "interrupts=1000", "-p",
        "period_min_ns=50us", "-p",  "period_max_ns=50us", NULL};
    source = kind;
    return child_run(words, NULL);
}

/* The search is not over, but a step is: what was measured is kept. */
TEST(a_length_that_is_over_after_a_step)
{
    char *words[] = {
        "hardstone-probe", "run", "IRQ-S-SUS",          "-p", "source=timer",       "-p",
        "interrupts=100",  "-p",  "period_min_ns=10us", "-p", "period_max_ns=50us", "--duration-ns",
        "5000000",         NULL};
    source = REAL;
    const char *text = child_run(words, NULL);
    if (!strstr(text, "\"sustained_step\"")) {
        tap_skip("no step was made in 5 ms: no right, or no such source here");
        return;
    }
    CHECK_HOLDS(text, "\"status\":\"measured\"");
}

static int64_t number_of(const char *text, const char *key)
{
    char word[64];
    snprintf(word, sizeof word, "\"%s\":", key);
    const char *step = strstr(text, "\"sustained_step\"");
    const char *found = step ? strstr(step, word) : NULL;
    return found ? strtoll(found + strlen(word), NULL, 10) : -1;
}

static bool can_run(const char *text)
{
    bool is_refused =
        strstr(text, "\"status\":\"denied\"") || strstr(text, "\"status\":\"unsupported\"");
    if (is_refused)
        tap_skip("no real-time scheduling, or no such source here");
    return !is_refused;
}

static void check_sum(const char *text)
{
    CHECK_SAME(number_of(text, "seen_count") + number_of(text, "lost_count") +
                   number_of(text, "merged_count") + number_of(text, "unwatched_count"),
               INTERRUPTS);
    CHECK_SAME(number_of(text, "interrupts_count"), INTERRUPTS);
}

/* Another interruption in the window of a send that is none hides it: seldom, but on a busy machine
 * no share can be promised. */
HOST_TEST_IN(tap_is_wrapped(), (void)0, lost_from_another_cpu)
{
    const char *text = run_with(LOSING, "source=ipi");
    if (!can_run(text))
        return;
    check_sum(text);
    CHECK(number_of(text, "lost_count") <= INTERRUPTS / LOSES);
    CHECK(number_of(text, "lost_count") > 0);
    CHECK_HOLDS(text, "\"passed\":false", "\"none_sustained\"");
}

/* Every LOSES-th take gives one that was not due while the CPU was gone: the instrument's. */
HOST_TEST_IN(tap_is_wrapped(), (void)0, not_armed_is_not_lost)
{
    const char *text = run_with(LOSING, "source=timer");
    if (!can_run(text))
        return;
    int64_t lost = number_of(text, "lost_count"), extra = number_of(text, "instrument_count");
    int64_t interrupts = number_of(text, "interrupts_count"), takes = interrupts - lost;
    CHECK_SAME(number_of(text, "seen_count") + number_of(text, "merged_count") +
                   number_of(text, "unwatched_count"),
               takes);
    CHECK_SAME(interrupts, INTERRUPTS);
    CHECK(lost + extra <= takes / LOSES); /* one that ends a burst has no other beside it */
    CHECK(lost + extra >= takes / LOSES * 8 / 10);
    CHECK(extra > 0);
    CHECK_HOLDS(text, "\"is_source_limited\":true", "\"passed\":false");
}

/* As on PREEMPT_RT, where expiries wait for a thread that does not run: no figure, and a reason. */
HOST_TEST_IN(tap_is_wrapped(), (void)0, a_timer_that_never_comes)
{
    const char *text = run_with(SILENT, "source=timer");
    if (!strstr(text, "\"sustained_not_sent\"") && !can_run(text))
        return;
    CHECK_HOLDS(text, "\"sustained_not_sent\"", "\"status\":\"unsupported\"");
    CHECK_LACKS(text, "\"sustained_step\"");
}

WRAP_TEST(calls_that_are_refused)
{
    static char *const names[] = {"source=ipi", "source=timer"};
    for (int i = 0; i < 2; i++) {
        const char *text = run_with(REFUSED, names[i]);
        if (strstr(text, "\"status\":\"denied\"") || strstr(text, "only one\""))
            tap_skip("no real-time scheduling, or one CPU");
        else
            CHECK(!strstr(text, "\"sustained_step\""));
    }
}

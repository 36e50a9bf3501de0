/* The CPU's own timer, by a descriptor that nobody reads while the interrupt is timed: it expires
 * on the CPU of the thread that arms it, and wakes no thread.
 *
 * On PREEMPT_RT the timer's own work is left to a thread of low priority, which does not run beside
 * one that spins; until it has run, no further timer of this kind interrupts the CPU. So each
 * interrupt is settled: the expiry is taken, which blocks until that thread has run. */
#include "base/posix_source.h"

#include "family/interrupt/source.h"

#include <errno.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(10000000)
#define NEVER_NS (INT64_C(1) << 62)

static int look(const struct run *run, struct outcome *outcome)
{
    (void)run;
    int timer = port_event_timer_open(NEVER_NS, 0);
    if (timer < 0)
        return outcome_set_errno(outcome, errno, "a timer that is a descriptor", NULL);
    close(timer);
    return 0;
}

static int open_line(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    (void)run;
    line->timer = port_event_timer_open(NEVER_NS, 0);
    if (line->timer < 0)
        return outcome_set_errno(outcome, errno, "a timer that is a descriptor", NULL);
    line->source = &interrupt_timer;
    return 0;
}

static int arm(const struct interrupt_line *line, int64_t at_ns)
{
    return port_event_timer_arm(line->timer, at_ns) == 0 ? 0 : errno;
}

static int settle(const struct interrupt_line *line)
{
    int64_t count = port_event_timer_wait(line->timer, PATIENCE_NS);
    if (count > 0)
        return 0;
    int error = count < 0 ? errno : ETIMEDOUT;
    (void)port_event_timer_disarm(line->timer);
    return error;
}

static void close_line(struct interrupt_line *line)
{
    close(line->timer);
    line->source = NULL;
}

const struct interrupt_source interrupt_timer = {
    .name = "timer",
    .look = look,
    .open = open_line,
    .arm = arm,
    .settle = settle,
    .close = close_line,
};

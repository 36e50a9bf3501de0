#include "base/posix_source.h"

#include "family/interrupt/sustained_step.h"

#include <errno.h>
#include <unistd.h>

enum { TURNS_TO_A_LOOK = 1024 };

#define MOST_BURST_NS INT64_C(500000000)
#define AHEAD_NS INT64_C(100000) /* of the first interrupt of a burst */
#define EARLY_NS INT64_C(5000)
#define PATIENCE_NS INT64_C(50000000) /* for the first expiry of a timer, beside its period */

bool sustained_is_source_limited(const struct sustained_counts *counts)
{
    return counts->source_late + counts->not_armed > counts->interrupts / SUSTAINED_SOURCE_PARTS;
}

bool sustained_is_passed(const struct sustained_step *step)
{
    const struct sustained_counts *counts = &step->match.counts;
    return counts->interrupts >= step->wanted_count && counts->lost == 0 &&
           !sustained_is_source_limited(counts);
}

static bool has_failed(const struct sustained_counts *counts)
{
    return counts->lost > 0 || sustained_is_source_limited(counts);
}

static uint64_t left_count(const struct sustained_step *step)
{
    uint64_t done = step->match.counts.interrupts;
    bool is_enough = done >= SUSTAINED_ENOUGH &&
                     done >= step->wanted_count / SUSTAINED_ENOUGH_PARTS &&
                     has_failed(&step->match.counts);
    return is_enough || done >= step->wanted_count ? 0 : step->wanted_count - done;
}

struct burst_plan {
    struct sustained_grid grid;
    int64_t start_ns;
    uint64_t count, until; /* interrupts; the reading at which the burst ends in any case */
};

/* Rests where the budget does not suffice, then plans a burst that begins soon. */
static struct burst_plan plan_burst(struct sustained_step *step)
{
    struct run *run = step->run;
    const struct clock *clock = &run->clock;
    int64_t burst_ns = run->rt_budget.burst_ns / 2;
    burst_ns = burst_ns < MOST_BURST_NS ? burst_ns : MOST_BURST_NS;
    rt_budget_rest_ahead(&run->rt_budget, burst_ns);
    uint64_t left = left_count(step), most = (uint64_t)(burst_ns / step->period_ns) + 1;
    run_anchor(run);
    uint64_t now = clock_ticks(clock);
    struct burst_plan plan = {
        .start_ns = clock_monotonic_ns() + AHEAD_NS,
        .count = left < most ? left : most,
        .until = now + clock_ticks_of_ns(clock, burst_ns + step->period_ns + AHEAD_NS),
    };
    plan.grid = (struct sustained_grid){now + clock_ticks_of_ns(clock, AHEAD_NS),
                                        clock_ticks_of_ns(clock, step->period_ns * 65536)};
    return plan;
}

static void note_gap(struct sustained_step *step, uint64_t begin, uint64_t end)
{
    sustained_match_gap(&step->match, begin, end);
    if (end - begin > step->longest_gap)
        step->longest_gap = end - begin;
}

static bool is_over(uint64_t now, const struct burst_plan *plan)
{
    return (int64_t)(now - plan->until) >= 0 || run_should_stop();
}

/* ---- sent from another CPU ---- */

/* Takes the sends that had returned by `now`: all gaps until then are known. */
static uint64_t take_sends(struct sustained_step *step, uint64_t taken, uint64_t now)
{
    struct sustained_sender *sender = step->sender;
    uint64_t sent = atomic_load_explicit(&sender->sent_count, memory_order_acquire);
    uint64_t before = taken;
    while (taken < sent) {
        const struct sustained_send *send = &sender->ring[taken % SUSTAINED_RING];
        if ((int64_t)(now - send->after - sender->skew) <= 0)
            break;
        sustained_match_send(&step->match, send);
        taken++;
    }
    if (taken != before)
        atomic_store_explicit(&sender->taken_count, taken, memory_order_release);
    return taken;
}

/* Spins until all of the burst are taken, or the sender has ended and what it sent is taken. */
static void watch_sends(struct sustained_step *step, const struct burst_plan *plan)
{
    struct sustained_sender *sender = step->sender;
    const struct clock *clock = &step->run->clock;
    int64_t threshold = (int64_t)step->threshold;
    uint64_t taken = 0, before = clock_ticks(clock);
    for (unsigned turn = 1; taken < plan->count; turn++) {
        uint64_t now = clock_ticks(clock);
        bool is_gap = (int64_t)(now - before) >= threshold;
        if (is_gap)
            note_gap(step, before, now);
        if (is_gap || turn % TURNS_TO_A_LOOK == 0) {
            bool has_ended = atomic_load_explicit(&sender->is_ended, memory_order_acquire);
            taken = take_sends(step, taken, now);
            if (has_ended && taken == atomic_load(&sender->sent_count))
                break;
            if (is_over(now, plan))
                atomic_store_explicit(&sender->is_cut, true, memory_order_relaxed);
        }
        before = now;
    }
}

static void run_sent_burst(struct sustained_step *step)
{
    struct burst_plan plan = plan_burst(step);
    sustained_sender_begin(step->sender, &plan.grid, plan.count);
    watch_sends(step, &plan);
    sustained_sender_wait(step->sender);
    step->error = step->sender->error;
}

/* ---- the CPU's own timer ---- */

struct expiries {
    int timer;
    uint64_t count; /* taken in this burst */
};

/* A gap that began longer before the expiry is another interruption's. A hypervisor takes the CPU
 * some microseconds before the timer is due, to be in time. */
static uint64_t early_ticks(const struct sustained_step *step)
{
    int64_t ns = step->period_ns / 2 < EARLY_NS ? step->period_ns / 2 : EARLY_NS;
    return clock_ticks_of_ns(&step->run->clock, ns);
}

/* Whether to look again at once: the next one came due in the take, or right before it, and has no
 * gap if it came in it. A timer that the host gives later is waited for. */
static bool is_due_in_take(const struct sustained_step *step, const struct burst_plan *plan,
                           const struct expiries *expiries, uint64_t begin)
{
    uint64_t due = sustained_due(&plan->grid, expiries->count);
    bool has_come_due = (int64_t)(clock_ticks(&step->run->clock) - due) >= 0;
    return has_come_due && (int64_t)(begin - due) < (int64_t)early_ticks(step);
}

/* Takes what has expired, and arms the timer by that. `gap`: the last one, NULL if none was seen
 * since the last take. Whether to take again at once. */
static bool take_expiries(struct sustained_step *step, const struct burst_plan *plan,
                          struct expiries *expiries, const struct gap *gap)
{
    uint64_t begin = clock_ticks(&step->run->clock);
    int64_t count = port_event_timer_take(expiries->timer);
    if (count < 0)
        step->error = errno;
    if (count > 0) {
        uint64_t most = plan->count - expiries->count, taken = (uint64_t)count;
        struct sustained_expiries found = {expiries->count, taken < most ? taken : most, gap};
        sustained_match_expiries(&step->match, &plan->grid, &found, early_ticks(step));
        expiries->count += found.count;
    }
    return is_due_in_take(step, plan, expiries, begin);
}

static bool has_never_come(const struct sustained_step *step, const struct burst_plan *plan,
                           const struct expiries *expiries, uint64_t now)
{
    uint64_t patience = clock_ticks_of_ns(&step->run->clock, PATIENCE_NS);
    return expiries->count == 0 && (int64_t)(now - sustained_due(&plan->grid, 1) - patience) > 0;
}

/* Takes after each gap, where the next one came due in a take, and where no gap was seen for two
 * periods. */
static void watch_timer(struct sustained_step *step, const struct burst_plan *plan,
                        struct expiries *expiries)
{
    const struct clock *clock = &step->run->clock;
    int64_t threshold = (int64_t)step->threshold;
    bool is_due = false;
    uint64_t before = clock_ticks(clock);
    for (unsigned turn = 1; expiries->count < plan->count && !step->error; turn++) {
        uint64_t now = clock_ticks(clock);
        struct gap gap = {before, now};
        bool is_gap = (int64_t)(now - before) >= threshold;
        bool is_missing = (int64_t)(now - sustained_due(&plan->grid, expiries->count + 1)) > 0;
        before = now;
        if (is_gap || is_missing || is_due) {
            if (is_gap)
                note_gap(step, gap.begin, gap.end);
            is_due = take_expiries(step, plan, expiries, is_gap ? &gap : NULL);
            before = clock_ticks(clock);
        }
        if (turn % TURNS_TO_A_LOOK == 0 && is_over(now, plan))
            break;
        if (is_missing && has_never_come(step, plan, expiries, now))
            step->error = ETIMEDOUT;
    }
}

static void run_timer_burst(struct sustained_step *step)
{
    struct burst_plan plan = plan_burst(step);
    struct expiries expiries = {.timer =
                                    port_event_timer_open_ready(plan.start_ns, step->period_ns)};
    if (expiries.timer < 0) {
        step->error = errno;
        return;
    }
    watch_timer(step, &plan, &expiries);
    close(expiries.timer);
}

bool sustained_step_run(struct sustained_step *step)
{
    sustained_match_open(&step->match, step->sender ? step->sender->skew : 0);
    step->longest_gap = 0;
    step->error = 0;
    while (left_count(step) > 0 && !run_should_stop() && !step->error) {
        if (step->sender)
            run_sent_burst(step);
        else
            run_timer_burst(step);
    }
    return left_count(step) == 0 && !step->error;
}

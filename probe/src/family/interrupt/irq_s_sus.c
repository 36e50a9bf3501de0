/* IRQ-S-SUS: maximum sustained interrupt frequency (Dedicated Systems 2.9).
 *
 * What: steps of `interrupts` interrupts at a fixed period, in bursts between which the thread
 *     rests (run/run.h); the shortest period of a step that lost none is searched (irq_s_sus.h).
 * Begin, end: an interrupt is a gap in the readings of a thread that spins. Sent (ipi, external):
 *     its gap begins between the call and its return (send_burst); without such a gap it is lost.
 *     Timer: the thread takes the expiries of a periodic timer after each gap, which arms it anew;
 *     those that were due while the CPU was gone were served as one, and all but the first are
 *     lost.
 * Threads: the measuring thread, on the CPU under test; for ipi and external one of the same
 *     priority on another CPU, which sends on the grid start + k x period.
 * Wrong if: the source did not hold the period (is_source_limited: the limit is not the system's);
 *     another interruption begins in the window of a send and counts as it; a gap is shorter than
 *     the threshold (gap_log.h). Interrupts of another CPU come only when the one before was
 *     served: their limit is the round trip. A timer's expiries that are lost while the thread
 *     takes some count as the instrument's. The search supposes that a longer period is sustained
 *     where a shorter one is.
 */
#include "base/posix_source.h"

#include "family/interrupt/irq_s_sus.h"

#include "family/interrupt/sources.h"
#include "run/shield_run.h"
#include "run/variant.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { SAMPLES = 20000, STEPS = 20, RING = 1024 };
enum {
    ENOUGH = 10000,     /* interrupts of a step that has failed, or: */
    ENOUGH_PARTS = 10,  /* one in so many of those wanted */
    SOURCE_PARTS = 100, /* one in so many may be sent late, or not armed */
    TURNS_TO_A_LOOK = 1024
};

#define LONGEST_NS INT64_C(100000000)

#define MOST_BURST_NS INT64_C(500000000)
#define AHEAD_NS INT64_C(100000) /* of the first interrupt of a burst */
#define EARLY_NS INT64_C(5000)
#define PATIENCE_NS INT64_C(50000000) /* for the first expiry of a timer, beside its period */

static const struct param_spec params[] = {
    INTERRUPT_SOURCE_PARAMS,
    {"interrupts", PARAM_COUNT, false, "0", 0, INT64_C(1000000000000), NULL,
     "interrupts of each step; 0: as many as samples", NULL},
    {"period_min_ns", PARAM_NS, false, "1us", 200, LONGEST_NS, NULL, "shortest period to try",
     NULL},
    {"period_max_ns", PARAM_NS, false, "100us", 200, LONGEST_NS, NULL, "longest period to try",
     NULL},
    {"passed_ns", PARAM_NS, true, "0", 0, LONGEST_NS, NULL,
     "period known to be sustained, for each source in order; 0: none", NULL},
    {"failed_ns", PARAM_NS, true, "0", 0, LONGEST_NS, NULL,
     "period known not to be sustained, for each source; 0: none", NULL},
    {"source_failed_ns", PARAM_NS, true, "0", 0, LONGEST_NS, NULL,
     "period that each source is known not to keep up, if longer; 0: none", NULL},
    {0},
};

static const struct series_spec series[] = {
    {"minimal_period",
     "ns",
     "source",
     "the shortest period at which none of the interrupts of a step was lost",
     NULL,
     "min(period_ns of the steps that lost none, if the source kept up)",
     {.sub_bits = 7}},
    {"loss", "count", "source,period_ns", "interrupts that were lost in a step", NULL, NULL,
     RECORD_SHAPE_COUNT},
    {0},
};
enum { MINIMAL_PERIOD, LOSS };

/* ---- begin: the sender on another CPU ---- */

/* It never skips a send: one that the source could not make in time follows at once, and the period
 * is held on the whole. Between two bursts it blocks. What it has sent is in a ring, from which the
 * watching thread takes it; a full ring stops it. */
struct sustained_sender {
    struct run *run;
    const struct interrupt_line *line;
    struct rt_thread rt_thread;
    uint64_t skew; /* ticks by which the clocks of the two CPUs may differ */
    sem_t start, parked;
    atomic_bool is_over;
    /* of the burst */
    struct sustained_grid grid;
    uint64_t wanted_count;
    int error;            /* errno value of a send that was refused; valid when is_ended */
    atomic_bool is_cut;   /* set by the watching thread: no send is to follow */
    atomic_bool is_ended; /* no send follows */
    _Alignas(64) _Atomic uint64_t sent_count;  /* valid entries that were put into the ring */
    _Alignas(64) _Atomic uint64_t taken_count; /* of them taken by the watching thread */
    struct sustained_send ring[RING];
};

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static bool is_to_end(struct sustained_sender *sender)
{
    return atomic_load_explicit(&sender->is_cut, memory_order_relaxed) || run_should_stop();
}

/* Until the k-th send is due and has a place. False: the test is to stop. */
static bool wait_until_due(struct sustained_sender *sender, uint64_t k)
{
    const struct clock *clock = &sender->run->clock;
    uint64_t due = sustained_due(&sender->grid, k);
    while ((int64_t)(clock_ticks(clock) - due) < 0 ||
           k - atomic_load_explicit(&sender->taken_count, memory_order_acquire) >= RING)
        if (is_to_end(sender))
            return false;
    return !is_to_end(sender);
}

/* Returns when it was served. */
static int send_one(const struct interrupt_line *line)
{
    int error = line->source->send(line);
    return error || !line->source->settle ? error : line->source->settle(line);
}

static void send_burst(struct sustained_sender *sender)
{
    const struct clock *clock = &sender->run->clock;
    for (uint64_t k = 0; k < sender->wanted_count && wait_until_due(sender, k); k++) {
        struct sustained_send *send = &sender->ring[k % RING];
        uint64_t at = clock_begin(clock);
        sender->error = send_one(sender->line);
        *send = (struct sustained_send){at, clock_end(clock), sustained_due(&sender->grid, k + 1)};
        if (sender->error)
            break;
        atomic_store_explicit(&sender->sent_count, k + 1, memory_order_release);
    }
    atomic_store_explicit(&sender->is_ended, true, memory_order_release);
}

static void be_sender(void *argument)
{
    struct sustained_sender *sender = argument;
    for (;;) {
        wait_for(&sender->start);
        if (atomic_load(&sender->is_over))
            return;
        send_burst(sender);
        sem_post(&sender->parked);
    }
}

/* The thread blocks. 0, or an errno value. */
static int sustained_sender_start(struct sustained_sender *sender, struct run *run,
                                  const struct interrupt_line *line)
{
    struct rt_thread_setup setup = run->setup;
    setup.cpu = shield_run_other_cpu(run);
    memset(sender, 0, sizeof *sender);
    sender->run = run;
    sender->line = line;
    sender->skew = interrupt_skew_ticks(run, setup.cpu);
    sem_init(&sender->start, 0, 0);
    sem_init(&sender->parked, 0, 0);
    int error = rt_thread_start(&sender->rt_thread, &setup, be_sender, sender);
    if (error == 0)
        rt_thread_go(&sender->rt_thread);
    return error;
}

static void sustained_sender_begin(struct sustained_sender *sender,
                                   const struct sustained_grid *grid, uint64_t count)
{
    sender->grid = *grid;
    sender->wanted_count = count;
    sender->error = 0;
    atomic_store(&sender->is_cut, false);
    atomic_store(&sender->is_ended, false);
    atomic_store(&sender->sent_count, 0);
    atomic_store(&sender->taken_count, 0);
    sem_post(&sender->start);
}

static void sustained_sender_wait(struct sustained_sender *sender)
{
    wait_for(&sender->parked);
}

static void sustained_sender_stop(struct sustained_sender *sender)
{
    atomic_store(&sender->is_over, true);
    sem_post(&sender->start);
    rt_thread_join(&sender->rt_thread);
    sem_destroy(&sender->start);
    sem_destroy(&sender->parked);
}

/* ---- end: a step, watched by the measuring thread, in constant memory ---- */

struct sustained_step {
    struct run *run;
    struct sustained_sender *sender; /* NULL: the CPU's own timer */
    int64_t period_ns;
    uint64_t wanted_count;
    uint64_t threshold; /* ticks that are a gap */
    uint64_t longest_gap;
    struct sustained_match match; /* with the counts */
    int error;                    /* errno value that ended it; ETIMEDOUT: no interrupt came */
};

/* More than one in SOURCE_PARTS began after the next one was due, or was due before the timer was
 * armed. */
static bool sustained_is_source_limited(const struct sustained_counts *counts)
{
    return counts->source_late + counts->not_armed > counts->interrupts / SOURCE_PARTS;
}

/* All interrupts came, none was lost and the source held the period. */
static bool sustained_is_passed(const struct sustained_step *step)
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
    bool is_enough = done >= ENOUGH && done >= step->wanted_count / ENOUGH_PARTS &&
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
        const struct sustained_send *send = &sender->ring[taken % RING];
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

/* True when it ended by itself; false when the test is to stop or step->error is set. A step that
 * has failed ends when it has had enough interrupts. */
static bool sustained_step_run(struct sustained_step *step)
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

/* ---- the fate of each interrupt ---- */

void sustained_match_open(struct sustained_match *match, uint64_t skew)
{
    memset(match, 0, sizeof *match);
    match->skew = skew;
}

void sustained_match_gap(struct sustained_match *match, uint64_t begin, uint64_t end)
{
    match->gaps[match->end++ % SUSTAINED_GAPS] = (struct gap){begin, end};
    if (match->end - match->first > SUSTAINED_GAPS)
        match->first++;
}

static const struct gap *gap_at(const struct sustained_match *match, uint64_t number)
{
    return &match->gaps[number % SUSTAINED_GAPS];
}

static bool is_before(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

/* Drops the gaps that ended before `from`: no later send has to do with them. */
static void drop_until(struct sustained_match *match, uint64_t from)
{
    while (match->first < match->end && is_before(gap_at(match, match->first)->end, from))
        match->first++;
}

static void count_lateness(struct sustained_counts *counts, const struct sustained_send *send,
                           uint64_t served)
{
    if (is_before(send->next_due, send->at))
        counts->source_late++;
    else if (is_before(send->next_due, served))
        counts->late++;
}

void sustained_match_send(struct sustained_match *match, const struct sustained_send *send)
{
    uint64_t from = send->at - match->skew, to = send->after + match->skew;
    const struct gap *covering = NULL;
    match->counts.interrupts++;
    drop_until(match, from);
    for (uint64_t i = match->first; i < match->end; i++) {
        const struct gap *gap = gap_at(match, i);
        if (is_before(to, gap->begin))
            break;
        if (i < match->free || is_before(gap->begin, from)) {
            covering = gap;
            continue;
        }
        match->free = i + 1;
        match->counts.seen++;
        count_lateness(&match->counts, send, gap->end);
        return;
    }
    match->counts.merged += covering ? 1 : 0;
    match->counts.lost += covering ? 0 : 1;
    count_lateness(&match->counts, send, covering ? covering->end : send->next_due);
}

/* Those due after the first and while the CPU was gone. */
static uint64_t lost_in_gap(const struct sustained_grid *grid,
                            const struct sustained_expiries *expiries)
{
    uint64_t lost = 0;
    while (expiries->gap && lost + 1 < expiries->count &&
           is_before(sustained_due(grid, expiries->first + lost + 1), expiries->gap->end))
        lost++;
    return lost;
}

void sustained_match_expiries(struct sustained_match *match, const struct sustained_grid *grid,
                              const struct sustained_expiries *expiries, uint64_t early)
{
    struct sustained_counts *counts = &match->counts;
    uint64_t due = sustained_due(grid, expiries->first), lost = lost_in_gap(grid, expiries);
    const struct gap *gap = expiries->gap;
    counts->interrupts += 1 + lost;
    counts->lost += lost;
    counts->late += lost > 0 ? 1 : 0;
    counts->not_armed += expiries->count - 1 - lost;
    if (!gap || !is_before(due, gap->end))
        counts->unwatched++;
    else if (is_before(gap->begin + early, due))
        counts->merged++;
    else
        counts->seen++;
}

/* ---- the search ---- */

static int64_t on_grid(double ns)
{
    return (int64_t)(ns / (double)SUSTAINED_GRID_NS + 0.5) * SUSTAINED_GRID_NS;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t between(int64_t failed_ns, int64_t passed_ns)
{
    int64_t apart_ns = passed_ns - failed_ns;
    int64_t middle_ns = on_grid(sqrt((double)failed_ns * (double)passed_ns));
    if (apart_ns <= SUSTAINED_GRID_NS || apart_ns * 100 <= passed_ns * SUSTAINED_PERCENT)
        return 0;
    if (middle_ns <= failed_ns)
        middle_ns += SUSTAINED_GRID_NS;
    if (middle_ns >= passed_ns)
        middle_ns -= SUSTAINED_GRID_NS;
    return middle_ns > failed_ns ? middle_ns : 0;
}

int64_t sustained_search_next(const struct sustained_search *search)
{
    if (search->passed_ns == 0 && search->failed_ns == 0)
        return search->least_ns;
    if (search->passed_ns == 0)
        return search->failed_ns < search->most_ns ? smaller(2 * search->failed_ns, search->most_ns)
                                                   : 0;
    if (search->passed_ns <= search->least_ns)
        return 0;
    if (search->failed_ns == 0)
        return search->least_ns;
    return between(search->failed_ns, search->passed_ns);
}

void sustained_search_take(struct sustained_search *search, int64_t period_ns, bool is_sustained)
{
    if (is_sustained && (search->passed_ns == 0 || period_ns < search->passed_ns))
        search->passed_ns = period_ns;
    if (!is_sustained && period_ns > search->failed_ns)
        search->failed_ns = period_ns;
}

/* ---- the steps of the test ---- */

struct own {
    struct sustained_sender sender;
    struct interrupt_line line;
    struct sustained_search search;
    bool is_source_limit; /* of the longest period that failed */
    int step_count;       /* of this source, in this run */
    int measured_count;   /* sources with a step */
    struct sustained_step step;
};

static int check(struct run *run)
{
    int64_t interrupts = run_number(run, "interrupts");
    if (run_number(run, "period_min_ns") > run_number(run, "period_max_ns"))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, "give the shorter one as the minimum",
                           "period_min_ns is longer than period_max_ns");
    if (interrupts > 0)
        run->samples = (uint64_t)interrupts;
    if (run->samples < 2)
        return outcome_set(
            &run->outcome, STATUS_UNSUPPORTED, "give at least 2: --samples, or -p interrupts",
            "a step of %llu interrupts has no period", (unsigned long long)run->samples);
    run->series_left_out = 1; /* the series of steps, which `declare` adds */
    return interrupt_sources_check(run);
}

static int declare_steps(struct run *run, const char *source, int *first)
{
    for (int step = 0; step < STEPS; step++) {
        int loss = arena_plan_series(&run->plan, series[LOSS].name, series[LOSS].unit,
                                     &series[LOSS].shape);
        if (loss < 0)
            return outcome_set_errno(&run->outcome, ENOMEM, "memory for the series", "free memory");
        arena_plan_label_text(&run->plan, loss, "source", source);
        arena_plan_late_label(&run->plan, loss, "period_ns");
        if (*first >= 0)
            arena_plan_share(&run->plan, *first);
        else
            *first = loss;
    }
    return 0;
}

/* Behind the minimal periods, STEPS series for each source in the order of the variants. */
static int declare(struct run *run)
{
    const struct param_value *sources = run_param(run, "source");
    int first = -1;
    if (variant_declare(run) != 0)
        return -1;
    for (int i = 0; i < sources->count; i++)
        if (interrupt_source_is_wanted(run, sources->number[i]) &&
            declare_steps(run, interrupt_source_names[sources->number[i]], &first) != 0)
            return -1;
    run->plan.more_events = (uint32_t)(variant_count(run) * (STEPS + 2));
    return 0;
}

static int prepare(struct run *run)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->step.run = run;
    interrupt_sources_report_missing(run);
    return 0;
}

/* ---- what a step has shown ---- */

/* Place of the variant among those that are measured, and of its source among those asked for. */
static int place_of(const struct run *run, int64_t source, bool is_of_variants)
{
    const struct param_value *sources = run_param(run, "source");
    int place = 0;
    for (int i = 0; i < sources->count && sources->number[i] != source; i++)
        place += !is_of_variants || interrupt_source_is_wanted(run, sources->number[i]) ? 1 : 0;
    return place;
}

static void record_loss(struct run *run, int64_t source, uint64_t lost)
{
    struct own *own = run->own;
    if (own->step_count >= STEPS)
        return;
    int variant = place_of(run, source, true);
    int loss = variant_count(run) + variant * STEPS + own->step_count;
    arena_label(run->arena, loss, own->step.period_ns);
    record_value(arena_record(run->arena, loss), (int64_t)lost,
                 run_at_ns(run, clock_monotonic_ns()));
}

static void report_step(struct run *run, bool has_passed)
{
    const struct own *own = run->own;
    const struct sustained_step *step = &own->step;
    const struct sustained_counts *counts = &step->match.counts;
    const char *source = variant_text(run, "source");
    bool is_source_limited = sustained_is_source_limited(counts);
    arena_event(run->arena, "sustained_step", run_at_ns(run, clock_monotonic_ns()),
                DATA(data_text("source", source), data_integer("period_ns", step->period_ns),
                     data_integer("interrupts_count", (int64_t)counts->interrupts),
                     data_integer("seen_count", (int64_t)counts->seen),
                     data_integer("lost_count", (int64_t)counts->lost),
                     data_integer("late_count", (int64_t)counts->late),
                     data_integer("merged_count", (int64_t)counts->merged),
                     data_integer("unwatched_count", (int64_t)counts->unwatched),
                     data_integer("source_late_count", (int64_t)counts->source_late),
                     data_integer("instrument_count", (int64_t)counts->not_armed),
                     data_integer("longest_gap_ns", clock_ns(&run->clock, step->longest_gap)),
                     data_bool("is_source_limited", is_source_limited),
                     data_bool("passed", has_passed)),
                "%s, %.1f us: %s%s: %llu lost of %llu, %llu late, %llu merged", source,
                (double)step->period_ns / 1e3, has_passed ? "sustained" : "not sustained",
                is_source_limited ? " by the source" : "", (unsigned long long)counts->lost,
                (unsigned long long)counts->interrupts, (unsigned long long)counts->late,
                (unsigned long long)counts->merged);
}

/* False: the step was cut, and is none. */
static bool take_step(struct run *run, int64_t source, int64_t period_ns)
{
    struct own *own = run->own;
    struct gap_log gap_log;
    gap_log_open(&gap_log, &run->clock, NULL, 0);
    own->step.threshold = gap_log.threshold;
    own->step.period_ns = period_ns;
    own->step.wanted_count = run->samples;
    if (!sustained_step_run(&own->step))
        return false;
    bool has_passed = sustained_is_passed(&own->step);
    record_loss(run, source, own->step.match.counts.lost);
    report_step(run, has_passed);
    if (!has_passed && period_ns > own->search.failed_ns)
        own->is_source_limit = own->step.match.counts.lost == 0;
    sustained_search_take(&own->search, period_ns, has_passed);
    own->step_count++;
    return true;
}

/* ---- a search ---- */

static int64_t known_ns(const struct run *run, const char *param, int64_t source)
{
    const struct param_value *known = run_param(run, param);
    int place = place_of(run, source, false);
    return place < known->count ? known->number[place] : 0;
}

static void begin_search(struct run *run, int64_t source)
{
    struct own *own = run->own;
    int64_t failed_ns = known_ns(run, "failed_ns", source);
    int64_t source_failed_ns = known_ns(run, "source_failed_ns", source);
    own->is_source_limit = source_failed_ns > failed_ns;
    own->step_count = 0;
    own->search = (struct sustained_search){
        .least_ns = run_number(run, "period_min_ns"),
        .most_ns = run_number(run, "period_max_ns"),
        .passed_ns = known_ns(run, "passed_ns", source),
        .failed_ns = own->is_source_limit ? source_failed_ns : failed_ns,
    };
}

/* Why the search ended where it did: a limit of the system or of the source; the shortest period
 * that was to be tried; no period. */
static const char *why_ended(const struct own *own)
{
    if (own->search.passed_ns == 0)
        return own->is_source_limit ? "source_held_none" : "none_sustained";
    if (own->search.failed_ns == 0 || own->search.passed_ns <= own->search.least_ns)
        return "shortest_tried";
    return own->is_source_limit ? "source" : "lost";
}

static const char *limit_words(const char *why)
{
    if (strcmp(why, "none_sustained") == 0)
        return "no period tried is sustained";
    if (strcmp(why, "source_held_none") == 0)
        return "the source kept up none of the periods tried: nothing is known about the system";
    if (strcmp(why, "shortest_tried") == 0)
        return "the shortest period tried is sustained: the limit is below it";
    if (strcmp(why, "source") == 0)
        return "the limit is that of the source, which cannot send faster; the system lost none";
    return "at shorter periods interrupts are lost";
}

static void end_search(struct run *run)
{
    struct own *own = run->own;
    const struct sustained_search *search = &own->search;
    const char *why = why_ended(own), *source = variant_text(run, "source");
    int64_t now_ns = run_at_ns(run, clock_monotonic_ns());
    if (search->passed_ns > 0)
        record_value(run_record(run, MINIMAL_PERIOD), search->passed_ns, now_ns);
    arena_event(
        run->arena, "sustained_limit", now_ns,
        DATA(data_text("source", source),
             search->passed_ns > 0 ? data_integer("passed_ns", search->passed_ns) : data_none(),
             search->failed_ns > 0 ? data_integer("failed_ns", search->failed_ns) : data_none(),
             data_integer("interrupts_count", (int64_t)run->samples), data_text("why", why)),
        "%s: %s", source, limit_words(why));
}

static void report_cut(struct run *run)
{
    const struct own *own = run->own;
    const char *reason =
        own->step.error == ETIMEDOUT
            ? "no interrupt came while the thread spun: the kernel leaves the work "
              "to a thread of lower priority"
            : strerror(own->step.error);
    arena_event(run->arena, "sustained_not_sent", -1,
                DATA(data_text("source", variant_text(run, "source")),
                     data_integer("period_ns", own->step.period_ns), data_text("reason", reason)),
                "%s: %s", variant_text(run, "source"), reason);
}

static void search_period(struct run *run, int64_t source)
{
    struct own *own = run->own;
    struct run_budget budget = run_budget(run, variant_count(run));
    int64_t period_ns;
    begin_search(run, source);
    bool is_over = false;
    while ((period_ns = sustained_search_next(&own->search)) > 0) {
        is_over = run_should_stop() || clock_monotonic_ns() >= budget.end_ns;
        if (is_over || !take_step(run, source, period_ns))
            break;
    }
    own->measured_count += own->step_count > 0 || period_ns == 0 ? 1 : 0;
    if (period_ns == 0)
        end_search(run);
    else if (own->step.error && !is_over)
        report_cut(run);
}

static int search_sent(struct run *run, int64_t source, struct outcome *outcome)
{
    struct own *own = run->own;
    if (interrupt_source(source)->open(&own->line, run, outcome) != 0)
        return -1;
    int error = sustained_sender_start(&own->sender, run, &own->line);
    if (error) {
        interrupt_source(source)->close(&own->line);
        return outcome_set_errno(outcome, error, "starting the thread that sends", NULL);
    }
    own->step.sender = &own->sender;
    search_period(run, source);
    sustained_sender_stop(&own->sender);
    interrupt_source(source)->close(&own->line);
    own->step.sender = NULL;
    return 0;
}

static int measure_variant(struct run *run)
{
    struct outcome outcome = {0};
    int64_t source = variant_number(run, "source");
    if (interrupt_source_look(run, source, &outcome) != 0)
        return 0; /* told before */
    if (!interrupt_source(source)->is_sent_elsewhere)
        search_period(run, source);
    else if (search_sent(run, source, &outcome) != 0)
        interrupt_source_report_missing(run, source, &outcome);
    return 0;
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (own->measured_count > 0)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "no source could be measured; the events say why");
}

const struct test irq_s_sus = {
    .id = "IRQ-S-SUS",
    .title = "Maximum sustained interrupt frequency",
    .source = "[D] Dedicated Systems 2012, IRQ-S-SUS",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_A_CPU | TEST_COMPARES_CPUS,
    .default_samples = SAMPLES,
    .counts_rounds = true,
    .setup_ns = 500000000,
    .sample_ns = 30000, /* over all steps */
    .check = check,
    .has_variant = interrupt_source_has_variant,
    .declare = declare,
    .prepare = prepare,
    .measure_variant = measure_variant,
    .judge = judge,
};

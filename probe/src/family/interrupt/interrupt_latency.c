/* IRQ-P-LAT and IRQ-P-DLT: interrupt latency, and dispatch latency back from the handler (Dedicated
 * Systems 2012). One timed section, of which each test records two intervals.
 *
 * What: what an interrupt takes from a thread that does nothing but read the counter.
 * Begin, end: the sender reads the counter right before the call that sends (send_one; with the
 *     timer it is the programmed expiry). The spinning thread reads it without a pause
 *     (gap_log_watch); a gap in its readings is the interrupt. The kernel stamps its handler.
 *       delivery   from the send to the last reading before the gap; 0 where that came first
 *       latency    from that reading to the handler's entry
 *       dispatch   from the handler's exit to the first reading after the gap
 *       service    the gap, from reading to reading
 * Threads: the measuring thread spins on the CPU under test. A thread of the same policy and
 *     priority on another CPU sends (ipi, external); with the timer there is none.
 * Wrong if: the sender is interrupted between its reading and the send; the clocks of two CPUs
 *     differ (their skew widens the window of a send); a gap is another interruption's: each send
 *     is accounted for, and those without a gap of their own have no value (interrupts_accounted).
 *     Up to one turn of the loop (some 20 ns) is in the wrong one of two intervals.
 */
#include "base/posix_source.h"

#include "family/interrupt/interrupt_latency.h"

#include "base/random.h"
#include "family/interrupt/sources.h"
#include "run/shield_run.h"
#include "run/variant.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 20000, BURST = 128, WARM_UP = 16, GAPS = 4096, TRIES = 4 };
enum { MOST_UNSEEN = 20, MOST_UNSEEN_SINGLE = 200 };

#define BURST_NS INT64_C(50000000) /* the longest; a burst of 128 takes about 10 ms */
#define LEAST_AHEAD_NS INT64_C(50000)
#define MORE_AHEAD_NS 100000.0 /* random part */
#define TAIL_NS INT64_C(5000)
#define STEP_NS INT64_C(20000)
#define PATIENCE_NS INT64_C(10000000) /* for an interrupt that is late */

/* How early a timer may take the CPU: hypervisors leave the guest before the expiry (KVM up to 5
 * us), and clock event devices round. */
#define EARLY_NS INT64_C(10000)

#define LEAST_PAUSE_NS INT64_C(20000) /* between two sends */
#define MORE_PAUSE_NS 80000.0         /* random part */
#define SAMPLE_NS 150000

/* ---- begin: the sender on another CPU ---- */

/* It has the run's policy and priority, and blocks between two bursts. The next send follows when
 * the interrupt was served and a random pause is over, so that the sends are in phase with nothing.
 */
struct sender {
    struct run *run;
    const struct interrupt_line *line;
    struct rt_thread rt_thread;
    sem_t start, parked;
    atomic_bool is_watched; /* the CPU under test spins: send */
    atomic_bool is_left;    /* it no longer does: end the burst */
    atomic_bool is_done;    /* the burst's last interrupt was served, and a pause is over */
    atomic_bool is_over;    /* ends the thread, and a burst under way */
    uint32_t wanted_count;  /* of the burst; at most BURST */
    uint64_t skew_ticks;    /* by which the clocks of the two CPUs may differ */
    /* of the burst, valid when it has ended: */
    uint32_t sent_count, refused_count;
    int error; /* errno value of a send that was refused, or not settled; 0: none */
    struct sent sends[BURST];
    struct random random;
};

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static bool is_ended(struct sender *sender)
{
    return atomic_load_explicit(&sender->is_left, memory_order_relaxed) ||
           atomic_load_explicit(&sender->is_over, memory_order_relaxed) || run_should_stop();
}

static void spin(const struct clock *clock, int64_t ns)
{
    uint64_t from = clock_ticks(clock), ticks = clock_ticks_of_ns(clock, ns);
    while (clock_ticks(clock) - from < ticks)
        ;
}

static int64_t random_pause_ns(struct sender *sender)
{
    return LEAST_PAUSE_NS + random_below(&sender->random, MORE_PAUSE_NS);
}

/* `at` is right before the call. */
static void send_one(struct sender *sender)
{
    const struct clock *clock = &sender->run->clock;
    uint64_t before = clock_begin(clock);
    int error = sender->line->source->send(sender->line);
    if (sender->line->source->window_ns > 0)
        spin(clock, sender->line->source->window_ns);
    uint64_t after = clock_end(clock);
    if (error) {
        sender->error = error;
        sender->refused_count++;
        return;
    }
    sender->sends[sender->sent_count++] = (struct sent){
        .from = before - sender->skew_ticks, .at = before, .to = after + sender->skew_ticks};
}

/* When the CPU under test no longer spins. */
static void settle_sent(struct sender *sender)
{
    const struct interrupt_source *source = sender->line->source;
    if (!source->settle || sender->sent_count == 0)
        return;
    while (!is_ended(sender))
        ;
    int error = source->settle(sender->line);
    if (error)
        sender->error = error;
}

static void send_burst(struct sender *sender)
{
    const struct clock *clock = &sender->run->clock;
    while (!atomic_load_explicit(&sender->is_watched, memory_order_acquire) && !is_ended(sender))
        ;
    for (uint32_t i = 0; i < sender->wanted_count && !is_ended(sender); i++) {
        spin(clock, random_pause_ns(sender));
        send_one(sender);
    }
    spin(clock, LEAST_PAUSE_NS);
    atomic_store_explicit(&sender->is_done, true, memory_order_release);
    settle_sent(sender);
}

static void be_sender(void *argument)
{
    struct sender *sender = argument;
    for (;;) {
        wait_for(&sender->start);
        if (atomic_load(&sender->is_over))
            return;
        send_burst(sender);
        sem_post(&sender->parked);
    }
}

/* The thread blocks. 0, or an errno value. */
static int sender_start(struct sender *sender, struct run *run, const struct interrupt_line *line)
{
    struct rt_thread_setup setup = run->setup;
    setup.cpu = shield_run_other_cpu(run);
    memset(sender, 0, sizeof *sender);
    sender->run = run;
    sender->line = line;
    sender->skew_ticks = interrupt_skew_ticks(run, setup.cpu);
    random_start(&sender->random, run->seed);
    sem_init(&sender->start, 0, 0);
    sem_init(&sender->parked, 0, 0);
    int error = rt_thread_start(&sender->rt_thread, &setup, be_sender, sender);
    if (error == 0)
        rt_thread_go(&sender->rt_thread);
    return error;
}

/* Lets it send `count` interrupts, the first one when is_watched is set. */
static void sender_begin(struct sender *sender, uint32_t count)
{
    uint32_t most = sender->line->source->most_in_a_burst;
    sender->wanted_count = most > 0 && count > most ? most : count;
    sender->sent_count = sender->refused_count = 0;
    sender->error = 0;
    atomic_store(&sender->is_watched, false);
    atomic_store(&sender->is_left, false);
    atomic_store(&sender->is_done, false);
    sem_post(&sender->start);
}

/* Waits until the burst has ended; one under way ends with the next send. */
static void sender_end(struct sender *sender)
{
    atomic_store(&sender->is_left, true);
    wait_for(&sender->parked);
}

static void sender_stop(struct sender *sender)
{
    atomic_store(&sender->is_over, true);
    sem_post(&sender->start);
    rt_thread_join(&sender->rt_thread);
    sem_destroy(&sender->start);
    sem_destroy(&sender->parked);
}

/* ---- which gap is the interrupt ---- */

/* Readings may wrap. */
static bool is_before(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) < 0;
}

struct candidates {
    bool is_covered; /* `first` began before the window and lasts beyond the send */
    uint32_t first, inside_count;
};

/* `*next`: the first gap that an earlier send has not put behind it. */
static struct candidates find_candidates(const struct gap *gaps, uint32_t gap_count,
                                         const struct sent *sent, uint32_t *next)
{
    while (*next < gap_count && is_before(gaps[*next].begin, sent->from) &&
           !is_before(sent->at, gaps[*next].end))
        ++*next;
    struct candidates found = {.first = *next};
    found.is_covered = *next < gap_count && is_before(gaps[*next].begin, sent->from);
    for (uint32_t i = *next + found.is_covered;
         i < gap_count && !is_before(sent->to, gaps[i].begin); i++)
        found.inside_count++;
    return found;
}

static bool is_watched(const struct sent_watch *watch, const struct sent *sent)
{
    return !is_before(sent->from, watch->from) && !is_before(watch->until, sent->to);
}

static enum sent_fate fate_of(const struct candidates *found)
{
    if (found->inside_count == 0)
        return found->is_covered ? SENT_IN_OTHER : SENT_NOT_SEEN;
    return found->is_covered || found->inside_count > 1 ? SENT_AMBIGUOUS : SENT_SEEN;
}

void sent_match(const struct gap *gaps, uint32_t gap_count, const struct sent_watch *watch,
                const struct sent *sends, uint32_t sent_count, struct sent_result *results,
                struct sent_counts *counts)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < sent_count; i++) {
        struct candidates found = find_candidates(gaps, gap_count, &sends[i], &next);
        results[i].gap = found.first;
        results[i].fate = is_watched(watch, &sends[i]) ? fate_of(&found) : SENT_NOT_WATCHED;
        counts->of[results[i].fate]++;
        counts->sent++;
    }
}

void sent_counts_move(struct sent_counts *counts, enum sent_fate from, enum sent_fate to)
{
    counts->of[from]--;
    counts->of[to]++;
}

/* ---- what became of those that were sent ---- */

struct interrupted_counts {
    struct sent_counts sent;
    uint64_t early_count; /* seen, and the CPU was lost before the send or the expiry */
    int64_t earliest_ns;
    int64_t in_other_most_ns;  /* from the send to the end of the other interruption */
    int64_t ambiguous_most_ns; /* from the send to the end of its window */
    uint64_t refused_count;    /* not sent */
    int error;                 /* errno value of the latest refusal; 0: none */
};

/* Sums over the interrupts whose handler is known, of which each part is. */
struct interrupted_split {
    uint64_t count;
    int64_t delivery_ns, latency_ns, handler_ns, dispatch_ns, service_ns;
};

static void keep_longest(int64_t *longest_ns, int64_t ns)
{
    if (ns > *longest_ns)
        *longest_ns = ns;
}

static void count_refused(struct interrupted_counts *counts, uint64_t count, int error)
{
    counts->refused_count += count;
    if (error)
        counts->error = error;
}

struct interruption {
    int64_t delivery_ns, service_ns;
    bool has_handler; /* the next two are known */
    int64_t latency_ns, dispatch_ns;
    uint64_t end; /* reading after the gap */
};

/* Records an interruption in the test's series; in warm-up they are the scratch record. */
typedef void (*interruption_record)(struct run *run, const struct interruption *interruption);

struct own {
    struct run *run;
    interruption_record record;
    struct interrupt_sources sources;
    struct pause_watch pause_watch;
    struct interrupt_line *line; /* of the current source */
    struct handler_trace *trace;
    struct sender sender;
    bool has_sender;
    struct interrupted_counts counts;
    struct interrupted_counts warm_up_counts; /* not told */
    struct interrupted_split split;
    int unseen_bursts;  /* in a row */
    int64_t ahead_ns;   /* least time from arming to expiry */
    int64_t settled_ns; /* of the burst: time spent settling */
    struct random random;
    struct clock_anchor anchor; /* of the burst; bracket_ns is of both sides */
    struct gap_log gap_log;
    struct gap gaps[GAPS];
    struct sent_result results[BURST];
    struct sent armed[BURST];
};

static struct interrupted_counts *counts_of(struct own *own)
{
    return own->run->is_warm_up ? &own->warm_up_counts : &own->counts;
}

/* ---- both clocks ---- */

/* The tightest of some brackets. */
static void take_anchor(struct own *own)
{
    const struct clock *clock = &own->run->clock;
    own->anchor.bracket_ns = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t before = clock_begin(clock);
        int64_t now_ns = clock_monotonic_ns();
        uint64_t width = clock_begin(clock) - before;
        int64_t bracket_ns = clock_ns(clock, width);
        if (bracket_ns < own->anchor.bracket_ns)
            own->anchor = (struct clock_anchor){before + width / 2, now_ns, bracket_ns};
    }
}

static int64_t monotonic_of(const struct own *own, uint64_t ticks)
{
    return own->anchor.at_ns + clock_ns(&own->run->clock, ticks - own->anchor.ticks);
}

static uint64_t ticks_of(const struct own *own, int64_t monotonic_ns)
{
    int64_t ns = monotonic_ns - own->anchor.at_ns;
    uint64_t ticks = clock_ticks_of_ns(&own->run->clock, ns < 0 ? -ns : ns);
    return ns < 0 ? own->anchor.ticks - ticks : own->anchor.ticks + ticks;
}

/* ---- end: the thread that spins and is interrupted ---- */

/* A turn of gap_log_watch: now = clock_ticks(clock); if (now - before >= threshold) it notes
 * {before, now} in own->gaps; before = now. So a gap begins with the last reading before the
 * interrupt takes the CPU, and ends with the first one after it. */

/* Whether a gap since `first` begins at `from` or later. */
static bool has_gap(const struct own *own, uint32_t first, uint64_t from)
{
    const struct gap_log *gap_log = &own->gap_log;
    return gap_log->count > first && (int64_t)(gap_log->gaps[gap_log->count - 1].begin - from) >= 0;
}

/* Watches on from `now` until the interrupt has come, for PATIENCE_NS at most. */
static uint64_t watch_on(struct own *own, uint32_t first, const struct sent *sent, uint64_t now)
{
    const struct clock *clock = &own->run->clock;
    uint64_t step = clock_ticks_of_ns(clock, STEP_NS);
    uint64_t last = sent->at + clock_ticks_of_ns(clock, PATIENCE_NS);
    while (!has_gap(own, first, sent->from) && (int64_t)(last - now) > 0)
        now = gap_log_watch(&own->gap_log, clock, now + step, NULL);
    return now;
}

/* Gaps that found no room were not noted: what came after the last one was not watched. */
static uint64_t known_until(const struct gap_log *gap_log, uint64_t until)
{
    return gap_log->dropped_count > 0 ? gap_log->gaps[gap_log->count - 1].end : until;
}

/* ---- sent from another CPU ---- */

/* An interrupt that comes later than expected is watched for. */
static uint64_t watch_for_late(struct own *own, uint64_t until)
{
    struct sender *sender = &own->sender;
    bool is_one = sender->line->source->window_ns > 0 && sender->sent_count == 1;
    if (!is_one || !atomic_load_explicit(&sender->is_done, memory_order_acquire))
        return until;
    if (!has_gap(own, 0, sender->sends[0].from))
        sender->sends[0].to = until = watch_on(own, 0, &sender->sends[0], until);
    return until;
}

/* Blocks while the sender settles a device. */
static void end_sending(struct own *own)
{
    int64_t from_ns = clock_monotonic_ns();
    sender_end(&own->sender);
    own->settled_ns += clock_monotonic_ns() - from_ns;
}

static uint32_t burst_elsewhere(struct own *own, uint32_t count)
{
    const struct clock *clock = &own->run->clock;
    struct sender *sender = &own->sender;
    sender_begin(sender, count);
    uint64_t from = clock_ticks(clock);
    atomic_store_explicit(&sender->is_watched, true, memory_order_release);
    uint64_t until = gap_log_watch(&own->gap_log, clock, from + clock_ticks_of_ns(clock, BURST_NS),
                                   &sender->is_done);
    until = watch_for_late(own, until);
    end_sending(own);
    const struct sent_watch watch = {from, known_until(&own->gap_log, until)};
    sent_match(own->gaps, own->gap_log.count, &watch, sender->sends, sender->sent_count,
               own->results, &counts_of(own)->sent);
    count_refused(counts_of(own), sender->refused_count, sender->error);
    return sender->sent_count;
}

/* ---- armed in advance, on the same CPU ---- */

static int64_t random_ahead_ns(struct own *own)
{
    return own->ahead_ns + random_below(&own->random, MORE_AHEAD_NS);
}

/* Watches until some time after the expiry, and then until the interrupt has come. */
static uint64_t watch_one(struct own *own, const struct sent *sent)
{
    const struct clock *clock = &own->run->clock;
    uint32_t first = own->gap_log.count;
    uint64_t until = sent->at + clock_ticks_of_ns(clock, TAIL_NS);
    return watch_on(own, first, sent, gap_log_watch(&own->gap_log, clock, until, NULL));
}

static void settle_armed(struct own *own)
{
    int64_t from_ns = clock_monotonic_ns();
    int error = own->line->source->settle(own->line);
    own->settled_ns += clock_monotonic_ns() - from_ns;
    if (error)
        count_refused(counts_of(own), 0, error);
}

/* False: it was refused. */
static bool arm_and_watch(struct own *own, struct sent *sent, struct sent_result *result)
{
    const struct clock *clock = &own->run->clock;
    uint32_t first = own->gap_log.count;
    int64_t at_ns = clock_monotonic_ns() + random_ahead_ns(own);
    uint64_t at = ticks_of(own, at_ns), early = clock_ticks_of_ns(clock, EARLY_NS);
    int error = own->line->source->arm(own->line, at_ns);
    if (error) {
        count_refused(counts_of(own), 1, error);
        return false;
    }
    *sent = (struct sent){at - early, at, at};
    struct sent_watch watch = {.from = clock_ticks(clock)};
    sent->to = watch.until = watch_one(own, sent);
    watch.until = known_until(&own->gap_log, watch.until);
    settle_armed(own);
    sent_match(own->gaps + first, own->gap_log.count - first, &watch, sent, 1, result,
               &counts_of(own)->sent);
    result->gap += first;
    return true;
}

static uint32_t burst_armed(struct own *own, uint32_t count)
{
    uint32_t sent_count = 0;
    int64_t until_ns = own->anchor.at_ns + BURST_NS;
    for (uint32_t i = 0; i < count && !run_should_stop(); i++) {
        if (clock_monotonic_ns() > until_ns)
            break;
        if (arm_and_watch(own, &own->armed[sent_count], &own->results[sent_count]))
            sent_count++;
    }
    return sent_count;
}

/* ---- one interruption ---- */

/* Stamps that are in the wrong order within their error say 0. */
static int64_t within_error(struct own *own, int64_t ns)
{
    if (ns >= 0)
        return ns;
    own->trace->seen.reversed_count += own->run->is_warm_up ? 0 : 1;
    return 0;
}

static void add_split(struct own *own, const struct interruption *one, int64_t handler_ns)
{
    struct interrupted_split *split = &own->split;
    if (own->run->is_warm_up)
        return;
    split->count++;
    split->delivery_ns += one->delivery_ns;
    split->latency_ns += one->latency_ns;
    split->handler_ns += handler_ns;
    split->dispatch_ns += one->dispatch_ns;
    split->service_ns += one->service_ns;
}

static void add_handler(struct own *own, const struct handled *handled, int64_t begin_ns,
                        int64_t end_ns, struct interruption *interruption)
{
    interruption->has_handler = true;
    interruption->latency_ns = within_error(own, handled->entry_ns - begin_ns);
    interruption->dispatch_ns = within_error(own, end_ns - handled->exit_ns);
    add_split(own, interruption, handled->exit_ns - handled->entry_ns);
}

/* False: the kernel has handled no such interrupt in the gap. It is something else's. */
static bool find_handler(struct own *own, const struct gap *gap, struct interruption *interruption)
{
    struct handled handled;
    int64_t begin_ns = monotonic_of(own, gap->begin), end_ns = monotonic_of(own, gap->end);
    int64_t error_ns = own->anchor.bracket_ns / 2 + 1;
    enum handler_fate fate =
        handler_trace_find(own->trace, begin_ns - error_ns, end_ns + error_ns, &handled);
    if (fate == HANDLER_SINGLE)
        add_handler(own, &handled, begin_ns, end_ns, interruption);
    if (fate == HANDLER_SINGLE && error_ns > own->trace->seen.error_ns)
        own->trace->seen.error_ns = error_ns;
    return fate != HANDLER_NONE;
}

static void take_seen(struct own *own, const struct sent *sent, const struct gap *gap)
{
    const struct clock *clock = &own->run->clock;
    struct interruption interruption = {
        .delivery_ns = clock_ns(clock, gap->begin - sent->at),
        .service_ns = clock_ns(clock, gap->end - gap->begin),
        .end = gap->end,
    };
    int64_t early_ns = -interruption.delivery_ns;
    if (early_ns > 0)
        interruption.delivery_ns = 0;
    if (!find_handler(own, gap, &interruption)) {
        sent_counts_move(&counts_of(own)->sent, SENT_SEEN, SENT_NOT_SEEN);
        return;
    }
    if (early_ns > 0) {
        counts_of(own)->early_count++;
        keep_longest(&counts_of(own)->earliest_ns, early_ns);
    }
    own->record(own->run, &interruption);
}

static void take_result(struct own *own, const struct sent *sent, const struct sent_result *result)
{
    const struct clock *clock = &own->run->clock;
    const struct gap *gap = &own->gaps[result->gap];
    if (result->fate == SENT_SEEN)
        take_seen(own, sent, gap);
    if (result->fate == SENT_AMBIGUOUS) /* its interrupt was over when the window was */
        keep_longest(&counts_of(own)->ambiguous_most_ns, clock_ns(clock, sent->to - sent->at));
    if (result->fate == SENT_IN_OTHER)
        keep_longest(&counts_of(own)->in_other_most_ns, clock_ns(clock, gap->end - sent->at));
}

static void take_results(struct own *own, const struct sent *sends, uint32_t count)
{
    handler_trace_read(own->trace);
    for (uint32_t i = 0; i < count; i++)
        take_result(own, &sends[i], &own->results[i]);
}

/* ---- bursts ---- */

static uint32_t wanted_count(const struct run *run)
{
    uint64_t taken = run_record(run, 0)->count;
    if (run->is_warm_up)
        return WARM_UP;
    return run->samples > 0 && run->samples - taken < BURST ? (uint32_t)(run->samples - taken)
                                                            : BURST;
}

static uint32_t send_and_watch(struct own *own)
{
    uint32_t count = wanted_count(own->run);
    own->gap_log.count = 0;
    own->gap_log.dropped_count = 0;
    own->settled_ns = 0;
    take_anchor(own);
    return own->has_sender ? burst_elsewhere(own, count) : burst_armed(own, count);
}

static bool is_given_up(const struct own *own)
{
    return own->unseen_bursts >=
           (own->line->source->most_in_a_burst == 1 ? MOST_UNSEEN_SINGLE : MOST_UNSEEN);
}

/* Those that the kernel has counted for certain: nobody may have had the CPU at the others. */
static uint32_t watched_count(const struct own *own, uint32_t count)
{
    uint32_t watched = 0;
    for (uint32_t i = 0; i < count; i++)
        watched += own->results[i].fate != SENT_NOT_WATCHED ? 1 : 0;
    return watched;
}

static int take_burst(struct run *run)
{
    struct own *own = run->own;
    uint64_t seen_count = counts_of(own)->sent.of[SENT_SEEN];
    pause_watch_begin(&own->pause_watch);
    uint32_t count = send_and_watch(own);
    pause_watch_end(&own->pause_watch, own->settled_ns);
    own->sources.sent[variant_number(run, "source")] += watched_count(own, count);
    take_results(own, own->has_sender ? own->sender.sends : own->armed, count);
    own->unseen_bursts =
        counts_of(own)->sent.of[SENT_SEEN] > seen_count ? 0 : own->unseen_bursts + 1;
    return is_given_up(own) ? -1 : 0;
}

/* ---- events ---- */

static void report_accounted(struct run *run, int64_t source,
                             const struct interrupted_counts *counts)
{
    const char *name = interrupt_source_names[source];
    const uint64_t *of = counts->sent.of;
    char early[96] = "";
    if (counts->early_count > 0)
        snprintf(early, sizeof early, "; %llu came early, by up to %lld ns, and count as 0",
                 (unsigned long long)counts->early_count, (long long)counts->earliest_ns);
    arena_event(
        run->arena, "interrupts_accounted", -1,
        DATA(data_text("source", name), data_integer("sent_count", (int64_t)counts->sent.sent),
             data_integer("seen_count", (int64_t)of[SENT_SEEN]),
             data_integer("in_other_count", (int64_t)of[SENT_IN_OTHER]),
             data_integer("ambiguous_count", (int64_t)of[SENT_AMBIGUOUS]),
             data_integer("not_seen_count", (int64_t)of[SENT_NOT_SEEN]),
             data_integer("not_watched_count", (int64_t)of[SENT_NOT_WATCHED]),
             data_integer("in_other_most_ns", counts->in_other_most_ns),
             data_integer("ambiguous_most_ns", counts->ambiguous_most_ns),
             data_integer("early_count", (int64_t)counts->early_count),
             data_integer("earliest_ns", counts->earliest_ns),
             data_integer("refused_count", (int64_t)counts->refused_count),
             counts->error ? data_text("error", strerror(counts->error)) : data_none()),
        "%s: of %llu interrupts sent %llu were seen, %llu came while another interruption had the "
        "CPU (the longest from its send to the end of both: %lld ns), %llu are ambiguous (the "
        "longest was over after %lld ns), %llu were not seen, %llu not watched%s",
        name, (unsigned long long)counts->sent.sent, (unsigned long long)of[SENT_SEEN],
        (unsigned long long)of[SENT_IN_OTHER], (long long)counts->in_other_most_ns,
        (unsigned long long)of[SENT_AMBIGUOUS], (long long)counts->ambiguous_most_ns,
        (unsigned long long)of[SENT_NOT_SEEN], (unsigned long long)of[SENT_NOT_WATCHED], early);
}

static int64_t mean(int64_t sum, uint64_t count)
{
    return (sum + (int64_t)(count / 2)) / (int64_t)count;
}

/* Means of the parts; nothing where no handler is known. */
static void report_split(struct run *run, int64_t source, const struct interrupted_split *split)
{
    const char *name = interrupt_source_names[source];
    uint64_t count = split->count;
    if (count == 0)
        return;
    int64_t delivery = mean(split->delivery_ns, count), latency = mean(split->latency_ns, count);
    int64_t handler = mean(split->handler_ns, count), dispatch = mean(split->dispatch_ns, count);
    int64_t service = mean(split->service_ns, count);
    arena_event(
        run->arena, "interrupts_split", -1,
        DATA(data_text("source", name), data_integer("matched_count", (int64_t)count),
             data_integer("delivery_mean_ns", delivery), data_integer("latency_mean_ns", latency),
             data_integer("handler_mean_ns", handler), data_integer("dispatch_mean_ns", dispatch),
             data_integer("service_mean_ns", service)),
        "%s: mean of %llu interrupts whose handler was seen: delivery %lld ns; service %lld "
        "ns, of which latency %lld ns, the handler %lld ns, dispatch %lld ns",
        name, (unsigned long long)count, (long long)delivery, (long long)service,
        (long long)latency, (long long)handler, (long long)dispatch);
}

static void report_unseen(struct run *run, const struct interrupt_line *line, int burst_count)
{
    arena_event(run->arena, "interrupts_unseen", -1,
                DATA(data_text("source", line->source->name), data_integer("cpu", run->setup.cpu),
                     data_integer("burst_count", burst_count)),
                "%s: given up, no interrupt of %d bursts was seen on CPU %d: the system serves it "
                "elsewhere, or the thread did not get the CPU",
                line->source->name, burst_count, run->setup.cpu);
}

/* ---- a variant ---- */

static void begin_variant(struct own *own)
{
    int64_t source = variant_number(own->run, "source");
    own->line = &own->sources.lines[source];
    own->trace = &own->sources.traces[source];
    own->unseen_bursts = 0;
    memset(&own->counts, 0, sizeof own->counts);
    memset(&own->warm_up_counts, 0, sizeof own->warm_up_counts);
    memset(&own->split, 0, sizeof own->split);
    gap_log_open(&own->gap_log, &own->run->clock, own->gaps, GAPS);
}

static int start_sender(struct own *own)
{
    own->has_sender = own->line->source->is_sent_elsewhere;
    if (!own->has_sender)
        return 0;
    int error = sender_start(&own->sender, own->run, own->line);
    own->has_sender = error == 0;
    return error ? outcome_set_errno(&own->run->outcome, error, "starting the thread that sends",
                                     NULL)
                 : 0;
}

/* Arming takes long on a slow machine: the expiry must be ahead when the watch begins. */
static void find_ahead(struct own *own)
{
    int64_t longest_ns = 0;
    own->ahead_ns = LEAST_AHEAD_NS;
    for (int i = 0; i < TRIES && !own->has_sender; i++) {
        int64_t from_ns = clock_monotonic_ns();
        (void)own->line->source->arm(own->line, from_ns);
        int64_t took_ns = clock_monotonic_ns() - from_ns;
        longest_ns = took_ns > longest_ns ? took_ns : longest_ns;
        (void)own->line->source->settle(own->line);
    }
    own->ahead_ns += 2 * longest_ns;
}

static void report_variant(struct own *own)
{
    handler_trace_stop(own->trace);
    report_accounted(own->run, variant_number(own->run, "source"), &own->counts);
    report_split(own->run, variant_number(own->run, "source"), &own->split);
    if (is_given_up(own))
        report_unseen(own->run, own->line, own->unseen_bursts);
}

static int measure_variant(struct run *run)
{
    struct own *own = run->own;
    begin_variant(own);
    if (!own->line->source)
        return 0;
    if (start_sender(own) != 0)
        return -1;
    find_ahead(own);
    int result = handler_trace_start(own->trace);
    if (result == 0)
        variant_sample(run, 0, 1, take_burst);
    report_variant(own);
    if (own->has_sender)
        sender_stop(&own->sender);
    return result;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    burst_begin(run, 0);
    pause_watch_open(&own->pause_watch, run, NULL);
    burst_plan(run, 2 * BURST_NS); /* a burst, and one of warm-up */
    return variants_measure(run);
}

/* ---- the other steps of both tests ---- */

static int check(struct run *run)
{
    if (interrupt_sources_check(run) != 0)
        return -1;
    return handler_trace_check(run, HANDLER_OF_INTERRUPT);
}

static int prepare(struct run *run, interruption_record record)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    own->record = record;
    random_start(&own->random, run->seed);
    return interrupt_sources_open(&own->sources, run, HANDLER_OF_INTERRUPT);
}

static void finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        interrupt_sources_close(&own->sources);
}

static int judge(struct run *run)
{
    struct own *own = run->own;
    return interrupt_sources_judge(&own->sources);
}

/* ---- IRQ-P-LAT ---- */

static const struct param_spec params[] = {INTERRUPT_SOURCE_PARAMS, HANDLER_PARAM, {0}};

static const struct series_spec latency_series[] = {
    {"delivery", "ns", "source",
     "ipi, external: the sender, right before the call that sends; timer: the programmed expiry",
     "last counter reading of the running thread before it loses the CPU"},
    {"latency", "ns", "source",
     "last counter reading of the running thread before it loses the CPU",
     "entry of the interrupt's handler, stamped by the kernel"},
    {0},
};
enum { DELIVERY, LATENCY };

static void record_latency(struct run *run, const struct interruption *interruption)
{
    run_record_value(run, DELIVERY, interruption->delivery_ns, interruption->end);
    if (interruption->has_handler)
        run_record_value(run, LATENCY, interruption->latency_ns, interruption->end);
}

static int prepare_latency(struct run *run)
{
    return prepare(run, record_latency);
}

const struct test irq_p_lat = {
    .id = "IRQ-P-LAT",
    .title = "Interrupt latency",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = latency_series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_A_CPU | TEST_COMPARES_CPUS,
    .default_samples = SAMPLES,
    .setup_ns = 500000000,
    .sample_ns = SAMPLE_NS,
    .warm_up_samples = 1,
    .check = check,
    .has_variant = interrupt_source_has_variant,
    .prepare = prepare_latency,
    .measure = measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

/* ---- IRQ-P-DLT ---- */

static const struct series_spec dispatch_series[] = {
    {"service", "ns", "source",
     "last counter reading of the running thread before it loses the CPU",
     "its first counter reading after the interrupt"},
    {"dispatch", "ns", "source", "exit of the interrupt's handler, stamped by the kernel",
     "first counter reading of the interrupted thread"},
    {0},
};
enum { SERVICE, DISPATCH };

static void record_dispatch(struct run *run, const struct interruption *interruption)
{
    run_record_value(run, SERVICE, interruption->service_ns, interruption->end);
    if (interruption->has_handler)
        run_record_value(run, DISPATCH, interruption->dispatch_ns, interruption->end);
}

static int prepare_dispatch(struct run *run)
{
    return prepare(run, record_dispatch);
}

const struct test irq_p_dlt = {
    .id = "IRQ-P-DLT",
    .title = "Dispatch latency from the interrupt handler back",
    .source = "[D] Dedicated Systems 2012",
    .params = params,
    .series = dispatch_series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_A_CPU | TEST_COMPARES_CPUS,
    .default_samples = SAMPLES,
    .setup_ns = 500000000,
    .sample_ns = SAMPLE_NS,
    .warm_up_samples = 1,
    .check = check,
    .has_variant = interrupt_source_has_variant,
    .prepare = prepare_dispatch,
    .measure = measure,
    .measure_variant = measure_variant,
    .judge = judge,
    .finish = finish,
};

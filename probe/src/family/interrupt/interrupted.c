#include "base/posix_source.h"

#include "family/interrupt/interrupted.h"

#include "family/interrupt/interrupted_report.h"
#include "family/interrupt/pause_watch.h"
#include "family/interrupt/sender.h"
#include "run/variant.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    BURST = SENDER_BURST,
    WARM_UP = 16,
    GAPS = 4096,
    MOST_UNSEEN = 20,
    MOST_UNSEEN_SINGLE = 200,
    TRIES = 4
};

#define BURST_NS INT64_C(50000000) /* the longest; a burst of 128 takes about 10 ms */
#define LEAST_AHEAD_NS INT64_C(50000)
#define MORE_AHEAD_NS 100000.0 /* random part */
#define TAIL_NS INT64_C(5000)
#define STEP_NS INT64_C(20000)
#define PATIENCE_NS INT64_C(10000000) /* for an interrupt that is late */

/* How early a timer may take the CPU: hypervisors leave the guest before the expiry (KVM up to 5
 * us), and clock event devices round. */
#define EARLY_NS INT64_C(10000)

struct own {
    struct run *run;
    interrupted_record record;
    struct rig rig;
    struct pause_watch pause_watch;
    struct interrupt_line *line; /* of the current source */
    struct handler_sight *sight;
    struct sender sender;
    bool has_sender;
    struct interrupted_counts counts;
    struct interrupted_counts warm_up_counts; /* not told */
    struct interrupted_split split;
    int unseen_bursts;  /* in a row */
    int64_t ahead_ns;   /* least time from arming to expiry */
    int64_t settled_ns; /* of the burst: time spent settling */
    unsigned short random[3];
    struct clock_anchor anchor; /* of the burst; bracket_ns is of both sides */
    struct gap_log gap_log;
    struct gap gaps[GAPS];
    struct sent_result results[BURST];
    struct sent armed[BURST];
};

int interrupted_check(struct run *run)
{
    return rig_check(run, HANDLER_OF_INTERRUPT);
}

int interrupted_prepare(struct run *run, interrupted_record record)
{
    struct own *own = run_own(run, sizeof *own);
    if (!own)
        return -1;
    own->run = run;
    own->record = record;
    own->random[0] = 0x330e;
    own->random[1] = (unsigned short)run->seed;
    own->random[2] = (unsigned short)(run->seed >> 16);
    return rig_open(&own->rig, run, HANDLER_OF_INTERRUPT);
}

void interrupted_finish(struct run *run)
{
    struct own *own = run->own;
    if (own)
        rig_close(&own->rig);
}

int interrupted_judge(struct run *run)
{
    struct own *own = run->own;
    return rig_judge(&own->rig);
}

/* ---- time ---- */

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

/* ---- one interruption ---- */

static struct interrupted_counts *counts_of(struct own *own)
{
    return own->run->is_warm_up ? &own->warm_up_counts : &own->counts;
}

/* Stamps that are in the wrong order within their error say 0. */
static int64_t within_error(struct own *own, int64_t ns)
{
    if (ns >= 0)
        return ns;
    own->sight->seen.reversed_count += own->run->is_warm_up ? 0 : 1;
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
        handler_sight_find(own->sight, begin_ns - error_ns, end_ns + error_ns, &handled);
    if (fate == HANDLER_SINGLE)
        add_handler(own, &handled, begin_ns, end_ns, interruption);
    if (fate == HANDLER_SINGLE && error_ns > own->sight->seen.error_ns)
        own->sight->seen.error_ns = error_ns;
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
    if (early_ns > 0)
        interrupted_count_early(counts_of(own), early_ns);
    own->record(own->run, &interruption);
}

/* Its interrupt was over when the window was. */
static void take_ambiguous(struct own *own, const struct sent *sent)
{
    interrupted_count_ambiguous(counts_of(own), clock_ns(&own->run->clock, sent->to - sent->at));
}

static void take_result(struct own *own, const struct sent *sent, const struct sent_result *result)
{
    const struct gap *gap = &own->gaps[result->gap];
    if (result->fate == SENT_SEEN)
        take_seen(own, sent, gap);
    if (result->fate == SENT_AMBIGUOUS)
        take_ambiguous(own, sent);
    if (result->fate == SENT_IN_OTHER)
        interrupted_count_in_other(counts_of(own), clock_ns(&own->run->clock, gap->end - sent->at));
}

static void take_results(struct own *own, const struct sent *sends, uint32_t count)
{
    handler_sight_read(own->sight);
    for (uint32_t i = 0; i < count; i++)
        take_result(own, &sends[i], &own->results[i]);
}

/* ---- watching ---- */

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
    sender_watched(sender);
    uint64_t until = gap_log_watch(&own->gap_log, clock, from + clock_ticks_of_ns(clock, BURST_NS),
                                   &sender->is_done);
    until = watch_for_late(own, until);
    end_sending(own);
    const struct sent_watch watch = {from, known_until(&own->gap_log, until)};
    sent_match(own->gaps, own->gap_log.count, &watch, sender->sends, sender->sent_count,
               own->results, &counts_of(own)->sent);
    interrupted_count_refused(counts_of(own), sender->refused_count, sender->error);
    return sender->sent_count;
}

/* ---- armed in advance, on the same CPU ---- */

static int64_t random_ahead_ns(struct own *own)
{
    return own->ahead_ns + (int64_t)(erand48(own->random) * MORE_AHEAD_NS);
}

/* Watches until some time after the expiry, and then until the interrupt has come. */
static uint64_t watch_one(struct own *own, const struct sent *sent)
{
    const struct clock *clock = &own->run->clock;
    uint32_t first = own->gap_log.count;
    uint64_t until = sent->at + clock_ticks_of_ns(clock, TAIL_NS);
    return watch_on(own, first, sent, gap_log_watch(&own->gap_log, clock, until, NULL));
}

static void settle(struct own *own)
{
    int64_t from_ns = clock_monotonic_ns();
    int error = own->line->source->settle(own->line);
    own->settled_ns += clock_monotonic_ns() - from_ns;
    if (error)
        interrupted_count_refused(counts_of(own), 0, error);
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
        interrupted_count_refused(counts_of(own), 1, error);
        return false;
    }
    *sent = (struct sent){at - early, at, at};
    struct sent_watch watch = {.from = clock_ticks(clock)};
    sent->to = watch.until = watch_one(own, sent);
    watch.until = known_until(&own->gap_log, watch.until);
    settle(own);
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
    own->rig.sent[variant_number(run, "source")] += watched_count(own, count);
    take_results(own, own->has_sender ? own->sender.sends : own->armed, count);
    own->unseen_bursts =
        counts_of(own)->sent.of[SENT_SEEN] > seen_count ? 0 : own->unseen_bursts + 1;
    return is_given_up(own) ? -1 : 0;
}

/* ---- a variant ---- */

static void begin_variant(struct own *own)
{
    int64_t source = variant_number(own->run, "source");
    own->line = &own->rig.lines[source];
    own->sight = &own->rig.sights[source];
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

static void tell_variant(struct own *own)
{
    handler_sight_stop(own->sight);
    interrupted_tell_accounted(own->run, variant_number(own->run, "source"), &own->counts);
    interrupted_tell_split(own->run, variant_number(own->run, "source"), &own->split);
    if (is_given_up(own))
        interrupted_tell_unseen(own->run, own->line, own->unseen_bursts);
}

int interrupted_measure_variant(struct run *run)
{
    struct own *own = run->own;
    begin_variant(own);
    if (!own->line->source)
        return 0;
    if (start_sender(own) != 0)
        return -1;
    find_ahead(own);
    int result = handler_sight_start(own->sight);
    if (result == 0)
        variant_sample(run, 0, 1, take_burst);
    tell_variant(own);
    if (own->has_sender)
        sender_stop(&own->sender);
    return result;
}

int interrupted_measure(struct run *run)
{
    struct own *own = run->own;
    burst_begin(run, 0);
    pause_watch_open(&own->pause_watch, run, NULL);
    burst_plan(run, 2 * BURST_NS); /* a burst, and one of warm-up */
    return variants_measure(run);
}

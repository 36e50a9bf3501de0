#include "base/posix_source.h"

#include "record/counter_table.h"

#include "record/arena_layout.h"
#include "record/kept.h"

#include <string.h>

/* Rank of an interval: the lowest place of any worst value that lies in it, 0 for the largest of
 * its series. `rank` is that of the series in their slots, and new at each look; `held_rank` that
 * of series that have left theirs. */
#define NO_RANK UINT32_MAX

enum { WHOLE_MOST = (ARENA_INTERVALS + 1) / 2 };

const char *arena_counter_name(enum arena_counter counter)
{
    static const char *const names[ARENA_COUNTERS] = {
        [ARENA_STEAL_NS] = "steal_ns",
        [ARENA_INTERRUPTS] = "interrupts_count",
        [ARENA_TIMER_INTERRUPTS] = "timer_interrupts_count",
        [ARENA_BUSIEST] = "busiest_count",
        [ARENA_RUN_DELAY_NS] = "run_delay_ns",
        [ARENA_MINOR_FAULTS] = "minor_faults_count",
        [ARENA_MAJOR_FAULTS] = "major_faults_count",
        [ARENA_MIGRATIONS] = "migrations_count",
        [ARENA_INVOLUNTARY] = "involuntary_switches_count",
        [ARENA_THROTTLED] = "throttled_count",
        [ARENA_THROTTLED_NS] = "throttled_ns",
        [ARENA_HEAT] = "thermal_throttled_count",
        [ARENA_HEAT_NS] = "thermal_throttled_ns",
    };
    return names[counter];
}

bool counter_table_has(const struct arena_interval *entry)
{
    return entry->is_used && entry->done == entry->begun;
}

/* Writes an entry, so that a copy of the arena can tell one that is half written. */
static void write_entry(struct arena_interval *entry, const struct arena_interval *from)
{
    atomic_fetch_add(&entry->begun, 1);
    entry->at_ns = from->at_ns;
    entry->span_ns = from->span_ns;
    entry->cpu = from->cpu;
    entry->is_used = 1;
    entry->is_whole = from->is_whole;
    entry->rank = from->rank;
    entry->held_rank = from->held_rank;
    memcpy(entry->counters, from->counters, sizeof entry->counters);
    memcpy(entry->busiest, from->busiest, sizeof entry->busiest);
    atomic_fetch_add(&entry->done, 1);
}

static struct arena_interval *free_entry(struct arena *arena)
{
    for (int i = 0; i < ARENA_INTERVALS; i++)
        if (!arena->intervals[i].is_used)
            return &arena->intervals[i];
    return NULL;
}

int counter_table_add_whole(struct arena *arena, const struct arena_interval *interval)
{
    int count = 0;
    for (int i = 0; i < ARENA_INTERVALS; i++)
        count += arena->intervals[i].is_used && arena->intervals[i].is_whole ? 1 : 0;
    struct arena_interval *entry = count < WHOLE_MOST ? free_entry(arena) : NULL;
    if (!entry) {
        arena->interval_lost++;
        return -1;
    }
    write_entry(entry, interval);
    return (int)(entry - arena->intervals);
}

void counter_table_set(struct arena *arena, int place, const struct arena_interval *interval)
{
    if (place >= 0)
        write_entry(&arena->intervals[place], interval);
}

/* ---- which values lie in which interval ---- */

/* The worst values of one series, and the intervals that they are looked for in. */
struct worst_values {
    const struct arena *arena;
    struct record_worst worst[RECORD_WORST];
    int count;
    int64_t cpu;   /* label of the series; -1: none */
    bool is_time;  /* a value is a time, and began that long before */
    bool has_left; /* the series has left its slot */
};

static void describe(struct worst_values *values, uint32_t number)
{
    const struct arena_series *series = &values->arena->series[number];
    values->cpu = -1;
    values->is_time = strcmp(series->unit, "ns") == 0;
    for (uint32_t i = 0; i < series->label_count; i++)
        if (strcmp(series->labels[i].key, "cpu") == 0 && !series->labels[i].text[0])
            values->cpu = series->labels[i].number;
}

static bool holds(const struct arena_interval *interval, int64_t ns)
{
    return ns >= interval->at_ns && ns < interval->at_ns + interval->span_ns;
}

static void rank(const struct worst_values *values, struct arena_interval *interval)
{
    int64_t started_ns = values->arena->started_ns;
    if (values->cpu >= 0 && values->cpu != interval->cpu)
        return;
    for (int i = 0; i < values->count; i++) {
        int64_t end_ns = started_ns + values->worst[i].at_ns, value_ns = values->worst[i].value_ns;
        bool is_long = values->is_time && value_ns > 0;
        if (!holds(interval, end_ns) && !(is_long && holds(interval, end_ns - value_ns)))
            continue;
        uint32_t *of = values->has_left ? &interval->held_rank : &interval->rank;
        *of = (uint32_t)i < *of ? (uint32_t)i : *of;
        return;
    }
}

static void rank_all(struct arena *arena, const struct counter_table_offer *offer,
                     const struct worst_values *values)
{
    for (int i = 0; i < ARENA_INTERVALS; i++)
        if (arena->intervals[i].is_used && !arena->intervals[i].is_whole)
            rank(values, &arena->intervals[i]);
    for (int i = 0; i < offer->count; i++)
        rank(values, &offer->intervals[i]);
}

/* Those of the slots. False: one is written to all the time, so that nothing may be dropped. */
static bool rank_by_slots(struct arena *arena, const struct counter_table_offer *offer)
{
    struct worst_values values = {.arena = arena};
    bool is_known = true;
    for (uint32_t i = 0; i < arena->slot_count; i++) {
        uint64_t owner;
        values.count = record_copy_worst(arena_slot_view(arena, i), values.worst, &owner);
        is_known &= values.count >= 0;
        if (values.count <= 0 || owner == 0 || owner > arena->series_count)
            continue;
        describe(&values, (uint32_t)(owner - 1));
        rank_all(arena, offer, &values);
    }
    return is_known;
}

/* Those of series that have left their slot since the last look. */
static void rank_by_kept(struct arena *arena, struct counter_table_offer *offer)
{
    struct worst_values values = {.arena = arena, .has_left = true};
    uint64_t end = arena->kept_end, at = offer->kept_at ? offer->kept_at : arena->kept_begin;
    while (at < end) {
        uint32_t series;
        const char *entry = (const char *)arena + at;
        size_t bytes = kept_find(entry, (size_t)(end - at), &series);
        if (bytes == 0)
            break;
        describe(&values, series);
        values.count = kept_worst(entry, values.worst);
        rank_all(arena, offer, &values);
        at += bytes;
    }
    offer->kept_at = end;
}

/* ---- what stays ---- */

static uint32_t best_rank(const struct arena_interval *interval)
{
    return interval->rank < interval->held_rank ? interval->rank : interval->held_rank;
}

static struct arena_interval *find(struct arena *arena, const struct arena_interval *interval)
{
    for (int i = 0; i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        if (entry->is_used && !entry->is_whole && entry->cpu == interval->cpu &&
            entry->at_ns == interval->at_ns)
            return entry;
    }
    return NULL;
}

static struct arena_interval *least(struct arena *arena)
{
    struct arena_interval *found = NULL;
    for (int i = 0; i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        if (entry->is_used && !entry->is_whole && (!found || best_rank(entry) > best_rank(found)))
            found = entry;
    }
    return found;
}

static void keep(struct arena *arena, struct arena_interval *interval)
{
    if (best_rank(interval) == NO_RANK || find(arena, interval))
        return;
    struct arena_interval *entry = free_entry(arena);
    if (!entry) {
        arena->interval_lost += interval->is_used ? 0 : 1;
        interval->is_used = 1; /* counted */
        entry = least(arena);
        if (!entry || best_rank(entry) <= best_rank(interval))
            return;
    }
    write_entry(entry, interval);
}

void counter_table_sort(struct arena *arena, struct counter_table_offer *offer)
{
    for (int i = 0; i < ARENA_INTERVALS; i++)
        arena->intervals[i].rank = NO_RANK;
    for (int i = 0; i < offer->count; i++)
        offer->intervals[i].rank = offer->intervals[i].held_rank = NO_RANK;
    rank_by_kept(arena, offer);
    bool is_known = rank_by_slots(arena, offer);
    for (int i = 0; is_known && i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        if (entry->is_used && !entry->is_whole && best_rank(entry) == NO_RANK)
            entry->is_used = 0;
    }
    for (int i = 0; i < offer->count; i++)
        keep(arena, &offer->intervals[i]);
}

/* ---- reading a file ---- */

static bool is_sound(const struct arena_interval *entry)
{
    return counter_table_has(entry) && entry->span_ns >= 0 && entry->cpu >= 0 && entry->at_ns >= 0;
}

void counter_table_repair(struct arena *arena)
{
    for (int i = 0; i < ARENA_INTERVALS; i++) {
        struct arena_interval *entry = &arena->intervals[i];
        entry->busiest[sizeof entry->busiest - 1] = '\0';
        if (is_sound(entry))
            continue;
        if (entry->is_used)
            arena->interval_lost++;
        entry->is_used = 0;
    }
}

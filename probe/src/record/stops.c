#include "base/posix_source.h"

#include "record/arena.h"

#include <string.h>

/* The thread that notes the end of a stop may be this late. */
#define LATE_MOST_NS INT64_C(20000000)

void stops_add(struct arena *arena, int64_t monotonic_ns)
{
    uint64_t number = atomic_load(&arena->stop_count);
    struct arena_stop *stop = &arena->stops[number % ARENA_STOPS];
    atomic_store(&stop->least_ns, 0);
    atomic_store(&stop->ended_ns, monotonic_ns);
    atomic_store(&arena->stop_count, number + 1);
}

void stops_forget(struct arena *arena)
{
    atomic_store(&arena->stop_count, 0);
}

static uint32_t known_count(const struct arena *arena)
{
    uint64_t count = atomic_load(&arena->stop_count);
    return count < ARENA_STOPS ? (uint32_t)count : ARENA_STOPS;
}

/* One of a damaged file may be anything. */
static bool is_moment(const struct record_worst *worst)
{
    return worst->at_ns > -INT64_MAX / 4 && worst->at_ns < INT64_MAX / 4 &&
           worst->value_ns < INT64_MAX / 4;
}

/* Place of a stop that ended from `from_ns` to `to_ns` after the start; -1: there is none. */
static int find(const struct arena *arena, int64_t from_ns, int64_t to_ns)
{
    uint32_t count = known_count(arena);
    for (uint32_t i = 0; i < count; i++) {
        int64_t ended_ns = atomic_load(&arena->stops[i].ended_ns) - arena->started_ns;
        if (ended_ns >= from_ns && ended_ns <= to_ns)
            return (int)i;
    }
    return -1;
}

/* A value shorter than the noting thread is late may not be of the stop. */
static int find_under_way(const struct arena *arena, int64_t value_ns, int64_t at_ns)
{
    int64_t late_ns = value_ns < LATE_MOST_NS ? value_ns : LATE_MOST_NS;
    return value_ns > 0 ? find(arena, at_ns - value_ns, at_ns + late_ns) : -1;
}

bool stops_touch(const struct arena *arena, int64_t value_ns, int64_t at_ns)
{
    return find_under_way(arena, value_ns, at_ns) >= 0;
}

bool stops_since(const struct arena *arena, int64_t monotonic_ns)
{
    return find(arena, monotonic_ns - arena->started_ns, INT64_MAX) >= 0;
}

static void note_length(struct arena_stop *stop, int64_t value_ns)
{
    int64_t least_ns = atomic_load(&stop->least_ns);
    while (value_ns > least_ns &&
           !atomic_compare_exchange_weak(&stop->least_ns, &least_ns, value_ns))
        ;
}

/* A count (of missed periods, of overruns) does not say since when: it is of the stop at whose end
 * it came. Of a rate the worst is the least, which `worst` has not. Of times the longest of each
 * stop goes into `longest_ns`. */
static bool is_of_stop(const struct arena *arena, const char *unit,
                       const struct record_worst *worst, int64_t longest_ns[ARENA_STOPS])
{
    if (!is_moment(worst))
        return false;
    if (strcmp(unit, "count") == 0)
        return worst->value_ns > 0 &&
               find(arena, worst->at_ns - LATE_MOST_NS, worst->at_ns + LATE_MOST_NS) >= 0;
    int place = strcmp(unit, "ns") == 0 ? find_under_way(arena, worst->value_ns, worst->at_ns) : -1;
    if (place >= 0 && worst->value_ns > longest_ns[place])
        longest_ns[place] = worst->value_ns;
    return place >= 0;
}

void stops_take_out(struct arena *arena, struct record *record)
{
    if (known_count(arena) == 0 || record->owner == 0 || record->owner > arena->series_count)
        return;
    const char *unit = arena->series[record->owner - 1].unit;
    uint64_t before = record->worst_count;
    int64_t longest_ns[ARENA_STOPS] = {0};
    for (uint64_t i = before; i > 0; i--)
        if (is_of_stop(arena, unit, &record->worst[i - 1], longest_ns))
            record_take_out(record, i - 1);
    for (int place = 0; record->count > 0 && place < ARENA_STOPS; place++)
        note_length(&arena->stops[place], longest_ns[place] - record->max);
    if (before == RECORD_WORST && record->worst_count == 0 && record->count > 0)
        atomic_fetch_add(&arena->stops_mixed, 1);
}

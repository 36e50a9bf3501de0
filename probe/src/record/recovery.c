#include "base/posix_source.h"

#include "record/recovery.h"

#include "base/clock.h"
#include "record/arena_layout.h"
#include "record/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- records that are torn ---- */

#define ROUNDING 1e-9 /* relative rounding error of sums in floating point */
/* relative error of a deviation: some 10^10 values, moments about a distant value */
#define CANCELLATION 1e-6

static uint64_t held_count(const struct record *record)
{
    uint64_t held = record->underflow + record->overflow;
    for (uint32_t i = 0; i < record->bucket_count; i++)
        held += record->buckets[i];
    return held;
}

/* The first bucket in use, or with `step` -1 the last one; -1 where none is. */
static int end_bucket(const struct record *record, int first, int step)
{
    for (int i = first; i >= 0 && i < (int)record->bucket_count; i += step)
        if (record->buckets[i] > 0)
            return i;
    return -1;
}

static int64_t low_of(const struct record *record, int bucket)
{
    return record_bucket_low((uint32_t)bucket, record->sub_bits);
}

static int64_t high_of(const struct record *record, int bucket)
{
    return record_bucket_high((uint32_t)bucket, record->sub_bits);
}

static void recover_min(struct record *record)
{
    int first = end_bucket(record, 0, 1);
    int64_t least = first < 0 ? record->limit + 1 : low_of(record, first);
    if (record->underflow > 0)
        return;
    if (record->min < least)
        record_hold(record, record->min);
    else if (first >= 0 && record->min > high_of(record, first))
        record->min = least;
}

static int64_t largest_of_maxima(const struct record *record)
{
    const int64_t *maxima = record_maxima_view(record);
    int64_t largest = RECORD_NO_MAXIMUM;
    for (uint32_t i = 0; i < record->maxima_capacity; i++)
        if (maxima[i] > largest)
            largest = maxima[i];
    return largest;
}

/* Length of one interval that covers the whole time: each halving has doubled the interval. */
static void keep_one_maximum(struct record *record, int64_t largest, uint64_t halvings)
{
    bool is_long = record->maxima_interval_ns > INT64_MAX / record->maxima_capacity;
    int64_t whole_ns = is_long ? INT64_MAX : record->maxima_interval_ns * record->maxima_capacity;
    for (; halvings > 0 && whole_ns <= INT64_MAX / 2; halvings--)
        whole_ns *= 2;
    for (uint32_t i = 0; i < record->maxima_capacity; i++)
        record_maxima(record)[i] = RECORD_NO_MAXIMUM;
    record_maxima(record)[0] = largest;
    record->maxima_used = 1;
    record->maxima_interval_ns = whole_ns;
}

/* Includes an interval that began after their number was copied. */
static void find_used_maxima(struct record *record)
{
    int64_t most = INT64_MAX / record->maxima_interval_ns;
    for (uint32_t i = record->maxima_used; i < record->maxima_capacity && i < most; i++)
        if (record_maxima(record)[i] != RECORD_NO_MAXIMUM)
            record->maxima_used = i + 1;
}

/* A halving during the copy may have moved the largest value to a place that was already copied.
 * Then use the upper edge of its bucket. */
static void raise_to_bucket(struct record *record, int last)
{
    if (record->overflow > 0 && record->max <= record->limit)
        record->max = record->limit + 1;
    else if (record->overflow == 0 && last >= 0 && record->max < low_of(record, last))
        record->max = high_of(record, last);
    record_maxima(record)[0] = record->max;
}

/* The probe may have been killed before it stored the largest value in the maxima: that value
 * belongs to the last interval. */
static void recover_max(struct record *record, struct recovered *recovered)
{
    int64_t largest = largest_of_maxima(record);
    uint64_t halvings =
        (uint64_t)record_maxima(record)[record->maxima_capacity] - record->halvings_done;
    recovered->lost_maxima = halvings != 0;
    if (recovered->lost_maxima)
        keep_one_maximum(record, largest, halvings);
    else
        find_used_maxima(record);
    if (record->max > largest)
        record_maxima(record)[record->maxima_used - 1] = record->max;
    else
        record->max = largest;
    int last = end_bucket(record, (int)record->bucket_count - 1, -1);
    int64_t most = last < 0 ? -1 : high_of(record, last);
    if (record->overflow == 0 && record->max > most)
        record_hold(record, record->max);
    if (recovered->lost_maxima)
        raise_to_bucket(record, last);
}

/* Bucket index of a value; -1: underflow; bucket_count: overflow. */
static int64_t place_of(const struct record *record, int64_t value)
{
    if (value < 0)
        return -1;
    return value > record->limit ? (int64_t)record->bucket_count
                                 : (int64_t)record_bucket((uint64_t)value, record->sub_bits);
}

/* Whether the list has every value above the bucket of its last entry. */
static bool has_all_above(const struct record *record)
{
    int64_t last = place_of(record, record->worst[record->worst_count - 1].value_ns);
    uint64_t listed = 0, held = last < (int64_t)record->bucket_count ? record->overflow : 0;
    for (uint32_t i = 0; i < record->worst_count; i++)
        listed += place_of(record, record->worst[i].value_ns) > last ? 1 : 0;
    for (int64_t i = last + 1; i < (int64_t)record->bucket_count; i++)
        held += record->buckets[i];
    return listed == held;
}

static bool is_list_whole(const struct record *record)
{
    uint64_t most = record->count < RECORD_WORST ? record->count : RECORD_WORST;
    return record->worst_done == record->worst_begun && record->worst_count == most &&
           record->worst[0].value_ns == record->max && has_all_above(record);
}

static void recover_worst(struct record *record, struct recovered *recovered)
{
    recovered->lost_worst = !is_list_whole(record);
    if (recovered->lost_worst)
        record->worst_count = 0;
}

/* The range of mean and deviation that values in these buckets can have. */
struct possible {
    double least_mean, middle_mean, most_mean;
    double squares; /* of the middles, about their mean */
    double room;    /* sum of squares of the half widths */
};

/* Calls `add` for each bucket in use, and for underflow and overflow. */
static void each_range(const struct record *record, struct possible *possible,
                       void (*add)(struct possible *, double share, double low, double high))
{
    double all = (double)record->count;
    if (record->underflow > 0)
        add(possible, (double)record->underflow / all, (double)record->min, -1);
    for (uint32_t i = 0; i < record->bucket_count; i++)
        if (record->buckets[i] > 0)
            add(possible, (double)record->buckets[i] / all,
                (double)record_bucket_low(i, record->sub_bits),
                (double)record_bucket_high(i, record->sub_bits));
    if (record->overflow > 0)
        add(possible, (double)record->overflow / all, (double)record->limit + 1,
            (double)record->max);
}

static void add_means(struct possible *possible, double share, double low, double high)
{
    possible->least_mean += share * low;
    possible->middle_mean += share * (low + high) / 2;
    possible->most_mean += share * high;
}

static void add_squares(struct possible *possible, double share, double low, double high)
{
    double off = (low + high) / 2 - possible->middle_mean, half = (high - low) / 2;
    possible->squares += share * off * off;
    possible->room += share * half * half;
}

struct moments {
    double mean, stddev;
};

/* Whether the exact moments are possible for these buckets. Allows for one value that is in the
 * sums and not in the histogram. The deviation of the values and that of the bucket middles differ
 * by at most the root mean square of the distance from value to middle. */
static bool is_possible(const struct record *record, const struct possible *possible,
                        const struct moments *exact, double stddev, double room)
{
    double slack = ROUNDING * (fabs((double)record->min) + fabs((double)record->max));
    double count = (double)record->count, span = (double)record->max - (double)record->min;
    return exact->mean >= possible->least_mean - slack - span / count &&
           exact->mean <= possible->most_mean + slack + span / count &&
           fabs(exact->stddev - stddev) <=
               room + slack + span / sqrt(count) + CANCELLATION * stddev;
}

/* `exact`: the moments from the sums, which hold `counted` values. */
static void recover_moments(struct record *record, const struct moments *exact, uint64_t counted,
                            struct recovered *recovered)
{
    struct possible possible = {0};
    each_range(record, &possible, add_means);
    each_range(record, &possible, add_squares);
    double count = (double)record->count, more = count > 1 ? count / (count - 1) : 0;
    double stddev = sqrt(possible.squares * more);
    bool is_close = record->count <= counted + 1;
    recovered->has_other_moments =
        !is_close || !is_possible(record, &possible, exact, stddev, sqrt(possible.room * more));
    record->is_recovered = recovered->has_other_moments || record->count != counted;
    record->recovered_mean = recovered->has_other_moments ? possible.middle_mean : exact->mean;
    record->recovered_mean =
        fmin(fmax(record->recovered_mean, (double)record->min), (double)record->max);
    record->recovered_stddev = recovered->has_other_moments ? stddev : exact->stddev;
}

/* Killed while recording the first value. */
static void make_empty(struct record *record)
{
    record->count = record->worst_count = 0;
}

struct recovered record_recover(struct record *record)
{
    struct recovered recovered = {0};
    struct moments exact = {record_mean(record), record_stddev(record)};
    uint64_t counted = record->count, held = held_count(record);
    bool is_behind = counted > held;
    if (is_behind ? counted - held > 1 : held - counted > RECORD_LATER_MOST)
        return recovered;
    if (held == 0) {
        make_empty(record);
        return recovered;
    }
    record->count = held;
    recover_min(record);
    recover_max(record, &recovered);
    if (record->min > record->max)
        record->min = record->max;
    recover_worst(record, &recovered);
    recover_moments(record, &exact, counted, &recovered);
    recovered.later_count = record->count > counted ? record->count - counted : 0;
    return recovered;
}

/* ---- reading a file ---- */

/* Most series, and more events, that a file may claim to have: far above what any test has. */
enum { SERIES_MOST = 100000, EVENTS_MOST = 100000 };

static bool has_room(const struct arena *arena, int kind)
{
    struct table_room room = arena->tables[kind].room, most = table_room(kind, room);
    return room.heads == most.heads && room.entries == most.entries;
}

/* Checks the head alone, so that a file of any size is refused before it is read. */
static bool has_whole_size(const struct arena *arena, size_t bytes)
{
    return arena->bytes == bytes && arena->series_count <= SERIES_MOST &&
           arena->slot_count <= arena->series_count && arena->verdict_count <= ARENA_VERDICTS &&
           arena->more_events <= EVENTS_MOST && arena->duration_ns >= 0 &&
           arena->kept_begin == arena_slot_offset(arena, arena->slot_count) &&
           has_room(arena, TABLE_GAPS) && has_room(arena, TABLE_ROWS) &&
           bytes == arena_heads_offset(arena, TABLE_KINDS);
}

static bool has_series(const struct arena *arena)
{
    size_t most = record_size(&arena->slot_shape, arena->duration_ns);
    for (uint32_t i = 0; i < arena->series_count; i++)
        if (arena->series[i].slot >= arena->slot_count ||
            record_size(&arena->series[i].shape, arena->duration_ns) > most)
            return false;
    return true;
}

/* A slot that was being moved from one series to another is empty: the old series is in compact
 * form, the new one has not begun. */
static bool is_slot_whole(struct arena *arena, uint32_t place)
{
    struct record *slot = arena_slot(arena, place);
    if (!record_is_sized(slot, &arena->slot_shape, arena->duration_ns))
        return false;
    if (record_is_moving(slot))
        record_init(slot, &arena->slot_shape, arena->duration_ns);
    return record_is_sound(slot) && slot->owner <= arena->series_count &&
           (slot->owner == 0 || arena->series[slot->owner - 1].slot == place);
}

static bool is_whole(struct arena *arena)
{
    bool is_good = has_series(arena);
    for (uint32_t i = 0; is_good && i < arena->slot_count; i++)
        is_good = is_slot_whole(arena, i);
    return is_good;
}

static bool is_moment(int64_t value_ns)
{
    return value_ns >= 0 && value_ns <= INT64_MAX / (2 * ARENA_STOPS);
}

/* Moments that cannot be are not used, nor are those beside them. */
static void check_stops(struct arena *arena)
{
    bool is_good = is_moment(arena->started_ns);
    for (int i = 0; i < ARENA_STOPS; i++)
        is_good &= is_moment(arena->stops[i].ended_ns) && is_moment(arena->stops[i].least_ns);
    if (is_good)
        return;
    arena->stop_count = 0;
    arena_event(arena, "file_damaged", -1,
                DATA(data_integer("from_byte", (int64_t)offsetof(struct arena, stops))),
                "the record of stops in the file is damaged: values may include a stop");
}

/* Scans the entries; the latest one of a series counts. The file may hold an entry that is newer
 * than the head, which was copied first. */
static void find_kept(struct arena *arena)
{
    uint32_t series;
    uint64_t at = arena->kept_begin, limit = arena_kept_limit(arena);
    for (uint32_t i = 0; i < arena->series_count; i++)
        arena->series[i].kept_offset = 0;
    while (at < limit) {
        const char *entry = (const char *)arena + at;
        size_t bytes = kept_find(entry, (size_t)(limit - at), &series);
        if (bytes == 0 || series >= arena->series_count ||
            !kept_fits(entry, arena_slot_view(arena, arena->series[series].slot)))
            break;
        arena->series[series].kept_offset = at;
        at += bytes;
    }
    if (at < arena->kept_end)
        arena_event(arena, "file_damaged", -1, DATA(data_integer("from_byte", (int64_t)at)),
                    "the finished series are damaged from byte %llu of the file: this result has "
                    "them without values",
                    (unsigned long long)at);
}

/* A series may be in its slot and in compact form: the file was left or the slot was copied before
 * the move began, or the series went on after it. Take the one with more values. */
static void choose_slot_or_kept(struct arena *arena, struct record *slot)
{
    if (slot->owner == 0)
        return;
    uint64_t offset = arena->series[slot->owner - 1].kept_offset;
    if (offset != 0 && kept_count((const char *)arena + offset) >= slot->count)
        slot->owner = 0;
}

static void recover(struct arena *arena, struct record *record)
{
    if (record->owner == 0)
        return;
    struct recovered recovered = record_recover(record);
    if (record_was_recovered(&recovered))
        arena_event(arena, "read_at_work", -1,
                    DATA(data_text("series", arena->series[record->owner - 1].name),
                         data_integer("value_count", (int64_t)record->count),
                         data_integer("later_count", (int64_t)recovered.later_count),
                         data_bool("has_moments", !recovered.has_other_moments),
                         data_bool("has_worst", !recovered.lost_worst),
                         data_bool("has_maxima", !recovered.lost_maxima)),
                    "the record of %s was copied, or its probe killed, while values arrived: "
                    "%llu values, %llu of them after the count was read%s%s%s",
                    arena->series[record->owner - 1].name, (unsigned long long)record->count,
                    (unsigned long long)recovered.later_count,
                    recovered.has_other_moments
                        ? "; mean and deviation are computed from the histogram"
                        : "",
                    recovered.lost_worst ? "; the list of worst values is left out" : "",
                    recovered.lost_maxima ? "; only the largest of the maxima is kept" : "");
}

void arena_recover(struct arena *arena)
{
    find_kept(arena);
    for (uint32_t i = 0; i < arena->slot_count; i++) {
        struct record *slot = arena_slot(arena, i);
        if (!is_slot_whole(arena, i))
            record_init(slot, &arena->slot_shape, arena->duration_ns);
        choose_slot_or_kept(arena, slot);
        recover(arena, slot);
    }
}

#define END_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

static void end_event(struct arena *arena, uint32_t place)
{
    struct arena_event *event = (void *)((char *)arena + arena_event_offset(arena, place));
    END_TEXT(event->name);
    END_TEXT(event->text);
}

/* A damaged file may hold texts without a terminating zero, and bools that are neither 0 nor 1. */
static struct arena *repair(struct arena *arena)
{
    arena->is_mapped = 0;
    if (arena->event_count > INT32_MAX)
        arena->event_count = ARENA_EVENTS;
    END_TEXT(arena->header_json);
    END_TEXT(arena->conditions_json);
    for (uint32_t i = 0; i < arena->series_count; i++) {
        struct arena_series *series = &arena->series[i];
        END_TEXT(series->name);
        END_TEXT(series->unit);
        END_TEXT(series->derived);
        series->label_count =
            series->label_count > ARENA_LABELS ? ARENA_LABELS : series->label_count;
        for (int j = 0; j < ARENA_LABELS; j++) {
            END_TEXT(series->labels[j].key);
            END_TEXT(series->labels[j].text);
        }
    }
    for (uint32_t i = 0; i < arena_event_room(arena); i++)
        end_event(arena, i);
    for (int i = 0; i < ARENA_VERDICTS; i++) {
        END_TEXT(arena->verdicts[i].name);
        END_TEXT(arena->verdicts[i].evidence);
        unsigned char *pass = (unsigned char *)&arena->verdicts[i].pass;
        *pass = *pass == 1;
    }
    counter_table_repair(arena);
    trace_table_repair(arena);
    table_repair(arena);
    if (arena->calibrated_count > ARENA_CALIBRATED)
        arena->calibrated_count = 0;
    for (int i = 0; i < ARENA_CALIBRATED; i++)
        END_TEXT(arena->calibrated[i].param);
    check_stops(arena);
    arena_recover(arena);
    for (uint32_t i = 0; i < arena->slot_count; i++)
        stops_take_out(arena, arena_slot(arena, i));
    arena_report_stops(arena);
    return arena;
}

/* Reads from the first byte to the last: record_recover relies on that order if a probe still
 * writes the file. A mapping would be read in any order. 0, an errno value, or CUT_SHORT: the file
 * is shorter. */
enum { CUT_SHORT = -1 };
static int read_all(int file, void *memory, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(file, (char *)memory + done, bytes - done);
        if (got == 0)
            return CUT_SHORT;
        if (got > 0)
            done += (size_t)got;
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

static const char *why_no_head(const struct arena *head, size_t bytes)
{
    if (!arena_is_marked(head))
        return "not a record file of a probe";
    if (head->version != arena_layout_version())
        return "written by another version of the probe";
    if (!has_whole_size(head, bytes))
        return "cut short or damaged";
    return head->header_json[0] ? NULL : "it has no header yet";
}

/* NULL, or the reason why the file is no arena. */
static const char *read_head(int file, struct arena *head, size_t *bytes)
{
    struct stat facts;
    int error = fstat(file, &facts) == 0 ? read_all(file, head, sizeof *head) : errno;
    if (error && error != CUT_SHORT)
        return strerror(error);
    *bytes = (size_t)facts.st_size;
    if (error)
        return "not a record file of a probe";
    if (head->bytes < *bytes)
        *bytes = (size_t)head->bytes; /* the memory of a device is larger */
    return why_no_head(head, *bytes);
}

static const char *read_rest(int file, struct arena *arena, size_t bytes)
{
    int error = read_all(file, (char *)arena + sizeof *arena, bytes - sizeof *arena);
    if (error && error != CUT_SHORT)
        return strerror(error);
    return error || !is_whole(arena) ? "cut short or damaged" : NULL;
}

/* Reads the file into new memory. NULL, or the reason why that fails. */
static const char *read_arena(int file, struct arena **arena)
{
    size_t bytes = 0;
    *arena = calloc(1, sizeof **arena);
    const char *why = *arena ? read_head(file, *arena, &bytes) : strerror(errno);
    if (why)
        return why;
    if (bytes < sizeof **arena)
        return "cut short or damaged";
    void *whole = realloc(*arena, bytes);
    if (!whole)
        return strerror(errno);
    *arena = whole;
    return read_rest(file, *arena, bytes);
}

struct arena *arena_open(const char *path, char *reason, size_t reason_bytes)
{
    struct arena *arena = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not block on a pipe */
    const char *why = file < 0 ? strerror(errno) : read_arena(file, &arena);
    if (file >= 0)
        close(file);
    if (!why && arena)
        return repair(arena);
    snprintf(reason, reason_bytes, "%s", why);
    free(arena);
    return NULL;
}

/* ---- checkpoints ---- */

/* A copy takes about 1 ms for 4 MiB, each second, and memory that the measured CPUs share: tests
 * have 1 to 2 MiB. */
#define BYTES_MOST (UINT64_C(16) << 20)

struct copy {
    int64_t taken_ns;
    uint64_t kept_end;
    uint32_t window_count, event_count;
    struct arena_interval intervals[ARENA_INTERVALS];
    char *slots;
};

struct checkpoint {
    struct arena *arena;
    int good, next; /* places of copies; good -1: none */
    uint64_t slots_bytes;
    struct copy copies[2];
};

static uint64_t slots_bytes_of(const struct arena *arena)
{
    return arena->slot_count * arena_slot_bytes(arena);
}

/* Not locked: it would take from what the test may lock. */
static char *allocate(uint64_t bytes)
{
    void *memory = NULL;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = ((size_t)bytes + page - 1) / page * page;
    if (posix_memalign(&memory, page, whole) != 0)
        return NULL;
    memset(memory, 0, whole);
    munlock(memory, whole);
    return memory;
}

struct checkpoint *checkpoint_open(struct arena *arena)
{
    uint64_t bytes = slots_bytes_of(arena);
    struct checkpoint *checkpoint =
        bytes > 0 && bytes <= BYTES_MOST ? calloc(1, sizeof *checkpoint) : NULL;
    if (!checkpoint)
        return NULL;
    checkpoint->arena = arena;
    checkpoint->good = -1;
    checkpoint->slots_bytes = bytes;
    for (int i = 0; i < 2; i++)
        checkpoint->copies[i].slots = allocate(bytes);
    if (checkpoint->copies[0].slots && checkpoint->copies[1].slots)
        return checkpoint;
    checkpoint_close(checkpoint);
    return NULL;
}

void checkpoint_close(struct checkpoint *checkpoint)
{
    for (int i = 0; i < 2; i++)
        free(checkpoint->copies[i].slots);
    free(checkpoint);
}

static struct record *slot_of(const struct arena *arena, const struct copy *copy, uint32_t slot)
{
    return (struct record *)(copy->slots + slot * arena_slot_bytes(arena));
}

/* True: no value came meanwhile, so that all series are of the same moment. */
static bool copy_slots(const struct arena *arena, const struct copy *copy)
{
    bool is_same = true;
    for (uint32_t i = 0; i < arena->slot_count; i++)
        record_copy(slot_of(arena, copy, i), arena_slot_view(arena, i));
    for (uint32_t i = 0; i < arena->slot_count; i++)
        is_same &= record_is_as_copied(slot_of(arena, copy, i), arena_slot_view(arena, i));
    return is_same;
}

/* kept_end comes after the slots: a series that leaves its slot meanwhile is in one of them or in
 * both, never in none. */
void checkpoint_take(struct checkpoint *checkpoint)
{
    enum { TRIES = 4 };
    const struct arena *arena = checkpoint->arena;
    struct copy *copy = &checkpoint->copies[checkpoint->next];
    copy->event_count = atomic_load(&arena->event_count);
    copy->window_count = atomic_load(&arena->tables[TABLE_GAPS].count);
    for (int i = 0; i < TRIES && !copy_slots(arena, copy); i++)
        ;
    copy->kept_end = atomic_load(&arena->kept_end);
    copy->taken_ns = clock_monotonic_ns();
}

void checkpoint_confirm(struct checkpoint *checkpoint)
{
    struct copy *copy = &checkpoint->copies[checkpoint->next];
    memcpy(copy->intervals, checkpoint->arena->intervals, sizeof copy->intervals);
    checkpoint->good = checkpoint->next;
    checkpoint->next = 1 - checkpoint->next;
}

static bool has_value(const struct checkpoint *checkpoint, const struct copy *copy)
{
    const struct arena *arena = checkpoint->arena;
    bool is_any = copy->kept_end > arena->kept_begin;
    for (uint32_t i = 0; !is_any && i < arena->slot_count; i++)
        is_any = slot_of(arena, copy, i)->count > 0;
    return is_any;
}

static void leave_out_traces(struct arena *arena, int64_t end_ns)
{
    for (int i = 0; i < ARENA_TRACES; i++)
        if (arena->traces[i].at_ns > end_ns)
            arena->traces[i].line_count = 0;
}

bool checkpoint_restore(const struct checkpoint *checkpoint)
{
    if (!checkpoint || checkpoint->good < 0)
        return false;
    struct arena *arena = checkpoint->arena;
    const struct copy *copy = &checkpoint->copies[checkpoint->good];
    if (!has_value(checkpoint, copy))
        return false;
    memcpy(arena_slot(arena, 0), copy->slots, (size_t)checkpoint->slots_bytes);
    memset((char *)arena + copy->kept_end, 0, (size_t)(arena->kept_end - copy->kept_end));
    arena->kept_end = copy->kept_end;
    arena->event_count = copy->event_count;
    arena_recover(arena);
    memcpy(arena->intervals, copy->intervals, sizeof arena->intervals);
    table_cut(arena, TABLE_GAPS, copy->window_count);
    table_cut(arena, TABLE_ROWS, 0);
    leave_out_traces(arena, copy->taken_ns - arena->started_ns);
    arena->verdict_count = 0;
    arena->ended_ns = copy->taken_ns;
    return true;
}

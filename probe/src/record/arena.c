#include "base/posix_source.h"

#include "record/arena.h"

#include "base/shared_memory.h"
#include "record/arena_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- layout of the file ---- */

uint64_t arena_layout_version(void)
{
    const uint64_t parts[] = {sizeof(struct arena),     sizeof(struct arena_series),
                              sizeof(struct record),    RECORD_SUB_BITS,
                              RECORD_TOP_BIT,           ARENA_KEPT_BYTES,
                              ARENA_KEPT_ALL_BYTES,     sizeof(struct gap_window),
                              sizeof(struct row_table), sizeof(struct arena_tables)};
    uint64_t version = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        version = (version ^ parts[i]) * UINT64_C(0x100000001b3);
    return version;
}

static uint64_t arena_align(uint64_t bytes)
{
    return (bytes + 63) & ~UINT64_C(63);
}

uint64_t arena_slot_bytes(const struct arena *arena)
{
    return arena_align(record_size(&arena->slot_shape, arena->duration_ns));
}

uint64_t arena_slot_offset(const struct arena *arena, uint32_t slot)
{
    uint64_t head = sizeof *arena + (uint64_t)arena->series_count * sizeof arena->series[0] +
                    (uint64_t)arena->more_events * sizeof arena->events[0];
    return arena_align(head) + slot * arena_slot_bytes(arena);
}

/* Room for the compact form of one series, without its maxima. Few series share
 * ARENA_KEPT_ALL_BYTES, up to what a series takes whose values fill every bucket; many have
 * ARENA_KEPT_BYTES each. */
static uint64_t arena_kept_each(const struct arena *arena)
{
    const uint64_t kept = ARENA_KEPT_BYTES, pair_bytes = 3; /* a distance, a count up to 16383 */
    uint64_t least = kept > KEPT_LEAST_BYTES ? kept : KEPT_LEAST_BYTES;
    uint64_t share = ARENA_KEPT_ALL_BYTES / arena->series_count;
    uint64_t all =
        KEPT_LEAST_BYTES + record_size(&arena->slot_shape, 0) / sizeof(uint64_t) * pair_bytes;
    share = share < all ? share : all;
    return share > least ? share : least;
}

/* Room for compact forms: one of each series, where any slot is shared, and for the maxima of each
 * slot, which are those of one time after another. */
static uint64_t arena_kept_room(const struct arena *arena)
{
    const uint64_t second_ns = 1000000000, most = 1 << 20;
    if (arena->slot_count == arena->series_count)
        return 0;
    uint64_t maxima = (uint64_t)arena->duration_ns / second_ns * sizeof(int64_t);
    maxima = maxima < most ? maxima * arena->slot_count : most;
    return arena_align(arena->series_count * arena_kept_each(arena) +
                       (maxima < most ? maxima : most));
}

uint64_t arena_kept_limit(const struct arena *arena)
{
    return arena->kept_begin + arena_kept_room(arena);
}

uint64_t arena_heads_bytes(const struct arena *arena, int kind)
{
    return arena_align((uint64_t)arena->tables[kind].room.heads * table_shapes[kind].head_bytes);
}

uint64_t arena_heads_offset(const struct arena *arena, int kind)
{
    uint64_t offset = arena_kept_limit(arena);
    for (int i = 0; i < kind; i++)
        if (arena->tables[i].room.heads > 0)
            offset +=
                arena_heads_bytes(arena, i) +
                arena_align((uint64_t)arena->tables[i].room.entries * table_shapes[i].entry_bytes);
    return offset;
}

struct record *arena_slot(struct arena *arena, uint32_t slot)
{
    return (struct record *)((char *)arena + (size_t)arena_slot_offset(arena, slot));
}

const struct record *arena_slot_view(const struct arena *arena, uint32_t slot)
{
    return (const struct record *)((const char *)arena + (size_t)arena_slot_offset(arena, slot));
}

/* Whether slot `slot` belongs to the series and is not being moved to another one. */
static bool arena_slot_holds(const struct arena *arena, uint32_t slot, uint32_t series)
{
    const struct record *record = arena_slot_view(arena, slot);
    return record->owner == (uint64_t)series + 1 && !record_is_moving(record);
}

uint64_t arena_event_offset(const struct arena *arena, uint32_t place)
{
    uint64_t behind = sizeof *arena + arena->series_count * sizeof arena->series[0];
    return place < ARENA_EVENTS ? offsetof(struct arena, events) + place * sizeof arena->events[0]
                                : behind + (place - ARENA_EVENTS) * sizeof arena->events[0];
}

static void arena_mark(struct arena *arena)
{
    arena->version = arena_layout_version();
    memcpy(arena->magic, ARENA_MAGIC, sizeof arena->magic);
}

bool arena_is_marked(const struct arena *arena)
{
    return memcmp(arena->magic, ARENA_MAGIC, sizeof arena->magic) == 0;
}

/* ---- the arena ---- */

enum {
    PLAN_ROOM = 1, /* doubled when it is full */
    STOPS_TOLD = 4 /* the last ones each; those before together */
};

static void copy_name(char *to, size_t bytes, const char *from)
{
    snprintf(to, bytes, "%s", from);
}

static bool has_room(struct arena_plan *plan)
{
    if (plan->series_count < plan->series_room)
        return true;
    uint32_t room = plan->series_room ? plan->series_room * 2 : PLAN_ROOM;
    struct arena_series *series = realloc(plan->series, room * sizeof *series);
    if (!series)
        return false;
    plan->series = series;
    plan->series_room = room;
    return true;
}

int arena_plan_series(struct arena_plan *plan, const char *name, const char *unit,
                      const struct record_shape *shape)
{
    if (!has_room(plan))
        return -1;
    struct arena_series *series = &plan->series[plan->series_count];
    memset(series, 0, sizeof *series);
    copy_name(series->name, sizeof series->name, name);
    copy_name(series->unit, sizeof series->unit, unit);
    if (shape)
        series->shape = *shape;
    series->slot = plan->slot_count++;
    return (int)plan->series_count++;
}

void arena_plan_share(struct arena_plan *plan, int series)
{
    plan->series[plan->series_count - 1].slot = plan->series[series].slot;
    plan->slot_count--;
}

void arena_plan_free(struct arena_plan *plan)
{
    free(plan->series);
    plan->series = NULL;
    plan->series_count = plan->series_room = plan->slot_count = 0;
}

static struct arena_label *add_label(struct arena_plan *plan, int series, const char *key)
{
    struct arena_series *to = &plan->series[series];
    if (to->label_count == ARENA_LABELS)
        return NULL;
    struct arena_label *label = &to->labels[to->label_count++];
    copy_name(label->key, sizeof label->key, key);
    return label;
}

void arena_plan_label_text(struct arena_plan *plan, int series, const char *key, const char *text)
{
    struct arena_label *label = series < 0 ? NULL : add_label(plan, series, key);
    if (label)
        copy_name(label->text, sizeof label->text, text);
}

void arena_plan_label_number(struct arena_plan *plan, int series, const char *key, int64_t number)
{
    struct arena_label *label = series < 0 ? NULL : add_label(plan, series, key);
    if (label)
        label->number = number;
}

void arena_plan_late_label(struct arena_plan *plan, int series, const char *key)
{
    if (series >= 0 && add_label(plan, series, key))
        plan->series[series].late_label = plan->series[series].label_count;
}

void arena_plan_derived(struct arena_plan *plan, int series, const char *formula)
{
    if (series >= 0)
        copy_name(plan->series[series].derived, sizeof plan->series[series].derived, formula);
}

void arena_plan_range(struct arena_plan *plan, int series, const struct record_range *range)
{
    if (series >= 0)
        plan->series[series].range = *range;
}

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    errno = posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), bytes);
    return memory;
}

/* Memory of a device, or another file that is there: neither made nor removed, and of the size that
 * it has. */
static void *map_existing(const char *path, size_t bytes)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    struct stat state;
    void *memory = MAP_FAILED;
    if (fstat(file, &state) == 0 && (uint64_t)state.st_size >= bytes)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    else
        errno = EFBIG;
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

/* NULL with errno if the file exists or cannot be created. */
static void *map_new(const char *path, size_t bytes)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    int error = file_reserve(file, bytes);
    void *memory = MAP_FAILED;
    if (error == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    else
        errno = error;
    close(file);
    if (memory != MAP_FAILED)
        return memory;
    error = errno;
    unlink(path);
    errno = error;
    return NULL;
}

static void *map_file(const char *backing, size_t bytes)
{
    static const char memory[] = "memory:";
    size_t length = sizeof memory - 1;
    return strncmp(backing, memory, length) == 0 ? map_existing(backing + length, bytes)
                                                 : map_new(backing, bytes);
}

int64_t arena_room_ns(const struct arena_plan *plan)
{
    uint32_t of_series = ARENA_MAXIMA / (plan->series_count > 0 ? plan->series_count : 1);
    uint32_t of_slots = ARENA_SLOT_MAXIMA / (plan->slot_count > 0 ? plan->slot_count : 1);
    int64_t most_ns = (of_series < of_slots ? of_series : of_slots) * INT64_C(1000000000);
    return plan->duration_ns < most_ns ? plan->duration_ns : most_ns;
}

/* The shape whose record is the largest. */
static struct record_shape largest_shape(const struct arena_plan *plan)
{
    struct record_shape largest = {0};
    size_t most = 0;
    for (uint32_t i = 0; i < plan->series_count; i++) {
        size_t bytes = record_size(&plan->series[i].shape, arena_room_ns(plan));
        if (bytes > most) {
            largest = plan->series[i].shape;
            most = bytes;
        }
    }
    return largest;
}

static void fill_head(struct arena *head, const struct arena_plan *plan, bool is_mapped)
{
    memset(head, 0, sizeof *head);
    head->is_mapped = is_mapped;
    head->duration_ns = arena_room_ns(plan);
    head->more_events = plan->more_events;
    head->series_count = plan->series_count;
    head->slot_shape = largest_shape(plan);
    head->slot_count = plan->slot_count;
    head->kept_begin = arena_slot_offset(head, plan->slot_count);
    head->kept_end = head->kept_begin;
    for (int i = 0; i < TABLE_KINDS; i++)
        head->tables[i].room = table_room(i, plan->tables[i]);
    head->bytes = arena_heads_offset(head, TABLE_KINDS);
}

/* Bytes of the whole arena; 0: no memory. Its head is gone again before the arena is allocated: a
 * small system has no room for both. */
static uint64_t bytes_of(const struct arena_plan *plan)
{
    struct arena *head = malloc(sizeof *head);
    if (!head)
        return 0;
    fill_head(head, plan, false);
    uint64_t bytes = head->bytes;
    free(head);
    return bytes;
}

static void lay_out(struct arena *arena, size_t bytes, const struct arena_plan *plan,
                    bool is_mapped)
{
    memset(arena, 0, bytes); /* touches every page */
    fill_head(arena, plan, is_mapped);
    if (plan->series_count > 0)
        memcpy(arena->series, plan->series, plan->series_count * sizeof plan->series[0]);
    for (uint32_t i = 0; i < arena->slot_count; i++)
        record_init(arena_slot(arena, i), &arena->slot_shape, arena->duration_ns);
    arena_mark(arena);
}

struct arena *arena_create(const struct arena_plan *plan, const char *backing,
                           struct outcome *outcome)
{
    void *memory = NULL;
    uint64_t bytes = bytes_of(plan);
    errno = ENOMEM;
    if (bytes > 0 && bytes <= SIZE_MAX / 2)
        memory = backing ? map_file(backing, (size_t)bytes) : allocate((size_t)bytes);
    if (memory) {
        lay_out(memory, (size_t)bytes, plan, backing != NULL);
    } else {
        char what[STATUS_TEXT_BYTES / 2];
        snprintf(what, sizeof what, "%llu bytes for the records%s%.80s", (unsigned long long)bytes,
                 backing ? " in " : "", backing ? backing : "");
        char remedy[STATUS_TEXT_BYTES];
        snprintf(remedy, sizeof remedy, "%s, or ask for fewer series", status_limit_remedy(ENOMEM));
        outcome_set_errno(outcome, errno, what, remedy);
    }
    return memory;
}

void arena_free(struct arena *arena)
{
    if (arena && arena->is_mapped)
        munmap(arena, (size_t)arena->bytes);
    else
        free(arena);
}

/* Room for this entry: an equal share of what is left. All entries then have about the same
 * resolution, and every series without an entry keeps room for the coarsest one. */
static size_t room_for(const struct arena *arena, const struct arena_series *series)
{
    uint64_t room = arena_kept_limit(arena) - arena->kept_end;
    uint64_t later = arena->series_count - arena->kept_count - (series->kept_offset == 0 ? 1 : 0);
    if (room < later * KEPT_LEAST_BYTES)
        return 0;
    uint64_t share = room / (later + 1), most = room - later * KEPT_LEAST_BYTES;
    return (size_t)(share < most ? share : most);
}

/* Stores the compact form of the record in a slot, so that another series can use the slot. */
static void keep(struct arena *arena, struct record *record)
{
    uint32_t number = (uint32_t)(record->owner - 1);
    struct arena_series *series = &arena->series[number];
    uint64_t before = series->kept_offset ? kept_count((char *)arena + series->kept_offset) : 0;
    stops_take_out(arena, record);
    if (record->count == before && record->stopped_count == 0)
        return;
    record_settle(record);
    char *to = (char *)arena + arena->kept_end;
    size_t bytes = kept_write(to, room_for(arena, series), record, number);
    if (bytes == 0) {
        arena_event(arena, "series_not_kept", -1,
                    DATA(data_text("series", series->name), data_integer("series_number", number),
                         data_integer("lost_count", (int64_t)(record->count - before))),
                    "there was no room for the last %llu values of %s, series %lu of this test",
                    (unsigned long long)(record->count - before), series->name,
                    (unsigned long)number);
        return;
    }
    if (kept_is_coarser(to, record))
        arena_event_once(arena, "series_coarser", NO_DATA,
                         "memory for series was short: some have a coarser histogram or fewer "
                         "maxima, as their data shows");
    arena->kept_count += series->kept_offset == 0 ? 1 : 0;
    series->kept_offset = arena->kept_end;
    arena->kept_end += bytes;
}

struct record *arena_record(struct arena *arena, int number)
{
    const struct arena_series *series = &arena->series[number];
    struct record *record = arena_slot(arena, series->slot);
    if (record->owner == (uint64_t)number + 1)
        return record;
    if (record->owner != 0)
        keep(arena, record);
    record_move_begin(record, &series->shape);
    if (series->kept_offset != 0)
        kept_read((const char *)arena + series->kept_offset, record);
    record_move_end(record, (uint32_t)number);
    return record;
}

void arena_settle(struct arena *arena)
{
    for (uint32_t i = 0; i < arena->slot_count; i++) {
        record_settle(arena_slot(arena, i));
        stops_take_out(arena, arena_slot(arena, i));
    }
}

size_t arena_scratch_bytes(const struct arena *arena)
{
    return record_size(&arena->slot_shape, arena->duration_ns);
}

const struct record *arena_read(const struct arena *arena, uint32_t number, struct record *scratch)
{
    const struct arena_series *series = &arena->series[number];
    if (arena_slot_holds(arena, series->slot, number))
        return arena_slot_view(arena, series->slot);
    const struct record_shape empty = {1, series->shape.sub_bits};
    bool is_kept = series->kept_offset != 0;
    record_init(scratch, is_kept ? &arena->slot_shape : &empty, arena->duration_ns);
    if (is_kept)
        kept_read((const char *)arena + series->kept_offset, scratch);
    return scratch;
}

void arena_label(struct arena *arena, int series, int64_t number)
{
    struct arena_series *to = &arena->series[series];
    if (to->late_label > 0)
        to->labels[to->late_label - 1].number = number;
}

bool arena_is_named(const struct arena *arena, uint32_t number)
{
    const struct arena_series *series = &arena->series[number];
    return series->late_label == 0 || series->late_label > ARENA_LABELS ||
           series->labels[series->late_label - 1].number != 0;
}

uint32_t arena_named_count(const struct arena *arena)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < arena->series_count; i++)
        count += arena_is_named(arena, i) ? 1 : 0;
    return count;
}

uint64_t arena_count(const struct arena *arena, uint32_t number)
{
    const struct arena_series *series = &arena->series[number];
    if (arena_slot_holds(arena, series->slot, number))
        return arena_slot_view(arena, series->slot)->count;
    return series->kept_offset ? kept_count((const char *)arena + series->kept_offset) : 0;
}

bool arena_has_values(const struct arena *arena)
{
    for (uint32_t i = 0; i < arena->series_count; i++)
        if (arena_count(arena, i) > 0)
            return true;
    return false;
}

uint32_t arena_event_room(const struct arena *arena)
{
    return ARENA_EVENTS + arena->more_events;
}

const struct arena_event *arena_event_at(const struct arena *arena, uint32_t place)
{
    return (const void *)((const char *)arena + arena_event_offset(arena, place));
}

void arena_event(struct arena *arena, const char *name, int64_t at_ns, const struct datum *data,
                 const char *format, ...)
{
    uint32_t place = atomic_fetch_add(&arena->event_count, 1);
    if (place >= arena_event_room(arena))
        return;
    struct arena_event *event = (void *)((char *)arena + arena_event_offset(arena, place));
    copy_name(event->name, sizeof event->name, name);
    event->at_ns = at_ns;
    data_pack(event->data, sizeof event->data, data);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(event->text, sizeof event->text, format, arguments);
    va_end(arguments);
}

void arena_event_once(struct arena *arena, const char *name, const struct datum *data,
                      const char *format, ...)
{
    char text[ARENA_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < arena->event_count && i < arena_event_room(arena); i++) {
        const struct arena_event *event = arena_event_at(arena, i);
        if (strcmp(event->name, name) == 0 && strcmp(event->text, text) == 0)
            return;
    }
    arena_event(arena, name, -1, data, "%s", text);
}

static void report_stop(struct arena *arena, const struct arena_stop *stop)
{
    int64_t least_ns = stop->least_ns, ended_ns = stop->ended_ns - arena->started_ns;
    char length[64] = "";
    if (least_ns > 0)
        snprintf(length, sizeof length, " for at least %.3f s", (double)least_ns / 1e9);
    arena_event(arena, "stopped", ended_ns > 0 ? ended_ns : -1,
                DATA(data_integer("least_ns", least_ns)),
                "the program was stopped%s and continued (SIGSTOP, Ctrl-Z, a debugger, the "
                "freezer of its control group): values in progress are set aside",
                length);
}

static bool has_event(const struct arena *arena, const char *name)
{
    for (uint32_t i = 0; i < arena->event_count && i < arena_event_room(arena); i++)
        if (strcmp(arena_event_at(arena, i)->name, name) == 0)
            return true;
    return false;
}

/* A recording that is read again may have been told when its run ended. */
void arena_report_stops(struct arena *arena)
{
    if (has_event(arena, "stopped") || has_event(arena, "stops_mixed"))
        return;
    uint64_t count = arena->stop_count, told = count < STOPS_TOLD ? count : STOPS_TOLD;
    int64_t least_ns = 0;
    for (uint64_t i = count > ARENA_STOPS ? count - ARENA_STOPS : 0; i < count; i++)
        if (count - i <= told)
            report_stop(arena, &arena->stops[i % ARENA_STOPS]);
        else
            least_ns += arena->stops[i % ARENA_STOPS].least_ns;
    if (arena->stops_mixed > 0)
        arena_event(arena, "stops_mixed", -1,
                    DATA(data_integer("series_count", arena->stops_mixed)),
                    "a stop made more values late than could be set aside: they are in the "
                    "figures of %lu series",
                    (unsigned long)arena->stops_mixed);
    if (count > told)
        arena_event(arena, "stopped", -1,
                    DATA(data_integer("least_ns", least_ns),
                         data_integer("more_count", (int64_t)(count - told))),
                    "the program was stopped %llu times before, for at least %.3f s in total",
                    (unsigned long long)(count - told), (double)least_ns / 1e9);
}

void arena_calibrated(struct arena *arena, const char *param, int64_t value)
{
    uint32_t place = atomic_load(&arena->calibrated_count);
    if (place >= ARENA_CALIBRATED)
        return;
    copy_name(arena->calibrated[place].param, sizeof arena->calibrated[place].param, param);
    arena->calibrated[place].value = value;
    atomic_store(&arena->calibrated_count, place + 1);
}

void arena_verdict(struct arena *arena, bool pass, uint64_t observed_count, const char *name,
                   const char *format, ...)
{
    if (observed_count == 0) {
        arena_event(arena, "not_seen", -1,
                    DATA(data_text("verdict", name), data_text("reason", "nothing_observed")),
                    "%s: no verdict, because nothing was observed; measure longer", name);
        return;
    }
    if (arena->verdict_count == ARENA_VERDICTS) {
        arena_event(arena, "too_many_verdicts", -1, DATA(data_text("verdict", name)),
                    "%s did not fit", name);
        return;
    }
    struct arena_verdict *verdict = &arena->verdicts[arena->verdict_count++];
    copy_name(verdict->name, sizeof verdict->name, name);
    verdict->pass = pass;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->evidence, sizeof verdict->evidence, format, arguments);
    va_end(arguments);
}

void arena_withhold_failures(struct arena *arena)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < arena->verdict_count; i++) {
        const struct arena_verdict *verdict = &arena->verdicts[i];
        if (verdict->pass || arena->stop_count == 0) {
            if (i != kept)
                arena->verdicts[kept] = *verdict;
            kept++;
            continue;
        }
        arena_event(arena, "not_seen", -1,
                    DATA(data_text("verdict", verdict->name), data_text("reason", "stopped"),
                         data_text("evidence", verdict->evidence)),
                    "%s: no verdict, because the program was stopped meanwhile; otherwise it "
                    "would have failed: %s",
                    verdict->name, verdict->evidence);
    }
    arena->verdict_count = kept;
}

/* ---- stops ---- */

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
static bool has_moment(const struct record_worst *worst)
{
    return worst->at_ns > -INT64_MAX / 4 && worst->at_ns < INT64_MAX / 4 &&
           worst->value_ns < INT64_MAX / 4;
}

/* Place of a stop that ended from `from_ns` to `to_ns` after the start; -1: there is none. */
static int find_stop(const struct arena *arena, int64_t from_ns, int64_t to_ns)
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
    return value_ns > 0 ? find_stop(arena, at_ns - value_ns, at_ns + late_ns) : -1;
}

bool stops_touch(const struct arena *arena, int64_t value_ns, int64_t at_ns)
{
    return find_under_way(arena, value_ns, at_ns) >= 0;
}

bool stops_since(const struct arena *arena, int64_t monotonic_ns)
{
    return find_stop(arena, monotonic_ns - arena->started_ns, INT64_MAX) >= 0;
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
    if (!has_moment(worst))
        return false;
    if (strcmp(unit, "count") == 0)
        return worst->value_ns > 0 &&
               find_stop(arena, worst->at_ns - LATE_MOST_NS, worst->at_ns + LATE_MOST_NS) >= 0;
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

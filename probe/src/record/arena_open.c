#include "base/posix_source.h"

#include "record/arena.h"
#include "record/arena_layout.h"
#include "record/counter_table.h"
#include "record/gap_table.h"
#include "record/recover.h"
#include "record/row_table.h"
#include "record/trace_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Most series, and more events, that a file may claim to have: far above what any test has. */
enum { SERIES_MOST = 100000, EVENTS_MOST = 100000 };

/* Checks the head alone, so that a file of any size is refused before it is read. */
static bool has_room(const struct arena *arena, size_t bytes)
{
    return arena->bytes == bytes && arena->series_count <= SERIES_MOST &&
           arena->slot_count <= arena->series_count && arena->verdict_count <= ARENA_VERDICTS &&
           arena->more_events <= EVENTS_MOST && arena->duration_ns >= 0 &&
           arena->kept_begin == arena_slot_offset(arena, arena->slot_count) &&
           arena->window_room <= GAP_TABLE_WINDOWS && arena->gap_room <= GAP_TABLE_MOST &&
           arena->table_room <= ROW_TABLE_TABLES && arena->row_room <= ROW_TABLE_ALL &&
           bytes == arena_tables_offset(arena) + arena_tables_bytes(arena);
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
                "the file's stops of the program are damaged: values may be of a stop");
}

/* Scans the entries; the latest one of a series counts. The file may hold an entry that is newer
 * than the head, which was copied first. */
static void find_kept(struct arena *arena)
{
    uint32_t series;
    uint64_t at = arena->kept_begin, limit = arena_gaps_offset(arena);
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
                    "the finished series from byte %llu of the file on are damaged: this result "
                    "has them without values",
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
                    "the record of %s was copied, or its probe killed, while values came: %llu "
                    "values, %llu of them after the count was read%s%s%s",
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
    gap_table_repair(arena);
    row_table_repair(arena);
    if (arena->calibrated_count > ARENA_CALIBRATED)
        arena->calibrated_count = 0;
    for (int i = 0; i < ARENA_CALIBRATED; i++)
        END_TEXT(arena->calibrated[i].param);
    check_stops(arena);
    arena_recover(arena);
    for (uint32_t i = 0; i < arena->slot_count; i++)
        stops_take_out(arena, arena_slot(arena, i));
    arena_tell_stops(arena);
    return arena;
}

/* Reads from the first byte to the last: record_recover relies on that order if a probe still
 * writes the file. A mapping would be read in any order. 0 or an errno value; ENODATA: the file is
 * shorter. */
static int read_all(int file, void *memory, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(file, (char *)memory + done, bytes - done);
        if (got == 0)
            return ENODATA;
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
    if (!has_room(head, bytes))
        return "cut short or damaged";
    return head->header_json[0] ? NULL : "it has no header yet";
}

/* NULL, or the reason why the file is no arena. */
static const char *read_head(int file, struct arena *head, size_t *bytes)
{
    struct stat facts;
    int error = fstat(file, &facts) == 0 ? read_all(file, head, sizeof *head) : errno;
    if (error && error != ENODATA)
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
    if (error && error != ENODATA)
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

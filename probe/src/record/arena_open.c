#include "base/posix_source.h"

#include "record/arena.h"
#include "record/arena_layout.h"
#include "record/recover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_sane(const struct record *record, int64_t duration_ns)
{
    uint64_t bytes = sizeof *record + ((uint64_t)record->maxima_capacity + 1) * sizeof(int64_t);
    return bytes == record_size(duration_ns) && record->maxima_used >= 1 &&
           record->maxima_used <= record->maxima_capacity && record->maxima_interval_ns >= 1 &&
           record->maxima_interval_ns <= INT64_MAX / record->maxima_capacity &&
           record->worst_count <= RECORD_WORST;
}

/* Of the head alone: a file of any size is refused before it is read. */
static bool has_room(const struct arena *arena, size_t bytes)
{
    return arena->bytes == bytes && arena->series_count <= ARENA_SERIES &&
           arena->verdict_count <= ARENA_VERDICTS && arena->duration_ns >= 0 &&
           bytes >= arena_record_offset(arena->duration_ns, arena->series_count) &&
           bytes <= arena_record_offset(INT64_MAX, ARENA_SERIES);
}

/* No record may lie over another one, or over the head: they are written to. */
static bool is_whole(const struct arena *arena)
{
    for (uint32_t i = 0; i < arena->series_count; i++)
        if (arena->series[i].record_offset != arena_record_offset(arena->duration_ns, i) ||
            !is_sane(arena_record_view(arena, i), arena->duration_ns))
            return false;
    return true;
}

static void settle(struct arena *arena, int series)
{
    struct record *record = arena_record(arena, series);
    struct settled settled = record_settle(record);
    if (record_was_settled(&settled))
        arena_event(arena, "read_at_work", -1,
                    "the recording of %s was left or copied at work: of its %llu values %llu came "
                    "after the count%s%s%s",
                    arena->series[series].name, (unsigned long long)record->count,
                    (unsigned long long)settled.later_count,
                    settled.has_other_moments ? "; mean and deviation are those of the histogram"
                                              : "",
                    settled.lost_worst ? "; the list of the worst is left out" : "",
                    settled.lost_maxima ? "; of the maxima only the largest is kept" : "");
}

#define END_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

/* A damaged file may hold texts without an end, and truths that are neither 0 nor 1. */
static struct arena *repair(struct arena *arena)
{
    arena->is_mapped = 0;
    if (arena->event_count > INT32_MAX)
        arena->event_count = ARENA_EVENTS;
    END_TEXT(arena->header_json);
    END_TEXT(arena->conditions_json);
    for (int i = 0; i < ARENA_SERIES; i++) {
        struct arena_series *series = &arena->series[i];
        END_TEXT(series->name);
        END_TEXT(series->unit);
        END_TEXT(series->derived);
        for (int j = 0; j < ARENA_LABELS; j++) {
            END_TEXT(series->labels[j].key);
            END_TEXT(series->labels[j].text);
        }
    }
    for (int i = 0; i < ARENA_EVENTS; i++) {
        END_TEXT(arena->events[i].name);
        END_TEXT(arena->events[i].text);
    }
    for (int i = 0; i < ARENA_VERDICTS; i++) {
        END_TEXT(arena->verdicts[i].name);
        END_TEXT(arena->verdicts[i].evidence);
        unsigned char *pass = (unsigned char *)&arena->verdicts[i].pass;
        *pass = *pass == 1;
    }
    for (uint32_t i = 0; i < arena->series_count; i++)
        settle(arena, (int)i);
    return arena;
}

/* From the first byte to the last, as record_settle wants it of a file that is written meanwhile;
 * a mapping would be read in any order. 0 or an errno value, ENODATA for a file that is shorter. */
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
    return has_room(head, bytes) ? NULL : "cut short or damaged";
}

/* NULL, or why it is none. */
static const char *read_head(int file, struct arena *head, size_t *bytes)
{
    struct stat facts;
    int error = fstat(file, &facts) == 0 ? read_all(file, head, sizeof *head) : errno;
    if (error && error != ENODATA)
        return strerror(error);
    *bytes = (size_t)facts.st_size;
    if (error)
        return "not a record file of a probe";
    return why_no_head(head, *bytes);
}

static const char *read_rest(int file, struct arena *arena, size_t bytes)
{
    int error = read_all(file, (char *)arena + sizeof *arena, bytes - sizeof *arena);
    if (error && error != ENODATA)
        return strerror(error);
    return error || !is_whole(arena) ? "cut short or damaged" : NULL;
}

/* In memory of its own; NULL, or why it cannot be. */
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
    int file = open(path, O_RDONLY | O_CLOEXEC);
    const char *why = file < 0 ? strerror(errno) : read_arena(file, &arena);
    if (file >= 0)
        close(file);
    if (!why && arena)
        return repair(arena);
    snprintf(reason, reason_bytes, "%s", why);
    free(arena);
    return NULL;
}

#include "posix_source.h"

#include "arena.h"
#include "arena_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_sane(const struct record *record, uint64_t bytes)
{
    return sizeof *record + (uint64_t)record->maxima_capacity * sizeof(int64_t) <= bytes &&
           record->maxima_used >= 1 && record->maxima_used <= record->maxima_capacity &&
           record->maxima_interval_ns >= 1 &&
           record->maxima_interval_ns <= INT64_MAX / record->maxima_capacity &&
           record->worst_count <= RECORD_WORST;
}

static bool is_whole(const struct arena *arena, size_t bytes)
{
    if (arena->bytes != bytes || arena->series_count > ARENA_SERIES)
        return false;
    for (uint32_t i = 0; i < arena->series_count; i++) {
        uint64_t offset = arena->series[i].record_offset;
        if (offset % 8 != 0 || offset > bytes || bytes - offset < record_size(arena->duration_ns))
            return false;
        if (!is_sane(arena_record_view(arena, i), bytes - offset))
            return false;
    }
    return arena->verdict_count <= ARENA_VERDICTS;
}

static void settle(struct arena *arena, int series)
{
    uint64_t extra = record_settle(arena_record(arena, series));
    if (extra > 0)
        arena_event(arena, "copied_at_work", -1,
                    "the copy of %s was made while it was recorded: of its %llu values mean and "
                    "deviation do not know the last %llu",
                    arena->series[series].name,
                    (unsigned long long)arena_record(arena, series)->count,
                    (unsigned long long)extra);
}

#define END_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

/* A damaged file may hold texts without an end, and truths that are neither 0 nor 1. */
static struct arena *repair(struct arena *arena)
{
    arena->is_mapped = 0;
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
 * a mapping would be read in any order. */
static bool read_all(int file, void *memory, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(file, (char *)memory + done, bytes - done);
        if (got == 0)
            errno = EIO;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* NULL with `errno`, which is EILSEQ for what is too short to be one. */
static struct arena *read_arena(const char *path, size_t *bytes)
{
    struct stat facts;
    void *memory = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return NULL;
    int error = fstat(file, &facts) == 0 ? 0 : errno;
    *bytes = error ? 0 : (size_t)facts.st_size;
    if (!error && *bytes < sizeof(struct arena))
        error = EILSEQ;
    if (!error)
        error = posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), *bytes);
    if (!error && !read_all(file, memory, *bytes))
        error = errno;
    close(file);
    if (!error)
        return memory;
    free(memory);
    errno = error;
    return NULL;
}

struct arena *arena_open(const char *path, char *reason, size_t reason_bytes)
{
    size_t bytes;
    struct arena *arena = read_arena(path, &bytes);
    if (!arena && errno != EILSEQ) {
        snprintf(reason, reason_bytes, "%s", strerror(errno));
        return NULL;
    }
    if (!arena || !arena_is_marked(arena))
        snprintf(reason, reason_bytes, "not a record file of a probe");
    else if (arena->version != arena_layout_version())
        snprintf(reason, reason_bytes, "written by another version of the probe");
    else if (!is_whole(arena, bytes))
        snprintf(reason, reason_bytes, "cut short or damaged");
    else
        return repair(arena);
    free(arena);
    return NULL;
}

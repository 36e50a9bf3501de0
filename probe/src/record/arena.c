#include "base/posix_source.h"

#include "record/arena.h"
#include "record/arena_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void copy_name(char *to, size_t bytes, const char *from)
{
    snprintf(to, bytes, "%s", from);
}

int arena_plan_series(struct arena_plan *plan, const char *name, const char *unit)
{
    if (plan->series_count == ARENA_SERIES)
        return -1;
    struct arena_series *series = &plan->series[plan->series_count];
    memset(series, 0, sizeof *series);
    copy_name(series->name, sizeof series->name, name);
    copy_name(series->unit, sizeof series->unit, unit);
    return (int)plan->series_count++;
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

void arena_plan_derived(struct arena_plan *plan, int series, const char *formula)
{
    if (series >= 0)
        copy_name(plan->series[series].derived, sizeof plan->series[series].derived, formula);
}

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    errno = posix_memalign(&memory, (size_t)sysconf(_SC_PAGESIZE), bytes);
    return memory;
}

/* NULL with errno when the file cannot be made or is already there. */
static void *map_file(const char *path, size_t bytes)
{
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    /* posix_fallocate, so that a full file system is an error here and not a SIGBUS later */
    int error = posix_fallocate(file, 0, (off_t)bytes);
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

static void lay_out(struct arena *arena, const struct arena_plan *plan, size_t bytes,
                    bool is_mapped)
{
    memset(arena, 0, bytes); /* touches every page */
    arena->bytes = bytes;
    arena->is_mapped = is_mapped;
    arena->duration_ns = plan->duration_ns;
    arena->series_count = plan->series_count;
    memcpy(arena->series, plan->series, sizeof plan->series);
    for (uint32_t i = 0; i < plan->series_count; i++) {
        arena->series[i].record_offset = arena_record_offset(plan->duration_ns, i);
        record_init(arena_record(arena, (int)i), plan->duration_ns);
    }
    arena_mark(arena);
}

struct arena *arena_create(const struct arena_plan *plan, const char *backing,
                           struct outcome *outcome)
{
    size_t bytes = arena_record_offset(plan->duration_ns, plan->series_count);
    void *memory = backing ? map_file(backing, bytes) : allocate(bytes);
    if (!memory) {
        char what[STATUS_TEXT_BYTES / 2];
        snprintf(what, sizeof what, "%zu bytes for the records%s%.80s", bytes,
                 backing ? " in " : "", backing ? backing : "");
        outcome_set_errno(outcome, errno, what,
                          "free memory, raise the limits (ulimit -v, ulimit -l), or ask for fewer "
                          "series");
        return NULL;
    }
    lay_out(memory, plan, bytes, backing != NULL);
    return memory;
}

void arena_free(struct arena *arena)
{
    if (arena && arena->is_mapped)
        munmap(arena, arena->bytes);
    else
        free(arena);
}

struct record *arena_record(struct arena *arena, int series)
{
    return (struct record *)((char *)arena + arena->series[series].record_offset);
}

const struct record *arena_record_view(const struct arena *arena, uint32_t series)
{
    return (const struct record *)((const char *)arena + arena->series[series].record_offset);
}

void arena_event(struct arena *arena, const char *name, int64_t at_ns, const char *format, ...)
{
    uint32_t place = atomic_fetch_add(&arena->event_count, 1);
    if (place >= ARENA_EVENTS)
        return;
    struct arena_event *event = &arena->events[place];
    copy_name(event->name, sizeof event->name, name);
    event->at_ns = at_ns;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(event->text, sizeof event->text, format, arguments);
    va_end(arguments);
}

void arena_verdict(struct arena *arena, bool pass, const char *name, const char *format, ...)
{
    if (arena->verdict_count == ARENA_VERDICTS) {
        arena_event(arena, "too_many_verdicts", -1, "%s did not fit", name);
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

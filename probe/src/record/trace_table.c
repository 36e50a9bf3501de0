#include "base/posix_source.h"

#include "record/trace_table.h"

#include "record/arena_layout.h"

#include <string.h>

static const struct arena_trace *least(const struct arena *arena)
{
    const struct arena_trace *found = &arena->traces[0];
    for (int i = 1; i < ARENA_TRACES && found->line_count > 0; i++)
        if (arena->traces[i].line_count == 0 || arena->traces[i].value_ns < found->value_ns)
            found = &arena->traces[i];
    return found;
}

static bool is_kept(const struct arena *arena, const struct record_worst *worst)
{
    for (int i = 0; i < ARENA_TRACES; i++)
        if (arena->traces[i].line_count > 0 && arena->traces[i].at_ns == worst->at_ns)
            return true;
    return false;
}

static int cpu_of(const struct arena_series *series)
{
    for (uint32_t i = 0; i < series->label_count && i < ARENA_LABELS; i++)
        if (strcmp(series->labels[i].key, "cpu") == 0 && !series->labels[i].text[0])
            return (int)series->labels[i].number;
    return -1;
}

/* Of the parts of a value, only the total has its begin. */
static bool is_whole_time(const struct arena_series *series)
{
    if (strcmp(series->unit, "ns") != 0 || series->derived[0])
        return false;
    for (uint32_t i = 0; i < series->label_count && i < ARENA_LABELS; i++)
        if (strcmp(series->labels[i].key, "part") == 0)
            return strcmp(series->labels[i].text, "total") == 0;
    return true;
}

bool trace_table_wants(const struct arena *arena, int64_t since_ns, struct trace_value *value)
{
    struct record_worst worst[RECORD_WORST];
    const struct arena_trace *place = least(arena);
    int64_t most_ns = place->line_count > 0 ? place->value_ns : 0;
    bool is_found = false;
    for (uint32_t i = 0; i < arena->slot_count; i++) {
        uint64_t owner;
        int count = record_copy_worst(arena_slot_view(arena, i), worst, &owner);
        if (count <= 0 || owner == 0 || owner > arena->series_count)
            continue;
        const struct arena_series *series = &arena->series[owner - 1];
        if (!is_whole_time(series) || worst[0].value_ns <= most_ns || worst[0].at_ns < since_ns ||
            is_kept(arena, &worst[0]))
            continue;
        *value = (struct trace_value){worst[0].value_ns, worst[0].at_ns, cpu_of(series)};
        most_ns = value->value_ns;
        is_found = true;
    }
    return is_found;
}

void trace_table_keep(struct arena *arena, const struct trace_value *value,
                      const char (*lines)[ARENA_TRACE_BYTES], uint32_t count)
{
    struct arena_trace *entry = &arena->traces[least(arena) - arena->traces];
    count = count < ARENA_TRACE_LINES ? count : ARENA_TRACE_LINES;
    if (count == 0)
        return;
    atomic_fetch_add(&entry->begun, 1);
    entry->value_ns = value->value_ns;
    entry->at_ns = value->at_ns;
    entry->cpu = value->cpu;
    entry->line_count = count;
    memcpy(entry->lines, lines, count * sizeof lines[0]);
    atomic_fetch_add(&entry->done, 1);
}

bool trace_table_has(const struct arena_trace *entry)
{
    return entry->line_count > 0 && entry->done == entry->begun;
}

void trace_table_repair(struct arena *arena)
{
    for (int i = 0; i < ARENA_TRACES; i++) {
        struct arena_trace *entry = &arena->traces[i];
        if (!trace_table_has(entry) || entry->line_count > ARENA_TRACE_LINES)
            entry->line_count = 0;
        for (int line = 0; line < ARENA_TRACE_LINES; line++)
            entry->lines[line][ARENA_TRACE_BYTES - 1] = '\0';
    }
}

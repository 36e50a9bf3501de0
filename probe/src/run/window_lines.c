#include "base/posix_source.h"

#include "run/window_lines.h"

#include "record/tables.h"

/* Negative values are unknown: null. */
static void known_integer(struct emit *emit, const char *name, int64_t value)
{
    if (value >= 0)
        emit_member_integer(emit, name, value);
    else
        emit_member_null(emit, name);
}

static void window_counters(struct emit *emit, const struct gap_window *window)
{
    known_integer(emit, "counted_ns", window->counted_ns);
    known_integer(emit, "interrupts_count", window->interrupts);
    known_integer(emit, "timer_interrupts_count", window->timer_interrupts);
}

/* From the begin of the gap before, or of the window. */
static void distances(struct emit *emit, const struct gap_window *window,
                      const struct gap_entry *gaps)
{
    int64_t from_ns = window->begin_ns;
    emit_raw(emit, "[");
    for (uint32_t i = 0; i < window->gap_count; i++) {
        emit_raw(emit, i ? "," : "");
        emit_integer(emit, gaps[i].begin_ns - from_ns);
        from_ns = gaps[i].begin_ns;
    }
    emit_raw(emit, "]");
}

static void lengths(struct emit *emit, const struct gap_window *window,
                    const struct gap_entry *gaps)
{
    emit_raw(emit, "[");
    for (uint32_t i = 0; i < window->gap_count; i++) {
        emit_raw(emit, i ? "," : "");
        emit_integer(emit, gaps[i].length_ns);
    }
    emit_raw(emit, "]");
}

static void window_line(struct emit *emit, const struct gap_window *window,
                        const struct gap_entry *gaps)
{
    emit_begin_object(emit);
    emit_member_text(emit, "type", "window");
    emit_member_integer(emit, "begin_ns", window->begin_ns);
    emit_member_integer(emit, "end_ns", window->end_ns);
    window_counters(emit, window);
    emit_member_integer(emit, "dropped_count", window->dropped_count);
    emit_key(emit, "distance_ns");
    distances(emit, window, gaps);
    emit_key(emit, "length_ns");
    lengths(emit, window, gaps);
    emit_end_object(emit);
    emit_line(emit);
}

void window_lines(struct emit *emit, const struct arena *arena)
{
    const struct gap_table *table = gap_table_of(arena);
    uint32_t count = table ? table->window_count : 0, gaps = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct gap_window *window = &gap_table_windows(arena)[i];
        window_line(emit, window, gap_table_gaps(arena) + gaps);
        gaps += window->gap_count;
    }
}

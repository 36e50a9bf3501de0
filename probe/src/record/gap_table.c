#include "base/posix_source.h"

#include "record/gap_table.h"

#include "record/arena_layout.h"

static struct gap_table *table_of(struct arena *arena)
{
    return (struct gap_table *)((char *)arena + arena_gaps_offset(arena));
}

static struct gap_window *windows_of(struct arena *arena)
{
    return (struct gap_window *)(table_of(arena) + 1);
}

static struct gap_entry *gaps_of(struct arena *arena)
{
    return (struct gap_entry *)(windows_of(arena) + arena->window_room);
}

const struct gap_table *gap_table_of(const struct arena *arena)
{
    const char *at = (const char *)arena + arena_gaps_offset(arena);
    return arena->window_room > 0 ? (const void *)at : NULL;
}

const struct gap_window *gap_table_windows(const struct arena *arena)
{
    return (const struct gap_window *)(gap_table_of(arena) + 1);
}

const struct gap_entry *gap_table_gaps(const struct arena *arena)
{
    return (const struct gap_entry *)(gap_table_windows(arena) + arena->window_room);
}

struct gap_entry *gap_table_free(struct arena *arena, uint32_t *count)
{
    struct gap_table *table = table_of(arena);
    *count = table->window_count < arena->window_room ? arena->gap_room - table->gap_count : 0;
    return gaps_of(arena) + table->gap_count;
}

bool gap_table_add(struct arena *arena, const struct gap_window *window)
{
    struct gap_table *table = table_of(arena);
    uint32_t place = table->window_count;
    if (place == arena->window_room)
        return false;
    windows_of(arena)[place] = *window;
    table->gap_count += window->gap_count;
    atomic_store(&table->window_count, place + 1);
    return true;
}

void gap_table_cut(struct arena *arena, uint32_t window_count)
{
    if (arena->window_room == 0)
        return;
    struct gap_table *table = table_of(arena);
    table->window_count = window_count;
    table->gap_count = 0;
    for (uint32_t i = 0; i < window_count; i++)
        table->gap_count += windows_of(arena)[i].gap_count;
}

/* In their order, inside the window, apart from each other. */
static bool are_gaps_sound(const struct gap_window *window, const struct gap_entry *gaps)
{
    int64_t from_ns = window->begin_ns;
    for (uint32_t i = 0; i < window->gap_count; i++) {
        if (gaps[i].begin_ns < from_ns || gaps[i].length_ns < 0 ||
            gaps[i].length_ns > window->end_ns - gaps[i].begin_ns)
            return false;
        from_ns = gaps[i].begin_ns + gaps[i].length_ns;
    }
    return true;
}

void gap_table_repair(struct arena *arena)
{
    if (arena->window_room == 0)
        return;
    struct gap_table *table = table_of(arena);
    const struct gap_window *windows = windows_of(arena);
    uint32_t claimed = table->window_count, place = 0, gaps = 0;
    int64_t from_ns = 0;
    while (place < claimed && place < arena->window_room) {
        const struct gap_window *window = &windows[place];
        if (window->begin_ns < from_ns || window->end_ns < window->begin_ns ||
            window->gap_count > arena->gap_room - gaps ||
            !are_gaps_sound(window, gaps_of(arena) + gaps))
            break;
        from_ns = window->end_ns;
        gaps += window->gap_count;
        place++;
    }
    if (place < claimed)
        arena_event(arena, "gaps_damaged", -1,
                    DATA(data_integer("kept_count", place), data_integer("window_count", claimed)),
                    "the gaps of the windows from number %lu on are damaged and left out",
                    (unsigned long)place);
    table->window_count = place;
    table->gap_count = gaps;
}

#include "base/posix_source.h"

#include "record/checkpoint.h"

#include "base/clock.h"
#include "record/arena_layout.h"
#include "record/gap_table.h"
#include "record/row_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
    if (!checkpoint)
        return;
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
    const struct gap_table *gaps = gap_table_of(arena);
    struct copy *copy = &checkpoint->copies[checkpoint->next];
    copy->event_count = atomic_load(&arena->event_count);
    copy->window_count = gaps ? atomic_load(&gaps->window_count) : 0;
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
    gap_table_cut(arena, copy->window_count);
    row_table_clear(arena);
    leave_out_traces(arena, copy->taken_ns - arena->started_ns);
    arena->verdict_count = 0;
    arena->ended_ns = copy->taken_ns;
    return true;
}

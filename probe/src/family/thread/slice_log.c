#include "base/posix_source.h"

#include "family/thread/slice_log.h"

/* Bits of a turn, from the lowest: place, number of notes, whether the log is closed. */
enum { COUNT_SHIFT = 8, NOBODY = (1 << COUNT_SHIFT) - 1 };
#define CLOSED (1u << 31)

static unsigned turn_of(unsigned count, int place)
{
    return count << COUNT_SHIFT | (unsigned)place;
}

static int place_in(unsigned turn)
{
    return (int)(turn & NOBODY);
}

static unsigned count_in(unsigned turn)
{
    return (turn & ~CLOSED) >> COUNT_SHIFT;
}

void slice_log_clear(struct slice_log *log, unsigned wanted_count)
{
    log->wanted_count = wanted_count < SLICE_LOG_ENTRIES ? wanted_count : SLICE_LOG_ENTRIES;
    atomic_store_explicit(&log->turn, turn_of(0, NOBODY), memory_order_release);
}

unsigned slice_log_look(struct slice_log *log)
{
    return atomic_load_explicit(&log->turn, memory_order_acquire);
}

bool slice_log_is_over(const struct slice_log *log, unsigned turn)
{
    return (turn & CLOSED) || count_in(turn) >= log->wanted_count;
}

void slice_log_take(struct slice_log *log, unsigned turn, int place, uint64_t ticks)
{
    unsigned count = count_in(turn);
    if (place_in(turn) == place || slice_log_is_over(log, turn))
        return;
    if (atomic_compare_exchange_strong_explicit(&log->turn, &turn, turn_of(count + 1, place),
                                                memory_order_acq_rel, memory_order_relaxed))
        log->entries[count] = (struct slice_entry){ticks, place};
}

void slice_log_close(struct slice_log *log)
{
    atomic_fetch_or_explicit(&log->turn, CLOSED, memory_order_acq_rel);
}

void slice_log_reopen(struct slice_log *log)
{
    atomic_fetch_and_explicit(&log->turn, ~CLOSED, memory_order_acq_rel);
}

unsigned slice_log_count(struct slice_log *log)
{
    return count_in(slice_log_look(log));
}

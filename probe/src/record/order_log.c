#include "base/posix_source.h"

#include "record/order_log.h"

#include <stdio.h>
#include <string.h>

void order_log_clear(struct order_log *log, const struct clock *clock)
{
    log->clock = clock;
    for (int i = 0; i < ORDER_LOG_ENTRIES; i++)
        atomic_store_explicit(&log->is_written[i], false, memory_order_relaxed);
    atomic_store_explicit(&log->count, 0, memory_order_release);
}

unsigned order_log_count(const struct order_log *log)
{
    unsigned count = 0;
    while (count < ORDER_LOG_ENTRIES &&
           atomic_load_explicit(&log->is_written[count], memory_order_acquire))
        count++;
    return count;
}

static unsigned lost_count(const struct order_log *log)
{
    return atomic_load_explicit(&log->count, memory_order_relaxed) - order_log_count(log);
}

/* Insertion sort: the log is nearly sorted, and the sort is stable and allocates nothing; qsort may
 * allocate. */
void order_log_sort(struct order_log *log)
{
    unsigned count = order_log_count(log);
    for (unsigned i = 1; i < count; i++) {
        struct order_entry entry = log->entries[i];
        unsigned place = i;
        for (; place > 0 && (int64_t)(log->entries[place - 1].ticks - entry.ticks) > 0; place--)
            log->entries[place] = log->entries[place - 1];
        log->entries[place] = entry;
    }
}

/* Writes entry `i` with a comma before it. Returns its full length, even if it is cut. */
static size_t render_entry(const struct order_log *log, unsigned i, char *text, size_t bytes)
{
    const struct order_entry *entry = &log->entries[i];
    const char *comma = i > 0 ? ", " : "";
    if (entry->number == ORDER_LOG_NO_NUMBER)
        return (size_t)snprintf(text, bytes, "%s%s %s", comma, entry->who, entry->what);
    return (size_t)snprintf(text, bytes, "%s%s %d %s", comma, entry->who, entry->number,
                            entry->what);
}

static void mark_cut(char *text, size_t bytes)
{
    if (bytes >= sizeof "...")
        memcpy(text + bytes - sizeof "...", "...", sizeof "...");
}

void order_log_render(struct order_log *log, char *text, size_t bytes)
{
    size_t used = 0;
    order_log_sort(log);
    if (order_log_count(log) == 0)
        used = (size_t)snprintf(text, bytes, "nothing happened");
    for (unsigned i = 0; i < order_log_count(log) && used < bytes; i++)
        used += render_entry(log, i, text + used, bytes - used);
    if (lost_count(log) > 0 && used < bytes)
        used += (size_t)snprintf(text + used, bytes - used, ", and %u more that did not fit",
                                 lost_count(log));
    if (used >= bytes)
        mark_cut(text, bytes);
}

/* Compare entry by entry, so that no text buffer limits the length of the order. */
bool order_log_is(struct order_log *log, const char *promised)
{
    char words[ARENA_TEXT_BYTES];
    order_log_sort(log);
    for (unsigned i = 0; i < order_log_count(log); i++) {
        size_t length = render_entry(log, i, words, sizeof words);
        if (length >= sizeof words || strncmp(promised, words, length) != 0)
            return false;
        promised += length;
    }
    return *promised == '\0' && order_log_count(log) > 0 && lost_count(log) == 0;
}

int order_log_place(struct order_log *log, const char *who, const char *what)
{
    order_log_sort(log);
    for (unsigned i = 0; i < order_log_count(log); i++)
        if (strcmp(log->entries[i].who, who) == 0 && strcmp(log->entries[i].what, what) == 0)
            return (int)i;
    return -1;
}

bool order_log_verdict(struct order_log *log, struct arena *arena, const char *name,
                       const char *promised)
{
    char seen[ARENA_TEXT_BYTES / 2];
    bool is_as_promised = order_log_is(log, promised);
    order_log_render(log, seen, sizeof seen);
    if (is_as_promised)
        arena_verdict(arena, true, 1, name, "%s", seen);
    else
        arena_verdict(arena, false, 1, name, "seen: %s; promised: %s", seen, promised);
    return is_as_promised;
}

#include "family/interrupt/handler_match.h"

void handler_log_clear(struct handler_log *log)
{
    log->count = 0;
    log->lost_from_ns = log->lost_until_ns = 0;
}

void handler_log_entry(struct handler_log *log, int64_t at_ns)
{
    log->is_inside = true;
    log->entry_ns = log->latest_ns = at_ns;
}

/* What finds no room is lost, with all that follows. */
void handler_log_exit(struct handler_log *log, int64_t at_ns)
{
    log->latest_ns = at_ns;
    if (!log->is_inside)
        return;
    log->is_inside = false;
    if (log->count < HANDLER_LOG)
        log->of[log->count++] = (struct handled){log->entry_ns, at_ns};
    else
        handler_log_lost(log, INT64_MAX);
}

void handler_log_lost(struct handler_log *log, int64_t at_ns)
{
    if (log->lost_until_ns == 0)
        log->lost_from_ns = log->is_inside ? log->entry_ns : log->latest_ns;
    log->lost_until_ns = at_ns;
    log->is_inside = false;
}

static bool is_lost(const struct handler_log *log, int64_t from_ns, int64_t until_ns)
{
    return log->lost_until_ns > 0 && log->lost_from_ns <= until_ns && log->lost_until_ns >= from_ns;
}

enum handler_fate handler_log_find(const struct handler_log *log, int64_t from_ns, int64_t until_ns,
                                   struct handled *handled)
{
    int found = 0;
    if (is_lost(log, from_ns, until_ns))
        return HANDLER_LOST;
    for (uint32_t i = 0; i < log->count && log->of[i].entry_ns <= until_ns; i++) {
        if (log->of[i].entry_ns < from_ns || log->of[i].exit_ns > until_ns)
            continue;
        found++;
        *handled = log->of[i];
    }
    return found == 1 ? HANDLER_SINGLE : found == 0 ? HANDLER_NONE : HANDLER_SEVERAL;
}

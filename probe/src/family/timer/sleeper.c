#include "family/timer/sleeper.h"

#include <time.h>

/* The end of a stop is noted by another thread, which may be late. */
#define JUDGE_AFTER_NS INT64_C(100000000)
#define PATIENCE_NS INT64_C(20000000)
#define PAUSE_NS INT64_C(1000000)

enum { FEW_MISSED = 8 }; /* have a place each among the worst values, and are taken out of them */

static void drop_first(struct sleeper *sleeper)
{
    sleeper->first = (sleeper->first + 1) % SLEEPER_BACKLOG;
    sleeper->count--;
}

/* Leaves out what a stop made late, and takes out what is recorded of it. */
static void keep_apart(struct sleeper *sleeper, const struct late *late)
{
    struct arena *arena = sleeper->run->arena;
    uint64_t missed = (uint64_t)(late->next_ns / sleeper->interval_ns) + 1;
    record_count_stopped(sleeper->release, missed, late->next_ns);
    stops_take_out(arena, sleeper->wakeup);
    stops_take_out(arena, sleeper->release);
    stops_take_out(arena, sleeper->missed);
    drop_first(sleeper);
}

void sleeper_expand(struct sleeper *sleeper, int64_t now_ns, uint64_t steps)
{
    while (sleeper->count > 0 && steps-- > 0) {
        struct late *late = &sleeper->backlog[sleeper->first];
        int64_t late_ns = late->next_ns + sleeper->interval_ns;
        if (!late->is_judged && now_ns - late->at_ns < JUDGE_AFTER_NS)
            return;
        if (!late->is_judged && stops_touch(sleeper->run->arena, late_ns, late->at_ns)) {
            keep_apart(sleeper, late);
            continue;
        }
        late->is_judged = true;
        record_value(sleeper->release, late->next_ns, late->at_ns);
        late->next_ns -= sleeper->interval_ns;
        if (late->next_ns < 0)
            drop_first(sleeper);
    }
}

/* Whether the program was stopped then, which may be known some time after it goes on. */
static bool was_stopped(const struct sleeper *sleeper, int64_t late_ns, int64_t at_ns)
{
    static const struct timespec pause = {0, PAUSE_NS};
    const struct arena *arena = sleeper->run->arena;
    bool is_stop = stops_touch(arena, late_ns, at_ns);
    for (int i = 0; i < PATIENCE_NS / PAUSE_NS && !is_stop; i++) {
        nanosleep(&pause, NULL);
        is_stop = stops_touch(arena, late_ns, at_ns);
    }
    return is_stop;
}

void sleeper_end(struct sleeper *sleeper)
{
    for (uint32_t i = 0; i < sleeper->count; i++) {
        const struct late *late = &sleeper->backlog[(sleeper->first + i) % SLEEPER_BACKLOG];
        int64_t since_ns = run_at_ns(sleeper->run, clock_monotonic_ns()) - late->at_ns;
        if (!late->is_judged && since_ns < PATIENCE_NS)
            (void)was_stopped(sleeper, late->next_ns + sleeper->interval_ns, late->at_ns);
    }
    sleeper_expand(sleeper, INT64_MAX, UINT64_MAX);
    stops_take_out(sleeper->run->arena, sleeper->missed);
}

int64_t sleeper_note_late(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns)
{
    int64_t swallowed = late_ns / sleeper->interval_ns;
    record_value(sleeper->missed, swallowed, at_ns);
    if (sleeper->count == SLEEPER_BACKLOG)
        sleeper_expand(sleeper, INT64_MAX, UINT64_MAX);
    uint32_t place = (sleeper->first + sleeper->count++) % SLEEPER_BACKLOG;
    sleeper->backlog[place] =
        (struct late){late_ns - sleeper->interval_ns, at_ns, swallowed < FEW_MISSED};
    return swallowed;
}

/* The measuring thread sets the outcome later, since several threads may cross at once. */
bool sleeper_cross(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns, int cpu)
{
    if (stops_touch(sleeper->run->arena, late_ns, at_ns))
        return false;
    run_hold_trace(sleeper->run); /* at once: its ring is short */
    if (was_stopped(sleeper, late_ns, at_ns))
        return false;
    sleeper->crossed_ns = late_ns;
    arena_event(sleeper->run->arena, "threshold_crossed", at_ns,
                DATA(data_integer("value_ns", late_ns),
                     data_integer("threshold_ns", sleeper->threshold_ns), data_integer("cpu", cpu)),
                "%lld ns is above the threshold of %lld ns", (long long)late_ns,
                (long long)sleeper->threshold_ns);
    run_request_stop();
    return true;
}

void sleeper_report_missed(const struct sleeper *sleeper, int cpu)
{
    const struct record *missed = sleeper->missed;
    if (missed->count > 0)
        arena_event(
            sleeper->run->arena, "missed_periods", -1,
            DATA(data_integer("missed_count",
                              (int64_t)(record_mean(missed) * (double)missed->count + 0.5)),
                 data_integer("late_count", (int64_t)missed->count), data_integer("cpu", cpu)),
            "%.0f periods were missed by %llu late wake-ups on CPU %d",
            record_mean(missed) * (double)missed->count, (unsigned long long)missed->count, cpu);
}

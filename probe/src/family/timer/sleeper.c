#include "family/timer/sleeper.h"

void sleeper_expand(struct sleeper *sleeper, uint64_t steps)
{
    while (sleeper->count > 0 && steps-- > 0) {
        struct late *late = &sleeper->backlog[sleeper->first];
        record_value(sleeper->release, late->next_ns, late->at_ns);
        late->next_ns -= sleeper->interval_ns;
        if (late->next_ns >= 0)
            continue;
        sleeper->first = (sleeper->first + 1) % SLEEPER_BACKLOG;
        sleeper->count--;
    }
}

int64_t sleeper_note_late(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns)
{
    int64_t swallowed = late_ns / sleeper->interval_ns;
    record_value(sleeper->missed, swallowed, at_ns);
    if (sleeper->count == SLEEPER_BACKLOG)
        sleeper_expand(sleeper, UINT64_MAX);
    uint32_t place = (sleeper->first + sleeper->count++) % SLEEPER_BACKLOG;
    sleeper->backlog[place] = (struct late){late_ns - sleeper->interval_ns, at_ns};
    return swallowed;
}

/* The measuring thread sets the outcome later, since several threads may cross at once. */
void sleeper_cross(struct sleeper *sleeper, int64_t late_ns, int64_t at_ns, int cpu)
{
    sleeper->crossed_ns = late_ns;
    run_hold_trace(sleeper->run);
    arena_event(sleeper->run->arena, "threshold_crossed", at_ns,
                DATA(data_integer("value_ns", late_ns),
                     data_integer("threshold_ns", sleeper->threshold_ns), data_integer("cpu", cpu)),
                "%lld ns is above the threshold of %lld ns", (long long)late_ns,
                (long long)sleeper->threshold_ns);
    run_request_stop();
}

void sleeper_tell_missed(const struct sleeper *sleeper, int cpu)
{
    const struct record *missed = sleeper->missed;
    if (missed->count > 0)
        arena_event(
            sleeper->run->arena, "missed_periods", -1,
            DATA(data_integer("missed_count",
                              (int64_t)(record_mean(missed) * (double)missed->count + 0.5)),
                 data_integer("late_count", (int64_t)missed->count), data_integer("cpu", cpu)),
            "%.0f releases were missed by %llu late wake-ups on CPU %d",
            record_mean(missed) * (double)missed->count, (unsigned long long)missed->count, cpu);
}

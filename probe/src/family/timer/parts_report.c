#include "base/posix_source.h"

#include "family/timer/parts_report.h"

#include <stdio.h>
#include <string.h>

void parts_worst_see(struct parts_worst *worst, const struct part_split *split, int64_t at_ns)
{
    int64_t value_ns = 0;
    for (int i = 0; i < PARTS; i++)
        value_ns += split->ns[i];
    if (worst->is_there && value_ns <= worst->value_ns)
        return;
    *worst = (struct parts_worst){true, value_ns, at_ns, *split};
}

void parts_tell_not_seen(struct run *run, enum parts_source source, const struct outcome *outcome)
{
    arena_event(
        run->arena, "parts_not_seen", -1,
        DATA(source != SOURCE_NONE ? data_text("source", parts_source_name(source)) : data_none(),
             data_text("status", status_name(outcome->status)),
             data_text("reason", outcome->reason),
             outcome->remedy[0] ? data_text("remedy", outcome->remedy) : data_none(),
             outcome->command[0] ? data_text("command", outcome->command) : data_none()),
        "the parts of a wake-up are not seen: %.240s%s%.120s", outcome->reason,
        outcome->remedy[0] ? "; " : "", outcome->remedy);
}

static long long number(uint64_t value)
{
    return (long long)value;
}

void parts_tell_seen(struct run *run, const struct parts_seen *seen)
{
    const struct part_counts *counts = seen->counts;
    uint64_t without = seen->sample_count - counts->matched;
    arena_event(run->arena, "parts_seen", -1,
                DATA(data_text("source", seen->source), data_integer("cpu", seen->cpu),
                     data_integer("sample_count", number(seen->sample_count + seen->dropped_count)),
                     data_integer("matched_count", number(counts->matched)),
                     data_integer("dropped_count", number(seen->dropped_count)),
                     data_integer("lost_count", number(counts->lost)),
                     data_integer("not_slept_count", number(counts->not_slept)),
                     data_integer("not_switched_count", number(counts->not_switched)),
                     data_integer("unmatched_count", number(counts->unmatched)),
                     data_integer("out_of_order_count", number(counts->out_of_order)),
                     data_integer("begun_early_count", number(counts->begun_early))),
                "CPU %d: the parts of %lld of %lld wake-ups were seen by %s; %lld have none "
                "(events lost %lld, did not sleep %lld, no switch seen %lld, no single match %lld, "
                "out of order %lld)",
                seen->cpu, number(counts->matched),
                number(seen->sample_count + seen->dropped_count), seen->source,
                number(without + seen->dropped_count), number(counts->lost + seen->dropped_count),
                number(counts->not_slept), number(counts->not_switched), number(counts->unmatched),
                number(counts->out_of_order));
}

void parts_tell_checked(struct run *run, int cpu, const struct timerlat_match *match)
{
    const struct timerlat_gap *total = &match->total, *grid = &match->grid;
    arena_event(
        run->arena, "parts_checked", -1,
        DATA(data_integer("cpu", cpu), data_integer("checked_count", number(total->count)),
             data_integer("limit_ns", match->limit_ns),
             data_integer("least_difference_ns", total->least_ns),
             data_integer("most_difference_ns", total->most_ns),
             data_integer("beyond_count", number(total->beyond)),
             data_integer("release_checked_count", number(grid->count)),
             data_integer("release_most_difference_ns", grid->most_ns),
             data_integer("release_beyond_count", number(grid->beyond))),
        "CPU %d: timerlat's sum of the parts is %lld to %lld ns above the total of %lld wake-ups, "
        "in %lld of them by more than the instrument's %lld ns; its releases are at most %lld ns "
        "from their grid",
        cpu, (long long)total->least_ns, (long long)total->most_ns, number(total->count),
        number(total->beyond), (long long)match->limit_ns, (long long)grid->most_ns);
}

void parts_tell_worst(struct run *run, int cpu, const struct parts_worst *worst)
{
    const struct part_split *split = &worst->split;
    char before[PART_NAME_BYTES + 48] = "";
    if (!worst->is_there)
        return;
    bool is_known = split->before_thread >= 0;
    if (is_known)
        snprintf(before, sizeof before, "; %s (%lld) ran before", split->before,
                 (long long)split->before_thread);
    arena_event(run->arena, "parts_worst", worst->at_ns,
                DATA(data_integer("cpu", cpu), data_integer("value_ns", worst->value_ns),
                     data_integer("interrupt_ns", split->ns[PART_INTERRUPT]),
                     data_integer("dispatch_ns", split->ns[PART_DISPATCH]),
                     data_integer("return_ns", split->ns[PART_RETURN]),
                     is_known ? data_text("before", split->before) : data_none(),
                     is_known ? data_integer("before_thread", split->before_thread) : data_none()),
                "CPU %d: the worst wake-up whose parts were seen, %lld ns, is %lld ns to the "
                "interrupt, %lld ns of dispatch, %lld ns of return%s",
                cpu, (long long)worst->value_ns, (long long)split->ns[PART_INTERRUPT],
                (long long)split->ns[PART_DISPATCH], (long long)split->ns[PART_RETURN], before);
}

void parts_tell_shared_cpu(struct run *run)
{
    arena_event(
        run->arena, "parts_reader_shares", -1, NO_DATA,
        "the thread that reads the kernel's events has no CPU that is not measured: what it "
        "does is in the figures");
}

void parts_tell_stopped(struct run *run)
{
    arena_event(
        run->arena, "parts_stopped", -1, NO_DATA,
        "somebody has switched the instance's tracing_on off: later wake-ups have no parts");
}

void parts_tell_not_read(struct run *run, int error)
{
    arena_event(run->arena, "parts_not_read", -1, DATA(data_text("error", strerror(error))),
                "the kernel's events could not be read (%s): some wake-ups have no parts",
                strerror(error));
}

void parts_tell_left(struct run *run, const char *path, int error)
{
    char command[300];
    snprintf(command, sizeof command, "rmdir %s", path);
    arena_event(run->arena, "parts_not_removed", -1,
                DATA(data_text("path", path), data_text("error", strerror(error)),
                     data_text("command", command)),
                "the trace instance %s could not be removed: %s", path, strerror(error));
}

#include "base/posix_source.h"

#include "family/interrupt/interrupted_report.h"

#include <stdio.h>
#include <string.h>

void interrupted_count_early(struct interrupted_counts *counts, int64_t early_ns)
{
    counts->early_count++;
    if (early_ns > counts->earliest_ns)
        counts->earliest_ns = early_ns;
}

void interrupted_count_in_other(struct interrupted_counts *counts, int64_t until_ns)
{
    if (until_ns > counts->in_other_most_ns)
        counts->in_other_most_ns = until_ns;
}

void interrupted_count_ambiguous(struct interrupted_counts *counts, int64_t until_ns)
{
    if (until_ns > counts->ambiguous_most_ns)
        counts->ambiguous_most_ns = until_ns;
}

void interrupted_count_refused(struct interrupted_counts *counts, uint64_t count, int error)
{
    counts->refused_count += count;
    if (error)
        counts->error = error;
}

void interrupted_tell_accounted(struct run *run, int64_t source,
                                const struct interrupted_counts *counts)
{
    const char *name = interrupt_source_names[source];
    const uint64_t *of = counts->sent.of;
    char early[96] = "";
    if (counts->early_count > 0)
        snprintf(early, sizeof early, "; %llu came early, by up to %lld ns, and count as 0",
                 (unsigned long long)counts->early_count, (long long)counts->earliest_ns);
    arena_event(
        run->arena, "interrupts_accounted", -1,
        DATA(data_text("source", name), data_integer("sent_count", (int64_t)counts->sent.sent),
             data_integer("seen_count", (int64_t)of[SENT_SEEN]),
             data_integer("in_other_count", (int64_t)of[SENT_IN_OTHER]),
             data_integer("ambiguous_count", (int64_t)of[SENT_AMBIGUOUS]),
             data_integer("not_seen_count", (int64_t)of[SENT_NOT_SEEN]),
             data_integer("not_watched_count", (int64_t)of[SENT_NOT_WATCHED]),
             data_integer("in_other_most_ns", counts->in_other_most_ns),
             data_integer("ambiguous_most_ns", counts->ambiguous_most_ns),
             data_integer("early_count", (int64_t)counts->early_count),
             data_integer("earliest_ns", counts->earliest_ns),
             data_integer("refused_count", (int64_t)counts->refused_count),
             counts->error ? data_text("error", strerror(counts->error)) : data_none()),
        "%s: of %llu interrupts sent %llu were seen, %llu came while another interruption had the "
        "CPU (the longest from its send to the end of both: %lld ns), %llu are ambiguous (the "
        "longest was over after %lld ns), %llu were not seen, %llu not watched%s",
        name, (unsigned long long)counts->sent.sent, (unsigned long long)of[SENT_SEEN],
        (unsigned long long)of[SENT_IN_OTHER], (long long)counts->in_other_most_ns,
        (unsigned long long)of[SENT_AMBIGUOUS], (long long)counts->ambiguous_most_ns,
        (unsigned long long)of[SENT_NOT_SEEN], (unsigned long long)of[SENT_NOT_WATCHED], early);
}

static int64_t mean(int64_t sum, uint64_t count)
{
    return (sum + (int64_t)(count / 2)) / (int64_t)count;
}

void interrupted_tell_split(struct run *run, int64_t source, const struct interrupted_split *split)
{
    const char *name = interrupt_source_names[source];
    uint64_t count = split->count;
    if (count == 0)
        return;
    int64_t delivery = mean(split->delivery_ns, count), latency = mean(split->latency_ns, count);
    int64_t handler = mean(split->handler_ns, count), dispatch = mean(split->dispatch_ns, count);
    int64_t service = mean(split->service_ns, count);
    arena_event(
        run->arena, "interrupts_split", -1,
        DATA(data_text("source", name), data_integer("matched_count", (int64_t)count),
             data_integer("delivery_mean_ns", delivery), data_integer("latency_mean_ns", latency),
             data_integer("handler_mean_ns", handler), data_integer("dispatch_mean_ns", dispatch),
             data_integer("service_mean_ns", service)),
        "%s: mean of %llu interrupts whose handler was seen: delivery %lld ns; service %lld "
        "ns, of which latency %lld ns, the handler %lld ns, dispatch %lld ns",
        name, (unsigned long long)count, (long long)delivery, (long long)service,
        (long long)latency, (long long)handler, (long long)dispatch);
}

void interrupted_tell_unseen(struct run *run, const struct interrupt_line *line, int burst_count)
{
    arena_event(run->arena, "interrupts_unseen", -1,
                DATA(data_text("source", line->source->name), data_integer("cpu", run->setup.cpu),
                     data_integer("burst_count", burst_count)),
                "%s: given up, no interrupt of %d bursts was seen on CPU %d: the system serves it "
                "elsewhere, or the thread did not get the CPU",
                line->source->name, burst_count, run->setup.cpu);
}

#include "base/posix_source.h"

#include "family/semaphore/signal_wait.h"

#include "run/variant.h"

#include <stdio.h>
#include <string.h>

enum { MEASURED, GIVEN, SOURCES };

static const char *const sources[SOURCES] = {
    [MEASURED] = "context_switch subtracts the mean of this test's own signal_wait",
    [GIVEN] = "context_switch subtracts the given mean (signal_wait_ns)",
};

static const char *const source_names[SOURCES] = {[MEASURED] = "measured", [GIVEN] = "given"};

int signal_wait_keep(struct run *run, int series, uint64_t begin, uint64_t end)
{
    run_take(run, series, begin, end);
    return 0;
}

int signal_wait_check(struct run *run)
{
    int wanted = run_param(run, "kinds")->count * run_param(run, "scopes")->count;
    int given = run_param(run, "signal_wait_ns")->count;
    if (given <= wanted)
        return 0;
    return outcome_set(&run->outcome, STATUS_FAILED,
                       "give one number for each kind and scope, or fewer",
                       "signal_wait_ns has %d numbers, but there are only %d combinations of kinds "
                       "and scopes",
                       given, wanted);
}

static int place_in(const struct run *run, const char *param)
{
    const struct param_value *value = run_param(run, param);
    int place = 0;
    while (value->number[place] != variant_number(run, param))
        place++;
    return place;
}

int64_t signal_wait_given(const struct run *run)
{
    const struct param_value *given = run_param(run, "signal_wait_ns");
    int place = place_in(run, "kinds") * run_param(run, "scopes")->count + place_in(run, "scopes");
    return place < given->count ? given->number[place] : 0;
}

static void tell_source(struct run *run, struct signal_wait_mean *mean, int source)
{
    if (mean->variants[source][0])
        arena_event(run->arena, "signal_wait_mean", -1,
                    DATA(data_text("source", source_names[source]),
                         data_text("means", mean->variants[source])),
                    "%s: %s", sources[source], mean->variants[source]);
    mean->variants[source][0] = '\0';
}

/* Sends the collected entries if there is no room for one more. */
static void note_variant(struct run *run, struct signal_wait_mean *mean, int source)
{
    char one[2 * ARENA_NAME_BYTES], name[ARENA_NAME_BYTES];
    char *text = mean->variants[source];
    variant_name(run, name, sizeof name);
    snprintf(one, sizeof one, "%s %lld ns", name, (long long)mean->ns);
    if (strlen(text) + strlen(one) + sizeof "; " > sizeof mean->variants[source])
        tell_source(run, mean, source);
    size_t used = strlen(text);
    snprintf(text + used, sizeof mean->variants[source] - used, "%s%s", used ? "; " : "", one);
}

void signal_wait_choose(struct run *run, struct signal_wait_mean *mean, int64_t measured_ns)
{
    int64_t given_ns = signal_wait_given(run);
    mean->ns = given_ns > 0 ? given_ns : measured_ns;
    note_variant(run, mean, given_ns > 0 ? GIVEN : MEASURED);
}

void signal_wait_tell(struct run *run, struct signal_wait_mean *mean)
{
    for (int source = 0; source < SOURCES; source++)
        tell_source(run, mean, source);
}

/* A device that UIO serves and that the user names. */
#include "base/posix_source.h"

#include "family/interrupt/source.h"

static int look(const struct run *run, struct outcome *outcome)
{
    (void)run;
    return outcome_set(outcome, STATUS_UNSUPPORTED, NULL, "this build has no UIO");
}

const struct interrupt_source interrupt_external = {
    .name = "external",
    .is_sent_elsewhere = true,
    .look = look,
};

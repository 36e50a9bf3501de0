#include "base/posix_source.h"

#include "run/dma_latency.h"

#include "port/port.h"
#include "shield/shield.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static int refuse(struct run *run, int32_t us, int error)
{
    char what[STATUS_TEXT_BYTES / 2], command[STATUS_COMMAND_BYTES];
    const char *device = port_hint(PORT_HINT_IDLE_DEVICE);
    snprintf(command, sizeof command, "sudo chmod a+rw %s", device);
    snprintf(what, sizeof what, "holding the exit latency of idle states at %ld us (%s)", (long)us,
             device);
    if (error == ENOTSUP)
        return outcome_set_errno(&run->outcome, error, what,
                                 "leave out --dma-latency: this system has no such limit");
    return outcome_set_errno_remedy(
        &run->outcome, error, what,
        (struct remedy){"run as root, or let all users open it until the next boot", command});
}

static void tell_lower(const struct run *run, int32_t us, int32_t in_force_us, bool is_of_shield)
{
    arena_event(run->arena, "dma_latency_lower", -1,
                DATA(data_integer("asked_us", us), data_integer("in_force_us", in_force_us),
                     data_text("holder", is_of_shield ? "shield" : "another program")),
                "%ld us requested, %ld us in force: %s holds the lower bound", (long)us,
                (long)in_force_us,
                is_of_shield ? "the setting dma_latency of the shield" : "another program");
}

int dma_latency_hold(struct run *run)
{
    bool is_of_shield = run->settings & 1u << SHIELD_DMA_LATENCY;
    int32_t us = run->request->dma_latency_us, in_force_us = 0;
    run->dma_latency.is_held = is_of_shield || run->request->has_dma_latency;
    if (!run->request->has_dma_latency)
        return 0; /* a shield holds 0 itself */
    int error = port_hold_dma_latency(us, &run->dma_latency.descriptor, &in_force_us);
    run->dma_latency.is_held = is_of_shield || error == 0;
    if (error)
        return refuse(run, us, error);
    run->dma_latency.is_open = true;
    run->dma_latency.us = in_force_us;
    if (in_force_us < us)
        tell_lower(run, us, in_force_us, is_of_shield);
    return 0;
}

void dma_latency_release(struct run *run)
{
    if (run->dma_latency.is_open)
        close(run->dma_latency.descriptor);
    run->dma_latency.is_open = false;
}

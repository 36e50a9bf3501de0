/* Why a thread or locked memory was refused: as far as errno says it. */
#include "port/port.h"

#include <stdio.h>
#include <string.h>

void port_refusal(int error, enum port_asked asked, struct port_refusal *refusal)
{
    bool is_any_thread = asked == PORT_ASKED_ANY_THREAD;
    memset(refusal, 0, sizeof *refusal);
    refusal->is_any_thread = is_any_thread;
    refusal->cause = "other";
    snprintf(refusal->reason, sizeof refusal->reason, "%s%s",
             is_any_thread ? "no thread can be started: " : "", strerror(error));
    snprintf(refusal->remedy, sizeof refusal->remedy, "%s",
             is_any_thread ? "raise the limits on threads and memory"
                           : "run as a user who may use SCHED_FIFO");
}

void port_lock_refusal(int error, struct port_refusal *refusal)
{
    memset(refusal, 0, sizeof *refusal);
    refusal->cause = "limit";
    snprintf(refusal->reason, sizeof refusal->reason, "%s", strerror(error));
    snprintf(refusal->remedy, sizeof refusal->remedy, "raise the limit of locked memory");
}

/* Why a thread or locked memory was refused: NuttX has no rights that a program may lack, but
 * little memory. */
#include "base/posix_source.h"

#include "port/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void port_refusal(int error, enum port_asked asked, struct port_refusal *refusal)
{
    memset(refusal, 0, sizeof *refusal);
    refusal->is_any_thread = asked == PORT_ASKED_ANY_THREAD;
    bool is_memory = error == ENOMEM || error == EAGAIN;
    refusal->cause = is_memory && refusal->is_any_thread ? "thread_memory" : "other";
    snprintf(refusal->reason, sizeof refusal->reason, "%s%s",
             refusal->is_any_thread ? "no thread can be started: " : "", strerror(error));
    if (is_memory)
        snprintf(refusal->remedy, sizeof refusal->remedy,
                 "end other tasks (ps, free), or configure smaller stacks "
                 "(CONFIG_HARDSTONE_THREAD_STACKSIZE, CONFIG_HARDSTONE_SMALL_STACKSIZE)");
}

void port_lock_refusal(int error, struct port_refusal *refusal)
{
    memset(refusal, 0, sizeof *refusal);
    refusal->cause = "limit";
    snprintf(refusal->reason, sizeof refusal->reason, "%s", strerror(error));
    snprintf(refusal->remedy, sizeof refusal->remedy, "all memory of a flat image is in place");
}

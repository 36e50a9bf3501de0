/* Another CPU: membarrier interrupts each CPU that runs a thread of this process, and returns when
 * each has served it. On Linux it is a function call (smp_call_function): no module, no privilege.
 */
#include "base/posix_source.h"

#include "family/interrupt/source.h"

static int look(const struct run *run, struct outcome *outcome)
{
    (void)run;
    int error = port_interrupt_register();
    if (error == 0)
        return 0;
    return outcome_set_errno(outcome, error, "membarrier, which sends the interrupt",
                             "Linux 4.14 or later with CONFIG_MEMBARRIER, and no filter of system "
                             "calls that refuses it");
}

static int open_line(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    if (look(run, outcome) != 0)
        return -1;
    line->source = &interrupt_ipi;
    return 0;
}

static int send_one(const struct interrupt_line *line)
{
    (void)line;
    return port_interrupt_send();
}

static void close_line(struct interrupt_line *line)
{
    line->source = NULL;
}

const struct interrupt_source interrupt_ipi = {
    .name = "ipi",
    .is_sent_elsewhere = true,
    .look = look,
    .open = open_line,
    .send = send_one,
    .close = close_line,
};

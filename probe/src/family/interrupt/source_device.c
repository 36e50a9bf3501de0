/* A device that UIO serves and that the user names. Sent by one write to its register, from another
 * CPU; served when the kernel's driver has counted it.
 *
 * On PREEMPT_RT the driver's handler is a thread of its own, which does not run beside one of
 * higher priority that spins, and the line stays masked until it has. So there is one interrupt a
 * burst, and it is settled after the burst. */
#include "base/posix_source.h"

#include "family/interrupt/source.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 100, TRIALS = 2 };

#define WINDOW_NS INT64_C(100000)

static struct port_uio_registers registers_of(const struct run *run)
{
    return (struct port_uio_registers){
        .raise_offset = run_number(run, "raise_bytes"),
        .raise_value = (uint32_t)run_number(run, "raise_value"),
        .acknowledge_offset = run_number(run, "acknowledge_bytes"),
        .acknowledge_value = (uint32_t)run_number(run, "acknowledge_value"),
    };
}

static int open_device(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    struct port_uio_registers registers = registers_of(run);
    return port_uio_open((int)run_number(run, "uio"), &registers, &line->uio, outcome);
}

static void close_line(struct interrupt_line *line)
{
    port_uio_close(&line->uio);
    line->source = NULL;
}

static int look(const struct run *run, struct outcome *outcome)
{
    struct interrupt_line line;
    memset(&line, 0, sizeof line);
    if (open_device(&line, run, outcome) != 0)
        return -1;
    close_line(&line);
    return 0;
}

static int send_one(const struct interrupt_line *line)
{
    port_uio_raise(&line->uio);
    return 0;
}

static int settle(const struct interrupt_line *line)
{
    struct pollfd served = {.fd = line->uio.file, .events = POLLIN};
    uint32_t count;
    int ready = poll(&served, 1, PATIENCE_MS);
    int error = ready > 0 ? port_uio_wait(&line->uio, &count) : ready == 0 ? ETIMEDOUT : errno;
    port_uio_acknowledge(&line->uio);
    int not_enabled = port_uio_enable(&line->uio);
    return error ? error : not_enabled;
}

static int refuse_cpu(const struct interrupt_line *line, const struct run *run, int cpu,
                      struct outcome *outcome)
{
    char command[STATUS_COMMAND_BYTES];
    port_uio_route_command(&line->uio, run->setup.cpu, command, sizeof command);
    return outcome_set_remedy(outcome, STATUS_UNSUPPORTED,
                              (struct remedy){"measure that CPU (--cpu), or have the kernel send "
                                              "the interrupt to the CPU under test",
                                              command},
                              "CPU %d serves the interrupt of " PORT_UIO_PATH
                              "%d, and the test measures "
                              "CPU %d",
                              cpu, line->uio.number, run->setup.cpu);
}

/* Interrupts on trial: a line may change its CPU at the first one. */
static int try_out(const struct interrupt_line *line, const struct run *run,
                   struct outcome *outcome)
{
    for (int i = 0; i < TRIALS; i++) {
        (void)send_one(line);
        int error = settle(line);
        if (error)
            return outcome_set_errno(outcome, error, "waiting for an interrupt of the device",
                                     "look whether the register raises it");
    }
    int cpu = port_uio_cpu(&line->uio);
    return cpu >= 0 && cpu != run->setup.cpu ? refuse_cpu(line, run, cpu, outcome) : 0;
}

static int open_line(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    if (open_device(line, run, outcome) != 0)
        return -1;
    line->source = &interrupt_external;
    if (try_out(line, run, outcome) == 0)
        return 0;
    close_line(line);
    return -1;
}

const struct interrupt_source interrupt_external = {
    .name = "external",
    .is_sent_elsewhere = true,
    .can_be_sent_here = true,
    .window_ns = WINDOW_NS,
    .most_in_a_burst = 1,
    .look = look,
    .open = open_line,
    .send = send_one,
    .settle = settle,
    .close = close_line,
};

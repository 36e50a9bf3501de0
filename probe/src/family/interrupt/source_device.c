/* A device that UIO serves and that the user names. Sent by one write to its register, from another
 * CPU; served when the kernel's driver has counted it. */
#include "base/posix_source.h"

#include "family/interrupt/source.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { PATIENCE_MS = 100 };

static struct port_uio_registers registers_of(const struct run *run)
{
    return (struct port_uio_registers){
        .raise_offset = run_number(run, "raise_bytes"),
        .raise_value = (uint32_t)run_number(run, "raise_value"),
        .acknowledge_offset = run_number(run, "acknowledge_bytes"),
        .acknowledge_value = (uint32_t)run_number(run, "acknowledge_value"),
    };
}

static int open_line(struct interrupt_line *line, const struct run *run, struct outcome *outcome)
{
    struct port_uio_registers registers = registers_of(run);
    if (port_uio_open((int)run_number(run, "uio"), &registers, &line->uio, outcome) != 0)
        return -1;
    line->source = &interrupt_external;
    return 0;
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
    if (open_line(&line, run, outcome) != 0)
        return -1;
    close_line(&line);
    return 0;
}

/* Takes an interrupt that was served back, so that the next one comes. */
static int take_back(const struct port_uio *uio)
{
    uint32_t count;
    int error = port_uio_wait(uio, &count);
    port_uio_acknowledge(uio);
    return error ? error : port_uio_enable(uio);
}

static int send_one(const struct interrupt_line *line)
{
    struct pollfd served = {.fd = line->uio.file, .events = POLLIN};
    port_uio_raise(&line->uio);
    int ready = poll(&served, 1, PATIENCE_MS);
    if (ready <= 0) {
        port_uio_acknowledge(&line->uio);
        return ready < 0 ? errno : ETIMEDOUT;
    }
    return take_back(&line->uio);
}

const struct interrupt_source interrupt_external = {
    .name = "external",
    .is_sent_elsewhere = true,
    .look = look,
    .open = open_line,
    .send = send_one,
    .close = close_line,
};

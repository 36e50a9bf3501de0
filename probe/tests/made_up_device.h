/* A device of UIO whose interrupts are made up, in the place of the port's. */
#ifndef HS_MADE_UP_DEVICE_H
#define HS_MADE_UP_DEVICE_H

#include "base/posix_source.h"

#include "port/device.h"
#include "tap.h"

#include <unistd.h>

/* A port that is made up answers whatever it is asked. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { DEVICE_IRQ = 11 };

/* Of each process its own. */
static struct {
    bool is_missing, is_not_raised;
    int wait_error, enable_error, cpu;
    uint32_t count, each; /* interrupts since the driver took it; more with each */
    uint32_t value;       /* of the register that raises */
    int ends[2];          /* of a pipe: readable where it has interrupted */
    int opened, closed, enabled, raised;
    void (*on_enable)(void);
} device;

int port_uio_open_to_serve(int number, struct port_uio *uio, struct outcome *outcome)
{
    if (device.is_missing)
        return outcome_set_remedy(outcome, STATUS_UNSUPPORTED,
                                  (struct remedy){"load its driver", "modprobe made_up"},
                                  "UIO device %d does not exist", number);
    memset(uio, 0, sizeof *uio);
    uio->number = number;
    uio->is_open = true;
    uio->file = device.ends[0];
    uio->raise = device.is_not_raised ? NULL : &device.value;
    uio->raise_value = 1;
    uio->first_count = device.count;
    uio->irq = DEVICE_IRQ;
    snprintf(uio->name, sizeof uio->name, "made_up");
    device.opened++;
    return 0;
}

int port_uio_open(int number, const struct port_uio_registers *registers, struct port_uio *uio,
                  struct outcome *outcome)
{
    CHECK_SAME(registers->raise_offset, PORT_UIO_NOT_GIVEN);
    return port_uio_open_to_serve(number, uio, outcome);
}

int port_uio_enable(const struct port_uio *uio)
{
    device.enabled++;
    device.raised += (int)device.value;
    device.value = 0;
    if (device.on_enable)
        device.on_enable();
    return device.enable_error;
}

int port_uio_wait(const struct port_uio *uio, uint32_t *count)
{
    device.count += device.each;
    *count = device.wait_error ? 12345 : device.count;
    return device.wait_error;
}

int port_uio_cpu(const struct port_uio *uio)
{
    return device.cpu;
}

void port_uio_route_command(const struct port_uio *uio, int cpu, char *command, size_t bytes)
{
    snprintf(command, bytes, "send %d to CPU %d", uio->irq, cpu);
}

int port_uio_handler_priority(const struct port_uio *uio)
{
    return -1;
}

void port_uio_close(struct port_uio *uio)
{
    device.closed += uio->is_open ? 1 : 0;
    uio->is_open = false;
}

/* One that has interrupted. */
static inline void device_begin(void)
{
    memset(&device, 0, sizeof device);
    device.each = 1;
    if (pipe(device.ends) != 0 || write(device.ends[1], "1", 1) != 1)
        abort();
}

static inline void device_end(void)
{
    close(device.ends[0]);
    close(device.ends[1]);
}

#endif

/* Systems without Linux's user-space I/O. */
#include "base/posix_source.h"

#include "port/device.h"

#include <errno.h>

int port_uio_open(int number, const struct port_uio_registers *registers, struct port_uio *uio,
                  struct outcome *outcome)
{
    (void)number, (void)registers;
    *uio = (struct port_uio){.file = -1, .config_file = -1};
    return outcome_set(outcome, STATUS_UNSUPPORTED, "name no device, or measure on Linux",
                       "this port does not support UIO devices");
}

int port_uio_open_to_serve(int number, struct port_uio *uio, struct outcome *outcome)
{
    return port_uio_open(number, NULL, uio, outcome);
}

int port_uio_enable(const struct port_uio *uio)
{
    (void)uio;
    return ENOTSUP;
}

int port_uio_wait(const struct port_uio *uio, uint32_t *count)
{
    (void)uio, (void)count;
    return ENOTSUP;
}

int port_uio_cpu(const struct port_uio *uio)
{
    (void)uio;
    return -1;
}

void port_uio_route_command(const struct port_uio *uio, int cpu, char *command, size_t bytes)
{
    (void)uio, (void)cpu;
    if (bytes > 0)
        command[0] = '\0';
}

int port_uio_handler_priority(const struct port_uio *uio)
{
    (void)uio;
    return -1;
}

void port_uio_close(struct port_uio *uio)
{
    (void)uio;
}

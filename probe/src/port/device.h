/* Interrupts of a device that a driver of Linux's user-space I/O (UIO) serves. The user names the
 * device: no other one is opened, mapped or written to.
 *
 * posix/device.c answers STATUS_UNSUPPORTED. */
#ifndef HS_PORT_DEVICE_H
#define HS_PORT_DEVICE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of device N: this, then N. */
#define PORT_UIO_PATH "/dev/uio"

enum { PORT_UIO_NOT_GIVEN = -1, PORT_UIO_MOST_NUMBER = 255, PORT_UIO_NAME_BYTES = 64 };

/* Registers of 32 bits in the device's first memory: BAR 0 of a PCI device, map 0 of others.
 * Offsets in bytes; PORT_UIO_NOT_GIVEN: there is none. Without an acknowledge register the kernel's
 * driver takes the interrupt back. */
struct port_uio_registers {
    int64_t raise_offset;
    uint32_t raise_value;
    int64_t acknowledge_offset;
    uint32_t acknowledge_value;
};

/* An open device. `raise` and `acknowledge` (NULL: none) lie in the device; `raise` is NULL only
 * after port_uio_open_to_serve. A zeroed one is closed.
 */
struct port_uio {
    volatile uint32_t *raise, *acknowledge;
    uint32_t raise_value, acknowledge_value;
    bool is_open;
    int number;
    int file;             /* /dev/uioN */
    int config_file;      /* of a PCI device that is enabled there; else -1 */
    bool has_irqcontrol;  /* the driver enables the interrupt, at a write to `file` */
    int irq;              /* the kernel's number of the interrupt; -1: not known */
    uint32_t first_count; /* interrupts since the driver took the device, when it was opened */
    int vendor, device;   /* of a PCI device; else -1 */
    char name[PORT_UIO_NAME_BYTES]; /* as its driver says it */
    void *memory;
    size_t memory_bytes;
};

/* Opens device `number` (/dev/uioN), maps its registers and enables its interrupt. Nothing is
 * raised. `registers` NULL, or without raise_offset: those of a device that is known (QEMU's edu,
 * 1234:11e8). 0, or -1 with the outcome, and the device is closed:
 * STATUS_UNSUPPORTED  no such device, or no UIO; how it is raised is not known; no interrupt; a
 *                     register that is not in its memory, or memory that cannot be mapped
 * STATUS_DENIED       a privilege is missing, or the kernel is locked down
 * STATUS_FAILED       other errors */
int port_uio_open(int number, const struct port_uio_registers *registers, struct port_uio *uio,
                  struct outcome *outcome);

/* The same for whoever only serves what comes: a device that is not known, whose interrupts come
 * from elsewhere, has no registers then (`raise` NULL, nothing is mapped). */
int port_uio_open_to_serve(int number, struct port_uio *uio, struct outcome *outcome);

/* Has the device raise its interrupt: one write to its register. The device is on a bus, so the
 * thread goes on before the write arrives. */
static inline void port_uio_raise(const struct port_uio *uio)
{
    *uio->raise = uio->raise_value;
}

/* Has the device take its interrupt back; then port_uio_enable. */
static inline void port_uio_acknowledge(const struct port_uio *uio)
{
    if (uio->acknowledge)
        *uio->acknowledge = uio->acknowledge_value;
}

/* Lets the next interrupt through: the driver blocks the line at each one. After
 * port_uio_acknowledge, else the same interrupt comes again. 0, or an errno value. */
int port_uio_enable(const struct port_uio *uio);

/* Waits for an interrupt that was not reported yet and stores how many there were since the driver
 * took the device: more than one more than before are several that were served as one. It wraps at
 * 2^32. One system call, a blocking read. 0, or an errno value: EINTR (a signal came). */
int port_uio_wait(const struct port_uio *uio, uint32_t *count);

/* The CPU that the interrupt is routed to, as the kernel says (effective_affinity): -1 if it does
 * not, or if they are several. A line of an IO-APIC may stay with its former CPU until it fires. */
int port_uio_cpu(const struct port_uio *uio);

/* What to type to have the kernel send the interrupt to `cpu`; "": not known. */
void port_uio_route_command(const struct port_uio *uio, int cpu, char *command, size_t bytes);

/* The priority of the kernel's thread that serves the interrupt (PREEMPT_RT, or threadirqs on the
 * boot line): 0 for one that is not real-time, -1 if there is none, or it is not known. Threads of
 * a higher priority that do not sleep keep the interrupt from being counted. */
int port_uio_handler_priority(const struct port_uio *uio);

/* Takes the interrupt back, and unmaps and closes all; for a closed device nothing. */
void port_uio_close(struct port_uio *uio);

#endif

/* The registers of a UIO device, as memory. */
#ifndef HS_PORT_LINUX_UIO_MEMORY_H
#define HS_PORT_LINUX_UIO_MEMORY_H

#include "port/device.h"

/* Maps the registers of the open device `uio`: BAR 0 of a PCI device, else its driver's map 0. Sets
 * uio->raise, acknowledge and their values, memory and memory_bytes. 0, or -1 with the outcome of
 * port_uio_open. */
int uio_memory_map(struct port_uio *uio, const struct port_uio_registers *registers,
                   struct outcome *outcome);

/* Path of `name` in the folder of the device in /sys. */
enum { UIO_PATH_BYTES = 96 };
const char *uio_path(int number, const char *name, char path[UIO_PATH_BYTES]);

/* The outcome of a call that failed with `error`: the kernel's lockdown and missing privileges are
 * STATUS_DENIED. */
int uio_refuse(struct outcome *outcome, int error, int number, const char *what);

#endif

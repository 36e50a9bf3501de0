/* Memory of PCI devices that have no driver, through /sys. */
#ifndef HS_GUEST_PCI_MEMORY_H
#define HS_GUEST_PCI_MEMORY_H

#include <stddef.h>

/* Switches the device on whose folder in /sys is `device`. False with errno. */
int pci_enable(const char *device);

/* The device, switched on, and the first `bytes` of its BAR number `bar`. NULL with errno. */
void *pci_memory(const char *device, int bar, size_t bytes);

#endif

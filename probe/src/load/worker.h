/* A loader: one ordinary process that does the work of one element. */
#ifndef HS_LOAD_LOADER_H
#define HS_LOAD_LOADER_H

#include "load/element.h"

/* Is the process from here on: sets itself up as a time-shared process of default priority
 * (or the lowest), bound to its CPU, with the default handling of all signals; prepares;
 * waits until `gate` breaks; works until the load ends. `gate` and the standard three are
 * the only descriptors it keeps. Never returns. */
void loader_be(struct loader *loader, int gate) __attribute__((noreturn));

/* Puts a name of the form hs-load-WORD on the process. */
void loader_name(const char *word);

/* Closes all descriptors but the standard three, which lead nowhere then, and `kept`, which
 * get the numbers 3, 4, ... in their order. */
void loader_keep_only(int *kept, int count);

#endif

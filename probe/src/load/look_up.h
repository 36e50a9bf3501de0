/* Addresses of a host. */
#ifndef HS_LOAD_LOOK_UP_H
#define HS_LOAD_LOOK_UP_H

#include "load/element.h"

/* Stores up to `most` addresses of a host in `list`, and returns their number. A numeric address is
 * one; a name is looked up by the program getent: the probe may be linked statically, and libc then
 * cannot load the system's name services. Waits as long as getent does. -1: a name, and getent
 * cannot be started. */
int look_up(const struct load_address *to, struct load_peer *list, int most);

#endif

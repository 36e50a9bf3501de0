/* A counter of the element build that also decreases: number of running jobs of its process, from
 * the call of fork until they are reaped. */
#ifndef HS_LOAD_ELEMENT_BUILD_H
#define HS_LOAD_ELEMENT_BUILD_H

#include "load/element.h"

enum { BUILD_AT_ONCE = COUNTER_OWN + 1 };

#endif

/* A counter of the element build that does not grow: jobs that its process has under way, from the
 * call of fork until their end was taken note of. */
#ifndef HS_LOAD_ELEMENT_BUILD_H
#define HS_LOAD_ELEMENT_BUILD_H

#include "load/element.h"

enum { BUILD_AT_ONCE = COUNTER_OWN + 1 };

#endif

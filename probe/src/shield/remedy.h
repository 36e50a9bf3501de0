/* Remedy for a CPU that may not be used. */
#ifndef HS_SHIELD_REMEDY_H
#define HS_SHIELD_REMEDY_H

#include "base/status.h"

/* Returns what to do about `cpu`, which this process may not use. Names the shield if one, running
 * or stale, has reserved it. */
struct remedy shield_remedy(int cpu);

#endif

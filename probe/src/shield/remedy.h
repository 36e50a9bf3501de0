/* Why a CPU may not be used, where a shield is the cause. */
#ifndef HS_SHIELD_REMEDY_H
#define HS_SHIELD_REMEDY_H

/* What to do about `cpu`, which this process may not use: a shield may be the cause, one that
 * lives or one that was left behind. */
const char *shield_remedy(int cpu);

#endif

/* Values of a test that mostly waits for a device: a loop without bursts (run/burst.h), which
 * are for threads that are always runnable. */
#ifndef HS_FAMILY_FILE_SAMPLING_H
#define HS_FAMILY_FILE_SAMPLING_H

#include "family/file/place.h"

/* Takes values until the variant's share of samples or time is used up, a stop is requested or the
 * space on the device is short; the count is that of series `counted`. The first `warm_up` values
 * are not recorded. Rests as a thread must that does not block (run/burst.h): in memory nothing
 * blocks. `take` returns 0, or -1 with the outcome. 0 or -1. */
int file_sample(struct file_place *place, int file, int counted, int warm_up,
                int (*take)(struct run *run));

#endif

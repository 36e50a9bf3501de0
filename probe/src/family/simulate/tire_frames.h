/* Pictures of the tire: the table `frame` of a result, one for each moment. The tire of the run
 * (its first number of masses, its step and stiffness) is simulated again, on one thread, after
 * measuring: nothing of it is in what was measured. */
#ifndef HS_FAMILY_SIMULATE_TIRE_FRAMES_H
#define HS_FAMILY_SIMULATE_TIRE_FRAMES_H

#include "run/run.h"

enum { TIRE_FRAME_ROWS = 512 }; /* of one picture, at most: each every_count-th mass is in it */

/* Room for the pictures that parameter `frames` asks for: to be called by `declare`. */
void tire_plan_frames(struct run *run);

/* Keeps them: evenly spaced over simulated_s, or 1.5 s where that is 0. Ends with the event
 * frames_cut after half a second, or where there is no memory. */
void tire_keep_frames(const struct run *run);

#endif

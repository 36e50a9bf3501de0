/* Findings about a tire that falls onto the floor at the speed of its drop. */
#ifndef HS_FAMILY_SIMULATE_TIRE_FALL_H
#define HS_FAMILY_SIMULATE_TIRE_FALL_H

#include "family/simulate/tire_trial.h"

enum { TIRE_FREE_FALL, TIRE_ENERGY, TIRE_SYMMETRY, TIRE_MOMENTUM, TIRE_FALL_FINDINGS };

/* Judged in each step:
 *   free fall   until contact all masses follow y0 + v0 k h - g h^2 k (k - 1) / 2; contact comes in
 *               that step, and none is ever below the floor
 *   energy      dE <= h^2/2 sum m |a|^2 - h (tau - h/2) sum k |dv|^2; in free fall dE is g^2 h^2/2
 *               per unit of mass; after contact E is never above its value at the end of the fall
 *   symmetry    left and right mirror each other to the bit
 *   momentum    until contact 0 across and M (v0 - g k h) up */
void tire_find_fall(struct tire_trial *trial, struct tire_finding found[TIRE_FALL_FINDINGS]);

#endif

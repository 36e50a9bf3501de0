/* Whether all ways through a tire give the same bits. */
#ifndef HS_FAMILY_SIMULATE_TIRE_BITS_H
#define HS_FAMILY_SIMULATE_TIRE_BITS_H

#include "family/simulate/tire_trial.h"

/* 1, 2, 3 and 7 blocks, advanced in turn by trial->advance, and as many threads of the solver
 * barrier, with each code of this processor: the same bits as the whole circle by plain C, well
 * after contact. Where threads cannot run, the evidence says so. */
void tire_find_same_bits(struct tire_trial *trial, struct tire_finding *found);

#endif

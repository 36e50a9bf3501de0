/* Verdicts about the physics of a tire and its solvers: each simulates a small one with the step
 * and stiffness of the run; a few milliseconds in all. */
#ifndef HS_FAMILY_SIMULATE_TIRE_CHECKS_H
#define HS_FAMILY_SIMULATE_TIRE_CHECKS_H

#include "family/simulate/tire_bits.h"
#include "family/simulate/tire_fall.h"
#include "run/run.h"

/* For the table of verdicts of a test. */
/* clang-format off */
#define TIRE_VERDICTS                                                                              \
    {"rest", "without gravity, a tire whose springs are at rest stays where it is"},               \
    {"free_fall", "until contact, masses fall by the closed form of explicit Euler, and none is "  \
                  "ever below the floor"},                                                         \
    {"energy", "a step adds no more energy than explicit Euler can, in free fall exactly that; "   \
               "from contact on there is never more than then"},                                   \
    {"symmetry", "left and right mirror each other to the bit"},                                   \
    {"momentum", "until contact, the momentum is that of gravity"},                                \
    {"same_bits", "all numbers of threads and all codes give the same bits"}
/* clang-format on */

/* Without gravity, springs at their rest lengths: nothing moves, but for rounding. */
void tire_find_rest(struct tire_trial *trial, struct tire_finding *found);

/* The step `judge` of the tests: adds these verdicts, and those of tire_find_fall and
 * tire_find_same_bits. */
int tire_judge(struct run *run);

#endif

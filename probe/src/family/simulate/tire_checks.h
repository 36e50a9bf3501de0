/* Verdicts about the physics of a tire and its solvers: each simulates a small one with the step
 * and stiffness of the run; a few milliseconds in all. */
#ifndef HS_FAMILY_SIMULATE_TIRE_CHECKS_H
#define HS_FAMILY_SIMULATE_TIRE_CHECKS_H

#include "base/build_options.h"
#include "family/simulate/tire.h"
#include "run/run.h"

#include <stdbool.h>

/* ---- trial ---- */

/* A small tire that is simulated on one thread, to judge its physics. */

/* What advances the tire: tire_advance. A test puts a broken one in its place. */
typedef void tire_advancer(const struct tire *tire, const struct tire_state *now,
                           const struct tire_state *next, int64_t begin, int64_t end,
                           enum tire_code code);

enum { TIRE_TRIAL_MASSES = 204 /* at most */, TIRE_TRIAL_STATES = 4 };
enum { TIRE_TRIAL_LEAD = 100 }; /* steps until contact, at most */

struct tire_trial {
    tire_advancer *advance;
    int64_t step_ns, stiffness_per_s2; /* as in tire_init */
    enum tire_code code;
    void *memory;
    struct tire tire;
    struct tire_state states[TIRE_TRIAL_STATES];
};

struct tire_finding {
    bool is_good;
    char evidence[HS_ARENA_TEXT_BYTES];
};

/* Allocates the states; false: no memory. */
bool tire_trial_open(struct tire_trial *trial, tire_advancer *advance, int64_t step_ns,
                     int64_t stiffness_per_s2);
void tire_trial_close(struct tire_trial *trial);

/* Sets the constants, and the places of all states for so many masses. */
void tire_trial_place(struct tire_trial *trial, int64_t masses);

/* The start of a fall in `state`: that of tire_start, or, where the steps are short, a later moment
 * of the fall, TIRE_TRIAL_LEAD steps before contact. Returns the speed there, up. */
double tire_trial_start(const struct tire_trial *trial, const struct tire_state *state);

/* Advances the whole circle, from states[step % 2] into the other one of the two. */
void tire_trial_advance(const struct tire_trial *trial, int64_t step);

void tire_say(struct tire_finding *found, bool is_good, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The larger of two errors. One that is not a number is the largest of all. */
double tire_worse(double one, double other);

/* ---- fall ---- */

/* Findings about a tire that falls onto the floor at the speed of its drop. */

enum { TIRE_FREE_FALL, TIRE_ENERGY, TIRE_SYMMETRY, TIRE_MOMENTUM, TIRE_FALL_FINDINGS };

/* Judged in each step:
 *   free fall   until contact all masses follow y0 + v0 k h - g h^2 k (k - 1) / 2; contact comes in
 *               that step, and none is ever below the floor
 *   energy      dE <= h^2/2 sum m |a|^2 - h (tau - h/2) sum k |dv|^2; in free fall dE is g^2 h^2/2
 *               per unit of mass; after contact E is never above its value at the end of the fall
 *   symmetry    left and right mirror each other to the bit
 *   momentum    until contact 0 across and M (v0 - g k h) up */
void tire_find_fall(struct tire_trial *trial, struct tire_finding found[TIRE_FALL_FINDINGS]);

/* ---- bits ---- */

/* Whether all ways through a tire give the same bits. */

/* 1, 2, 3 and 7 blocks, advanced in turn by trial->advance, and as many threads of the solver
 * barrier, with each code of this processor: the same bits as the whole circle by plain C, well
 * after contact. Where threads cannot run, the evidence says so. */
void tire_find_same_bits(struct tire_trial *trial, struct tire_finding *found);

/* ---- verdicts ---- */

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

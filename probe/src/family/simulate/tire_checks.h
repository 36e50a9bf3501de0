/* Checks of the physics of a tire and of its solvers, for the self-test: each simulates a small one
 * with the step and stiffness of a trial; a few milliseconds in all. A check finds how far the tire
 * is from what can be worked out without it. */
#ifndef HS_FAMILY_SIMULATE_TIRE_CHECKS_H
#define HS_FAMILY_SIMULATE_TIRE_CHECKS_H

#include "base/options.h"
#include "family/simulate/tire.h"

#include <stdbool.h>

/* What a check found, in words for people. */
struct finding {
    bool is_good;
    bool is_left_out; /* not made: it is good, and the evidence says why */
    char evidence[HS_ARENA_TEXT_BYTES];
};

void finding_say(struct finding *found, bool is_good, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

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
    int64_t threads_ns;                /* that all steps of some threads may take: a second */
    enum tire_code code;
    void *memory;
    struct tire tire;
    struct tire_state states[TIRE_TRIAL_STATES];
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
void tire_find_fall(struct tire_trial *trial, struct finding found[TIRE_FALL_FINDINGS]);

/* ---- bits ---- */

/* Whether all ways through a tire give the same bits. */

/* 1, 2, 3 and 7 blocks, advanced in turn by trial->advance, and as many threads of the solver
 * barrier, with each code of this processor: the same bits as the whole circle by plain C, well
 * after contact. Where threads cannot run, the evidence says so. */
void tire_find_same_bits(struct tire_trial *trial, struct finding *found);

/* ---- rest ---- */

/* Without gravity, springs at their rest lengths: nothing moves, but for rounding. */
void tire_find_rest(struct tire_trial *trial, struct finding *found);

#endif

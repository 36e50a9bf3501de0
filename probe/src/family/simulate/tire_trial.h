/* A small tire that is simulated on one thread, to judge its physics. */
#ifndef HS_FAMILY_SIMULATE_TIRE_TRIAL_H
#define HS_FAMILY_SIMULATE_TIRE_TRIAL_H

#include "base/options.h"
#include "family/simulate/tire.h"

#include <stdbool.h>

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

#endif

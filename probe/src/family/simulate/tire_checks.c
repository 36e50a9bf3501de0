#include "base/posix_source.h"

#include "family/simulate/tire_checks.h"

#include <errno.h>
#include <float.h>
#include <math.h>

enum { REST_MASSES = 60, REST_STEPS = 200 };

#define ROUNDINGS 4.0

/* ---- rest ---- */

static double move_m(const struct tire_state *state, const struct tire_state *start)
{
    double most_m = 0.0;
    for (int64_t i = 0; i < REST_MASSES; i++)
        most_m = tire_worse(most_m, hypot(state->x[i] - start->x[i], state->y[i] - start->y[i]));
    return most_m;
}

/* Coordinates are about 1 m: the rest length of each spring of the circle is some roundings off. */
void tire_find_rest(struct tire_trial *trial, struct tire_finding *found)
{
    const double allowed_m = ROUNDINGS * DBL_EPSILON * (double)REST_MASSES;
    double most_m = 0.0;
    tire_trial_place(trial, REST_MASSES);
    trial->tire.gravity_m_per_s2 = 0.0;
    tire_start(&trial->tire, &trial->states[0]);
    tire_start(&trial->tire, &trial->states[2]);
    for (int64_t step = 0; step < REST_STEPS; step++) {
        tire_trial_advance(trial, step);
        most_m = tire_worse(most_m, move_m(&trial->states[(step + 1) % 2], &trial->states[2]));
    }
    tire_say(found, most_m <= allowed_m,
             "%d masses, no gravity, springs at rest: moved by at most %.2g m in %d steps of "
             "%.9g ms (rounding: up to %.2g m)",
             REST_MASSES, most_m, REST_STEPS, trial->tire.step_s * 1e3, allowed_m);
}

/* ---- verdicts ---- */

static void tell(const struct run *run, const char *name, const struct tire_finding *found)
{
    arena_verdict(run->arena, found->is_good, 1, name, "%s", found->evidence);
}

int tire_judge(struct run *run)
{
    struct tire_trial trial;
    struct tire_finding rest, bits, fall[TIRE_FALL_FINDINGS];
    if (!tire_trial_open(&trial, tire_advance, run_number(run, "step_ns"),
                         run_number(run, "stiffness_per_s2")))
        return outcome_set_errno(&run->outcome, ENOMEM, "memory for the checks of the simulation",
                                 NULL);
    tire_find_rest(&trial, &rest);
    tire_find_fall(&trial, fall);
    tire_find_same_bits(&trial, &bits);
    tire_trial_close(&trial);
    tell(run, "rest", &rest);
    tell(run, "free_fall", &fall[TIRE_FREE_FALL]);
    tell(run, "energy", &fall[TIRE_ENERGY]);
    tell(run, "symmetry", &fall[TIRE_SYMMETRY]);
    tell(run, "momentum", &fall[TIRE_MOMENTUM]);
    tell(run, "same_bits", &bits);
    return 0;
}

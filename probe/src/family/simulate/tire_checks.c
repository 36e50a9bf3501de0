#include "family/simulate/tire_checks.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* BITS_MASSES: not a multiple of TIRE_PAD, more blocks than any number of them that is tried. */
enum { REST_MASSES = 60, REST_STEPS = 200, BITS_MASSES = TIRE_TRIAL_MASSES, BITS_STEPS = 300 };

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
    const double allowed_m = ROUNDINGS * DBL_EPSILON * REST_MASSES;
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

/* ---- same bits ---- */

/* Ends of blocks are multiples of TIRE_PAD, and the last one. */
static int64_t block_begin(int64_t masses, int block, int blocks)
{
    int64_t lines = (masses + TIRE_PAD - 1) / TIRE_PAD, at = lines * block / blocks * TIRE_PAD;
    return at < masses ? at : masses;
}

static void advance_blocks(const struct tire_trial *trial, const struct tire_state *now,
                           const struct tire_state *next, int blocks, enum tire_code code)
{
    const struct tire *tire = &trial->tire;
    for (int block = 0; block < blocks; block++)
        trial->advance(tire, now, next, block_begin(tire->masses, block, blocks),
                       block_begin(tire->masses, block + 1, blocks), code);
}

/* Into `states`, of which the first holds the result: the number of steps is even. */
static void simulate(const struct tire_trial *trial, const struct tire_state *states, int blocks,
                     enum tire_code code)
{
    tire_trial_start(trial, &states[0]);
    for (int64_t step = 0; step < BITS_STEPS; step++)
        advance_blocks(trial, &states[step % 2], &states[(step + 1) % 2], blocks, code);
}

static int64_t different_masses(const struct tire_state *one, const struct tire_state *other)
{
    int64_t count = 0;
    for (int64_t i = 0; i < BITS_MASSES; i++)
        count += memcmp(&one->x[i], &other->x[i], sizeof(double)) != 0 ||
                 memcmp(&one->y[i], &other->y[i], sizeof(double)) != 0 ||
                 memcmp(&one->vx[i], &other->vx[i], sizeof(double)) != 0 ||
                 memcmp(&one->vy[i], &other->vy[i], sizeof(double)) != 0;
    return count;
}

static int64_t masses_on_floor(const struct tire_state *state)
{
    int64_t count = 0;
    for (int64_t i = 0; i < BITS_MASSES; i++)
        count += state->y[i] <= 0.0;
    return count;
}

static const int block_counts[] = {1, 2, 3, 7};

void tire_find_same_bits(struct tire_trial *trial, struct tire_finding *found)
{
    tire_trial_place(trial, BITS_MASSES);
    simulate(trial, &trial->states[0], 1, TIRE_PLAIN);
    for (enum tire_code code = TIRE_PLAIN; code <= trial->code; code++)
        for (size_t i = 0; i < sizeof block_counts / sizeof block_counts[0]; i++) {
            simulate(trial, &trial->states[2], block_counts[i], code);
            int64_t differ = different_masses(&trial->states[0], &trial->states[2]);
            if (differ > 0) {
                tire_say(found, false,
                         "%d blocks by the code %s: %lld of %d masses differ from one block by "
                         "plain C after %d steps",
                         block_counts[i], tire_code_name(code), (long long)differ, BITS_MASSES,
                         BITS_STEPS);
                return;
            }
        }
    tire_say(
        found, true,
        "%d masses, %d steps, %lld of them on the floor then: 1, 2, 3 and 7 blocks, advanced in "
        "turn, by the code %s%s%s: the same bits as one block by plain C",
        BITS_MASSES, BITS_STEPS, (long long)masses_on_floor(&trial->states[0]),
        tire_code_name(TIRE_PLAIN), trial->code == TIRE_VECTOR ? " and by " : "",
        trial->code == TIRE_VECTOR ? tire_code_name(TIRE_VECTOR)
                                   : ", the only one that this processor has");
}

/* ---- verdicts ---- */

static void tell(const struct run *run, const char *name, const struct tire_finding *found)
{
    arena_verdict(run->arena, found->is_good, name, "%s", found->evidence);
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

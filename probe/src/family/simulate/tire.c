#include "base/posix_source.h"

#include "family/simulate/tire.h"

#include <math.h>

#define NS_PER_S INT64_C(1000000000)
#define PI 3.14159265358979323846
#define RADIUS_M 0.3
#define TIRE_KG 10.0
#define DROP_M 0.5
#define GRAVITY_M_PER_S2 9.81
#define STIFFNESS_OF_STEP 0.1 /* kappa step^2, where the stiffness follows from the step */
#define DAMPING_STEPS 2.0     /* tau / step */

enum { ARRAYS = 4, SPRINGS_OF_STABILITY = 6 /* (4 ring + 2 across) with tau = 2 steps */ };

void tire_init(struct tire *tire, int64_t masses, int64_t step_ns, int64_t stiffness_per_s2)
{
    double step_s = (double)step_ns / (double)NS_PER_S;
    double stiffness =
        stiffness_per_s2 > 0 ? (double)stiffness_per_s2 : STIFFNESS_OF_STEP / (step_s * step_s);
    *tire = (struct tire){
        .masses = masses,
        .step_s = step_s,
        .mass_kg = TIRE_KG / (double)masses,
        .stiffness_per_s2 = stiffness,
        .damping_per_s = stiffness * (DAMPING_STEPS * step_s),
        .gravity_m_per_s2 = GRAVITY_M_PER_S2,
        .rest_ring_m = 2.0 * RADIUS_M * sin(PI / (double)masses),
        .rest_across_m = 2.0 * RADIUS_M,
    };
}

/* In whole numbers: 6 kappa step^2 <= 1 at the bound. */
int64_t tire_longest_step_ns(int64_t stiffness_per_s2)
{
    if (stiffness_per_s2 <= 0)
        return INT64_MAX;
    int64_t square = NS_PER_S * NS_PER_S / SPRINGS_OF_STABILITY / stiffness_per_s2;
    int64_t step_ns = (int64_t)sqrt((double)square);
    while (step_ns * step_ns > square)
        step_ns--;
    while ((step_ns + 1) * (step_ns + 1) <= square)
        step_ns++;
    return step_ns;
}

/* ---- states ---- */

static size_t array_doubles(int64_t masses)
{
    size_t lines = ((size_t)masses + TIRE_PAD - 1) / TIRE_PAD;
    return (lines + 2) * TIRE_PAD;
}

size_t tire_state_bytes(int64_t masses)
{
    return ARRAYS * array_doubles(masses) * sizeof(double);
}

void tire_state_place(struct tire_state *state, void *memory, int64_t masses)
{
    size_t doubles = array_doubles(masses);
    double *first = (double *)memory + TIRE_PAD;
    *state = (struct tire_state){first, first + doubles, first + 2 * doubles, first + 3 * doubles};
}

static void repeat_ends(double *array, int64_t masses)
{
    array[-1] = array[masses - 1];
    array[masses] = array[0];
}

/* Sine of the angle of mass i, computed in the first quadrant only: the others mirror it. */
static double sine(int64_t i, int64_t masses)
{
    return sin(2.0 * PI * (double)i / (double)masses);
}

static void start_mass(const struct tire_state *state, int64_t i, double x, double y)
{
    state->x[i] = x;
    state->y[i] = DROP_M + RADIUS_M + y;
    state->vx[i] = state->vy[i] = 0.0;
}

void tire_start(const struct tire *tire, const struct tire_state *state)
{
    int64_t masses = tire->masses, half = masses / 2, quarter = masses / 4;
    for (int64_t i = 0; i <= quarter; i++) {
        double aside = RADIUS_M * sine(i, masses), above = RADIUS_M * sine(quarter - i, masses);
        start_mass(state, i, aside, above);
        start_mass(state, half - i, aside, -above);
        start_mass(state, (masses - i) % masses, -aside, above);
        start_mass(state, half + i, -aside, -above);
    }
    state->x[0] = state->x[half] = 0.0; /* not -0 */
    repeat_ends(state->x, masses);
    repeat_ends(state->y, masses);
    repeat_ends(state->vx, masses);
    repeat_ends(state->vy, masses);
}

/* ---- energy ---- */

/* Of a spring between two masses, over its stiffness. */
static double spring_m2(const struct tire_state *state, int64_t one, int64_t other, double rest_m)
{
    double x = state->x[other] - state->x[one], y = state->y[other] - state->y[one];
    double stretch_m = sqrt(x * x + y * y) - rest_m;
    return 0.5 * stretch_m * stretch_m;
}

double tire_energy_j(const struct tire *tire, const struct tire_state *state)
{
    double per_kg = 0.0, springs_m2 = 0.0;
    int64_t half = tire->masses / 2;
    for (int64_t i = 0; i < tire->masses; i++) {
        double vx = state->vx[i], vy = state->vy[i];
        per_kg += 0.5 * (vx * vx + vy * vy) + tire->gravity_m_per_s2 * state->y[i];
        springs_m2 += spring_m2(state, i, i + 1, tire->rest_ring_m);
        if (i < half)
            springs_m2 += spring_m2(state, i, i + half, tire->rest_across_m);
    }
    return tire->mass_kg * (per_kg + tire->stiffness_per_s2 * springs_m2);
}

#include "base/posix_source.h"

#include "family/simulate/tire_fall.h"

#include <float.h>
#include <math.h>

/* Not a multiple of TIRE_PAD: both halves end within a vector. */
enum { MASSES = 60, AFTER_STEPS = 200, FINE_STEP_NS = 30000000 };

#define TIRE_KG 10.0
#define GRAVITY_M_PER_S2 9.81
#define ROUNDINGS 4.0 /* of each term of a sum */

struct fall {
    struct tire_trial *trial;
    struct tire_state start, forces; /* of forces: x and y are accelerations */
    double start_m_per_s;
    int64_t steps, contact_step; /* of the first mass on the floor; 0: none yet */
    int64_t expected_step;       /* of contact */
    double place_error_m, speed_error_m_per_s, place_allowed_m;
    double energy_j, contact_j;      /* now; at the end of the free fall */
    double growth_error_j, growth_j; /* from g^2 h^2 / 2 in free fall; what that is */
    double excess_j, over_j;         /* over the bound of a step; over contact_j */
    double allowed_j, stretch_j;     /* rounding, of all steps; what it is relative to */
    bool is_excessive;               /* excess_j was more than rounding of that step */
    double across_kg_m_per_s, up_error_kg_m_per_s, momentum_allowed_kg_m_per_s;
    int64_t odd_step, below_step; /* the first that is not symmetric, or below the floor; 0: none */
};

/* ---- the start ---- */

static void copy_start(struct fall *fall)
{
    const struct tire_state *from = &fall->trial->states[0];
    for (int64_t i = 0; i < fall->trial->tire.masses; i++) {
        fall->start.x[i] = from->x[i];
        fall->start.y[i] = from->y[i];
    }
}

/* ---- free fall ---- */

static double closed_form_m(const struct fall *fall, double from_m, int64_t step)
{
    double k = (double)step, h = fall->trial->tire.step_s;
    return from_m + fall->start_m_per_s * (k * h) -
           GRAVITY_M_PER_S2 * h * h * (k * (k - 1.0) / 2.0);
}

static double closed_form_m_per_s(const struct fall *fall, int64_t step)
{
    return fall->start_m_per_s - GRAVITY_M_PER_S2 * ((double)step * fall->trial->tire.step_s);
}

/* Springs of unequal rounding turn some of it into speed, the more the shorter the step. */
static void watch_places(struct fall *fall, const struct tire_state *state)
{
    double speed = closed_form_m_per_s(fall, fall->steps);
    for (int64_t i = 0; i < MASSES; i++) {
        double off_m = hypot(state->x[i] - fall->start.x[i],
                             state->y[i] - closed_form_m(fall, fall->start.y[i], fall->steps));
        fall->place_error_m = tire_worse(fall->place_error_m, off_m);
        fall->speed_error_m_per_s =
            tire_worse(fall->speed_error_m_per_s, hypot(state->vx[i], state->vy[i] - speed));
    }
}

static void watch_momentum(struct fall *fall, const struct tire_state *state)
{
    double across = 0.0, up = 0.0, each_kg = TIRE_KG / (double)MASSES;
    for (int64_t i = 0; i < MASSES; i++) {
        across += each_kg * state->vx[i];
        up += each_kg * state->vy[i];
    }
    double expected = TIRE_KG * closed_form_m_per_s(fall, fall->steps);
    fall->across_kg_m_per_s = tire_worse(fall->across_kg_m_per_s, fabs(across));
    fall->up_error_kg_m_per_s = tire_worse(fall->up_error_kg_m_per_s, fabs(up - expected));
    fall->momentum_allowed_kg_m_per_s =
        ROUNDINGS * DBL_EPSILON * (double)(MASSES + fall->steps) * fabs(expected);
}

/* ---- each step ---- */

static void watch_symmetry(struct fall *fall, const struct tire_state *state)
{
    bool is_same = true;
    for (int64_t i = 0; i < MASSES; i++) {
        int64_t other = (MASSES - i) % MASSES;
        is_same = is_same && state->x[i] == -state->x[other] && state->y[i] == state->y[other] &&
                  state->vx[i] == -state->vx[other] && state->vy[i] == state->vy[other];
    }
    if (!is_same && fall->odd_step == 0)
        fall->odd_step = fall->steps;
}

static void watch_floor(struct fall *fall, const struct tire_state *state)
{
    bool is_on = false, is_below = false;
    for (int64_t i = 0; i < MASSES; i++) {
        is_on = is_on || state->y[i] <= 0.0;
        is_below = is_below || !(state->y[i] >= 0.0);
    }
    if (is_below && fall->below_step == 0)
        fall->below_step = fall->steps;
    if (is_on && fall->contact_step == 0)
        fall->contact_step = fall->steps;
    if (fall->expected_step == 0 &&
        closed_form_m(fall, fall->start.y[MASSES / 2], fall->steps) <= 0.0)
        fall->expected_step = fall->steps;
}

/* ---- energy ---- */

struct spring_sums {
    double damped_m2_per_s2; /* sum |dv|^2 */
    double stretch_m;        /* sum of lengths without sign: what rounding is relative to */
};

/* Adds what a spring does to both of its masses: the definition, not the solver's code. */
static void add_spring(const struct fall *fall, const struct tire_state *state, int64_t one,
                       int64_t other, double rest_m, struct spring_sums *sums)
{
    double kappa = fall->trial->tire.stiffness_per_s2;
    double tau_s = 2.0 * fall->trial->tire.step_s;
    double x = state->x[other] - state->x[one], y = state->y[other] - state->y[one];
    double vx = state->vx[other] - state->vx[one], vy = state->vy[other] - state->vy[one];
    double length_m = hypot(x, y);
    double pull = length_m > 0.0 ? kappa * (length_m - rest_m) / length_m : 0.0;
    double ax = pull * x + kappa * tau_s * vx, ay = pull * y + kappa * tau_s * vy;
    fall->forces.x[one] += ax;
    fall->forces.y[one] += ay;
    fall->forces.x[other] -= ax;
    fall->forces.y[other] -= ay;
    sums->damped_m2_per_s2 += vx * vx + vy * vy;
    sums->stretch_m += fabs(length_m - rest_m);
}

static struct spring_sums add_springs(const struct fall *fall, const struct tire_state *state)
{
    const struct tire *tire = &fall->trial->tire;
    struct spring_sums sums = {0};
    for (int64_t i = 0; i < MASSES; i++) {
        fall->forces.x[i] = 0.0;
        fall->forces.y[i] = -GRAVITY_M_PER_S2;
    }
    for (int64_t i = 0; i < MASSES; i++)
        add_spring(fall, state, i, (i + 1) % MASSES, tire->rest_ring_m, &sums);
    for (int64_t i = 0; i < MASSES / 2; i++)
        add_spring(fall, state, i, i + MASSES / 2, tire->rest_across_m, &sums);
    return sums;
}

/* The most by which explicit Euler raises the energy in the step from `now`. */
static double bound_j(struct fall *fall, const struct tire_state *now)
{
    const struct tire *tire = &fall->trial->tire;
    struct spring_sums sums = add_springs(fall, now);
    double h = tire->step_s, each_kg = TIRE_KG / (double)MASSES, squares = 0.0;
    for (int64_t i = 0; i < MASSES; i++)
        squares += fall->forces.x[i] * fall->forces.x[i] + fall->forces.y[i] * fall->forces.y[i];
    double k = each_kg * tire->stiffness_per_s2;
    fall->stretch_j = k * sums.stretch_m; /* for a coordinate that is wrong by 1 m */
    return h * h / 2.0 * each_kg * squares - h * 1.5 * h * k * sums.damped_m2_per_s2;
}

static double rounding_j(const struct fall *fall, double before_j)
{
    double energy_j = (double)MASSES * (fabs(before_j) + fabs(fall->energy_j));
    return ROUNDINGS * DBL_EPSILON * (energy_j + fall->stretch_j);
}

static void watch_growth(struct fall *fall, double growth_j)
{
    double h = fall->trial->tire.step_s;
    fall->growth_j = TIRE_KG * GRAVITY_M_PER_S2 * GRAVITY_M_PER_S2 * h * h / 2.0;
    fall->growth_error_j = tire_worse(fall->growth_error_j, fabs(growth_j - fall->growth_j));
    fall->contact_j = fall->energy_j;
}

static void watch_energy(struct fall *fall, double bound, const struct tire_state *next)
{
    double before_j = fall->energy_j;
    fall->energy_j = tire_energy_j(&fall->trial->tire, next);
    double growth_j = fall->energy_j - before_j, excess_j = growth_j - bound;
    double allowed_j = rounding_j(fall, before_j);
    fall->allowed_j = tire_worse(fall->allowed_j, allowed_j);
    fall->excess_j = tire_worse(fall->excess_j, excess_j);
    fall->is_excessive = fall->is_excessive || !(excess_j <= allowed_j);
    if (fall->contact_step == 0)
        watch_growth(fall, growth_j);
    else
        fall->over_j = tire_worse(fall->over_j, fall->energy_j - fall->contact_j);
}

/* ---- what was found ---- */

/* In the step of the closed form, but for rounding of the lowest mass. */
static bool is_contact_right(const struct fall *fall)
{
    double lowest_m = fall->start.y[MASSES / 2];
    return fall->contact_step > 0 &&
           closed_form_m(fall, lowest_m, fall->contact_step) <= fall->place_allowed_m &&
           closed_form_m(fall, lowest_m, fall->contact_step - 1) >= -fall->place_allowed_m;
}

static int64_t steps_before_contact(const struct fall *fall)
{
    return fall->contact_step > 0 ? fall->contact_step - 1 : fall->steps;
}

static void say_free_fall(const struct fall *fall, struct tire_finding *found)
{
    double h = fall->trial->tire.step_s, allowed_m_per_s = fall->place_allowed_m / h;
    bool is_good = fall->place_error_m <= fall->place_allowed_m &&
                   fall->speed_error_m_per_s <= allowed_m_per_s && fall->below_step == 0 &&
                   is_contact_right(fall);
    if (fall->below_step > 0)
        tire_say(found, false, "%d masses, steps of %.9g ms: below the floor in step %lld", MASSES,
                 h * 1e3, (long long)fall->below_step);
    else
        tire_say(
            found, is_good,
            "%d masses, steps of %.9g ms: contact in step %lld (closed form: %lld); until then "
            "at most %.2g m (rounding: up to %.2g m) and %.2g m/s (up to %.2g m/s) from the "
            "closed form",
            MASSES, h * 1e3, (long long)fall->contact_step, (long long)fall->expected_step,
            fall->place_error_m, fall->place_allowed_m, fall->speed_error_m_per_s, allowed_m_per_s);
}

/* Of long steps, one more in free fall adds more than the few masses that touch first take away. */
static void say_energy(const struct fall *fall, struct tire_finding *found)
{
    bool is_fine = fall->trial->step_ns <= FINE_STEP_NS;
    bool is_good = !fall->is_excessive && fall->growth_error_j <= fall->allowed_j &&
                   (!is_fine || fall->over_j <= fall->allowed_j);
    tire_say(
        found, is_good,
        "rounding: up to %.2g J. In free fall +%.6g J a step, %.2g J from g^2 h^2/2; in all "
        "%lld steps at most %.2g J over explicit Euler's bound; %lld steps from contact on: at "
        "most %.3g J over what it was then, %.6g J%s",
        fall->allowed_j, fall->growth_j, fall->growth_error_j, (long long)fall->steps,
        fall->excess_j, (long long)(fall->steps - steps_before_contact(fall)), fall->over_j,
        fall->contact_j, is_fine ? "" : " (not judged for steps over 30 ms)");
}

static void say_symmetry(const struct fall *fall, struct tire_finding *found)
{
    if (fall->odd_step == 0)
        tire_say(found, true,
                 "left and right mirror each other to the bit in all %lld steps, "
                 "%lld of them before contact",
                 (long long)fall->steps, (long long)steps_before_contact(fall));
    else
        tire_say(found, false, "left and right differ in step %lld (contact in step %lld)",
                 (long long)fall->odd_step, (long long)fall->contact_step);
}

static void say_momentum(const struct fall *fall, struct tire_finding *found)
{
    double allowed = fall->momentum_allowed_kg_m_per_s;
    tire_say(found, fall->across_kg_m_per_s <= allowed && fall->up_error_kg_m_per_s <= allowed,
             "%lld steps before contact: at most %.2g kg m/s across, %.2g kg m/s from -M g t "
             "downward (rounding: up to %.2g kg m/s)",
             (long long)steps_before_contact(fall), fall->across_kg_m_per_s,
             fall->up_error_kg_m_per_s, allowed);
}

static bool is_over(const struct fall *fall)
{
    int64_t since = fall->contact_step > 0 ? fall->contact_step : TIRE_TRIAL_LEAD;
    return fall->steps >= since + AFTER_STEPS;
}

static void watch(struct fall *fall)
{
    const struct tire_state *states = fall->trial->states;
    while (!is_over(fall)) {
        const struct tire_state *now = &states[fall->steps % 2];
        double bound = bound_j(fall, now);
        tire_trial_advance(fall->trial, fall->steps++);
        const struct tire_state *next = &states[fall->steps % 2];
        watch_floor(fall, next);
        watch_symmetry(fall, next);
        watch_energy(fall, bound, next);
        if (fall->contact_step == 0) {
            watch_places(fall, next);
            watch_momentum(fall, next);
        }
    }
}

void tire_find_fall(struct tire_trial *trial, struct tire_finding found[TIRE_FALL_FINDINGS])
{
    struct fall fall = {.trial = trial};
    tire_trial_place(trial, MASSES);
    fall.start = trial->states[2];
    fall.forces = trial->states[3];
    fall.start_m_per_s = tire_trial_start(trial, &trial->states[0]);
    copy_start(&fall);
    fall.energy_j = tire_energy_j(&trial->tire, &trial->states[0]);
    fall.place_allowed_m = ROUNDINGS * DBL_EPSILON * (double)(MASSES + TIRE_TRIAL_LEAD);
    watch(&fall);
    say_free_fall(&fall, &found[TIRE_FREE_FALL]);
    say_energy(&fall, &found[TIRE_ENERGY]);
    say_symmetry(&fall, &found[TIRE_SYMMETRY]);
    say_momentum(&fall, &found[TIRE_MOMENTUM]);
}

#include "base/posix_source.h"

#include "family/simulate/tire_checks.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "family/simulate/solver.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trial ---- */

#define DROP_M 0.5
#define GRAVITY_M_PER_S2 9.81
#define ROUNDINGS 4.0 /* of each term of a sum */

enum { CACHE_LINE = 64 };

/* hypot, which some libraries lack; what is squared here is far from the limits of a double. */
static double norm(double x, double y)
{
    return sqrt(x * x + y * y);
}

bool tire_trial_open(struct tire_trial *trial, tire_advancer *advance, int64_t step_ns,
                     int64_t stiffness_per_s2)
{
    *trial = (struct tire_trial){.advance = advance,
                                 .step_ns = step_ns,
                                 .stiffness_per_s2 = stiffness_per_s2,
                                 .threads_ns = 1000000000,
                                 .code = tire_best_code()};
    size_t bytes = TIRE_TRIAL_STATES * tire_state_bytes(TIRE_TRIAL_MASSES) + CACHE_LINE;
    trial->memory = calloc(1, bytes);
    return trial->memory != NULL;
}

void tire_trial_close(struct tire_trial *trial)
{
    free(trial->memory);
    trial->memory = NULL;
}

void tire_trial_place(struct tire_trial *trial, int64_t masses)
{
    char *memory = trial->memory;
    tire_init(&trial->tire, masses, trial->step_ns, trial->stiffness_per_s2);
    memory += CACHE_LINE - (uintptr_t)memory % CACHE_LINE;
    for (int i = 0; i < TIRE_TRIAL_STATES; i++)
        tire_state_place(&trial->states[i], memory + (size_t)i * tire_state_bytes(masses), masses);
}

double tire_trial_start(const struct tire_trial *trial, const struct tire_state *state)
{
    double lead_s = (double)TIRE_TRIAL_LEAD * trial->tire.step_s;
    double speed = sqrt(2.0 * GRAVITY_M_PER_S2 * DROP_M) - GRAVITY_M_PER_S2 * lead_s;
    tire_start(&trial->tire, state);
    if (speed <= 0.0)
        return 0.0;
    double fallen_m = speed * speed / (2.0 * GRAVITY_M_PER_S2);
    for (int64_t i = -1; i <= trial->tire.masses; i++) {
        state->y[i] -= fallen_m;
        state->vy[i] = -speed;
    }
    return -speed;
}

void tire_trial_advance(const struct tire_trial *trial, int64_t step)
{
    trial->advance(&trial->tire, &trial->states[step % 2], &trial->states[(step + 1) % 2], 0,
                   trial->tire.masses, trial->code);
}

void finding_say(struct finding *found, bool is_good, const char *format, ...)
{
    va_list arguments;
    found->is_good = is_good;
    found->is_left_out = false;
    va_start(arguments, format);
    vsnprintf(found->evidence, sizeof found->evidence, format, arguments);
    va_end(arguments);
}

double tire_worse(double one, double other)
{
    return isnan(one) || one >= other ? one : other;
}

enum { REST_MASSES = 60, REST_STEPS = 200 };

/* ---- rest ---- */

static double move_m(const struct tire_state *state, const struct tire_state *start)
{
    double most_m = 0.0;
    for (int64_t i = 0; i < REST_MASSES; i++)
        most_m = tire_worse(most_m, norm(state->x[i] - start->x[i], state->y[i] - start->y[i]));
    return most_m;
}

/* Coordinates are about 1 m: the rest length of each spring of the circle is some roundings off. */
void tire_find_rest(struct tire_trial *trial, struct finding *found)
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
    finding_say(found, most_m <= allowed_m,
                "%d masses, no gravity, springs at rest: moved by at most %.2g m in %d steps of "
                "%.9g ms (rounding: up to %.2g m)",
                REST_MASSES, most_m, REST_STEPS, trial->tire.step_s * 1e3, allowed_m);
}

/* ---- fall ---- */

/* Not a multiple of TIRE_PAD: both halves end within a vector. */
enum { FALL_MASSES = 60, AFTER_STEPS = 200, FINE_STEP_NS = 30000000 };

#define TIRE_KG 10.0

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
    for (int64_t i = 0; i < FALL_MASSES; i++) {
        double off_m = norm(state->x[i] - fall->start.x[i],
                            state->y[i] - closed_form_m(fall, fall->start.y[i], fall->steps));
        fall->place_error_m = tire_worse(fall->place_error_m, off_m);
        fall->speed_error_m_per_s =
            tire_worse(fall->speed_error_m_per_s, norm(state->vx[i], state->vy[i] - speed));
    }
}

static void watch_momentum(struct fall *fall, const struct tire_state *state)
{
    double across = 0.0, up = 0.0, each_kg = TIRE_KG / (double)FALL_MASSES;
    for (int64_t i = 0; i < FALL_MASSES; i++) {
        across += each_kg * state->vx[i];
        up += each_kg * state->vy[i];
    }
    double expected = TIRE_KG * closed_form_m_per_s(fall, fall->steps);
    fall->across_kg_m_per_s = tire_worse(fall->across_kg_m_per_s, fabs(across));
    fall->up_error_kg_m_per_s = tire_worse(fall->up_error_kg_m_per_s, fabs(up - expected));
    fall->momentum_allowed_kg_m_per_s =
        ROUNDINGS * DBL_EPSILON * (double)(FALL_MASSES + fall->steps) * fabs(expected);
}

/* ---- each step ---- */

static void watch_symmetry(struct fall *fall, const struct tire_state *state)
{
    bool is_same = true;
    for (int64_t i = 0; i < FALL_MASSES; i++) {
        int64_t other = (FALL_MASSES - i) % FALL_MASSES;
        is_same = is_same && state->x[i] == -state->x[other] && state->y[i] == state->y[other] &&
                  state->vx[i] == -state->vx[other] && state->vy[i] == state->vy[other];
    }
    if (!is_same && fall->odd_step == 0)
        fall->odd_step = fall->steps;
}

static void watch_floor(struct fall *fall, const struct tire_state *state)
{
    bool is_on = false, is_below = false;
    for (int64_t i = 0; i < FALL_MASSES; i++) {
        is_on = is_on || state->y[i] <= 0.0;
        is_below = is_below || !(state->y[i] >= 0.0);
    }
    if (is_below && fall->below_step == 0)
        fall->below_step = fall->steps;
    if (is_on && fall->contact_step == 0)
        fall->contact_step = fall->steps;
    if (fall->expected_step == 0 &&
        closed_form_m(fall, fall->start.y[FALL_MASSES / 2], fall->steps) <= 0.0)
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
    double length_m = norm(x, y);
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
    for (int64_t i = 0; i < FALL_MASSES; i++) {
        fall->forces.x[i] = 0.0;
        fall->forces.y[i] = -GRAVITY_M_PER_S2;
    }
    for (int64_t i = 0; i < FALL_MASSES; i++)
        add_spring(fall, state, i, (i + 1) % FALL_MASSES, tire->rest_ring_m, &sums);
    for (int64_t i = 0; i < FALL_MASSES / 2; i++)
        add_spring(fall, state, i, i + FALL_MASSES / 2, tire->rest_across_m, &sums);
    return sums;
}

/* The most by which explicit Euler raises the energy in the step from `now`. */
static double bound_j(struct fall *fall, const struct tire_state *now)
{
    const struct tire *tire = &fall->trial->tire;
    struct spring_sums sums = add_springs(fall, now);
    double h = tire->step_s, each_kg = TIRE_KG / (double)FALL_MASSES, squares = 0.0;
    for (int64_t i = 0; i < FALL_MASSES; i++)
        squares += fall->forces.x[i] * fall->forces.x[i] + fall->forces.y[i] * fall->forces.y[i];
    double k = each_kg * tire->stiffness_per_s2;
    fall->stretch_j = k * sums.stretch_m; /* for a coordinate that is wrong by 1 m */
    return h * h / 2.0 * each_kg * squares - h * 1.5 * h * k * sums.damped_m2_per_s2;
}

static double rounding_j(const struct fall *fall, double before_j)
{
    double energy_j = (double)FALL_MASSES * (fabs(before_j) + fabs(fall->energy_j));
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
    double lowest_m = fall->start.y[FALL_MASSES / 2];
    return fall->contact_step > 0 &&
           closed_form_m(fall, lowest_m, fall->contact_step) <= fall->place_allowed_m &&
           closed_form_m(fall, lowest_m, fall->contact_step - 1) >= -fall->place_allowed_m;
}

static int64_t steps_before_contact(const struct fall *fall)
{
    return fall->contact_step > 0 ? fall->contact_step - 1 : fall->steps;
}

static void say_free_fall(const struct fall *fall, struct finding *found)
{
    double h = fall->trial->tire.step_s, allowed_m_per_s = fall->place_allowed_m / h;
    bool is_good = fall->place_error_m <= fall->place_allowed_m &&
                   fall->speed_error_m_per_s <= allowed_m_per_s && fall->below_step == 0 &&
                   is_contact_right(fall);
    if (fall->below_step > 0)
        finding_say(found, false, "%d masses, steps of %.9g ms: below the floor in step %lld",
                    FALL_MASSES, h * 1e3, (long long)fall->below_step);
    else
        finding_say(
            found, is_good,
            "%d masses, steps of %.9g ms: contact in step %lld (closed form: %lld); until then "
            "at most %.2g m (rounding: up to %.2g m) and %.2g m/s (up to %.2g m/s) from the "
            "closed form",
            FALL_MASSES, h * 1e3, (long long)fall->contact_step, (long long)fall->expected_step,
            fall->place_error_m, fall->place_allowed_m, fall->speed_error_m_per_s, allowed_m_per_s);
}

/* Of long steps, one more in free fall adds more than the few masses that touch first take away. */
static void say_energy(const struct fall *fall, struct finding *found)
{
    bool is_fine = fall->trial->step_ns <= FINE_STEP_NS;
    bool is_good = !fall->is_excessive && fall->growth_error_j <= fall->allowed_j &&
                   (!is_fine || fall->over_j <= fall->allowed_j);
    finding_say(
        found, is_good,
        "rounding: up to %.2g J. In free fall +%.6g J a step, %.2g J from g^2 h^2/2; in all "
        "%lld steps at most %.2g J over explicit Euler's bound; %lld steps from contact on: at "
        "most %.3g J over what it was then, %.6g J%s",
        fall->allowed_j, fall->growth_j, fall->growth_error_j, (long long)fall->steps,
        fall->excess_j, (long long)(fall->steps - steps_before_contact(fall)), fall->over_j,
        fall->contact_j, is_fine ? "" : " (not judged for steps over 30 ms)");
}

static void say_symmetry(const struct fall *fall, struct finding *found)
{
    if (fall->odd_step == 0)
        finding_say(found, true,
                    "left and right mirror each other to the bit in all %lld steps, "
                    "%lld of them before contact",
                    (long long)fall->steps, (long long)steps_before_contact(fall));
    else
        finding_say(found, false, "left and right differ in step %lld (contact in step %lld)",
                    (long long)fall->odd_step, (long long)fall->contact_step);
}

static void say_momentum(const struct fall *fall, struct finding *found)
{
    double allowed = fall->momentum_allowed_kg_m_per_s;
    finding_say(found, fall->across_kg_m_per_s <= allowed && fall->up_error_kg_m_per_s <= allowed,
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

void tire_find_fall(struct tire_trial *trial, struct finding found[TIRE_FALL_FINDINGS])
{
    struct fall fall = {.trial = trial};
    tire_trial_place(trial, FALL_MASSES);
    fall.start = trial->states[2];
    fall.forces = trial->states[3];
    fall.start_m_per_s = tire_trial_start(trial, &trial->states[0]);
    copy_start(&fall);
    fall.energy_j = tire_energy_j(&trial->tire, &trial->states[0]);
    fall.place_allowed_m = ROUNDINGS * DBL_EPSILON * (double)(FALL_MASSES + TIRE_TRIAL_LEAD);
    watch(&fall);
    say_free_fall(&fall, &found[TIRE_FREE_FALL]);
    say_energy(&fall, &found[TIRE_ENERGY]);
    say_symmetry(&fall, &found[TIRE_SYMMETRY]);
    say_momentum(&fall, &found[TIRE_MOMENTUM]);
}

/* ---- bits ---- */

/* BITS_MASSES: not a multiple of TIRE_PAD, with more blocks than threads. The numbers of steps are
 * even: the first state of the two has the result. */
enum { BITS_MASSES = TIRE_TRIAL_MASSES, TURN_STEPS = 300, THREAD_STEPS = 120, MOST_THREADS = 7 };

/* ---- blocks in turn ---- */

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
                     enum tire_code code, int64_t steps)
{
    tire_trial_start(trial, &states[0]);
    for (int64_t step = 0; step < steps; step++)
        advance_blocks(trial, &states[step % 2], &states[(step + 1) % 2], blocks, code);
}

static bool is_same(const double *one, const double *other)
{
    uint64_t bits, other_bits;
    memcpy(&bits, one, sizeof bits);
    memcpy(&other_bits, other, sizeof other_bits);
    return bits == other_bits;
}

static int64_t different_masses(const struct tire_state *one, const struct tire_state *other)
{
    int64_t count = 0;
    for (int64_t i = 0; i < BITS_MASSES; i++)
        count += !is_same(&one->x[i], &other->x[i]) || !is_same(&one->y[i], &other->y[i]) ||
                 !is_same(&one->vx[i], &other->vx[i]) || !is_same(&one->vy[i], &other->vy[i]);
    return count;
}

static int64_t masses_on_floor(const struct tire_state *state)
{
    int64_t count = 0;
    for (int64_t i = 0; i < BITS_MASSES; i++)
        count += state->y[i] <= 0.0;
    return count;
}

static const int block_counts[] = {1, 2, 3, MOST_THREADS};
enum { BLOCK_COUNTS = sizeof block_counts / sizeof block_counts[0] };

/* Masses that differ from those of the first state; the plain code in one piece. */
static int64_t try_in_turn(const struct tire_trial *trial, int blocks, enum tire_code code)
{
    simulate(trial, &trial->states[2], blocks, code, TURN_STEPS);
    return different_masses(&trial->states[0], &trial->states[2]);
}

static bool are_same_in_turn(const struct tire_trial *trial, struct finding *found)
{
    simulate(trial, &trial->states[0], 1, TIRE_PLAIN, TURN_STEPS);
    for (enum tire_code code = TIRE_PLAIN; code <= trial->code; code++)
        for (int i = 0; i < BLOCK_COUNTS; i++) {
            int64_t differ = try_in_turn(trial, block_counts[i], code);
            if (differ == 0)
                continue;
            finding_say(
                found, false,
                "%d blocks in turn by the code %s: %lld of %d masses differ from one block by "
                "plain C after %d steps",
                block_counts[i], tire_code_name(code), (long long)differ, BITS_MASSES, TURN_STEPS);
            return false;
        }
    return true;
}

/* ---- threads ---- */

struct crew {
    struct solver_barrier solver;
    int64_t end_ns;
    atomic_bool is_late;
};

struct barrier_worker {
    struct rt_thread rt_thread;
    struct crew *crew;
    struct barrier_part part;
};

static void work(void *argument)
{
    struct barrier_worker *worker = argument;
    struct crew *crew = worker->crew;
    for (int step = 0; step < THREAD_STEPS; step++) {
        if (clock_monotonic_ns() >= crew->end_ns) {
            atomic_store(&crew->is_late, true);
            step_barrier_break(&crew->solver.barrier);
        }
        solver_barrier_compute(&crew->solver, &worker->part);
        if (!solver_barrier_pass(&crew->solver, &worker->part))
            return;
    }
}

/* Those that started wait at their gates until all have; where one could not, they end at once. */
static int run_workers(struct crew *crew, struct barrier_worker *workers, int threads)
{
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    int error = 0, started = 0;
    while (started < threads && !error) {
        struct barrier_worker *worker = &workers[started];
        worker->crew = crew;
        solver_barrier_part(&crew->solver, started, &worker->part);
        error = rt_thread_start_with_stack(&worker->rt_thread, &setup, RT_THREAD_SMALL_STACK_BYTES,
                                           work, worker);
        started += error ? 0 : 1;
    }
    if (error)
        step_barrier_break(&crew->solver.barrier);
    for (int i = 0; i < started; i++)
        rt_thread_go(&workers[i].rt_thread);
    for (int i = 0; i < started; i++)
        rt_thread_join(&workers[i].rt_thread);
    return error;
}

/* The masses that differ; -1: the threads did not run to the end, `why` says why. */
static int64_t try_threads(const struct tire_trial *trial, int threads, enum tire_code code,
                           const char **why)
{
    struct crew crew = {.end_ns = clock_monotonic_ns() + trial->threads_ns};
    struct barrier_worker workers[MOST_THREADS];
    void *memory = trial->states[2].x - TIRE_PAD;
    int error = solver_barrier_open(&crew.solver, &trial->tire, threads, 0, code, memory);
    if (!error) {
        tire_trial_start(trial, &crew.solver.states[0]);
        error = run_workers(&crew, workers, threads);
        solver_barrier_close(&crew.solver);
    }
    *why = error ? strerror(error) : "they took more than a second";
    return error || atomic_load(&crew.is_late)
               ? -1
               : different_masses(&trial->states[0], &trial->states[2]);
}

/* One of these: all threads had the same bits (`said` says so), some had others (`found`), or they
 * could not run, which `said` tells. */
static bool are_same_by_threads(const struct tire_trial *trial, struct finding *found,
                                struct finding *said)
{
    simulate(trial, &trial->states[0], 1, TIRE_PLAIN, THREAD_STEPS);
    for (enum tire_code code = TIRE_PLAIN; code <= trial->code; code++)
        for (int i = 0; i < BLOCK_COUNTS; i++) {
            const char *why;
            int64_t differ = try_threads(trial, block_counts[i], code, &why);
            if (differ == 0)
                continue;
            if (differ < 0) {
                finding_say(said, true, "%d threads of barrier were not compared: %s",
                            block_counts[i], why);
                return true;
            }
            finding_say(found, false,
                        "barrier with %d threads by the code %s: %lld of %d masses differ from one "
                        "thread by plain C after %d steps",
                        block_counts[i], tire_code_name(code), (long long)differ, BITS_MASSES,
                        THREAD_STEPS);
            return false;
        }
    finding_say(said, true, "and barrier with 1, 2, 3 and %d threads after %d", MOST_THREADS,
                THREAD_STEPS);
    return true;
}

void tire_find_same_bits(struct tire_trial *trial, struct finding *found)
{
    struct finding said;
    tire_trial_place(trial, BITS_MASSES);
    if (!are_same_in_turn(trial, found))
        return;
    int64_t on_floor = masses_on_floor(&trial->states[0]);
    if (!are_same_by_threads(trial, found, &said))
        return;
    bool has_both = trial->code == TIRE_VECTOR;
    finding_say(
        found, true,
        "%d masses, code %s%s%s: the same bits as one thread by plain C have 1, 2, 3 and %d "
        "blocks, advanced in turn, after %d steps (%lld masses on the floor), %s",
        BITS_MASSES, tire_code_name(TIRE_PLAIN), has_both ? " and " : "",
        has_both ? tire_code_name(TIRE_VECTOR) : " alone, which is all that this processor has",
        MOST_THREADS, TURN_STEPS, (long long)on_floor, said.evidence);
}

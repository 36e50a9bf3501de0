/* The tire: its constants, the integrator, both codes to the bit, and the bound on the step. Its
 * fall by the closed form: test_tire_checks.c. */
#include "base/posix_source.h"

#include "family/simulate/tire.h"

#include "tap.h"

#include <float.h>
#include <math.h>

#define STEP_NS INT64_C(10000000)
#define STIFFNESS INT64_C(1000)

enum { LINE = 64, MOST_MASSES = 1024, STATES = 3 };

/* Two states to advance, and one more. */
struct simulated {
    struct tire tire;
    struct tire_state states[STATES];
    int64_t steps;
};

static void open_with(struct simulated *simulated, int64_t masses, int64_t step_ns,
                      int64_t stiffness_per_s2)
{
    size_t bytes = tire_state_bytes(masses);
    char *memory = tap_memory(STATES * bytes + LINE);
    tire_init(&simulated->tire, masses, step_ns, stiffness_per_s2);
    simulated->steps = 0;
    memory += LINE - (uintptr_t)memory % LINE;
    for (int i = 0; i < STATES; i++) {
        tire_state_place(&simulated->states[i], memory + (size_t)i * bytes, masses);
        CHECK_SAME((uintptr_t)simulated->states[i].x % LINE, 0);
        CHECK_SAME((uintptr_t)simulated->states[i].vy % LINE, 0);
    }
    tire_start(&simulated->tire, &simulated->states[0]);
}

static void open_default(struct simulated *simulated, int64_t masses)
{
    open_with(simulated, masses, STEP_NS, 0);
}

static const struct tire_state *latest(const struct simulated *simulated)
{
    return &simulated->states[simulated->steps % 2];
}

static void advance(struct simulated *simulated, int64_t steps, enum tire_code code)
{
    for (int64_t i = 0; i < steps; i++) {
        const struct tire_state *now = latest(simulated);
        simulated->steps++;
        tire_advance(&simulated->tire, now, latest(simulated), 0, simulated->tire.masses, code);
    }
}

static int64_t different_masses(const struct tire_state *one, const struct tire_state *other,
                                int64_t masses)
{
    int64_t count = 0;
    for (int64_t i = -1; i <= masses; i++)
        count += memcmp(&one->x[i], &other->x[i], sizeof(double)) != 0 ||
                 memcmp(&one->y[i], &other->y[i], sizeof(double)) != 0 ||
                 memcmp(&one->vx[i], &other->vx[i], sizeof(double)) != 0 ||
                 memcmp(&one->vy[i], &other->vy[i], sizeof(double)) != 0;
    return count;
}

TEST(constants)
{
    struct tire tire;
    tire_init(&tire, 400, STEP_NS, 0);
    CHECK_SAME(tire.masses, 400);
    CHECK_NEAR(tire.step_s, 0.01, 0.0);
    CHECK_NEAR(tire.mass_kg, 0.025, 0.0);
    CHECK_NEAR(tire.stiffness_per_s2, 1000.0, 1e-12);
    CHECK_NEAR(tire.damping_per_s, 20.0, 1e-14);
    CHECK_NEAR(tire.gravity_m_per_s2, 9.81, 0.0);
    CHECK_NEAR(tire.rest_across_m, 0.6, 1e-16);
    CHECK_NEAR(tire.rest_ring_m, 0.6 * sin(acos(-1.0) / 400), 1e-16);
    tire_init(&tire, 400, 500000, 1000);
    CHECK_NEAR(tire.stiffness_per_s2, 1000.0, 0.0);
    CHECK_NEAR(tire.damping_per_s, 1.0, 1e-15);
}

TEST(memory)
{
    CHECK(2 * tire_state_bytes(57000) <= 64 * (57000 + 2 * 3 * TIRE_PAD));
    CHECK(2 * tire_state_bytes(4) < 2048);
    CHECK_SAME(tire_state_bytes(12) % LINE, 0);
}

TEST(start)
{
    const int64_t sizes[] = {4, 8, 12, 60, 1000, 57000};
    for (size_t size = 0; size < sizeof sizes / sizeof sizes[0]; size++) {
        struct simulated simulated;
        const struct tire_state *state = &simulated.states[0];
        int64_t odd = 0, off = 0, masses = sizes[size];
        open_default(&simulated, masses);
        for (int64_t i = 0; i < masses; i++) {
            int64_t other = (masses - i) % masses;
            odd += state->x[i] != -state->x[other] || state->y[i] != state->y[other];
            off += !(fabs(hypot(state->x[i], state->y[i] - 0.8) - 0.3) < 4 * DBL_EPSILON) ||
                   state->vx[i] != 0.0 || state->vy[i] != 0.0;
        }
        CHECK_SAME(odd, 0);
        CHECK_SAME(off, 0);
        CHECK_NEAR(state->y[0], 1.1, 2 * DBL_EPSILON);
        CHECK_NEAR(state->x[masses / 4], 0.3, DBL_EPSILON); /* clockwise: to the right */
        CHECK_NEAR(state->y[masses / 2], 0.5, 2 * DBL_EPSILON);
        CHECK_NEAR(state->x[-1], state->x[masses - 1], 0.0);
        CHECK_NEAR(state->y[masses], state->y[0], 0.0);
    }
}

/* ---- the integrator ---- */

TEST(floor_keeps_what_rises)
{
    struct tire tire;
    struct tire_force none = {0};
    tire_init(&tire, 4, STEP_NS, 0);
    struct tire_mass rising = {0.1, -0.5, 0.0, 2.0}, resting = {0.1, 0.0, 0.0, 0.0};
    tire_integrate(&tire, &rising, none, none, none);
    CHECK_NEAR(rising.y, 0.0, 0.0);
    CHECK_NEAR(rising.vy, 2.0 - 0.0981, 1e-15);
    tire_integrate(&tire, &resting, none, none, none);
    CHECK_NEAR(resting.y, 0.0, 0.0);
    CHECK_NEAR(resting.vy, 0.0, 0.0);
}

TEST(springs_pull_both_sides_alike)
{
    struct tire tire;
    uint64_t seed = 17;
    tire_init(&tire, 8, STEP_NS, 0);
    for (int i = 0; i < 1000; i++) {
        double v[8];
        for (int j = 0; j < 8; j++)
            v[j] = (double)(tap_random(&seed) >> 11) * 0x1p-52 - 1.0;
        struct tire_mass one = {v[0], v[1], v[2], v[3]}, other = {v[4], v[5], v[6], v[7]};
        struct tire_force there = tire_spring(&tire, &one, &other, 0.25);
        struct tire_force back = tire_spring(&tire, &other, &one, 0.25);
        CHECK(there.x == -back.x && there.y == -back.y);
    }
    struct tire_mass one = {0.5, 0.0, 0.0, 0.0}, near = {0.75, 0.0, 0.0, 3.0};
    CHECK_NEAR(tire_spring(&tire, &one, &near, 0.2).x, 1000.0 * 0.05, 1e-12);
    CHECK_NEAR(tire_spring(&tire, &one, &near, 0.2).y, 20.0 * 3.0, 1e-12);
    CHECK_NEAR(tire_spring(&tire, &one, &one, 0.2).x, 0.0, 0.0); /* masses on the same place */
}

/* Each mass by itself, as solvers that hold masses one by one do. */
static void advance_one_by_one(const struct tire *tire, const struct tire_state *now,
                               const struct tire_state *next)
{
    int64_t n = tire->masses;
    for (int64_t i = 0; i < n; i++) {
        int64_t at[] = {i, (i + n - 1) % n, (i + 1) % n, (i + n / 2) % n};
        struct tire_mass mass[4];
        for (int j = 0; j < 4; j++)
            mass[j] =
                (struct tire_mass){now->x[at[j]], now->y[at[j]], now->vx[at[j]], now->vy[at[j]]};
        tire_integrate(tire, &mass[0], tire_spring(tire, &mass[0], &mass[1], tire->rest_ring_m),
                       tire_spring(tire, &mass[0], &mass[2], tire->rest_ring_m),
                       tire_spring(tire, &mass[0], &mass[3], tire->rest_across_m));
        next->x[i] = mass[0].x;
        next->y[i] = mass[0].y;
        next->vx[i] = mass[0].vx;
        next->vy[i] = mass[0].vy;
    }
}

static void check_codes(int64_t masses, enum tire_code code)
{
    struct simulated simulated;
    open_default(&simulated, masses);
    const struct tire_state *expected = &simulated.states[2];
    int64_t different = 0;
    for (int64_t step = 0; step < 400; step++) {
        const struct tire_state *now = latest(&simulated);
        advance_one_by_one(&simulated.tire, now, expected);
        advance(&simulated, 1, code);
        for (int64_t i = 0; i < masses; i++)
            different += expected->x[i] != latest(&simulated)->x[i] ||
                         expected->y[i] != latest(&simulated)->y[i] ||
                         expected->vx[i] != latest(&simulated)->vx[i] ||
                         expected->vy[i] != latest(&simulated)->vy[i];
    }
    CHECK_SAME(different, 0);
    CHECK_NEAR(latest(&simulated)->x[-1], latest(&simulated)->x[masses - 1], 0.0);
    CHECK_NEAR(latest(&simulated)->vy[masses], latest(&simulated)->vy[0], 0.0);
}

TEST(codes_agree)
{
    const int64_t masses[] = {4, 8, 12, 20, 36, 100, 204};
    for (size_t i = 0; i < sizeof masses / sizeof masses[0]; i++)
        for (enum tire_code code = TIRE_PLAIN; code <= tire_best_code(); code++)
            check_codes(masses[i], code);
    CHECK_TEXT(tire_code_name(TIRE_PLAIN), "c");
    CHECK(tire_code_name(tire_best_code()) != NULL);
}

/* Blocks of any lines, in any order: each writes its own masses and the repeated ones, no more. */
TEST(blocks_agree)
{
    struct simulated simulated;
    uint64_t seed = 42;
    const int64_t masses = 348;
    open_default(&simulated, masses);
    const struct tire_state *blocks = &simulated.states[2];
    int64_t different = 0;
    for (int step = 0; step < 200; step++) {
        const struct tire_state *now = latest(&simulated);
        int64_t cut = (int64_t)(tap_random(&seed) % 44) * TIRE_PAD;
        int64_t later = cut + (int64_t)(tap_random(&seed) % 44) * TIRE_PAD;
        later = later < masses ? later : masses;
        tire_advance(&simulated.tire, now, blocks, later, masses, tire_best_code());
        tire_advance(&simulated.tire, now, blocks, cut, later, TIRE_PLAIN);
        tire_advance(&simulated.tire, now, blocks, 0, cut, tire_best_code());
        advance(&simulated, 1, TIRE_PLAIN);
        different += different_masses(latest(&simulated), blocks, masses);
    }
    CHECK_SAME(different, 0);
}

TEST(a_million_masses)
{
    struct simulated simulated;
    const int64_t masses = 1000000, steps = 3;
    open_default(&simulated, masses);
    double height_m = simulated.states[0].y[0];
    advance(&simulated, steps, tire_best_code());
    const struct tire_state *state = latest(&simulated);
    int64_t odd = 0;
    for (int64_t i = 1; i < masses; i++)
        odd += state->x[i] != -state->x[masses - i] || state->vy[i] != state->vy[masses - i];
    CHECK_SAME(odd, 0);
    CHECK_NEAR(state->y[0], height_m - 9.81e-4 * 3, 1e-14);
    double growth_j = (double)steps * 10 * 9.81 * 9.81 * 1e-4 / 2;
    CHECK_NEAR(tire_energy_j(&simulated.tire, state), 10 * 9.81 * 0.8 + growth_j, 1e-9);
}

/* ---- the bound on the step ---- */

TEST(longest_step)
{
    CHECK_SAME(tire_longest_step_ns(0), INT64_MAX);
    CHECK_SAME(tire_longest_step_ns(STIFFNESS), 12909944);
    const int64_t stiffness[] = {1, 7, 1000, 400000, INT64_C(100000000000), INT64_C(1000000000000)};
    for (size_t i = 0; i < sizeof stiffness / sizeof stiffness[0]; i++) {
        int64_t step_ns = tire_longest_step_ns(stiffness[i]);
        int64_t most = INT64_C(1000000000000000000) / 6 / stiffness[i];
        CHECK(step_ns * step_ns <= most && (step_ns + 1) * (step_ns + 1) > most);
    }
}

/* The largest coordinate or speed that the simulation had; infinite once it is none. */
static double most_of(int64_t masses, int64_t step_ns, int64_t steps)
{
    struct simulated simulated;
    double most = 0.0;
    open_with(&simulated, masses, step_ns, STIFFNESS);
    for (int64_t step = 0; step < steps; step++) {
        advance(&simulated, 1, tire_best_code());
        const struct tire_state *state = latest(&simulated);
        for (int64_t i = 0; i < masses; i++) {
            double size =
                fabs(state->x[i]) + fabs(state->y[i]) + fabs(state->vx[i]) + fabs(state->vy[i]);
            most = size <= most ? most : size < HUGE_VAL ? size : HUGE_VAL;
        }
    }
    return most;
}

TEST(stable_below_the_bound)
{
    int64_t longest_ns = tire_longest_step_ns(STIFFNESS);
    const int64_t masses[] = {4, 8, 40, 404};
    for (size_t i = 0; i < sizeof masses / sizeof masses[0]; i++) {
        CHECK(most_of(masses[i], longest_ns, 1500) < 20.0);
        CHECK(most_of(masses[i], longest_ns / 2, 1500) < 20.0);
    }
    CHECK(most_of(40, 2 * longest_ns, 1500) > 1e6);
    CHECK(most_of(404, 2 * longest_ns, 1500) > 1e6);
}

/* Checks of the physics of the tire: all pass, and each one sees a solver that is wrong. */
#include "base/posix_source.h"

#include "family/simulate/tire_checks.h"
#include "tap.h"

#include <math.h>

enum { REST = TIRE_FALL_FINDINGS, BITS, FINDINGS };

#define STEP_NS INT64_C(10000000)

static struct finding found[FINDINGS];
static int64_t steps; /* of a broken solver */

static void find_with(tire_advancer *advance, int64_t step_ns, int64_t stiffness_per_s2)
{
    struct tire_trial trial;
    steps = 0;
    memset(found, 0, sizeof found);
    if (!CHECK(tire_trial_open(&trial, advance, step_ns, stiffness_per_s2)))
        return;
    tire_find_fall(&trial, found);
    tire_find_rest(&trial, &found[REST]);
    found[BITS].is_good = true; /* not looked at */
    tire_trial_close(&trial);
}

static void find_bits_within(tire_advancer *advance, int64_t step_ns, int64_t threads_ns)
{
    struct tire_trial trial;
    steps = 0;
    if (!CHECK(tire_trial_open(&trial, advance, step_ns, 0)))
        return;
    CHECK(trial.threads_ns == 1000000000);
    trial.threads_ns = threads_ns;
    tire_find_same_bits(&trial, &found[BITS]);
    tire_trial_close(&trial);
}

/* Threads may take an hour: a busy host cannot hide what they compute. */
static void find_bits(tire_advancer *advance, int64_t step_ns)
{
    find_bits_within(advance, step_ns, INT64_C(3600000000000));
}

static void find(tire_advancer *advance)
{
    find_with(advance, STEP_NS, 0);
}

/* Whether of all findings only those in `bad` (bits) are bad. */
static bool is_bad(unsigned bad)
{
    bool is_so = true;
    for (int i = 0; i < FINDINGS; i++)
        is_so = is_so && found[i].is_good == !(bad >> i & 1);
    for (int i = 0; i < FINDINGS && !is_so; i++)
        printf("# %s: %s\n", found[i].is_good ? "good" : "bad", found[i].evidence);
    return is_so;
}

TEST(right)
{
    find(tire_advance);
    find_bits(tire_advance, STEP_NS);
    CHECK(is_bad(0));
    CHECK_HOLDS(found[TIRE_FREE_FALL].evidence, "contact in step 33 (closed form: 33)");
    CHECK_HOLDS(found[TIRE_ENERGY].evidence, "In free fall +0.0481181 J a step");
    CHECK_HOLDS(found[TIRE_SYMMETRY].evidence, "in all 233 steps, 32 of them before contact");
    CHECK_HOLDS(found[REST].evidence, "moved by at most");
    CHECK_HOLDS(found[BITS].evidence, "barrier with 1, 2, 3 and 7 threads");
}

/* The shortest step, those of pictures and of the paper, one that crosses the fall in two, and the
 * longest for a stiffness. */
TEST(right_with_any_step)
{
    const int64_t steps_ns[] = {1000, 20000, 500000, 30000000, INT64_C(10000000000)};
    for (size_t i = 0; i < sizeof steps_ns / sizeof steps_ns[0]; i++) {
        find_with(tire_advance, steps_ns[i], 0);
        CHECK(is_bad(0));
    }
    const int64_t stiffness[] = {1, 1000, 400000, INT64_C(160000000000)};
    for (size_t i = 0; i < sizeof stiffness / sizeof stiffness[0]; i++) {
        find_with(tire_advance, tire_longest_step_ns(stiffness[i]), stiffness[i]);
        CHECK(is_bad(0));
    }
}

/* ---- wrong constants ---- */

#define SOLVER(name)                                                                               \
    static void name(const struct tire *tire, const struct tire_state *now,                        \
                     const struct tire_state *next, int64_t begin, int64_t end,                    \
                     enum tire_code code)

static struct factors {
    double damping, rest_ring, gravity;
} factors;

SOLVER(advance_with_factors)
{
    struct tire wrong = *tire;
    wrong.damping_per_s *= factors.damping;
    wrong.rest_ring_m *= factors.rest_ring;
    wrong.gravity_m_per_s2 *= factors.gravity;
    tire_advance(&wrong, now, next, begin, end, code);
}

static void find_with_factors(double damping, double rest_ring, double gravity)
{
    factors = (struct factors){damping, rest_ring, gravity};
    find(advance_with_factors);
}

TEST(wrong_constants)
{
    find_with_factors(-1.0, 1.0, 1.0);
    CHECK(!found[TIRE_ENERGY].is_good);
    find_with_factors(0.5, 1.0, 1.0);
    CHECK(is_bad(1 << TIRE_ENERGY));
    find_with_factors(1.0, 1.0 + 1e-9, 1.0);
    CHECK(!found[REST].is_good);
    CHECK(!found[TIRE_FREE_FALL].is_good);
    find_with_factors(1.0, 1.0, 1.0 + 1e-9);
    CHECK(is_bad(1 << TIRE_FREE_FALL | 1 << TIRE_ENERGY | 1 << TIRE_MOMENTUM));
}

/* ---- wrong steps: of the whole circle; blocks of it are right ---- */

/* The masses at the ends are repeated after they were changed. */
static void repeat_ends(const struct tire *tire, const struct tire_state *state)
{
    double *arrays[] = {state->x, state->y, state->vx, state->vy};
    for (int i = 0; i < 4; i++) {
        arrays[i][-1] = arrays[i][tire->masses - 1];
        arrays[i][tire->masses] = arrays[i][0];
    }
}

/* Gravity moves the masses before it has changed their speed. */
SOLVER(move_late)
{
    tire_advance(tire, now, next, begin, end, code);
    for (int64_t i = begin; i < end; i++)
        if (next->y[i] > 0.0)
            next->y[i] = now->y[i] + tire->step_s * next->vy[i];
    repeat_ends(tire, next);
}

SOLVER(sink)
{
    tire_advance(tire, now, next, begin, end, code);
    for (int64_t i = begin; i < end; i++)
        if (next->y[i] <= 0.0)
            next->y[i] = now->y[i] + tire->step_s * now->vy[i];
}

SOLVER(bounce)
{
    tire_advance(tire, now, next, begin, end, code);
    for (int64_t i = begin; i < end; i++)
        if (next->y[i] <= 0.0 && now->vy[i] < 0.0)
            next->vy[i] = -1.1 * now->vy[i];
}

SOLVER(lean)
{
    tire_advance(tire, now, next, begin, end, code);
    if (begin == 0 && end == tire->masses && ++steps == 7)
        next->y[7] = nextafter(next->y[7], 0.0);
}

SOLVER(lift)
{
    tire_advance(tire, now, next, begin, end, code);
    for (int64_t i = begin; i < end && tire->gravity_m_per_s2 > 0.0; i++)
        next->vy[i] += next->y[i] > 0.0 ? 2e-14 : 0.0;
    repeat_ends(tire, next);
}

SOLVER(break_number)
{
    tire_advance(tire, now, next, begin, end, code);
    if (begin == 0)
        next->x[2] = next->vy[2] = NAN;
}

#define BIT(finding) (1U << (finding))
#define ALL (BIT(BITS) - 1)

TEST(wrong_steps)
{
    static const struct {
        const char *name;
        tire_advancer *advance;
        unsigned bad, good; /* findings that are, as bits */
        int finding;
        const char *evidence; /* of it */
    } rows[] = {
        {"another integrator", move_late, BIT(TIRE_FREE_FALL) | BIT(TIRE_ENERGY),
         BIT(TIRE_SYMMETRY), 0, ""},
        {"no floor", sink, BIT(TIRE_FREE_FALL), 0, TIRE_FREE_FALL, "below the floor in step 33"},
        {"energy from the floor", bounce, BIT(TIRE_ENERGY), ALL - BIT(TIRE_ENERGY), 0, ""},
        {"one bit of asymmetry", lean, BIT(TIRE_SYMMETRY), 0, TIRE_SYMMETRY,
         "left and right differ in step 7 (contact in step 33)"},
        {"momentum from nowhere", lift, BIT(TIRE_MOMENTUM), ALL - BIT(TIRE_MOMENTUM), 0, ""},
        {"no number", break_number, ALL, 0, 0, ""},
    };
    foreach (row, rows, row->name) {
        find(row->advance);
        for (int j = 0; j < BITS; j++) {
            CHECK(!(row->bad & BIT(j)) || !found[j].is_good);
            CHECK(!(row->good & BIT(j)) || found[j].is_good);
        }
        CHECK_HOLDS(found[row->finding].evidence, row->evidence);
    }
}

/* ---- bits ---- */

SOLVER(flip_in_block)
{
    tire_advance(tire, now, next, begin, end, code);
    if (begin > 0 && end < tire->masses && ++steps == 3)
        next->x[begin] = nextafter(next->x[begin], 1.0);
}

SOLVER(flip_in_vector)
{
    tire_advance(tire, now, next, begin, end, code);
    if (code == TIRE_VECTOR && begin == 0 && tire->masses > 100)
        next->vx[6] = nextafter(next->vx[6], 1.0);
}

/* A neighbour of the block has already been advanced. */
SOLVER(read_too_late)
{
    double before = now->y[begin - 1];
    if (begin > 0)
        now->y[begin - 1] = next->y[begin - 1];
    tire_advance(tire, now, next, begin, end, code);
    now->y[begin - 1] = before;
}

/* A reference that the threads of the solver do not share. */
SOLVER(fall_faster)
{
    struct tire wrong = *tire;
    wrong.gravity_m_per_s2 = nextafter(tire->gravity_m_per_s2, 10.0);
    tire_advance(&wrong, now, next, begin, end, code);
}

static void check_bits(tire_advancer *advance, const char *evidence)
{
    find_bits(advance, STEP_NS);
    CHECK(!found[BITS].is_good);
    CHECK_HOLDS(found[BITS].evidence, evidence);
}

TEST(other_bits)
{
    check_bits(flip_in_block, "3 blocks in turn by the code c");
    check_bits(read_too_late, "2 blocks in turn by the code c");
    check_bits(fall_faster, "barrier with 1 threads by the code c");
    if (tire_best_code() == TIRE_VECTOR)
        check_bits(flip_in_vector, "1 blocks in turn by the code avx2");
}

TEST(late_threads_are_not_compared)
{
    find_bits_within(tire_advance, STEP_NS, 0);
    CHECK(found[BITS].is_good);
    CHECK_HOLDS(found[BITS].evidence,
                "1 threads of barrier were not compared: they took more than a second");
}

TEST(bits_of_short_steps)
{
    find_bits(tire_advance, 1000);
    CHECK(found[BITS].is_good);
}

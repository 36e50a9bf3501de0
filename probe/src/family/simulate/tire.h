/* The tire of Garre et al. (2014, section 4): point masses on a circle, each tied by a spring with
 * a damper to its two neighbours and to the mass opposite. It falls, and deforms on the floor;
 * explicit Euler. All solvers use the same operations in the same order (tire_spring,
 * tire_integrate), so their results have the same bits (decision record 0049).
 *
 * y is the height, the floor is y = 0: y <= 0 gives y = 0 and vy = max(vy, 0). */
#ifndef HS_FAMILY_SIMULATE_TIRE_H
#define HS_FAMILY_SIMULATE_TIRE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

enum { TIRE_LEAST = 4, TIRE_PAD = 8 }; /* TIRE_PAD: doubles (a cache line) around each array */

/* Constants of one simulation, SI units. Stiffness and damping are those of a spring over the mass
 * of one point: equal for all springs. */
struct tire {
    int64_t masses; /* a multiple of 4 */
    double step_s;
    double mass_kg;          /* of one point: 10 kg / masses */
    double stiffness_per_s2; /* kappa = k / m */
    double damping_per_s;    /* kappa tau = c / m, tau = 2 steps */
    double gravity_m_per_s2;
    double rest_ring_m, rest_across_m;
};

/* Positions and velocities of all masses, one array each (64-byte aligned). [-1] and [masses]
 * repeat the masses on the other end of the circle, so that neighbours need no test. Mass 0 is on
 * top, angles grow clockwise; mass i is opposite to i + masses / 2. */
struct tire_state {
    double *x, *y, *vx, *vy;
};

enum tire_code { TIRE_PLAIN, TIRE_VECTOR }; /* plain C; the vector code of this processor */

/* stiffness_per_s2 0: 0.1 / step^2. */
void tire_init(struct tire *tire, int64_t masses, int64_t step_ns, int64_t stiffness_per_s2);

/* The longest stable step for this stiffness; INT64_MAX for stiffness 0, which follows from the
 * step. Of a longer one, 12 kappa step^2 > 2: not even slack springs, which only damp, are stable.
 */
int64_t tire_longest_step_ns(int64_t stiffness_per_s2);

/* Bytes of one state with its padding; a state in `memory` (64-byte aligned) of that size. */
size_t tire_state_bytes(int64_t masses);
void tire_state_place(struct tire_state *state, void *memory, int64_t masses);

/* The circle at rest, its lowest mass 0.5 m above the floor. Left and right mirror each other to
 * the bit. */
void tire_start(const struct tire *tire, const struct tire_state *state);

/* One step of the masses begin to end - 1 from `now` into `next`, which share no memory. begin and
 * end are multiples of TIRE_PAD, or the ends 0 and masses. Whoever owns mass 0 or the last one also
 * writes its repetition. Blocks may be advanced at the same time by several threads. */
void tire_advance(const struct tire *tire, const struct tire_state *now,
                  const struct tire_state *next, int64_t begin, int64_t end, enum tire_code code);

/* TIRE_VECTOR where this processor has it. Asks the processor, which takes microseconds in a
 * virtual machine: call it before measuring. */
enum tire_code tire_best_code(void);

/* What the code is compiled for: "c" (the processor that the build is for), "avx2". */
const char *tire_code_name(enum tire_code code);

/* Kinetic energy, that of the springs, and of the height above the floor. */
double tire_energy_j(const struct tire *tire, const struct tire_state *state);

/* ---- parts of a step, for solvers that hold masses one by one ---- */

struct tire_mass {
    double x, y, vx, vy;
};

struct tire_force { /* over the mass of one point: an acceleration */
    double x, y;
};

/* Added to the square of a length, so that masses on the same place divide by something; too small
 * to change any other length. */
#define TIRE_LEAST_M2 1e-300

/* What the spring and damper to `other` does to `one`; exactly its negative for the other side. All
 * of the relative velocity is damped, not only that along the spring. */
static inline struct tire_force tire_spring(const struct tire *tire, const struct tire_mass *one,
                                            const struct tire_mass *other, double rest_m)
{
    double x = other->x - one->x, y = other->y - one->y;
    double length = sqrt((x * x + y * y) + TIRE_LEAST_M2);
    double pull = tire->stiffness_per_s2 * (1.0 - rest_m / length);
    return (struct tire_force){
        pull * x + tire->damping_per_s * (other->vx - one->vx),
        pull * y + tire->damping_per_s * (other->vy - one->vy),
    };
}

/* One step of explicit Euler under the three springs of a mass. */
static inline void tire_integrate(const struct tire *tire, struct tire_mass *mass,
                                  struct tire_force previous, struct tire_force next,
                                  struct tire_force across)
{
    double ax = (previous.x + next.x) + across.x;
    double ay = ((previous.y + next.y) + across.y) - tire->gravity_m_per_s2;
    double x = mass->x + tire->step_s * mass->vx;
    double y = mass->y + tire->step_s * mass->vy;
    double vx = mass->vx + tire->step_s * ax;
    double vy = mass->vy + tire->step_s * ay;
    double up = vy > 0.0 ? vy : 0.0;
    mass->x = x;
    mass->y = y > 0.0 ? y : 0.0;
    mass->vx = vx;
    mass->vy = y > 0.0 ? vy : up;
}

#endif

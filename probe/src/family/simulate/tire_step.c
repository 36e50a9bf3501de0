/* The inner loop of all solvers that keep masses in arrays. Meson compiles this file with -O3
 * -fno-math-errno, so that the compiler vectorises it; compiled in any other way it is slower and
 * gives the same bits. */
#include "base/posix_source.h"

#include "family/simulate/tire.h"

#if defined __x86_64__ && defined __GNUC__
#define HAS_AVX2 1
#include <cpuid.h>
#define FOR_AVX2 __attribute__((target("avx2")))
#define INLINE inline __attribute__((always_inline))
#else
#define HAS_AVX2 0
#define INLINE inline
#endif

/* Masses of one half of the circle, so that those opposite are contiguous too: `across` is the way
 * to them. The new values are parameters, since only there compilers heed `restrict`. */
static INLINE void advance_half(const struct tire *given, const struct tire_state *now,
                                int64_t begin, int64_t end, int64_t across, double *restrict new_x,
                                double *restrict new_y, double *restrict new_vx,
                                double *restrict new_vy)
{
    const struct tire tire = *given; /* known not to change in the loop */
    const double *x = now->x, *y = now->y, *vx = now->vx, *vy = now->vy;
    for (int64_t i = begin; i < end; i++) {
        struct tire_mass mass = {x[i], y[i], vx[i], vy[i]};
        struct tire_mass before = {x[i - 1], y[i - 1], vx[i - 1], vy[i - 1]};
        struct tire_mass after = {x[i + 1], y[i + 1], vx[i + 1], vy[i + 1]};
        struct tire_mass opposite = {x[i + across], y[i + across], vx[i + across], vy[i + across]};
        tire_integrate(&tire, &mass, tire_spring(&tire, &mass, &before, tire.rest_ring_m),
                       tire_spring(&tire, &mass, &after, tire.rest_ring_m),
                       tire_spring(&tire, &mass, &opposite, tire.rest_across_m));
        new_x[i] = mass.x;
        new_y[i] = mass.y;
        new_vx[i] = mass.vx;
        new_vy[i] = mass.vy;
    }
}

static INLINE void advance_block(const struct tire *tire, const struct tire_state *now,
                                 const struct tire_state *next, int64_t begin, int64_t end)
{
    int64_t half = tire->masses / 2;
    advance_half(tire, now, begin, end < half ? end : half, half, next->x, next->y, next->vx,
                 next->vy);
    advance_half(tire, now, begin > half ? begin : half, end, -half, next->x, next->y, next->vx,
                 next->vy);
}

static void advance_plain(const struct tire *tire, const struct tire_state *now,
                          const struct tire_state *next, int64_t begin, int64_t end)
{
    advance_block(tire, now, next, begin, end);
}

#if HAS_AVX2
FOR_AVX2 static void advance_avx2(const struct tire *tire, const struct tire_state *now,
                                  const struct tire_state *next, int64_t begin, int64_t end)
{
    advance_block(tire, now, next, begin, end);
}
#endif

static void repeat(const struct tire_state *state, int64_t of, int64_t at)
{
    state->x[at] = state->x[of];
    state->y[at] = state->y[of];
    state->vx[at] = state->vx[of];
    state->vy[at] = state->vy[of];
}

void tire_advance(const struct tire *tire, const struct tire_state *now,
                  const struct tire_state *next, int64_t begin, int64_t end, enum tire_code code)
{
#if HAS_AVX2
    if (code == TIRE_VECTOR)
        advance_avx2(tire, now, next, begin, end);
    else
        advance_plain(tire, now, next, begin, end);
#else
    (void)code;
    advance_plain(tire, now, next, begin, end);
#endif
    if (begin == 0 && end > 0)
        repeat(next, 0, tire->masses);
    if (end == tire->masses && begin < end)
        repeat(next, tire->masses - 1, -1);
}

/* ---- the choice ---- */

#if HAS_AVX2
enum { LEAF_1_OSXSAVE_AVX = 1 << 27 | 1 << 28, LEAF_7_AVX2 = 1 << 5, XMM_YMM = 6 };

/* Whether the kernel saves the registers that AVX2 uses. */
static int saves_ymm(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & XMM_YMM) == XMM_YMM;
}

/* Not __builtin_cpu_supports: its tables are not in every compiler's runtime. */
static int has_avx2(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & LEAF_1_OSXSAVE_AVX) != LEAF_1_OSXSAVE_AVX)
        return 0;
    return saves_ymm() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & LEAF_7_AVX2);
}
#else
static int has_avx2(void)
{
    return 0;
}
#endif

enum tire_code tire_best_code(void)
{
    return has_avx2() ? TIRE_VECTOR : TIRE_PLAIN;
}

const char *tire_code_name(enum tire_code code)
{
    return HAS_AVX2 && code == TIRE_VECTOR ? "avx2" : "c";
}

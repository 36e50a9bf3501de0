#include "base/posix_source.h"

#include "work/fixed_work.h"

#include <math.h>
#include <string.h>

/* ---- Whetstone ---- */

enum { N2 = 12, N3 = 14, N4 = 345, N6 = 210, N7 = 32, N8 = 899, N9 = 616, N11 = 93 };

/* Compiler barrier: all of `w` counts as read and written, so that no module is computed at compile
 * time or removed. */
static inline void keep(struct whetstone *w)
{
    __asm__ volatile("" : : "r"(w) : "memory");
}

static void array_elements(struct whetstone *w)
{
    double *e = w->e1;
    for (int i = 0; i < N2; i++) {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * w->t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * w->t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * w->t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) * w->t;
    }
    memcpy(w->array, e, sizeof w->array);
}

static void array_as_parameter(struct whetstone *w)
{
    for (int i = 0; i < N3; i++)
        whetstone_pa(w, w->e1);
    memcpy(w->parameter, w->e1, sizeof w->parameter);
}

static void conditional_jumps(struct whetstone *w)
{
    int j = 1;
    for (int i = 0; i < N4; i++) {
        j = j == 1 ? 2 : 3;
        __asm__ volatile("" : "+r"(j));
        j = j > 2 ? 0 : 1;
        __asm__ volatile("" : "+r"(j));
        j = j < 1 ? 1 : 0;
        __asm__ volatile("" : "+r"(j));
    }
    w->jump = j;
}

static void integer_arithmetic(struct whetstone *w)
{
    w->j = 1;
    w->k = 2;
    w->l = 3;
    keep(w);
    for (int i = 0; i < N6; i++) {
        w->j = w->j * (w->k - w->j) * (w->l - w->k);
        w->k = w->l * w->k - (w->l - w->j) * w->k;
        w->l = (w->l - w->k) * (w->k + w->j);
        w->e1[w->l - 2] = w->j + w->k + w->l;
        w->e1[w->k - 2] = w->j * w->k * w->l;
        keep(w);
    }
    memcpy(w->integers, w->e1, sizeof w->integers);
}

static double next_angle(const struct whetstone *w, double angle, double x, double y)
{
    return w->t * atan(w->t2 * sin(angle) * cos(angle) / (cos(x + y) + cos(x - y) - 1.0));
}

static void trigonometric_functions(struct whetstone *w)
{
    w->x = w->y = 0.5;
    for (int i = 0; i < N7; i++) {
        w->x = next_angle(w, w->x, w->x, w->y);
        w->y = next_angle(w, w->y, w->x, w->y);
    }
}

static void procedure_calls(struct whetstone *w)
{
    double x = 1.0, y = 1.0;
    w->z = 1.0;
    for (int i = 0; i < N8; i++)
        whetstone_p3(w, x, y, &w->z);
}

static void array_references(struct whetstone *w)
{
    w->j = 0;
    w->k = 1;
    w->l = 2;
    for (int i = 0; i < 3; i++)
        w->e1[i] = i + 1;
    for (int i = 0; i < N9; i++)
        whetstone_p0(w);
    memcpy(w->references, w->e1, sizeof w->references);
}

static void standard_functions(struct whetstone *w)
{
    double x = 0.75;
    for (int i = 0; i < N11; i++)
        x = sqrt(exp(log(x) / w->t1));
    w->standard = x;
}

static void start(struct whetstone *w)
{
    w->t = 0.499975;
    w->t1 = 0.50025;
    w->t2 = 2.0;
    w->e1[0] = 1.0;
    w->e1[1] = w->e1[2] = w->e1[3] = -1.0;
}

/* A call, as if it were in a file of its own: RSP-P-FIX times it. */
__attribute__((noinline)) void whetstone_turn(struct whetstone *w)
{
    static void (*const modules[])(struct whetstone *) = {
        array_elements,          array_as_parameter, conditional_jumps, integer_arithmetic,
        trigonometric_functions, procedure_calls,    array_references,  standard_functions};
    start(w);
    for (unsigned i = 0; i < sizeof modules / sizeof modules[0]; i++) {
        keep(w);
        modules[i](w);
    }
    keep(w);
}

/* ---- the work ---- */

const char *const work_names[WORK_KINDS + 1] = {"add", "copy", "whetstone", NULL};

/* Each addition depends on the one before, and the compiler cannot fold them. */
static void add(struct work_space *space, uint64_t count)
{
    uint64_t sum = space->sink;
    for (uint64_t i = 0; i < count; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    space->sink = sum;
}

static void copy(struct work_space *space, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        space->from[i % WORK_COPY_BYTES]++;
        memcpy(space->to, space->from, WORK_COPY_BYTES);
        __asm__ volatile("" : : "r"(space->to) : "memory");
    }
    space->sink += space->to[count % WORK_COPY_BYTES];
}

static void whetstone(struct work_space *space, uint64_t count)
{
    for (uint64_t turn = 0; turn < count; turn++)
        whetstone_turn(&space->whetstone);
}

void work_do(struct work_space *space, int kind, uint64_t count)
{
    if (kind == WORK_ADD)
        add(space, count);
    else if (kind == WORK_COPY)
        copy(space, count);
    else
        whetstone(space, count);
}

#include "../posix_source.h"

#include "response_work.h"

#include <math.h>
#include <string.h>

const char *const work_names[WORK_KINDS + 1] = {"add", "copy", "whetstone", NULL};

/* Each addition needs the one before, and the compiler may not fold them. */
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

struct whetstone {
    double x1, x2, x3, x4, x, y, z;
    double e1[4];
    int j, k, l;
};

#define WHETSTONE_T 0.499975
#define WHETSTONE_T1 0.50025
#define WHETSTONE_T2 2.0

static void whetstone_identifiers(struct whetstone *w)
{
    for (int i = 0; i < 12; i++) {
        w->x1 = (w->x1 + w->x2 + w->x3 - w->x4) * WHETSTONE_T;
        w->x2 = (w->x1 + w->x2 - w->x3 + w->x4) * WHETSTONE_T;
        w->x3 = (w->x1 - w->x2 + w->x3 + w->x4) * WHETSTONE_T;
        w->x4 = (-w->x1 + w->x2 + w->x3 + w->x4) * WHETSTONE_T;
    }
}

static void whetstone_elements(double e[4])
{
    for (int i = 0; i < 6; i++) {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * WHETSTONE_T;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * WHETSTONE_T;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * WHETSTONE_T;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / WHETSTONE_T2;
    }
}

static void whetstone_jumps(struct whetstone *w)
{
    for (int i = 0; i < 345; i++) {
        w->j = w->j == 1 ? 2 : 3;
        w->j = w->j > 2 ? 0 : 1;
        w->j = w->j < 1 ? 1 : 0;
        __asm__ volatile("" : "+r"(w->j));
    }
}

static void whetstone_integers(struct whetstone *w)
{
    for (int i = 0; i < 210; i++) {
        w->j = w->j * (w->k - w->j) * (w->l - w->k);
        w->k = w->l * w->k - (w->l - w->j) * w->k;
        w->l = (w->l - w->k) * (w->k + w->j);
        w->e1[(w->l - 2) & 3] = w->j + w->k + w->l;
        w->e1[(w->k - 2) & 3] = w->j * w->k * w->l;
    }
}

static void whetstone_functions(struct whetstone *w)
{
    for (int i = 0; i < 32; i++) {
        w->x = WHETSTONE_T * atan(WHETSTONE_T2 * sin(w->x) * cos(w->x) /
                                  (cos(w->x + w->y) + cos(w->x - w->y) - 1.0));
        w->y = WHETSTONE_T * atan(WHETSTONE_T2 * sin(w->y) * cos(w->y) /
                                  (cos(w->x + w->y) + cos(w->x - w->y) - 1.0));
    }
    for (int i = 0; i < 93; i++)
        w->z = sqrt(exp(log(w->x1 * w->x1 + 1.0) / WHETSTONE_T1));
}

static void whetstone(struct work_space *space, uint64_t count)
{
    for (uint64_t turn = 0; turn < count; turn++) {
        struct whetstone w = {1.0, -1.0, -1.0, -1.0, 0.5, 0.5, 1.0, {1.0, -1.0, -1.0, -1.0},
                              1,   2,    3};
        whetstone_identifiers(&w);
        for (int i = 0; i < 14; i++)
            whetstone_elements(w.e1);
        whetstone_jumps(&w);
        w.j = 1;
        whetstone_integers(&w);
        whetstone_functions(&w);
        space->real_sink = w.x1 + w.x + w.y + w.z + w.e1[0] + w.j;
    }
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

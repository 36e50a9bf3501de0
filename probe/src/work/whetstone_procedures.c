/* Procedures of Whetstone in a file of their own: the compiler may not inline them into the loops
 * of fixed_work.c. */
#include "base/posix_source.h"

#include "work/fixed_work.h"

void whetstone_pa(const struct whetstone *w, double e[4])
{
    for (int i = 0; i < 6; i++) {
        e[0] = (e[0] + e[1] + e[2] - e[3]) * w->t;
        e[1] = (e[0] + e[1] - e[2] + e[3]) * w->t;
        e[2] = (e[0] - e[1] + e[2] + e[3]) * w->t;
        e[3] = (-e[0] + e[1] + e[2] + e[3]) / w->t2;
    }
}

void whetstone_p3(const struct whetstone *w, double x, double y, double *z)
{
    double x1 = w->t * (x + y);
    double y1 = w->t * (x1 + y);
    *z = (x1 + y1) / w->t2;
}

void whetstone_p0(struct whetstone *w)
{
    w->e1[w->j] = w->e1[w->k];
    w->e1[w->k] = w->e1[w->l];
    w->e1[w->l] = w->e1[w->j];
}

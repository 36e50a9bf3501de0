#include "base/posix_source.h"

#include "family/interrupt/sustained_search.h"

#include <math.h>

static int64_t on_grid(double ns)
{
    return (int64_t)(ns / (double)SUSTAINED_GRID_NS + 0.5) * SUSTAINED_GRID_NS;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t between(int64_t failed_ns, int64_t passed_ns)
{
    int64_t apart_ns = passed_ns - failed_ns;
    int64_t middle_ns = on_grid(sqrt((double)failed_ns * (double)passed_ns));
    if (apart_ns <= SUSTAINED_GRID_NS || apart_ns * 100 <= passed_ns * SUSTAINED_PERCENT)
        return 0;
    if (middle_ns <= failed_ns)
        middle_ns += SUSTAINED_GRID_NS;
    if (middle_ns >= passed_ns)
        middle_ns -= SUSTAINED_GRID_NS;
    return middle_ns > failed_ns ? middle_ns : 0;
}

int64_t sustained_search_next(const struct sustained_search *search)
{
    if (search->passed_ns == 0 && search->failed_ns == 0)
        return search->least_ns;
    if (search->passed_ns == 0)
        return search->failed_ns < search->most_ns ? smaller(2 * search->failed_ns, search->most_ns)
                                                   : 0;
    if (search->passed_ns <= search->least_ns)
        return 0;
    if (search->failed_ns == 0)
        return search->least_ns;
    return between(search->failed_ns, search->passed_ns);
}

void sustained_search_take(struct sustained_search *search, int64_t period_ns, bool is_sustained)
{
    if (is_sustained && (search->passed_ns == 0 || period_ns < search->passed_ns))
        search->passed_ns = period_ns;
    if (!is_sustained && period_ns > search->failed_ns)
        search->failed_ns = period_ns;
}

/* The work of RSP-P-FIX: all of it is done, as often as the count says, with known results.
 * Whetstone's come from a separate program, which for ten times the loops gives the results
 * published with the benchmark. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "tap.h"
#include "work/fixed_work.h"

#include <math.h>

enum { TRIES = 15, ROUNDS = 20, CALLS = 3 };

#define LEAST_NS INT64_C(300000)
#define ERROR 1e-12

static struct work_space space;

/* How often each procedure was called; the linker puts these before the real ones. */
static unsigned long calls[CALLS];

WRAP(void, whetstone_pa, const struct whetstone *w, double e[4])
{
    calls[0]++;
    __real_whetstone_pa(w, e);
}

WRAP(void, whetstone_p3, const struct whetstone *w, double x, double y, double *z)
{
    calls[1]++;
    __real_whetstone_p3(w, x, y, z);
}

WRAP(void, whetstone_p0, struct whetstone *w)
{
    calls[2]++;
    __real_whetstone_p0(w);
}

static void fill(void)
{
    memset(&space, 0, sizeof space);
    for (int i = 0; i < WORK_COPY_BYTES; i++)
        space.from[i] = (unsigned char)(i * 7 + i / 251);
}

TEST(additions)
{
    static const uint64_t counts[] = {0, 1, 2, 1000, 1000001};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        fill();
        work_do(&space, WORK_ADD, counts[i]);
        CHECK_SAME(space.sink, counts[i] * (counts[i] - 1) / 2);
    }
}

/* Also of the last byte, and of what the last copy but one did not have yet. */
TEST(copies)
{
    static const uint64_t counts[] = {1, 2, 3, WORK_COPY_BYTES, WORK_COPY_BYTES + 5};
    static unsigned char before[WORK_COPY_BYTES];
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        fill();
        memcpy(before, space.from, sizeof before);
        work_do(&space, WORK_COPY, counts[i]);
        CHECK(memcmp(space.to, space.from, sizeof space.to) == 0);
        uint64_t changed = 0;
        for (int byte = 0; byte < WORK_COPY_BYTES; byte++)
            changed += (unsigned char)(space.from[byte] - before[byte]);
        CHECK_SAME(changed, counts[i]);
    }
}

static void check_near(const double *got, const double *wanted, int count)
{
    for (int i = 0; i < count; i++)
        CHECK_NEAR(got[i], wanted[i], ERROR);
}

TEST(whetstone)
{
    static const double array[] = {-0.06682108153759841, -0.4662713010907264, -0.7329765200218058,
                                   -1.1323916609285205};
    static const double parameter[] = {-0.065513281746192, -0.4646922083220843, -0.7310674393684174,
                                       -1.1302716215293103};
    static const double integers[] = {6, 6}, references[] = {3, 2, 3};
    const struct whetstone *w = &space.whetstone;
    for (uint64_t turns = 1; turns <= 3; turns++) {
        fill();
        work_do(&space, WORK_WHETSTONE, turns);
        check_near(w->array, array, 4);
        check_near(w->parameter, parameter, 4);
        CHECK_SAME(w->jump, 0);
        check_near(w->integers, integers, 2);
        CHECK_NEAR(w->x, 0.49903830801545246, ERROR);
        CHECK_NEAR(w->y, 0.4990231564852849, ERROR);
        CHECK_NEAR(w->z, 0.999937500625, ERROR);
        check_near(w->references, references, 3);
        CHECK_NEAR(w->standard, 0.7598651448882464, ERROR);
    }
}

WRAP_TEST(procedures_of_whetstone)
{
    for (unsigned long turns = 0; turns <= 3; turns++) {
        memset(calls, 0, sizeof calls);
        work_do(&space, WORK_WHETSTONE, turns);
        CHECK_SAME(calls[0], 14 * turns);
        CHECK_SAME(calls[1], 899 * turns);
        CHECK_SAME(calls[2], 616 * turns);
    }
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return clock_timespec_ns(&now);
}

static int64_t time_of(int kind, uint64_t count)
{
    int64_t start_ns = cpu_ns();
    work_do(&space, kind, count);
    return cpu_ns() - start_ns;
}

/* Time of four times the work by that of the work: the least of some, one after the other, as
 * the machine may change its speed meanwhile. */
static double growth_of(int kind, uint64_t count)
{
    int64_t once_ns = INT64_MAX, four_ns = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t one_ns = time_of(kind, count), more_ns = time_of(kind, 4 * count);
        once_ns = one_ns < once_ns ? one_ns : once_ns;
        four_ns = more_ns < four_ns ? more_ns : four_ns;
    }
    return (double)four_ns / (double)once_ns;
}

/* On a machine that is disturbed all the time a round may be wrong; work that does not grow is
 * wrong in each. */
HOST_TEST(work_grows_with_its_count)
{
    for (int kind = 0; kind < WORK_KINDS; kind++) {
        double growth = 0;
        uint64_t count = 1;
        fill();
        while (time_of(kind, count) < LEAST_NS)
            count *= 2;
        for (int round = 0; round < ROUNDS && fabs(growth - 4) > 1; round++)
            growth = growth_of(kind, count);
        CHECK_NEAR(growth, 4, 1);
    }
}

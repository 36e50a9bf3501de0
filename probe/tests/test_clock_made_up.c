/* Calibration on a made-up machine: the tests choose when each clock is read and at which rate the
 * counter runs, so the right result is known. Builds clock.c anew with a made-up counter. */
#include "base/posix_source.h"

#include <stdint.h>

#define COUNTER_NAME "made up"
static uint64_t counter_read(void);
static uint64_t counter_begin(void);
static uint64_t counter_end(void);

#include "base/clock.c"
#include "tap.h"

#include <math.h>

#define TICKS_PER_NS INT64_C(2)
#define TRUE_HZ 2e9
#define TIGHT_NS INT64_C(40)
#define WIDE_NS INT64_C(5000)

enum { PARTS = 8 };

/* The counter runs at TRUE_HZ x (1 + part_ppm / 1e6) in each part (a quarter of a second, when
 * nothing else is set) since the first reading, the last part for good. */
static struct {
    int64_t now_ns, first_ns;
    int64_t half_bracket_ns; /* from one reading to the next */
    int64_t step_ns;         /* of the clock; 0: none */
    int only_tight;          /* 0: all brackets are; else one in so many, the last of them */
    int64_t last_bracket_ns; /* of what is read after 0.9 s; 0: as before */
    int brackets;
    double part_ppm[PARTS];
    int64_t part_ns;
    int sleep_error;
    bool is_stopped;                            /* CLOCK_MONOTONIC; not the counter */
    uint64_t read_step, read_count, read_ticks; /* of counter_read: a step each, and ... */
    uint64_t stray_ticks, stray_every;          /* ... at times an interruption */
} fake;

static struct clock made_up;

static bool reset(void)
{
    memset(&fake, 0, sizeof fake);
    fake.first_ns = fake.now_ns = 5000 * CLOCK_NS_PER_S;
    fake.half_bracket_ns = TIGHT_NS / 2;
    fake.part_ns = CLOCK_NS_PER_S / 4;
    return true;
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
    (void)reason, (void)reason_bytes;
    return true;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    int64_t now_ns = fake.is_stopped ? fake.first_ns : fake.now_ns;
    *time = clock_ns_timespec(fake.step_ns ? now_ns - now_ns % fake.step_ns : now_ns);
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)left;
    if (fake.sleep_error) {
        errno = fake.sleep_error;
        return -1;
    }
    fake.now_ns += clock_timespec_ns(wanted);
    return 0;
}

static uint64_t ticks_now(void)
{
    double ticks = 1e6;
    int64_t left_ns = fake.now_ns - fake.first_ns;
    for (int part = 0; part < PARTS && left_ns > 0; part++) {
        int64_t part_ns = fake.part_ns;
        if (left_ns < part_ns || part == PARTS - 1)
            part_ns = left_ns;
        ticks += (double)(part_ns * TICKS_PER_NS) * (1 + fake.part_ppm[part] / 1e6);
        left_ns -= part_ns;
    }
    return (uint64_t)(ticks + 0.5);
}

/* Half of the bracket passes before it, half after. */
static uint64_t counter_begin(void)
{
    bool is_last = fake.now_ns - fake.first_ns > CLOCK_NS_PER_S / 10 * 9;
    int64_t half_ns = fake.half_bracket_ns, more_ns = 0;
    if (is_last && fake.last_bracket_ns > 0)
        half_ns = fake.last_bracket_ns / 2;
    if (fake.only_tight > 0 && ++fake.brackets % fake.only_tight != 0)
        more_ns = WIDE_NS; /* the thread was held up after it had read the counter */
    fake.now_ns += half_ns;
    uint64_t ticks = ticks_now();
    fake.now_ns += half_ns + more_ns;
    return ticks;
}

static uint64_t counter_end(void)
{
    return counter_begin();
}

static uint64_t counter_read(void)
{
    fake.read_ticks += fake.read_step;
    if (fake.stray_every > 0 && ++fake.read_count % fake.stray_every == 0)
        fake.read_ticks += fake.stray_ticks;
    return fake.read_ticks;
}

static double error_ppb(void)
{
    return fabs((double)made_up.counter_hz / TRUE_HZ - 1) * 1e9;
}

#define CLOCK_TEST(what) TEST_IN(reset(), (void)0, what)

CLOCK_TEST(the_middle_of_a_bracket)
{
    fake.last_bracket_ns = 100 * TIGHT_NS;
    clock_open(&made_up, true, 0);
    CHECK_NEAR(error_ppb(), 0, 1);
    CHECK_NEAR(made_up.calibration_ppb, 50.5 * TIGHT_NS, 0.5 * TIGHT_NS);
    CHECK_SAME(made_up.first.at_ns, fake.first_ns + TIGHT_NS / 2);
}

TEST(the_tightest_bracket)
{
    for (int one_in = 2; one_in <= 50; one_in += 16) {
        reset();
        fake.only_tight = one_in;
        clock_open(&made_up, true, 0);
        CHECK_SAME(made_up.first.bracket_ns, TIGHT_NS);
        CHECK_NEAR(made_up.calibration_ppb, TIGHT_NS, 0.01 * TIGHT_NS);
        CHECK_NEAR(error_ppb(), 0, 1);
    }
}

/* No bracket of such a clock is seen to take time; the rate is known by its steps. */
TEST(a_coarse_clock)
{
    static const int64_t steps_ns[] = {100, 40000, 100000, 1000000, 10000000};
    for (size_t i = 0; i < sizeof steps_ns / sizeof steps_ns[0]; i++) {
        reset();
        fake.step_ns = steps_ns[i];
        clock_open(&made_up, true, 0);
        double least_ppb = (double)steps_ns[i] * 0.8, error = (double)TRUE_HZ * least_ppb / 1e9;
        CHECK(made_up.use_counter);
        CHECK(made_up.calibration_ppb >= least_ppb);
        CHECK_NEAR((double)made_up.counter_hz, TRUE_HZ, error);
        clock_check_drift(&made_up);
        CHECK_TEXT(made_up.reason, "");
    }
}

CLOCK_TEST(a_clock_that_stands_still)
{
    CHECK(clock_advances());
    fake.is_stopped = true;
    CHECK(!clock_advances());
    for (uint64_t known_hz = 0; known_hz <= (uint64_t)TRUE_HZ; known_hz += (uint64_t)TRUE_HZ) {
        clock_open(&made_up, true, known_hz);
        CHECK(!made_up.use_counter);
        CHECK_TEXT(made_up.reason, CLOCK_STANDS_STILL);
    }
}

#define NO_TICK                                                                                    \
    {                                                                                              \
        -1e6, -1e6, -1e6, -1e6, -1e6, -1e6, -1e6, -1e6                                             \
    }
#define EVEN_RATE "even rate"

/* A known rate was found before, and excuses nothing. It is taken where the short check finds it;
 * one part of that may hide the fault of another, and brackets may be too wide. */
TEST(rates_of_parts)
{
    enum { UNKNOWN, KNOWN, KNOWN_SHORT }; /* the rate; parts as long as those of the short check */
    static const struct {
        double ppm[PARTS];
        int rate;
        int64_t bracket_ns;
        bool is_taken;      /* the known rate */
        const char *reason; /* why the counter is not used; NULL: it is */
    } rows[] = {
        {{0}, UNKNOWN, TIGHT_NS, false, NULL},
        {{40, -40, 40, -40}, UNKNOWN, TIGHT_NS, false, NULL},
        {{110, 110, 0, 0}, UNKNOWN, TIGHT_NS, false, NULL},
        {{900, 900, 900, 900}, UNKNOWN, TIGHT_NS, false, NULL},
        {{200, -200, 200, -200}, UNKNOWN, TIGHT_NS, false, EVEN_RATE},
        {{300, 0, 0, 0}, UNKNOWN, TIGHT_NS, false, EVEN_RATE},
        {{-300, 0, 0, 0}, UNKNOWN, TIGHT_NS, false, EVEN_RATE},
        {{0, -300, 0, 0}, UNKNOWN, TIGHT_NS, false, EVEN_RATE},
        {{0, 0, 0, 300}, UNKNOWN, TIGHT_NS, false, EVEN_RATE},
        {NO_TICK, UNKNOWN, TIGHT_NS, false, "does not advance"},
        {NO_TICK, KNOWN, TIGHT_NS, false, "does not advance"},
        {{200, -200, 200, -200}, KNOWN, TIGHT_NS, false, EVEN_RATE},
        {{0}, KNOWN_SHORT, TIGHT_NS, true, NULL},
        {{90, -90, 90, -90}, KNOWN_SHORT, TIGHT_NS, true, NULL},
        {{800, -800, 800, -800}, KNOWN_SHORT, TIGHT_NS, false, NULL},
        {{-1e6, 1e6}, KNOWN_SHORT, TIGHT_NS, false, NULL},
        {{0}, KNOWN_SHORT, 50 * TIGHT_NS, true, NULL},
        {{0}, KNOWN_SHORT, 500 * TIGHT_NS, false, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char row[16];
        snprintf(row, sizeof row, "row %zu", i);
        tap_row(row);
        reset();
        memcpy(fake.part_ppm, rows[i].ppm, sizeof rows[i].ppm);
        fake.half_bracket_ns = rows[i].bracket_ns / 2;
        if (rows[i].rate == KNOWN_SHORT)
            fake.part_ns = CLOCK_NS_PER_S / 200;
        clock_open(&made_up, true, rows[i].rate == UNKNOWN ? 0 : (uint64_t)TRUE_HZ);
        CHECK_SAME(made_up.use_counter, rows[i].reason == NULL);
        CHECK_TEXT(made_up.name, rows[i].reason ? "monotonic" : COUNTER_NAME);
        if (rows[i].reason)
            CHECK_HOLDS(made_up.reason, rows[i].reason);
        else
            CHECK_SAME(made_up.calibration_ppb < 0, rows[i].is_taken);
    }
    tap_row(NULL);
}

CLOCK_TEST(a_sleep_that_is_refused)
{
    fake.sleep_error = EPERM;
    clock_open(&made_up, true, 0);
    CHECK(!made_up.use_counter);
    CHECK_HOLDS(made_up.reason, "nanosleep: Operation not permitted");
    CHECK_SAME(clock_sleep(1), EPERM);
}

CLOCK_TEST(refusing)
{
    clock_open(&made_up, true, 0);
    CHECK(made_up.use_counter);
    clock_refuse(&made_up, "for a test");
    CHECK(!made_up.use_counter);
    CHECK_TEXT(made_up.name, "monotonic");
    CHECK_TEXT(made_up.reason, "for a test");
    CHECK_SAME(made_up.counter_hz, 0);
    CHECK(made_up.calibration_ppb < 0);
    CHECK_SAME(clock_begin(&made_up), fake.now_ns);
    CHECK_SAME(clock_ns(&made_up, 123456789), 123456789);
    CHECK_SAME(clock_ticks_of_ns(&made_up, 123456789), 123456789);
}

TEST(drift)
{
    static const struct {
        double ppm;
        bool is_told;
    } cases[] = {{0, false}, {450, false}, {-450, false}, {600, true}, {-600, true}};
    foreach (one, cases, NULL) {
        reset();
        for (int part = 4; part < PARTS; part++)
            fake.part_ppm[part] = one->ppm;
        clock_open(&made_up, true, 0);
        fake.now_ns = fake.first_ns + 100 * CLOCK_NS_PER_S;
        clock_check_drift(&made_up);
        CHECK(made_up.has_drift);
        CHECK_NEAR(made_up.drift_ppb, one->ppm * 990, 200);
        CHECK_SAME(made_up.reason[0] != '\0', one->is_told);
    }
}

/* An interruption may come back with another phase: one such difference is left out, but not
 * one that is as short as others. */
TEST(quantum)
{
    static const struct {
        uint64_t step, stray, every, quantum;
    } cases[] = {
        {8, 0, 0, 8},           {1, 0, 0, 1},        {24, 0, 0, 24},
        {26, 10001, 90001, 26}, {8, 4099, 1777, 8},  {8, 129, 1777, 8},
        {8, 115, 1777, 1},      {26, 13, 90001, 13}, {26, 1, 90001, 1},
    };
    foreach (one, cases, NULL) {
        reset();
        clock_open(&made_up, true, 0);
        fake.read_step = one->step;
        fake.stray_ticks = one->stray;
        fake.stray_every = one->every;
        CHECK_NEAR(clock_quantum_ns(&made_up), (double)one->quantum / TICKS_PER_NS, 1e-6);
    }
}

CLOCK_TEST(forced_monotonic)
{
    clock_open(&made_up, false, 1000000000);
    CHECK(!made_up.use_counter);
    CHECK_TEXT(made_up.name, "monotonic");
    CHECK_SAME(made_up.counter_hz, 0);
    CHECK(made_up.reason[0] != '\0');
    int64_t before_ns = clock_monotonic_ns();
    uint64_t ticks = clock_ticks(&made_up);
    CHECK(ticks >= (uint64_t)before_ns && ticks <= (uint64_t)clock_monotonic_ns());
    CHECK_SAME(clock_ns(&made_up, 123), 123);
    CHECK_SAME(clock_ticks_of_ns(&made_up, 123), 123);
    clock_check_drift(&made_up);
    CHECK(!made_up.has_drift);
}

/* Lengths from a tick to a century. */
TEST(lengths)
{
    struct clock clock = {.use_counter = true};
    static const double rates_hz[] = {1e6, 24e6, 19.2e6, 2.45e9, 5.7e9};
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof rates_hz / sizeof rates_hz[0]; i++) {
        clock.counter_hz = (uint64_t)rates_hz[i];
        clock.mult = (uint64_t)(1e9 * 4294967296.0 / rates_hz[i] + 0.5);
        for (int j = 0; j < 10000; j++) {
            uint64_t ticks = tap_random(&state) >> (12 + tap_random(&state) % 52);
            double wanted_ns = (double)ticks * 1e9 / rates_hz[i];
            CHECK_NEAR((double)clock_ns(&clock, ticks), wanted_ns, 2 + wanted_ns * 1e-8);
            CHECK_NEAR((double)clock_ns(&clock, -ticks), -wanted_ns, 2 + wanted_ns * 1e-8);
            int64_t ns = (int64_t)(tap_random(&state) >> 20);
            uint64_t back = clock_ticks_of_ns(&clock, ns);
            CHECK_NEAR((double)back, (double)ns * rates_hz[i] / 1e9, 1 + (double)back * 1e-9);
        }
    }
}

TEST(timespec)
{
    static const int64_t times_ns[] = {0, 1, 999999999, 1000000000, INT64_C(123456789012345678)};
    for (size_t i = 0; i < sizeof times_ns / sizeof times_ns[0]; i++) {
        struct timespec time = clock_ns_timespec(times_ns[i]);
        CHECK_SAME(clock_timespec_ns(&time), times_ns[i]);
        CHECK(time.tv_nsec >= 0 && time.tv_nsec < 1000000000);
    }
}

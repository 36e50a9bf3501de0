/* The self-test: all of it passes, and each check sees code that is wrong. */
#include "base/posix_source.h"

#include "base/status.h"
#include "command/commands.h"
#include "tap.h"

#include <math.h>
#include <unistd.h>

static struct finding found[SELFTEST_CHECKS];

/* Whether of all checks only those in `bad` (bits) fail. */
static bool fails_only(const struct selftest_subject *subject, unsigned bad)
{
    bool is_so = true;
    memset(found, 0, sizeof found);
    selftest_check(subject, found);
    for (int i = 0; i < SELFTEST_CHECKS; i++)
        is_so = is_so && found[i].is_good == !(bad >> i & 1);
    for (int i = 0; i < SELFTEST_CHECKS && !is_so; i++)
        printf("# %d %s: %s\n", i, found[i].is_good ? "good" : "bad", found[i].evidence);
    return is_so;
}

/* With one wrong part of the subject. */
#define CHECK_WRONG(part, wrong, bad)                                                              \
    do {                                                                                           \
        struct selftest_subject subject = selftest_own;                                            \
        subject.part = (wrong);                                                                    \
        CHECK(fails_only(&subject, (bad)));                                                        \
    } while (0)

TEST(right)
{
    CHECK(fails_only(&selftest_own, 0));
    for (int i = 0; i < SELFTEST_CHECKS; i++) {
        CHECK(found[i].evidence[0] != '\0');
        CHECK(strlen(found[i].evidence) < HS_ARENA_TEXT_BYTES - 1);
    }
}

/* ---- stamps ---- */

enum { CLOCK = 1 << SELFTEST_CLOCK_CONVERSION, ORDER = 1 << SELFTEST_CLOCK_ORDER };

static int64_t overflow(const struct clock *clock, uint64_t ticks)
{
    return (int64_t)ticks < 0 ? clock_ns(clock, ticks) : (int64_t)(ticks * clock->mult >> 32);
}

static int64_t round_to_double(const struct clock *clock, uint64_t ticks)
{
    if ((int64_t)ticks < 0)
        return clock_ns(clock, ticks);
    return (int64_t)((double)ticks * (double)clock->mult / 4294967296.0);
}

static int64_t forget_carry(const struct clock *clock, uint64_t ticks)
{
    if ((int64_t)ticks < 0)
        return clock_ns(clock, ticks);
    return (int64_t)((ticks >> 32) * clock->mult + (ticks & UINT32_MAX) * (clock->mult >> 32));
}

static int64_t take_backwards_for_forwards(const struct clock *clock, uint64_t ticks)
{
    int64_t ns = clock_ns(clock, ticks);
    return ns < 0 ? -ns : ns;
}

static int64_t step_back(const struct clock *clock, uint64_t ticks)
{
    return clock_ns(clock, ticks) - (ticks == (1 << 20) ? 2000 : 0);
}

TEST(wrong_conversion_of_ticks)
{
    CHECK_WRONG(ns_of_ticks, overflow, CLOCK | ORDER);
    CHECK_WRONG(ns_of_ticks, round_to_double, CLOCK);
    CHECK_WRONG(ns_of_ticks, forget_carry, CLOCK);
    CHECK_WRONG(ns_of_ticks, take_backwards_for_forwards, CLOCK);
    CHECK_WRONG(ns_of_ticks, step_back, CLOCK | ORDER);
    CHECK_HOLDS(found[SELFTEST_CLOCK_CONVERSION].evidence,
                "1048576 ticks at 1000000 Hz are off by");
}

/* ---- records ---- */

enum {
    COUNTS = 1 << SELFTEST_RECORD_COUNTS,
    MOMENTS = 1 << SELFTEST_RECORD_MOMENTS,
    QUANTILES = 1 << SELFTEST_RECORD_QUANTILES,
    RECOVERY = 1 << SELFTEST_ARENA_RECOVERY,
};

static void lose_some(struct record *record, int64_t value, int64_t at_ns)
{
    if (record->count != 1234)
        record_value(record, value, at_ns);
    else
        record->count++;
}

static void use_next_bucket(struct record *record, int64_t value, int64_t at_ns)
{
    record_value(record, value, at_ns);
    if (value < 0 || value >= record->limit / 2)
        return;
    uint32_t bucket = record_bucket((uint64_t)value, record->sub_bits);
    record->buckets[bucket]--;
    record->buckets[bucket + 1]++;
}

static void keep_no_worst(struct record *record, int64_t value, int64_t at_ns)
{
    record_value(record, value, at_ns);
    record->worst_count = 0;
}

static void keep_no_minimum(struct record *record, int64_t value, int64_t at_ns)
{
    record_value(record, value, at_ns);
    record->min = 0;
}

/* Cancellation: moments about 0 of values that are close to each other. */
static double stddev_about_zero(const struct record *record)
{
    double sum = 0, squares = 0, count = (double)record->count;
    for (uint32_t i = 0; i < record->bucket_count; i++) {
        double low = (double)record_bucket_low(i, record->sub_bits);
        sum += low * (double)record->buckets[i];
        squares += low * low * (double)record->buckets[i];
    }
    return sqrt(fabs(squares - sum * sum / count) / (count - 1));
}

static double stddev_of_all(const struct record *record)
{
    return record_stddev(record) * sqrt(((double)record->count - 1) / (double)record->count);
}

static double mean_off(const struct record *record)
{
    return record_mean(record) * (1 + 1e-9);
}

static int64_t quantile_low(const struct record *record, double q)
{
    int64_t high = record_quantile(record, q);
    return high < 1 << record->sub_bits || high > record->limit
               ? high
               : record_bucket_low(record_bucket((uint64_t)high, record->sub_bits),
                                   record->sub_bits);
}

static int64_t quantile_of_less(const struct record *record, double q)
{
    return record_quantile(record, q * 0.999);
}

TEST(wrong_records)
{
    CHECK_WRONG(record, lose_some, COUNTS | MOMENTS);
    CHECK_WRONG(record, use_next_bucket, COUNTS | QUANTILES | RECOVERY);
    CHECK_WRONG(record, keep_no_worst, COUNTS);
    CHECK_HOLDS(found[SELFTEST_RECORD_COUNTS].evidence, "other largest values");
    CHECK_WRONG(record, keep_no_minimum, COUNTS | QUANTILES | RECOVERY);
}

TEST(wrong_moments_and_quantiles)
{
    CHECK_WRONG(stddev, stddev_about_zero, MOMENTS);
    CHECK_WRONG(stddev, stddev_of_all, MOMENTS);
    CHECK_WRONG(mean, mean_off, MOMENTS);
    CHECK_WRONG(quantile, quantile_low, QUANTILES);
    CHECK_WRONG(quantile, quantile_of_less, QUANTILES);
}

/* ---- the arena after a kill ---- */

static void recover_nothing(struct arena *arena)
{
    (void)arena;
}

static void forget_verdicts(struct arena *arena)
{
    arena_recover(arena);
    arena->verdict_count = 0;
}

static void forget_slot(struct arena *arena)
{
    arena_recover(arena);
    arena_record(arena, 1)->count = 0;
}

static void forget_kept(struct arena *arena)
{
    memset((char *)arena + arena->kept_begin, 0, 64);
    arena_recover(arena);
}

static void shrink_maximum(struct arena *arena)
{
    arena_recover(arena);
    arena_record(arena, 1)->max--;
}

TEST(wrong_recovery)
{
    CHECK_WRONG(recover, recover_nothing, RECOVERY);
    CHECK_HOLDS(found[SELFTEST_ARENA_RECOVERY].evidence, "of recording a value: the ");
    CHECK_WRONG(recover, forget_verdicts, RECOVERY);
    CHECK_HOLDS(found[SELFTEST_ARENA_RECOVERY].evidence, "place 1 of 10");
    CHECK_HOLDS(found[SELFTEST_ARENA_RECOVERY].evidence, "a verdict or a calibrated value is lost");
    CHECK_WRONG(recover, forget_slot, RECOVERY);
    CHECK_HOLDS(found[SELFTEST_ARENA_RECOVERY].evidence, "values that were complete are lost");
    CHECK_WRONG(recover, forget_kept, RECOVERY);
    CHECK_HOLDS(found[SELFTEST_ARENA_RECOVERY].evidence, "the series that was finished before");
    CHECK_WRONG(recover, shrink_maximum, RECOVERY);
}

/* ---- the tire: test_tire_checks.c has what each of its checks sees ---- */

static void fall_faster(const struct tire *tire, const struct tire_state *now,
                        const struct tire_state *next, int64_t begin, int64_t end,
                        enum tire_code code)
{
    struct tire wrong = *tire;
    wrong.gravity_m_per_s2 *= 1.0 + 1e-9;
    tire_advance(&wrong, now, next, begin, end, code);
}

/* Right but for the finest of the steps. */
static void fall_faster_in_short_steps(const struct tire *tire, const struct tire_state *now,
                                       const struct tire_state *next, int64_t begin, int64_t end,
                                       enum tire_code code)
{
    (tire->step_s < 0.001 ? fall_faster : tire_advance)(tire, now, next, begin, end, code);
}

/* Those of the rest and of the sum of both sides stay. */
TEST(wrong_tire)
{
    const unsigned fall =
        1 << SELFTEST_TIRE_FREE_FALL | 1 << SELFTEST_TIRE_ENERGY | 1 << SELFTEST_TIRE_MOMENTUM;
    CHECK_WRONG(advance, fall_faster, fall | 1 << SELFTEST_TIRE_SAME_BITS);
    CHECK_WRONG(advance, fall_faster_in_short_steps, fall);
    CHECK_HOLDS(found[SELFTEST_TIRE_FREE_FALL].evidence, "steps of 0.5 ms");
}

/* One mass drifts off, which no spring and no mirror allows. */
static void drift(const struct tire *tire, const struct tire_state *now,
                  const struct tire_state *next, int64_t begin, int64_t end, enum tire_code code)
{
    tire_advance(tire, now, next, begin, end, code);
    if (begin <= 1 && end > 1)
        next->x[1] += 1e-6;
}

TEST(wrong_rest_and_symmetry)
{
    struct selftest_subject subject = selftest_own;
    subject.advance = drift;
    selftest_check(&subject, found);
    CHECK(!found[SELFTEST_TIRE_REST].is_good);
    CHECK(!found[SELFTEST_TIRE_SYMMETRY].is_good);
    CHECK(found[SELFTEST_RECORD_COUNTS].is_good && found[SELFTEST_ARENA_RECOVERY].is_good);
}

/* ---- what is sent ---- */

static char output[1 << 16];

/* What it sent is in `output`. */
static int send_all(bool is_json, const struct selftest_subject *subject)
{
    int ends[2];
    struct emit emit;
    if (pipe(ends) != 0)
        return -1;
    emit_open(&emit, ends[1]);
    int code = selftest_send(&emit, is_json, subject);
    CHECK_SAME(emit_flush(&emit), 0);
    close(ends[1]);
    ssize_t used = 0, got;
    while ((got = read(ends[0], output + used, sizeof output - 1 - (size_t)used)) > 0)
        used += got;
    output[used] = '\0';
    close(ends[0]);
    return code;
}

static bool has_no_memory;
WRAP_IF(has_no_memory, NULL, void *, malloc, (size_t bytes), (bytes));

TEST_IN(has_no_memory = tap_is_wrapped(), has_no_memory = false, what_is_not_checked_is_left)
{
    CHECK_SAME(send_all(false, &selftest_own), EXIT_FINE);
    CHECK_HOLDS(output, "pass  clock_order",
                "left  record_moments     not checked: there is no memory for it");
    CHECK_SAME(send_all(true, &selftest_own), EXIT_FINE);
    CHECK_HOLDS(output, "\"name\":\"arena_recovery\",\"passed\":true,\"checked\":false");
}

TEST(lines)
{
    struct selftest_subject subject = selftest_own;
    CHECK_SAME(send_all(true, &subject), EXIT_FINE);
    CHECK_HOLDS(output, "{\"type\":\"header\",\"schema\":\"hardstone.selftest/1\"",
                "{\"type\":\"check\",\"name\":\"tire_same_bits\",\"passed\":true,\"checked\":true",
                "{\"type\":\"footer\",\"checks\":12,\"failed\":0}");
    subject.mean = mean_off;
    CHECK_SAME(send_all(true, &subject), EXIT_NOT_MEASURED);
    CHECK_HOLDS(output, "\"name\":\"record_moments\",\"passed\":false",
                "{\"type\":\"footer\",\"checks\":12,\"failed\":1}");
    CHECK_SAME(send_all(false, &subject), EXIT_NOT_MEASURED);
    CHECK_HOLDS(output, "FAIL  record_moments", "pass  record_counts");
}

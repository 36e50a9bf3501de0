/* Figures that are made of values: what a flood adds, and those of files. */
#include "base/posix_source.h"

#include "family/file/figures.h"
#include "family/interrupt/irq_p_trk.h"
#include "tap.h"

/* ---- What a flood adds, by values that are made up ---- */

enum { MOST = 600 };

TEST(few)
{
    int64_t one[] = {7}, two[] = {4, 1}, three[] = {9, -5, 2}, four[] = {10, 1, 3, 4};
    CHECK_SAME(flood_effect_median(one, 1), 7);
    CHECK_SAME(flood_effect_median(two, 2), 2); /* 2.5 rounded down */
    CHECK_SAME(flood_effect_median(three, 3), 2);
    CHECK_SAME(flood_effect_median(four, 4), 3);
}

TEST(no_overflow)
{
    int64_t values[] = {INT64_MAX, INT64_MAX - 2};
    CHECK_SAME(flood_effect_median(values, 2), INT64_MAX - 1);
}

/* As many values are below the median as above it, whatever their order and ties. */
TEST(many)
{
    uint64_t state = 15;
    int64_t values[MOST];
    for (int count = 1; count < MOST; count += 13) {
        for (int i = 0; i < count; i++)
            values[i] = (int64_t)(tap_random(&state) % (count % 2 ? 10 : 1000000));
        int64_t median = flood_effect_median(values, count);
        int below = 0, above = 0;
        for (int i = 0; i < count; i++) {
            below += values[i] < median;
            above += values[i] > median;
            CHECK(i == 0 || values[i - 1] <= values[i]);
        }
        CHECK(2 * below <= count && 2 * above <= count);
    }
}

TEST(less_than_nothing_is_counted)
{
    uint64_t below = 0;
    CHECK_SAME(flood_effect_added(1500, 1000, &below), 500);
    CHECK_SAME(flood_effect_added(1000, 1000, &below), 0);
    CHECK_SAME(below, 0);
    CHECK_SAME(flood_effect_added(999, 1000, &below), 0);
    CHECK_SAME(below, 1);
}

/* Latencies that the flood leaves as they are: the mean of added values is above zero all the same,
 * the difference of medians is not. */
TEST(a_flood_without_effect)
{
    struct flood_effect effect = {0};
    uint64_t below = 0;
    int64_t sum = 0, values[101];
    for (int i = 0; i < 101; i++)
        values[i] = 1000 + i;
    int64_t median = flood_effect_median(values, 101);
    for (int i = 0; i < 101; i++)
        sum += flood_effect_added(values[i], median, &below);
    CHECK(sum > INT64_C(101) * 12); /* half of the mean deviation, 25 */
    CHECK_SAME(below, 50);
    flood_effect_take(&effect, flood_effect_median(values, 101), median, 101);
    CHECK_SAME(flood_effect_ns(&effect), 0);
}

TEST(effects_are_weighted_and_may_be_negative)
{
    struct flood_effect effect = {0};
    CHECK_SAME(flood_effect_ns(&effect), 0);
    flood_effect_take(&effect, 900, 1000, 250);
    CHECK_SAME(flood_effect_ns(&effect), -100);
    CHECK_SAME(effect.most_ns, -100);
    flood_effect_take(&effect, 1100, 1000, 50);
    CHECK_SAME(flood_effect_ns(&effect), (-100 * 250 + 100 * 50) / 300);
    CHECK_SAME(effect.least_ns, -100);
    CHECK_SAME(effect.most_ns, 100);
}

/* What figures of files are computed from: the device's count around writes, and windows. */

static struct synchronised taken(const int64_t *readings, int count)
{
    struct synchronised counted;
    synchronised_begin(&counted, readings[0]);
    for (int i = 1; i < count; i++)
        synchronised_take(&counted, readings[i]);
    return counted;
}
#define TAKEN(...)                                                                                 \
    taken((const int64_t[]){__VA_ARGS__},                                                          \
          (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))

TEST(each_write_must_be_counted)
{
    struct synchronised all = TAKEN(100, 101, 5000, 5001);
    CHECK(synchronised_holds(&all));
    CHECK_SAME(all.seen_count, 3);
    CHECK_SAME(synchronised_device_bytes(&all), 4901);
    struct synchronised one_less = TAKEN(100, 101, 101, 5001);
    CHECK(synchronised_is_known(&one_less));
    CHECK(!synchronised_holds(&one_less));
    CHECK_SAME(one_less.unseen_count, 1);
    struct synchronised back = TAKEN(100, 50);
    CHECK(!synchronised_holds(&back));
}

TEST(a_count_that_cannot_be_read_gives_no_verdict)
{
    struct synchronised never = TAKEN(-1, -1, -1), lost = TAKEN(5, 6, -1, 7), none = TAKEN(5);
    CHECK(!synchronised_is_known(&never) && !synchronised_holds(&never));
    CHECK(!synchronised_is_known(&lost) && !synchronised_holds(&lost));
    CHECK(!synchronised_is_known(&none) && !synchronised_holds(&none));
    CHECK_SAME(synchronised_device_bytes(&never), -1);
}

TEST(a_window_ends_with_the_write_that_passes_its_length)
{
    struct throughput window;
    throughput_begin(&window, 1000);
    CHECK_SAME(throughput_take(&window, 10, 1000 + THROUGHPUT_WINDOW_NS - 1), -1);
    CHECK_SAME(throughput_take(&window, 90, 1000 + THROUGHPUT_WINDOW_NS), 1000);
    throughput_begin(&window, 0); /* a stall makes it longer, and its rate what it was */
    CHECK_SAME(throughput_take(&window, 1 << 20, 10 * THROUGHPUT_WINDOW_NS), 1 << 20);
}

TEST(rates_of_long_streams_do_not_overflow)
{
    CHECK_SAME(throughput_of(INT64_C(1) << 40, INT64_C(1000000000)), INT64_C(1) << 40);
    CHECK_SAME(throughput_of(1, 0), -1);
    CHECK_SAME(throughput_of(0, 5), 0);
}

enum { STEP_MS = 100, RUN_S = 60 };
#define MS INT64_C(1000000)

/* A thread that has the CPU for `busy_ms(i)` of each 100 ms, and rests when it is told to. The most
 * CPU time that it has had in any period of the budget, of a second. */
static int64_t most_in_a_period(int64_t (*busy_ms)(int step), int *rests)
{
    static int64_t used[RUN_S * 1000 / STEP_MS * 4];
    struct rt_budget budget = {.burst_ns = 760 * MS, .rest_ns = 240 * MS};
    struct cpu_share share;
    int64_t now_ns = 0, cpu_ns = 0, most_ns = 0;
    int steps = 0;
    *rests = 0;
    cpu_share_begin(&share, 0, 0);
    for (int i = 0; now_ns < RUN_S * 1000 * MS; i++) {
        used[steps++] = busy_ms(i) * MS;
        cpu_ns += busy_ms(i) * MS;
        now_ns += STEP_MS * MS;
        if (!cpu_share_is_used(&share, &budget, cpu_ns, now_ns))
            continue;
        used[steps] = used[steps + 1] = 0; /* 200 of the 240 ms: on the safe side */
        steps += 2;
        now_ns += 2 * STEP_MS * MS;
        ++*rests;
    }
    for (int from = 0; from + 10 <= steps; from++) {
        int64_t sum_ns = 0;
        for (int i = from; i < from + 10; i++)
            sum_ns += used[i];
        most_ns = sum_ns > most_ns ? sum_ns : most_ns;
    }
    return most_ns;
}

static int64_t always(int step)
{
    (void)step;
    return STEP_MS;
}

static int64_t half(int step)
{
    (void)step;
    return STEP_MS / 2;
}

static int64_t in_turns(int step)
{
    return step % 7 == 6 ? STEP_MS / 3 : STEP_MS;
}

static int64_t at_random(int step)
{
    uint64_t state = (uint64_t)step;
    return 40 + (int64_t)(tap_random(&state) % 61);
}

TEST(a_thread_that_blocks_rests_only_where_it_must)
{
    int rests;
    CHECK(most_in_a_period(always, &rests) < 950 * MS);
    CHECK(rests > 40);
    CHECK(most_in_a_period(in_turns, &rests) < 950 * MS);
    CHECK(rests > 0);
    CHECK(most_in_a_period(at_random, &rests) < 950 * MS);
    (void)most_in_a_period(half, &rests);
    CHECK_SAME(rests, 0);
}

/* What figures of files are computed from: the device's count around writes, and windows. */
#include "base/posix_source.h"

#include "family/file/cpu_share.h"
#include "family/file/synchronised.h"
#include "family/file/throughput.h"
#include "tap.h"

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

static void test_each_write_must_be_counted(void)
{
    struct synchronised all = TAKEN(100, 101, 5000, 5001);
    CHECK(synchronised_holds(&all));
    CHECK_SAME(all.seen_count, 3);
    CHECK_SAME(synchronised_device_bytes(&all), 4901);
    struct synchronised one_less = TAKEN(100, 101, 101, 5001);
    CHECK(synchronised_is_known(&one_less));
    CHECK(!synchronised_holds(&one_less));
    CHECK_SAME(one_less.unseen_count, 1);
}

static void test_a_count_that_cannot_be_read_gives_no_verdict(void)
{
    struct synchronised never = TAKEN(-1, -1, -1), lost = TAKEN(5, 6, -1, 7), none = TAKEN(5);
    CHECK(!synchronised_is_known(&never) && !synchronised_holds(&never));
    CHECK(!synchronised_is_known(&lost) && !synchronised_holds(&lost));
    CHECK(!synchronised_is_known(&none) && !synchronised_holds(&none));
    CHECK_SAME(synchronised_device_bytes(&never), -1);
}

static void test_a_count_that_goes_back_is_no_rise(void)
{
    struct synchronised back = TAKEN(100, 50);
    CHECK(!synchronised_holds(&back));
}

static void test_a_window_ends_with_the_write_that_passes_its_length(void)
{
    struct throughput window;
    throughput_begin(&window, 1000);
    CHECK_SAME(throughput_take(&window, 10, 1000 + THROUGHPUT_WINDOW_NS - 1), -1);
    CHECK_SAME(throughput_take(&window, 90, 1000 + THROUGHPUT_WINDOW_NS), 1000);
    throughput_begin(&window, 0); /* a stall makes it longer, and its rate what it was */
    CHECK_SAME(throughput_take(&window, 1 << 20, 10 * THROUGHPUT_WINDOW_NS), 1 << 20);
}

static void test_rates_of_long_streams_do_not_overflow(void)
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

static void test_a_thread_that_blocks_rests_only_where_it_must(void)
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

TAP_MAIN({"each write must be counted", test_each_write_must_be_counted},
         {"a count that cannot be read gives no verdict",
          test_a_count_that_cannot_be_read_gives_no_verdict},
         {"a count that goes back is no rise", test_a_count_that_goes_back_is_no_rise},
         {"a window ends with the write that passes its length",
          test_a_window_ends_with_the_write_that_passes_its_length},
         {"a thread that blocks rests only where it must",
          test_a_thread_that_blocks_rests_only_where_it_must},
         {"rates of long streams do not overflow", test_rates_of_long_streams_do_not_overflow})

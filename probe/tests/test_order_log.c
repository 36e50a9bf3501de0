/* The order log: sorted by stamps, described in words, compared with the promised order. */
#include "base/posix_source.h"

#include "record/order_log.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, EACH = 100 };

static const struct clock monotonic = {.use_counter = false, .name = "monotonic"};

TEST(an_empty_log)
{
    struct order_log log;
    char text[64];
    order_log_clear(&log, &monotonic);
    order_log_render(&log, text, sizeof text);
    CHECK_TEXT(text, "nothing happened");
    CHECK(!order_log_is(&log, ""));
    CHECK(!order_log_is(&log, "nothing happened"));
    CHECK_SAME(order_log_place(&log, "low", "ran"), -1);
}

TEST(words_and_numbers)
{
    struct order_log log;
    char text[128];
    order_log_clear(&log, &monotonic);
    order_log_add(&log, "low", "locked");
    order_log_add_nth(&log, "waiter", 3, "blocked");
    order_log_add(&log, "low", "unlocked");
    order_log_render(&log, text, sizeof text);
    CHECK_TEXT(text, "low locked, waiter 3 blocked, low unlocked");
    CHECK(order_log_is(&log, "low locked, waiter 3 blocked, low unlocked"));
    CHECK_SAME(order_log_place(&log, "waiter", "blocked"), 1);
    CHECK_SAME(order_log_place(&log, "low", "unlocked"), 2);
}

TEST(only_the_whole_order_fits)
{
    struct order_log log;
    order_log_clear(&log, &monotonic);
    order_log_add(&log, "a", "ran");
    order_log_add(&log, "b", "ran");
    CHECK(order_log_is(&log, "a ran, b ran"));
    CHECK(!order_log_is(&log, "b ran, a ran"));
    CHECK(!order_log_is(&log, "a ran"));
    CHECK(!order_log_is(&log, "a ran, b ran, c ran"));
    CHECK(!order_log_is(&log, "a ran, b"));
    CHECK(!order_log_is(&log, ""));
}

/* A thread that was preempted between its reading and its append comes late into the
 * log; the reading says where it belongs. Also when the counter passes its own end. */
TEST(readings_decide)
{
    struct order_log log;
    order_log_clear(&log, &monotonic);
    order_log_add_at(&log, 5, "c", ORDER_LOG_NO_NUMBER, "third");
    order_log_add_at(&log, UINT64_MAX - 5, "a", ORDER_LOG_NO_NUMBER, "first");
    order_log_add_at(&log, 2, "b", ORDER_LOG_NO_NUMBER, "second");
    order_log_add_at(&log, 5, "d", ORDER_LOG_NO_NUMBER, "same reading, later append");
    CHECK(order_log_is(&log, "a first, b second, c third, d same reading, later append"));
}

TEST(what_does_not_fit_is_told)
{
    struct order_log log;
    char text[32 * 1024];
    order_log_clear(&log, &monotonic);
    for (int i = 0; i < ORDER_LOG_ENTRIES; i++)
        order_log_add(&log, "a", "ran");
    order_log_render(&log, text, sizeof text);
    CHECK(order_log_is(&log, text));
    order_log_add(&log, "b", "ran");
    order_log_add(&log, "b", "ran");
    CHECK_SAME(order_log_count(&log), ORDER_LOG_ENTRIES);
    CHECK(!order_log_is(&log, text));
    order_log_render(&log, text, sizeof text);
    CHECK_HOLDS(text, ", and 2 more that did not fit");
}

TEST(short_texts_are_cut_visibly)
{
    struct order_log log;
    char text[16];
    order_log_clear(&log, &monotonic);
    order_log_add(&log, "creator", "created it");
    order_log_render(&log, text, sizeof text);
    CHECK_TEXT(text, "creator crea...");
    CHECK(order_log_is(&log, "creator created it"));
}

TEST(a_verdict_says_both_orders)
{
    struct order_log log;
    struct arena *arena = calloc(1, sizeof *arena);
    if (!CHECK(arena != NULL))
        return;
    order_log_clear(&log, &monotonic);
    order_log_add(&log, "new", "ran");
    CHECK(order_log_verdict(&log, arena, "good", "new ran"));
    CHECK(!order_log_verdict(&log, arena, "bad", "creator went on, new ran"));
    CHECK_SAME(arena->verdict_count, 2);
    CHECK(arena->verdicts[0].pass);
    CHECK_TEXT(arena->verdicts[0].evidence, "new ran");
    CHECK(!arena->verdicts[1].pass);
    CHECK_TEXT(arena->verdicts[1].evidence, "seen: new ran; promised: creator went on, new ran");
    free(arena);
}

static void *append_many(void *argument)
{
    struct order_log *log = argument;
    for (int i = 0; i < EACH; i++)
        order_log_add_nth(log, "thread", i, "ran");
    return NULL;
}

TEST(many_threads_lose_nothing)
{
    struct order_log log;
    pthread_t threads[THREADS];
    order_log_clear(&log, &monotonic);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, append_many, &log);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_SAME(order_log_count(&log), THREADS * EACH);
    int seen[EACH] = {0};
    for (int i = 0; i < THREADS * EACH; i++)
        seen[log.entries[i].number]++;
    for (int i = 0; i < EACH; i++)
        CHECK_SAME(seen[i], THREADS);
    order_log_sort(&log);
    for (int i = 1; i < THREADS * EACH; i++)
        CHECK(log.entries[i - 1].ticks <= log.entries[i].ticks);
}

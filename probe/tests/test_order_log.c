/* The order log: sorted by stamps, described in words, compared with the promised order. */
#include "base/posix_source.h"

#include "record/order_log.h"
#include "tap.h"

#include <pthread.h>

enum { THREADS = 4, EACH = 100 };

static const struct clock monotonic = {.use_counter = false, .name = "monotonic"};
static struct order_log order;

#define LOG_TEST(what) TEST_IN((order_log_clear(&order, &monotonic), true), (void)0, what)

LOG_TEST(an_empty_log)
{
    char text[64];
    order_log_render(&order, text, sizeof text);
    CHECK_TEXT(text, "nothing happened");
    CHECK(!order_log_is(&order, ""));
    CHECK(!order_log_is(&order, "nothing happened"));
    CHECK_SAME(order_log_place(&order, "low", "ran"), -1);
}

LOG_TEST(words_and_numbers)
{
    char text[128];
    order_log_add(&order, "low", "locked");
    order_log_add_nth(&order, "waiter", 3, "blocked");
    order_log_add(&order, "low", "unlocked");
    order_log_render(&order, text, sizeof text);
    CHECK_TEXT(text, "low locked, waiter 3 blocked, low unlocked");
    CHECK(order_log_is(&order, "low locked, waiter 3 blocked, low unlocked"));
    CHECK_SAME(order_log_place(&order, "waiter", "blocked"), 1);
    CHECK_SAME(order_log_place(&order, "low", "unlocked"), 2);
}

LOG_TEST(only_the_whole_order_fits)
{
    order_log_add(&order, "a", "ran");
    order_log_add(&order, "b", "ran");
    CHECK(order_log_is(&order, "a ran, b ran"));
    CHECK(!order_log_is(&order, "b ran, a ran"));
    CHECK(!order_log_is(&order, "a ran"));
    CHECK(!order_log_is(&order, "a ran, b ran, c ran"));
    CHECK(!order_log_is(&order, "a ran, b"));
    CHECK(!order_log_is(&order, ""));
}

/* A thread that was preempted between its reading and its append comes late into the
 * log; the reading says where it belongs. Also when the counter passes its own end. */
LOG_TEST(readings_decide)
{
    order_log_add_at(&order, 5, "c", ORDER_LOG_NO_NUMBER, "third");
    order_log_add_at(&order, UINT64_MAX - 5, "a", ORDER_LOG_NO_NUMBER, "first");
    order_log_add_at(&order, 2, "b", ORDER_LOG_NO_NUMBER, "second");
    order_log_add_at(&order, 5, "d", ORDER_LOG_NO_NUMBER, "same reading, later append");
    CHECK(order_log_is(&order, "a first, b second, c third, d same reading, later append"));
}

LOG_TEST(what_does_not_fit_is_told)
{
    char text[32 * 1024];
    for (int i = 0; i < ORDER_LOG_ENTRIES; i++)
        order_log_add(&order, "a", "ran");
    order_log_render(&order, text, sizeof text);
    CHECK(order_log_is(&order, text));
    order_log_add(&order, "b", "ran");
    order_log_add(&order, "b", "ran");
    CHECK_SAME(order_log_count(&order), ORDER_LOG_ENTRIES);
    CHECK(!order_log_is(&order, text));
    order_log_render(&order, text, sizeof text);
    CHECK_HOLDS(text, ", and 2 more that did not fit");
}

LOG_TEST(short_texts_are_cut_visibly)
{
    char text[16];
    order_log_add(&order, "creator", "created it");
    order_log_render(&order, text, sizeof text);
    CHECK_TEXT(text, "creator crea...");
    CHECK(order_log_is(&order, "creator created it"));
}

LOG_TEST(a_verdict_says_both_orders)
{
    struct arena *arena = calloc(1, sizeof *arena);
    if (!CHECK(arena != NULL))
        return;
    order_log_add(&order, "new", "ran");
    CHECK(order_log_verdict(&order, arena, "good", "new ran"));
    CHECK(!order_log_verdict(&order, arena, "bad", "creator went on, new ran"));
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

LOG_TEST(many_threads_lose_nothing)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, append_many, &order);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_SAME(order_log_count(&order), THREADS * EACH);
    int seen[EACH] = {0};
    for (int i = 0; i < THREADS * EACH; i++)
        seen[order.entries[i].number]++;
    for (int i = 0; i < EACH; i++)
        CHECK_SAME(seen[i], THREADS);
    order_log_sort(&order);
    for (int i = 1; i < THREADS * EACH; i++)
        CHECK(order.entries[i - 1].ticks <= order.entries[i].ticks);
}

/* The model of a queue judges by priority, age and content, and tells a loss from a wrong order. */
#include "base/posix_source.h"

#include "family/message/kind.h"
#include "family/message/order_check.h"
#include "tap.h"

enum { BYTES = 40 };

static void receive_with(struct order_check *check, uint64_t number, long priority, size_t bytes)
{
    unsigned char text[BYTES];
    content_fill(text, sizeof text, number, number);
    order_note_received(check, text, (ssize_t)bytes, priority);
}

static void receive(struct order_check *check, uint64_t number, long priority)
{
    receive_with(check, number, priority, BYTES);
}

static void check_faults(const struct order_check *check, bool has_priority, bool has_age,
                         bool has_harm)
{
    CHECK_SAME(check->fault[ORDER_PRIORITY][0] != '\0', has_priority);
    CHECK_SAME(check->fault[ORDER_AGE][0] != '\0', has_age);
    CHECK_SAME(check->fault[ORDER_INTACT][0] != '\0', has_harm);
}

TEST(right_order)
{
    struct order_check check = {0};
    uint64_t low = order_note_sent(&check, 0, BYTES), first = order_note_sent(&check, 5, BYTES);
    uint64_t second = order_note_sent(&check, 5, BYTES);
    receive(&check, first, 5);
    receive(&check, second, 5);
    receive(&check, low, 0);
    order_note_empty(&check);
    check_faults(&check, false, false, false);
    CHECK_SAME(check.received_count, 3);
}

TEST(wrong_priority)
{
    struct order_check check = {0};
    uint64_t low = order_note_sent(&check, 0, BYTES), high = order_note_sent(&check, 5, BYTES);
    receive(&check, low, 0);
    receive(&check, high, 5);
    check_faults(&check, true, false, false);
    CHECK_HOLDS(check.fault[ORDER_PRIORITY], "one of priority 0 came before one of 5");
}

TEST(wrong_type)
{
    struct order_check check = {.has_types = true};
    uint64_t late = order_note_sent(&check, -8, BYTES), early = order_note_sent(&check, -1, BYTES);
    receive(&check, late, -8);
    receive(&check, early, -1);
    CHECK_HOLDS(check.fault[ORDER_PRIORITY], "one of type 8 came before one of 1");
}

TEST(wrong_age)
{
    struct order_check check = {0};
    uint64_t first = order_note_sent(&check, 5, BYTES), second = order_note_sent(&check, 5, BYTES);
    receive(&check, second, 5);
    receive(&check, first, 5);
    check_faults(&check, false, true, false);
}

/* The one that should have come first never comes: that is no wrong order. */
TEST(loss)
{
    struct order_check check = {0};
    uint64_t first, second;
    order_note_sent(&check, 7, BYTES);
    first = order_note_sent(&check, 5, BYTES);
    second = order_note_sent(&check, 5, BYTES);
    receive(&check, first, 5);
    receive(&check, second, 5);
    order_note_empty(&check);
    check_faults(&check, false, false, true);
    CHECK_HOLDS(check.fault[ORDER_INTACT], "message 1 was lost");
    CHECK_SAME(check.count, 0);
}

TEST(harm)
{
    struct order_check check = {0};
    unsigned char text[BYTES] = {0};
    uint64_t one = order_note_sent(&check, 1, BYTES);
    receive_with(&check, one, 1, BYTES - 1);
    CHECK_HOLDS(check.fault[ORDER_INTACT], "a message of 40 bytes came with 39");
    check = (struct order_check){0};
    one = order_note_sent(&check, 1, BYTES);
    receive(&check, one, 2);
    CHECK_HOLDS(check.fault[ORDER_INTACT], "a message of priority 1 came with 2");
    check = (struct order_check){0};
    one = order_note_sent(&check, 1, BYTES);
    content_number(text, sizeof text, one);
    order_note_received(&check, text, BYTES, 1);
    CHECK_HOLDS(check.fault[ORDER_INTACT], "wrong content");
}

TEST(doubled)
{
    struct order_check check = {0};
    uint64_t one = order_note_sent(&check, 1, BYTES);
    receive(&check, one, 1);
    receive(&check, one, 1);
    check_faults(&check, false, false, true);
}

TEST(refused)
{
    struct order_check check = {0};
    order_note_sent(&check, 1, BYTES);
    order_note_refused(&check, "no");
    check_faults(&check, false, false, true);
    CHECK_SAME(check.count, 0);
}

/* Of short messages the number is as long as fits; each byte counts. */
TEST(content)
{
    for (size_t count = 1; count <= BYTES; count++) {
        unsigned char text[BYTES];
        uint64_t number = UINT64_C(0x1122334455667788) + count;
        content_fill(text, count, number, 3);
        CHECK(content_is(text, count, number, 3));
        CHECK_SAME(content_number_of(text, count), content_part(count, number));
        for (size_t i = 0; i < count; i++) {
            text[i] ^= 1;
            CHECK(!content_is(text, count, number, 3));
            text[i] ^= 1;
        }
        CHECK_SAME(content_is(text, count, number, 4), count <= sizeof number);
    }
}

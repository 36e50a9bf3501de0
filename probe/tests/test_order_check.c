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

static const struct {
    const char *name;
    bool has_types;
    long sent[3], received[3]; /* priorities; numbers of what was sent, from 1; 0: no more */
    const char *faults;        /* "p"riority, "a"ge, "i"ntact */
    const char *text;          /* of the last of them */
} rows[] = {
    {"right order", false, {1, 5, 5}, {2, 3, 1}, "", ""},
    {"wrong priority", false, {1, 5}, {1, 2}, "p", "one of priority 1 came before one of 5"},
    {"wrong type", true, {-8, -1}, {1, 2}, "p", "one of type 8 came before one of 1"},
    {"wrong age", false, {5, 5}, {2, 1}, "a", ""},
    /* the one that should have come first never comes: that is no wrong order */
    {"loss", false, {7, 5, 5}, {2, 3}, "i", "message 1 was lost"},
    {"doubled", false, {1}, {1, 1}, "i", ""},
};

TEST(orders)
{
    foreach (row, rows, row->name) {
        struct order_check check = {.has_types = row->has_types};
        int count = 0;
        for (int i = 0; i < 3 && row->sent[i]; i++)
            order_note_sent(&check, row->sent[i], BYTES);
        for (; count < 3 && row->received[count]; count++)
            receive(&check, (uint64_t)row->received[count], row->sent[row->received[count] - 1]);
        order_note_empty(&check);
        CHECK(check.received_count == (uint64_t)count || row->faults[0] == 'i');
        CHECK_SAME(check.count, 0);
        for (int i = 0; i < 3; i++) {
            CHECK_SAME(check.fault[i][0] != '\0', strchr(row->faults, "pai"[i]) != NULL);
            if (check.fault[i][0])
                CHECK_HOLDS(check.fault[i], row->text);
        }
    }
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

TEST(refused)
{
    struct order_check check = {0};
    order_note_sent(&check, 1, BYTES);
    order_note_refused(&check, "no");
    CHECK(check.fault[ORDER_INTACT][0] != '\0');
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

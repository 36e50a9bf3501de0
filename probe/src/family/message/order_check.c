#include "base/posix_source.h"

#include "family/message/order_check.h"

#include "family/message/content.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void keep(struct order_check *check, enum order_claim claim, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void keep(struct order_check *check, enum order_claim claim, const char *format, ...)
{
    va_list arguments;
    if (check->fault[claim][0] != '\0')
        return;
    va_start(arguments, format);
    vsnprintf(check->fault[claim], ORDER_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

uint64_t order_note_sent(struct order_check *check, long priority, size_t bytes)
{
    struct order_sent sent = {++check->last_number, priority, bytes};
    check->queue[check->count++] = sent;
    return sent.number;
}

static int place_of(const struct order_check *check, uint64_t number)
{
    for (int i = 0; i < check->count; i++)
        if (check->queue[i].number == number)
            return i;
    return -1;
}

static void forget(struct order_check *check, int place)
{
    check->count--;
    memmove(&check->queue[place], &check->queue[place + 1],
            (size_t)(check->count - place) * sizeof check->queue[0]);
}

static const char *word_of(const struct order_check *check)
{
    return check->has_types ? "type" : "priority";
}

static long shown(const struct order_check *check, long priority)
{
    return check->has_types ? -priority : priority;
}

static void suspect(struct order_check *check, enum order_claim claim, uint64_t overtaken,
                    const char *format, ...) __attribute__((format(printf, 4, 5)));

static void suspect(struct order_check *check, enum order_claim claim, uint64_t overtaken,
                    const char *format, ...)
{
    va_list arguments;
    if (check->overtaken[claim] != 0)
        return;
    check->overtaken[claim] = overtaken;
    va_start(arguments, format);
    vsnprintf(check->suspicion[claim], ORDER_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

static void judge_place(struct order_check *check, int place)
{
    const struct order_sent *taken = &check->queue[place];
    for (int i = 0; i < check->count; i++) {
        const struct order_sent *other = &check->queue[i];
        if (other->priority > taken->priority)
            suspect(check, ORDER_PRIORITY, other->number, "one of %s %ld came before one of %ld",
                    word_of(check), shown(check, taken->priority), shown(check, other->priority));
        if (other->priority == taken->priority && i < place)
            suspect(check, ORDER_AGE, other->number,
                    "of %s %ld, message %llu came before the older %llu", word_of(check),
                    shown(check, taken->priority), (unsigned long long)taken->number,
                    (unsigned long long)other->number);
    }
}

/* The message of this number came, or was lost. */
static void settle(struct order_check *check, uint64_t number, bool has_come)
{
    for (int i = 0; i < ORDER_CLAIMS; i++) {
        if (check->overtaken[i] != number)
            continue;
        if (has_come)
            keep(check, (enum order_claim)i, "%s", check->suspicion[i]);
        check->overtaken[i] = 0;
    }
}

static void judge_content(struct order_check *check, const struct order_sent *sent,
                          const unsigned char *bytes, ssize_t got, long priority)
{
    if (got != (ssize_t)sent->bytes)
        keep(check, ORDER_INTACT, "a message of %zu bytes came with %zd", sent->bytes, got);
    else if (!content_is(bytes, sent->bytes, sent->number, sent->number))
        keep(check, ORDER_INTACT, "message %llu came with another content",
             (unsigned long long)sent->number);
    if (priority != sent->priority)
        keep(check, ORDER_INTACT, "a message of %s %ld came with %ld", word_of(check),
             shown(check, sent->priority), shown(check, priority));
}

void order_note_received(struct order_check *check, const unsigned char *bytes, ssize_t got,
                         long priority)
{
    uint64_t number = got < (ssize_t)sizeof number ? 0 : content_number_of(bytes, sizeof number);
    int place = place_of(check, number);
    check->received_count++;
    if (place < 0) {
        keep(check, ORDER_INTACT, "a message came that was not in the queue");
        return;
    }
    settle(check, number, true);
    judge_place(check, place);
    judge_content(check, &check->queue[place], bytes, got, priority);
    forget(check, place);
}

void order_note_empty(struct order_check *check)
{
    if (check->count > 0)
        keep(check, ORDER_INTACT, "message %llu was lost",
             (unsigned long long)check->queue[0].number);
    for (int i = 0; i < check->count; i++)
        settle(check, check->queue[i].number, false);
    check->count = 0;
}

void order_note_refused(struct order_check *check, const char *error)
{
    check->count--;
    keep(check, ORDER_INTACT, "a queue with room refused a message: %s", error);
}

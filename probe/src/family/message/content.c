#include "family/message/content.h"

/* Odd, so that each place and each key gives other bytes. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t word_of(size_t place, uint64_t key)
{
    return (key + 1) * STEP + place * UINT64_C(0x0101010101010101);
}

void content_fill(unsigned char *bytes, size_t count, uint64_t number, uint64_t key)
{
    for (size_t i = sizeof number; i < count; i += sizeof number) {
        uint64_t word = word_of(i, key);
        memcpy(bytes + i, &word, count - i < sizeof word ? count - i : sizeof word);
    }
    content_number(bytes, count, number);
}

bool content_is(const unsigned char *bytes, size_t count, uint64_t number, uint64_t key)
{
    for (size_t i = sizeof number; i < count; i += sizeof number) {
        uint64_t word = word_of(i, key);
        if (memcmp(bytes + i, &word, count - i < sizeof word ? count - i : sizeof word) != 0)
            return false;
    }
    return content_number_of(bytes, count) == content_part(count, number);
}

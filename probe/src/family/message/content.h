/* Content of messages by which a lost, doubled, swapped or damaged one is known. The first eight
 * bytes are the message's number, of shorter ones as many as fit; the rest follows from a key. */
#ifndef HS_FAMILY_MESSAGE_CONTENT_H
#define HS_FAMILY_MESSAGE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Writes number and rest of a message of `count` bytes. */
void content_fill(unsigned char *bytes, size_t count, uint64_t number, uint64_t key);

/* Whether the message holds just that. */
bool content_is(const unsigned char *bytes, size_t count, uint64_t number, uint64_t key);

/* The part of a number that fits. */
static inline uint64_t content_part(size_t count, uint64_t number)
{
    return count < sizeof number ? number & ((UINT64_C(1) << (8 * count)) - 1) : number;
}

/* Writes the number alone, lowest byte first. */
static inline void content_number(unsigned char *bytes, size_t count, uint64_t number)
{
    for (size_t i = 0; i < sizeof number && i < count; i++)
        bytes[i] = (unsigned char)(number >> (8 * i));
}

/* The number that a message holds, as far as it fits. */
static inline uint64_t content_number_of(const unsigned char *bytes, size_t count)
{
    uint64_t number = 0;
    for (size_t i = 0; i < sizeof number && i < count; i++)
        number |= (uint64_t)bytes[i] << (8 * i);
    return number;
}

#endif

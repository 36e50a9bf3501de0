#include "base/posix_source.h"

#include "work/fixed_work.h"

#include <string.h>

const char *const work_names[WORK_KINDS + 1] = {"add", "copy", "whetstone", NULL};

/* Each addition depends on the one before, and the compiler cannot fold them. */
static void add(struct work_space *space, uint64_t count)
{
    uint64_t sum = space->sink;
    for (uint64_t i = 0; i < count; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    space->sink = sum;
}

static void copy(struct work_space *space, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        space->from[i % WORK_COPY_BYTES]++;
        memcpy(space->to, space->from, WORK_COPY_BYTES);
        __asm__ volatile("" : : "r"(space->to) : "memory");
    }
    space->sink += space->to[count % WORK_COPY_BYTES];
}

static void whetstone(struct work_space *space, uint64_t count)
{
    for (uint64_t turn = 0; turn < count; turn++)
        whetstone_turn(&space->whetstone);
}

void work_do(struct work_space *space, int kind, uint64_t count)
{
    if (kind == WORK_ADD)
        add(space, count);
    else if (kind == WORK_COPY)
        copy(space, count);
    else
        whetstone(space, count);
}

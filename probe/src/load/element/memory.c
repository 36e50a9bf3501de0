/* memory: pieces of mixed sizes are allocated, written and freed in no order.
 *
 * What is held at a time has a limit: 64 MiB, or a sixteenth of what is free, or a quarter
 * of what the process may have (RLIMIT_AS), shared among the processes of the element. */
#include "base/posix_source.h"

#include "load/element.h"

#include "port/port.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { ALLOCATIONS = COUNTER_OWN, BYTES, FAILED };
enum { PLACES = 256, STEPS = 16, PAGE_BYTES = 1024, LEAST_BITS = 4, MOST_BITS = 20 };

#define HELD_BYTES (INT64_C(64) << 20)
#define LEAST_HELD_BYTES (INT64_C(1) << 20)

struct memory {
    int64_t held_bytes, most_bytes;
    struct {
        unsigned char *bytes;
        size_t size;
    } places[PLACES];
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t limit_bytes(const struct loader *loader)
{
    int64_t most = HELD_BYTES, available = port_available_bytes(NULL);
    struct rlimit limit;
    if (available >= 0)
        most = least(most, available / 16);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        most = least(most, (int64_t)limit.rlim_cur / 4);
    most /= loader->peers;
    return most > LEAST_HELD_BYTES ? most : LEAST_HELD_BYTES;
}

static int prepare(struct loader *loader)
{
    struct memory *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    own->most_bytes = limit_bytes(loader);
    loader->own = own;
    return 0;
}

/* As many small ones as large ones: each power of two is as likely as the next. */
static size_t draw_size(struct loader *loader)
{
    uint64_t drawn = loader_random(loader);
    unsigned bits = LEAST_BITS + (unsigned)(drawn % (MOST_BITS - LEAST_BITS));
    return ((size_t)1 << bits) + (size_t)((drawn >> 32) & (((uint64_t)1 << bits) - 1));
}

static void touch(unsigned char *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE_BYTES)
        ((volatile unsigned char *)bytes)[at] = (unsigned char)at;
}

static void allocate(struct loader *loader, struct memory *own, unsigned place, size_t size)
{
    if (own->held_bytes + (int64_t)size > own->most_bytes)
        return;
    unsigned char *bytes = malloc(size);
    if (!bytes) {
        loader_count(loader, FAILED, 1);
        return;
    }
    touch(bytes, size);
    own->places[place].bytes = bytes;
    own->places[place].size = size;
    own->held_bytes += (int64_t)size;
    loader_count(loader, ALLOCATIONS, 1);
    loader_count(loader, BYTES, size);
}

static void work(struct loader *loader)
{
    struct memory *own = loader->own;
    for (int i = 0; i < STEPS; i++) {
        unsigned place = (unsigned)(loader_random(loader) % PLACES);
        if (own->places[place].bytes) {
            own->held_bytes -= (int64_t)own->places[place].size;
            free(own->places[place].bytes);
            own->places[place].bytes = NULL;
        } else {
            allocate(loader, own, place, draw_size(loader));
        }
    }
}

const struct load_element load_memory = {
    .name = "memory",
    .title = "allocates, writes and frees memory of mixed sizes",
    .kind = LOAD_SHARE,
    .default_degree = "10ms/100ms",
    .counters = {"busy_ns", "cpu_ns", NULL, "rounds_count", "allocations_count", "allocated_bytes",
                 "failed_count"},
    .prepare = prepare,
    .work = work,
};

/* memory: allocates, writes and frees blocks of mixed sizes in random order.
 *
 * The blocks held at a time are limited to the smallest of 64 MiB, 1/16 of available memory and 1/4
 * of RLIMIT_AS. The processes of the element share this limit; each may hold at least 1 MiB. */
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

static int64_t limit_bytes(const struct worker *worker)
{
    int64_t most = HELD_BYTES, available = port_available_bytes(NULL);
    struct rlimit limit;
    if (available >= 0)
        most = least(most, available / 16);
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        most = least(most, (int64_t)limit.rlim_cur / 4);
    most /= worker->peers;
    return most > LEAST_HELD_BYTES ? most : LEAST_HELD_BYTES;
}

static int prepare(struct worker *worker)
{
    struct memory *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    own->most_bytes = limit_bytes(worker);
    worker->own = own;
    return 0;
}

/* Log-uniform: each doubling of the size, from 16 bytes to 1 MiB, is equally likely. */
static size_t draw_size(struct worker *worker)
{
    uint64_t drawn = worker_random(worker);
    unsigned bits = LEAST_BITS + (unsigned)(drawn % (MOST_BITS - LEAST_BITS));
    return ((size_t)1 << bits) + (size_t)((drawn >> 32) & (((uint64_t)1 << bits) - 1));
}

static void touch(unsigned char *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE_BYTES)
        ((volatile unsigned char *)bytes)[at] = (unsigned char)at;
}

static void allocate(struct worker *worker, struct memory *own, unsigned place, size_t size)
{
    if (own->held_bytes + (int64_t)size > own->most_bytes)
        return;
    unsigned char *bytes = malloc(size);
    if (!bytes) {
        worker_count(worker, FAILED, 1);
        return;
    }
    touch(bytes, size);
    own->places[place].bytes = bytes;
    own->places[place].size = size;
    own->held_bytes += (int64_t)size;
    worker_count(worker, ALLOCATIONS, 1);
    worker_count(worker, BYTES, size);
}

static void work(struct worker *worker)
{
    struct memory *own = worker->own;
    for (int i = 0; i < STEPS; i++) {
        unsigned place = (unsigned)(worker_random(worker) % PLACES);
        if (own->places[place].bytes) {
            own->held_bytes -= (int64_t)own->places[place].size;
            free(own->places[place].bytes);
            own->places[place].bytes = NULL;
        } else {
            allocate(worker, own, place, draw_size(worker));
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

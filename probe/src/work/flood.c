#include "base/posix_source.h"

#include "work/flood.h"
#include "work/flood_way.h"

#include "port/port.h"

#include <stddef.h>

const char *const flood_names[FLOODS + 1] = {"packets", "disk", "timers", NULL};

static const struct flood_way *const ways[FLOODS] = {&flood_packets, &flood_disk, &flood_timers};

const char *flood_unit(enum flood_kind kind)
{
    static const char *const units[FLOODS] = {"packets received", "reads completed",
                                              "timers expired"};
    return units[kind];
}

static void flood_close(struct flood *flood)
{
    atomic_store(&flood->is_over, true);
    while (flood->helper_count > 0)
        (void)port_wait_for(flood->helpers[--flood->helper_count]);
    flood_close_descriptors(flood);
}

int flood_prepare(struct flood *flood)
{
    int error = ways[flood->kind]->prepare(flood);
    if (error)
        flood_close(flood);
    return error;
}

static void follow(struct flood *flood, bool is_on)
{
    const struct flood_way *way = ways[flood->kind];
    if (is_on && way->start)
        way->start(flood);
    if (!is_on && way->stop)
        way->stop(flood);
    atomic_store(&flood->is_flooding, is_on);
}

void flood_run(struct flood *flood)
{
    const struct flood_way *way = ways[flood->kind];
    while (!atomic_load_explicit(&flood->is_over, memory_order_relaxed)) {
        bool is_on = atomic_load_explicit(&flood->is_on, memory_order_relaxed);
        if (is_on != atomic_load_explicit(&flood->is_flooding, memory_order_relaxed))
            follow(flood, is_on);
        if (is_on && way->step)
            way->step(flood);
        flood_count(&flood->turns, 1);
    }
    flood_close(flood);
}

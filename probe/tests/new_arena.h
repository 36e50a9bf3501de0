/* Arenas, and the events in them. */
#ifndef HS_NEW_ARENA_H
#define HS_NEW_ARENA_H

#include "record/arena.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

/* As planned; in the file `path` unless that is NULL. Frees the plan. */
static inline struct arena *new_arena(struct arena_plan *plan, const char *path)
{
    struct outcome outcome = {STATUS_MEASURED, "", ""};
    struct arena *arena = arena_create(plan, path, &outcome);
    arena_plan_free(plan);
    if (!arena)
        abort();
    return arena;
}

/* The first event of that name; NULL: none. */
static inline const struct arena_event *event_of(const struct arena *arena, const char *name)
{
    for (uint32_t i = 0; i < arena->event_count && i < ARENA_EVENTS; i++)
        if (strcmp(arena->events[i].name, name) == 0)
            return &arena->events[i];
    return NULL;
}

static inline int count_events(const struct arena *arena, const char *name)
{
    int found = 0;
    for (uint32_t i = 0; i < arena->event_count && i < ARENA_EVENTS; i++)
        found += strcmp(arena->events[i].name, name) == 0;
    return found;
}

#endif

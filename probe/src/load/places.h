/* How many processes and jobs each term of a load has, and on which CPUs they run. A degree is that
 * of the whole load, by processes that may run on all its CPUs; or, with "@cpu", that of each CPU,
 * by processes bound to it. */
#ifndef HS_LOAD_PLACES_H
#define HS_LOAD_PLACES_H

#include "load/map.h"
#include "load/spec.h"

/* CPUs of a load: `count` -1: the port cannot bind to CPUs. */
struct load_cpus {
    struct cpus set;
    int count;
};

struct load_places {
    int processes[LOAD_TERMS]; /* processes of the load itself: each has a slot */
    int numbers[LOAD_TERMS];   /* LOAD_COUNT, LOAD_JOBS, LOAD_GROUPS: number that is started; else 0
                                */
    int asked[LOAD_TERMS];     /* number that was requested */
};

/* The places of everything that was requested. */
void load_places_plan(struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus);

/* Number of slots of a load, and of all its processes, with jobs and members of groups, without
 * guard and supervisor. */
int load_places_slots(const struct load_places *places, int terms);
int load_places_processes(const struct load_places *places, const struct load_spec *spec);

/* Reduces all numbers in the same proportion, to at least 1, until `room` processes suffice.
 * Groups, which are many processes each, are reduced first, and to none if one needs more than
 * half. */
void load_places_fit(struct load_places *places, const struct load_spec *spec,
                     const struct load_cpus *cpus, int64_t room);

/* Writes term, CPU and jobs into the slots of `map`. */
void load_places_fill(const struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus, struct load_map *map);

#endif

#include "base/posix_source.h"

#include "load/places.h"

#include "load/limits.h"

#include <unistd.h>

enum { GROUP_PROCESSES = 1 + LOAD_GROUP_MEMBERS };

static int cpus_of(const struct load_cpus *cpus)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return cpus->count > 0 ? cpus->count : online > 0 ? (int)online : 1;
}

static bool is_numbered(const struct load_term *term)
{
    enum load_degree_kind kind = term->element->kind;
    return kind == LOAD_COUNT || kind == LOAD_JOBS || kind == LOAD_GROUPS;
}

static int copies_of(const struct load_term *term, const struct load_cpus *cpus)
{
    return term->degree.is_each_cpus ? cpus_of(cpus) : 1;
}

/* Number of processes that keep `number` jobs running: the same number for each CPU if the term
 * holds for each CPU. Every process gets at least one job, even if there is room for few jobs only.
 */
static int keepers_of(int number, int copies)
{
    int each = (number + copies - 1) / copies;
    int keepers = copies * ((each + LOAD_JOBS_EACH - 1) / LOAD_JOBS_EACH);
    return keepers < number ? keepers : number;
}

static int processes_of(const struct load_term *term, int number, const struct load_cpus *cpus)
{
    int copies = copies_of(term, cpus);
    switch (term->element->kind) {
    case LOAD_COUNT:
    case LOAD_GROUPS:
        return number;
    case LOAD_JOBS:
        return keepers_of(number, copies);
    case LOAD_EXTERNAL_STRESSOR:
        return 1;
    default:
        return copies;
    }
}

void load_places_plan(struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus)
{
    *places = (struct load_places){{0}, {0}, {0}};
    for (int i = 0; i < spec->count; i++) {
        const struct load_term *term = &spec->terms[i];
        if (is_numbered(term))
            places->asked[i] = (int)term->degree.number * copies_of(term, cpus);
        places->numbers[i] = places->asked[i];
        places->processes[i] = processes_of(term, places->asked[i], cpus);
    }
}

int load_places_slots(const struct load_places *places, int terms)
{
    int count = 0;
    for (int i = 0; i < terms; i++)
        count += places->processes[i];
    return count;
}

/* Processes that those of the load start, for `number` of the degree. */
static int started_by(const struct load_term *term, int number)
{
    switch (term->element->kind) {
    case LOAD_JOBS:
        return number;
    case LOAD_GROUPS:
        return number * LOAD_GROUP_MEMBERS;
    default:
        return 0;
    }
}

int load_places_processes(const struct load_places *places, const struct load_spec *spec)
{
    int count = load_places_slots(places, spec->count);
    for (int i = 0; i < spec->count; i++)
        count += started_by(&spec->terms[i], places->numbers[i]);
    return count;
}

/* Processes of the terms with a number, and those that they start. */
static int numbered_processes(const struct load_places *places, const struct load_spec *spec)
{
    int fixed = 0;
    for (int i = 0; i < spec->count; i++)
        fixed += is_numbered(&spec->terms[i]) ? 0 : places->processes[i];
    return load_places_processes(places, spec) - fixed;
}

static void set_number(struct load_places *places, int i, const struct load_term *term,
                       const struct load_cpus *cpus, int64_t number)
{
    places->numbers[i] = (int)number;
    places->processes[i] = processes_of(term, places->numbers[i], cpus);
}

/* Groups that fit into `left` processes, if `numbered` were asked for in all. One that needs at
 * most half of them is started, whatever its part would be. */
static int64_t groups_in(int64_t left, int64_t asked, int64_t numbered)
{
    int64_t number = left > 0 ? asked * left / numbered : 0;
    return number == 0 && left >= INT64_C(2) * GROUP_PROCESSES ? 1 : number;
}

void load_places_fit(struct load_places *places, const struct load_spec *spec,
                     const struct load_cpus *cpus, int64_t room)
{
    int64_t all = load_places_processes(places, spec), numbered = numbered_processes(places, spec);
    int64_t left = room - (all - numbered);
    if (room >= all || numbered == 0)
        return;
    for (int i = 0; i < spec->count; i++) {
        if (spec->terms[i].element->kind != LOAD_GROUPS)
            continue;
        set_number(places, i, &spec->terms[i], cpus, groups_in(left, places->asked[i], numbered));
        left -= (int64_t)places->numbers[i] * GROUP_PROCESSES;
        numbered -= (int64_t)places->asked[i] * GROUP_PROCESSES;
    }
    for (int i = 0; i < spec->count; i++) {
        if (!is_numbered(&spec->terms[i]) || spec->terms[i].element->kind == LOAD_GROUPS)
            continue;
        int64_t number = left > 0 ? places->asked[i] * left / numbered : 1;
        set_number(places, i, &spec->terms[i], cpus, number > 1 ? number : 1);
    }
}

/* CPU number `n` of the load, modulo their count; -1: the port cannot bind to CPUs. */
static int nth_cpu(const struct load_cpus *cpus, int n)
{
    if (cpus->count <= 0)
        return -1;
    int cpu = cpus_first(&cpus->set);
    for (n %= cpus->count; n > 0; n--)
        cpu = cpus_next(&cpus->set, cpu);
    return cpu;
}

/* Part `i` of `number`, divided evenly into `parts`. */
static int part_of(int number, int parts, int i)
{
    return number / parts + (i < number % parts ? 1 : 0);
}

void load_places_fill(const struct load_places *places, const struct load_spec *spec,
                      const struct load_cpus *cpus, struct load_map *map)
{
    struct load_slot *slot = map->slots;
    for (int term = 0; term < spec->count; term++) {
        bool has_jobs = spec->terms[term].element->kind == LOAD_JOBS;
        bool is_bound = spec->terms[term].degree.is_each_cpus;
        for (int i = 0; i < places->processes[term]; i++, slot++) {
            slot->term = term;
            slot->cpu = is_bound ? nth_cpu(cpus, i) : -1;
            slot->jobs = has_jobs ? part_of(places->numbers[term], places->processes[term], i) : 0;
        }
    }
}

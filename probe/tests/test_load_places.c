/* How many processes a load has and where they run, and how many there is room for. What the system
 * leaves is made up: the linker wraps the calls (--wrap). */
#include "base/posix_source.h"

#include "load/limits.h"
#include "load/places.h"
#include "load/room.h"
#include "tap.h"

#include <stdlib.h>

static struct load_spec spec;
static struct load_cpus cpus;
static struct load_places places;
static struct load_map *map;
static struct {
    int64_t processes, available; /* < 0: not known */
} left = {-1, -1};

#ifdef WRAPPED
int64_t __wrap_port_process_room(const char **limit);
int64_t __wrap_port_available_bytes(int64_t *of_bytes);

int64_t __wrap_port_process_room(const char **limit)
{
    *limit = "a made-up limit";
    return left.processes;
}

int64_t __wrap_port_available_bytes(int64_t *of_bytes)
{
    (void)of_bytes;
    return left.available;
}
#endif

/* Plans `text` on the CPUs 1, 3, 5, ...; -1: they cannot be told apart. */
static bool plan(const char *text, int count)
{
    char error[LOAD_ERROR_BYTES];
    memset(&cpus, 0, sizeof cpus);
    for (int i = 0; i < count; i++)
        cpus_add(&cpus.set, 2 * i + 1);
    cpus.count = count;
    if (!CHECK_SAME(load_spec_parse(text, &spec, error, sizeof error), 0))
        return false;
    load_places_plan(&places, &spec, &cpus);
    return true;
}

static bool fill(void)
{
    size_t slots = (size_t)load_places_slots(&places, spec.count);
    free(map);
    map = calloc(1, sizeof *map + slots * sizeof map->slots[0]);
    if (!CHECK(map != NULL))
        return false;
    map->slot_count = (int)slots;
    load_places_fill(&places, &spec, &cpus, map);
    return true;
}

static int slots_on(int cpu)
{
    int count = 0;
    for (int i = 0; i < map->slot_count; i++)
        count += map->slots[i].cpu == cpu ? 1 : 0;
    return count;
}

static int jobs_on(int cpu)
{
    int count = 0;
    for (int i = 0; i < map->slot_count; i++)
        count += map->slots[i].cpu == cpu ? map->slots[i].jobs : 0;
    return count;
}

TEST(a_degree_is_that_of_the_whole_load)
{
    static const int counts[] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        if (!plan("heavy", counts[i]) || !fill())
            return;
        CHECK_SAME(map->slot_count, 7);
        CHECK_SAME(slots_on(-1), 7);
    }
}

TEST(at_cpu_it_is_that_of_each_cpu)
{
    if (!plan("heavy@cpu", 3) || !fill())
        return;
    CHECK_SAME(map->slot_count, 21);
    for (int cpu = 1; cpu <= 5; cpu += 2)
        CHECK_SAME(slots_on(cpu), 7);
    if (!plan("search@cpu+cpu", 3) || !fill())
        return;
    CHECK_SAME(slots_on(-1), 1);
    CHECK_SAME(map->slot_count, 4);
}

TEST(numbers_are_totals_or_those_of_each_cpu)
{
    if (!plan("storm=240", 3) || !fill())
        return;
    CHECK_SAME(map->slot_count, 240);
    CHECK_SAME(slots_on(-1), 240);
    if (!plan("storm=5@cpu", 3) || !fill())
        return;
    CHECK_SAME(places.asked[0], 15);
    for (int cpu = 1; cpu <= 5; cpu += 2)
        CHECK_SAME(slots_on(cpu), 5);
}

TEST(jobs_are_shared_among_processes)
{
    if (!plan("build=3400", 2) || !fill())
        return;
    CHECK_SAME(jobs_on(-1), 3400);
    CHECK_SAME(map->slot_count, 3400 / LOAD_JOBS_EACH);
    CHECK_SAME(load_places_processes(&places, &spec), 3400 + 3400 / LOAD_JOBS_EACH);
    if (!plan("build=19@cpu", 3) || !fill())
        return;
    for (int cpu = 1; cpu <= 5; cpu += 2)
        CHECK_SAME(jobs_on(cpu), 19);
    for (int i = 0; i < map->slot_count; i++)
        CHECK(map->slots[i].jobs > 0 && map->slots[i].jobs <= LOAD_JOBS_EACH);
    if (!plan("build", 2) || !fill())
        return;
    CHECK_SAME(jobs_on(-1), 1);
}

TEST(without_cpus_nothing_is_bound)
{
    if (!plan("cpu@cpu+storm=3@cpu", -1) || !fill())
        return;
    CHECK(map->slot_count >= 4);
    CHECK_SAME(slots_on(-1), map->slot_count);
}

TEST(less_room_makes_fewer_of_each)
{
    if (!plan("cpu+storm=240+build=3400", 2))
        return;
    load_places_fit(&places, &spec, &cpus, 100000);
    CHECK_SAME(places.numbers[1], 240);
    CHECK_SAME(places.numbers[2], 3400);
    load_places_fit(&places, &spec, &cpus, 400);
    CHECK(load_places_processes(&places, &spec) <= 400);
    CHECK(load_places_processes(&places, &spec) > 390);
    CHECK_SAME(places.numbers[1], 240 * 399 / (240 + 3400 + 3400 / LOAD_JOBS_EACH));
    CHECK_SAME(places.asked[2], 3400);
    CHECK_SAME(places.processes[0], 1);
    if (fill())
        CHECK_SAME(jobs_on(-1), places.numbers[2]);
}

/* A process without a job would spin. */
TEST(no_process_is_without_a_job)
{
    static const char *const loads[] = {"build=2@cpu", "build=3", "storm=240+build=5@cpu"};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        for (int room = 0; room < 20; room++) {
            if (!plan(loads[i], 4))
                return;
            load_places_fit(&places, &spec, &cpus, room);
            if (!fill())
                return;
            for (int slot = 0; slot < map->slot_count; slot++)
                CHECK(map->slots[slot].jobs > 0 ||
                      spec.terms[map->slots[slot].term].element->kind != LOAD_JOBS);
        }
}

TEST(groups_are_many_processes_each)
{
    enum { GROUP = 1 + LOAD_GROUP_MEMBERS };
    if (!plan("messages=10+cpu", 2) || !fill())
        return;
    CHECK_SAME(map->slot_count, 11);
    CHECK_SAME(load_places_processes(&places, &spec), 10 * GROUP + 1);
    if (!plan("messages=3@cpu", 2) || !fill())
        return;
    CHECK_SAME(slots_on(1), 3);
    CHECK_SAME(slots_on(3), 3);
    CHECK_SAME(load_places_processes(&places, &spec), 6 * GROUP);
}

/* Its processes are in the room, or there is none. */
TEST(groups_never_need_more_than_the_room)
{
    static const char *const loads[] = {"messages=10", "messages=250+storm=240",
                                        "messages=1+storm=240+build=100@cpu+cpu"};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        for (int room = 4; room < 700; room += 3) {
            if (!plan(loads[i], 2))
                return;
            load_places_fit(&places, &spec, &cpus, room);
            CHECK(places.numbers[0] * (1 + LOAD_GROUP_MEMBERS) <= room);
        }
}

TEST(one_group_is_there_if_it_fits_well)
{
    if (!plan("messages=1+storm=240", 2))
        return;
    load_places_fit(&places, &spec, &cpus, 280);
    CHECK_SAME(places.numbers[0], 1);
    CHECK_SAME(places.numbers[1], 280 - 1 - LOAD_GROUP_MEMBERS);
    if (!plan("messages=1+storm=240", 2))
        return;
    load_places_fit(&places, &spec, &cpus, LOAD_GROUP_MEMBERS);
    CHECK_SAME(places.numbers[0], 0);
    CHECK_SAME(places.processes[0], 0);
    CHECK_SAME(places.numbers[1], LOAD_GROUP_MEMBERS);
}

TEST(there_is_always_one)
{
    if (!plan("heavy+storm=5000+build=5000", 2))
        return;
    load_places_fit(&places, &spec, &cpus, 0);
    CHECK_SAME(places.numbers[7], 1);
    CHECK_SAME(places.numbers[8], 1);
    CHECK_SAME(load_places_processes(&places, &spec), 10);
}

static void check_room(int64_t processes, int64_t available, int64_t expected, const char *words)
{
    left.processes = processes;
    left.available = available;
    struct load_room room = load_room_now();
    CHECK_SAME(room.processes, expected);
    CHECK_HOLDS(room.limit, words);
}

TEST(the_last_is_left_to_others)
{
    if (!tap_is_wrapped())
        return;
    check_room(-1, -1, LOAD_MOST_PROCESSES_IN_ALL, "the largest number");
    check_room(8000, -1, 7000 - 2, "a made-up limit");
    check_room(1000000, INT64_C(1) << 30, 1638, "memory");
    check_room(3, -1, 0, "a made-up limit");
    check_room(0, -1, 0, "a made-up limit");
}

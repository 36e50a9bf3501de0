/* How many processes a load has and where they run, and how many there is room for. What the system
 * leaves is made up: the linker wraps the calls (--wrap). */
#include "base/posix_source.h"

#include "load/element.h"
#include "load/load.h"
#include "tap.h"

static struct load_spec spec;
static struct load_cpus cpus;
static struct load_places places;
static struct load_map *map;
static struct {
    int64_t processes, available; /* < 0: not known */
} left = {-1, -1};

static int64_t tell_room(const char **limit)
{
    *limit = "a made-up limit";
    return left.processes;
}

WRAP_IF(true, tell_room(limit), int64_t, port_process_room, (const char **limit), (limit));
WRAP_IF(true, left.available, int64_t, port_available_bytes, (int64_t * of_bytes), (of_bytes));

/* Plans `text` on the CPUs 1, 3, 5, ...; -1: they cannot be told apart. */
static void plan(const char *text, int count)
{
    char error[LOAD_ERROR_BYTES];
    memset(&cpus, 0, sizeof cpus);
    for (int i = 0; i < count; i++)
        cpus_add(&cpus.set, 2 * i + 1);
    cpus.count = count;
    CHECK_SAME(load_spec_parse(text, &spec, error, sizeof error), 0);
    load_places_plan(&places, &spec, &cpus);
}

static void fill(void)
{
    size_t slots = (size_t)load_places_slots(&places, spec.count);
    free(map);
    map = calloc(1, sizeof *map + slots * sizeof map->slots[0]);
    if (!map)
        abort();
    map->slot_count = (int)slots;
    load_places_fill(&places, &spec, &cpus, map);
}

static void plan_in(int64_t room, const char *text, int count)
{
    plan(text, count);
    load_places_fit(&places, &spec, &cpus, room);
}

static void plan_and_fill(const char *text, int count)
{
    plan(text, count);
    fill();
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

/* A degree, or a number, is that of the whole load; "@cpu" of each CPU. */
TEST(slots_are_of_the_whole_load_or_of_each_cpu)
{
    enum { GROUP = 1 + LOAD_GROUP_MEMBERS };
    static const struct {
        const char *text;
        int cpus, slots, on_each, processes;
    } rows[] = {{"heavy", 1, 7, 0, 7},
                {"heavy", 7, 7, 0, 7},
                {"heavy@cpu", 3, 21, 7, 21},
                {"search@cpu+cpu", 3, 4, 1, 4},
                {"storm=240", 3, 240, 0, 240},
                {"storm=5@cpu", 3, 15, 5, 15},
                {"messages=10+cpu", 2, 11, 0, 10 * GROUP + 1},
                {"messages=3@cpu", 2, 6, 3, 6 * GROUP}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tap_row(rows[i].text);
        plan_and_fill(rows[i].text, rows[i].cpus);
        CHECK_SAME(map->slot_count, rows[i].slots);
        CHECK_SAME(slots_on(-1), rows[i].slots - rows[i].cpus * rows[i].on_each);
        for (int cpu = 0; cpu < rows[i].cpus; cpu++)
            CHECK_SAME(slots_on(2 * cpu + 1), rows[i].on_each);
        CHECK_SAME(load_places_processes(&places, &spec), rows[i].processes);
    }
    plan("storm=5@cpu", 3);
    CHECK_SAME(places.asked[0], 15);
}

TEST(jobs_are_shared_among_processes)
{
    plan_and_fill("build=3400", 2);
    CHECK_SAME(jobs_on(-1), 3400);
    CHECK_SAME(map->slot_count, 3400 / LOAD_JOBS_EACH);
    CHECK_SAME(load_places_processes(&places, &spec), 3400 + 3400 / LOAD_JOBS_EACH);
    plan_and_fill("build=19@cpu", 3);
    for (int cpu = 1; cpu <= 5; cpu += 2)
        CHECK_SAME(jobs_on(cpu), 19);
    for (int i = 0; i < map->slot_count; i++)
        CHECK(map->slots[i].jobs > 0 && map->slots[i].jobs <= LOAD_JOBS_EACH);
    plan_and_fill("build", 2);
    CHECK_SAME(jobs_on(-1), 1);
}

TEST(without_cpus_nothing_is_bound)
{
    plan_and_fill("cpu@cpu+storm=3@cpu", -1);
    CHECK(map->slot_count >= 4);
    CHECK_SAME(slots_on(-1), map->slot_count);
}

TEST(less_room_makes_fewer_of_each)
{
    plan_in(100000, "cpu+storm=240+build=3400", 2);
    CHECK_SAME(places.numbers[1], 240);
    CHECK_SAME(places.numbers[2], 3400);
    load_places_fit(&places, &spec, &cpus, 400);
    CHECK(load_places_processes(&places, &spec) <= 400);
    CHECK(load_places_processes(&places, &spec) > 390);
    CHECK_SAME(places.numbers[1], 240 * 399 / (240 + 3400 + 3400 / LOAD_JOBS_EACH));
    CHECK_SAME(places.asked[2], 3400);
    CHECK_SAME(places.processes[0], 1);
    fill();
    CHECK_SAME(jobs_on(-1), places.numbers[2]);
}

/* A process without a job would spin. */
TEST(no_process_is_without_a_job)
{
    static const char *const loads[] = {"build=2@cpu", "build=3", "storm=240+build=5@cpu"};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        for (int room = 0; room < 20; room++) {
            plan_in(room, loads[i], 4);
            fill();
            for (int slot = 0; slot < map->slot_count; slot++)
                CHECK(map->slots[slot].jobs > 0 ||
                      spec.terms[map->slots[slot].term].element->kind != LOAD_JOBS);
        }
}

/* Its processes are in the room, or there is none. */
TEST(groups_never_need_more_than_the_room)
{
    static const char *const loads[] = {"messages=10", "messages=250+storm=240",
                                        "messages=1+storm=240+build=100@cpu+cpu"};
    for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
        for (int room = 4; room < 700; room += 3) {
            plan_in(room, loads[i], 2);
            CHECK(places.numbers[0] * (1 + LOAD_GROUP_MEMBERS) <= room);
        }
}

TEST(one_group_is_there_if_it_fits_well)
{
    plan_in(280, "messages=1+storm=240", 2);
    CHECK_SAME(places.numbers[0], 1);
    CHECK_SAME(places.numbers[1], 280 - 1 - LOAD_GROUP_MEMBERS);
    plan_in(LOAD_GROUP_MEMBERS, "messages=1+storm=240", 2);
    CHECK_SAME(places.numbers[0], 0);
    CHECK_SAME(places.processes[0], 0);
    CHECK_SAME(places.numbers[1], LOAD_GROUP_MEMBERS);
}

TEST(there_is_always_one)
{
    plan_in(0, "heavy+storm=5000+build=5000", 2);
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

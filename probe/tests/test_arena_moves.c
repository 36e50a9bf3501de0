/* Series that share a slot, in a file that is left by a kill or copied while values come and slots
 * move: no value of a finished series is lost, and none is there twice. */
#include "base/posix_source.h"

#include "new_arena.h"
#include "port/port.h"
#include "record_file.h"
#include "same_record.h"
#include "single_step.h"
#include "tap.h"

#include <sys/mman.h>

enum {
    EACH = 2, /* series of a variant */
    VARIANTS = 3,
    SERIES = EACH * VARIANTS,
    VALUES = 16,
    PHASES = VARIANTS + 1, /* the first variant is measured once more */
    STOPS = 900,
    STOP_EVERY = 9,
    COPIES = 3000,
    CUTS = 8
};

#define STEP_NS INT64_C(300000000)

/* So small that single steps through a move take no long time; neither has the head of the other.
 */
static const struct record_shape shapes[] = {{1 << 20, 3}, {1 << 30, 2}, {1 << 20, 3}};

static struct arena *create(const char *path)
{
    struct arena_plan plan = {0};
    for (int i = 0; i < SERIES; i++) {
        arena_plan_series(&plan, "wakeup", "ns", &shapes[i / EACH]);
        if (i >= EACH)
            arena_plan_share(&plan, i % EACH);
    }
    struct arena *arena = new_arena(&plan, path);
    put_header(arena);
    return arena;
}

static int64_t value_of(int series, int index)
{
    return 1000 + series * 1000 + (index * 7919 + series * 31) % 977 * (index % 9 ? 1 : 40);
}

/* The twin of a series after `count` values. */
static struct record *new_twin(int series, int count)
{
    const struct record_shape *shape = &shapes[series / EACH];
    struct record *twin = malloc(record_size(shape, 0));
    if (!twin)
        abort();
    record_init(twin, shape, 0);
    for (int i = 0; i < count; i++)
        record_value(twin, value_of(series, i), i * STEP_NS);
    return twin;
}

/* How many values of each series were begun, and done. */
struct known {
    int begun[SERIES], done[SERIES];
};

/* What is looked at; `arena` and `known` are shared with the process that records. */
struct scene {
    struct arena *arena;
    volatile struct known *known;
    char path[2 * PATH_BYTES];
    char *before; /* the arena when it was looked at last */
    struct known known_before;
    int changes;
    struct tally {
        int refused, wrong, damaged, at_work, kept;
    } tally;
    bool wants_stops;
    int stop_count;
    struct stop {
        char *bytes;
        struct known known;
    } stops[STOPS];
};

static struct known known_now(const struct scene *scene)
{
    struct known known;
    for (int i = 0; i < SERIES; i++) {
        known.begun[i] = scene->known->begun[i];
        known.done[i] = scene->known->done[i];
    }
    return known;
}

static void record_phase(struct scene *scene, int first)
{
    struct record *records[EACH];
    for (int i = 0; i < EACH; i++)
        records[i] = arena_record(scene->arena, first + i);
    for (int j = 0; j < VALUES; j++)
        for (int i = 0; i < EACH; i++) {
            int index = scene->known->begun[first + i]++;
            record_value(records[i], value_of(first + i, index), index * STEP_NS);
            scene->known->done[first + i]++;
        }
}

static void record_all(void *own)
{
    for (int phase = 0; phase < PHASES; phase++)
        record_phase(own, phase % VARIANTS * EACH);
}

/* ---- what a file must hold ---- */

/* From `least` to `most` values of a series. Where these are equal it is as it was recorded. A copy
 * may have a later value and lack an earlier one, of a bucket that was copied before. */
static bool has_series(const struct arena *arena, uint32_t series, int least, int most,
                       struct record *scratch)
{
    const struct record *record = arena_read(arena, series, scratch);
    int count = (int)record->count;
    if (count < least || count > most || held_by(record) != record->count ||
        arena_count(arena, series) != record->count)
        return false;
    struct record *twin = new_twin((int)series, count);
    bool is_same = least < most - 1 || has_same_histogram(record, twin);
    is_same = is_same && (least < most || is_same_record(record, twin));
    free(twin);
    return is_same;
}

/* Of a copy that was begun when `first` and ended when `last` was known. */
static int count_wrong(const struct arena *arena, const struct known *first,
                       const struct known *last, struct record *scratch)
{
    int wrong = 0;
    for (uint32_t i = 0; i < SERIES; i++)
        wrong += !has_series(arena, i, first->done[i], last->begun[i], scratch);
    return wrong;
}

static void open_copy(const char *path, const struct known *first, const struct known *last,
                      struct tally *tally)
{
    char reason[100];
    struct arena *arena = arena_open(path, reason, sizeof reason);
    if (!arena) {
        tally->refused++;
        return;
    }
    struct record *scratch = new_scratch(arena);
    tally->wrong += count_wrong(arena, first, last, scratch);
    tally->damaged += count_events(arena, "file_damaged");
    tally->at_work += count_events(arena, "read_at_work");
    for (uint32_t i = 0; i < SERIES; i++)
        tally->kept += arena->series[i].kept_offset != 0;
    free(scratch);
    arena_free(arena);
}

/* ---- a kill ---- */

static void keep_stop(struct scene *scene, const struct known *known)
{
    if (!scene->wants_stops || scene->changes % STOP_EVERY != 0 || scene->stop_count == STOPS)
        return;
    struct stop *stop = &scene->stops[scene->stop_count++];
    size_t bytes = (size_t)scene->arena->bytes;
    stop->bytes = memcpy(tap_memory(bytes), scene->arena, bytes);
    stop->known = *known;
}

static void look_at_change(void *own)
{
    struct scene *scene = own;
    size_t bytes = (size_t)scene->arena->bytes;
    struct known known = known_now(scene);
    if (memcmp(scene->before, scene->arena, bytes) == 0 &&
        memcmp(&scene->known_before, &known, sizeof known) == 0)
        return;
    memcpy(scene->before, scene->arena, bytes);
    scene->known_before = known;
    scene->changes++;
    keep_stop(scene, &known);
    if (!scene->wants_stops)
        open_copy(scene->path, &known, &known, &scene->tally);
}

static struct scene *new_scene(bool wants_stops)
{
    struct scene *scene = tap_memory(sizeof *scene);
    snprintf(scene->path, sizeof scene->path, "%s", path_of("left"));
    scene->wants_stops = wants_stops;
    scene->arena = create(scene->path);
    scene->before = tap_memory((size_t)scene->arena->bytes);
    scene->known = port_shared_memory(sizeof *scene->known);
    if (!scene->known)
        abort();
    return scene;
}

static void free_scene(struct scene *scene)
{
    munmap((void *)scene->known, sizeof *scene->known);
    arena_free(scene->arena);
    unlink(scene->path);
}

static void check_tally(const struct scene *scene)
{
    CHECK_SAME(scene->tally.refused, 0);
    CHECK_SAME(scene->tally.wrong, 0);
    CHECK_SAME(scene->tally.damaged, 0);
}

TEST(a_kill_at_any_instruction)
{
    struct scene *scene = new_scene(false);
    if (single_step(record_all, look_at_change, scene)) {
        CHECK(scene->changes > 100 * VALUES);
        check_tally(scene);
    }
    free_scene(scene);
}

/* ---- a copy ---- */

/* From ascending moments, from the first byte to the last, with cuts at any eight bytes: some in
 * the head, most in the slots and in the compact forms. */
static void copy_at_work(const struct scene *scene, char *copy, uint64_t *state, int *first,
                         int *last)
{
    size_t bytes = (size_t)scene->arena->bytes, head = sizeof(struct arena), from = 0;
    int moment = (int)(tap_random(state) % (uint64_t)scene->stop_count);
    int most_leap = tap_random(state) % 2 ? scene->stop_count : 20;
    *first = moment;
    for (int i = 0; i <= CUTS; i++) {
        size_t low = i == 0 ? 0 : from > head ? from : head;
        size_t to = (low + tap_random(state) % (bytes - low)) & ~(size_t)7;
        to = i == CUTS ? bytes
             : i == 0  ? to
                       : low + (to - low) / (tap_random(state) % 4 + 1) / 8 * 8;
        memcpy(copy + from, scene->stops[moment].bytes + from, to > from ? to - from : 0);
        from = to > from ? to : from;
        int left = scene->stop_count - moment;
        if (from < bytes)
            moment += (int)(tap_random(state) % (uint64_t)(left < most_leap ? left : most_leap));
    }
    *last = moment;
}

TEST(a_copy_made_at_work)
{
    struct scene *scene = new_scene(true);
    if (single_step(record_all, look_at_change, scene)) {
        uint64_t state = 12;
        size_t bytes = (size_t)scene->arena->bytes;
        char *copy = tap_memory(bytes), path[2 * PATH_BYTES];
        snprintf(path, sizeof path, "%s", path_of("copy"));
        /* written over and over: a file system may write one at once that was cut to nothing */
        int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        if (file < 0)
            abort();
        for (int i = 0; i < COPIES; i++) {
            int first, last;
            copy_at_work(scene, copy, &state, &first, &last);
            CHECK_SAME(pwrite(file, copy, bytes, 0), bytes);
            open_copy(path, &scene->stops[first].known, &scene->stops[last].known, &scene->tally);
        }
        close(file);
        unlink(path);
        CHECK(scene->stop_count > 200);
        CHECK(scene->tally.kept > COPIES && scene->tally.at_work > 20);
        check_tally(scene);
    }
    free_scene(scene);
}

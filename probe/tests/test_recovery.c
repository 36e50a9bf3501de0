/* What is found of records and arenas that a kill left, or that were copied, while values came. */
#include "base/posix_source.h"

#include "new_arena.h"
#include "port/port.h"
#include "record/recovery.h"
#include "record_file.h"
#include "same_record.h"
#include "single_step.h"
#include "tap.h"

#include <math.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- records: consistent after recovery, as the reader of a stream requires ---- */

enum { VALUES = 150, MANY = 3000, ROUNDS = 2000, CUTS = 6, STOPS = 24 };

#define DURATION_NS INT64_C(1000000000)
#define MAXIMA_OFFSET (offsetof(struct record, buckets) + RECORD_BUCKETS * sizeof(uint64_t))

static struct record *new_record(void)
{
    struct record *record = tap_memory(record_size(NULL, DURATION_NS));
    record_init(record, NULL, DURATION_NS);
    return record;
}

static void copy_from(struct record *copy, const struct record *record, size_t from)
{
    memcpy((char *)copy + from, (const char *)record + from, record_size(NULL, DURATION_NS) - from);
}

static int first_bucket(const struct record *record)
{
    int i = 0;
    while (i < RECORD_BUCKETS && record->buckets[i] == 0)
        i++;
    return i;
}

static int last_bucket(const struct record *record)
{
    int i = RECORD_BUCKETS - 1;
    while (i >= 0 && record->buckets[i] == 0)
        i--;
    return i;
}

static bool is_in(const struct record *record, int64_t value, int bucket)
{
    if (value < 0)
        return record->underflow > 0;
    if (value > RECORD_LIMIT_NS)
        return record->overflow > 0;
    return bucket >= 0 && bucket < RECORD_BUCKETS &&
           (int)record_bucket((uint64_t)value, RECORD_SUB_BITS) == bucket;
}

static int64_t largest_maximum(const struct record *record)
{
    int64_t largest = RECORD_NO_MAXIMUM;
    for (uint32_t i = 0; i < record->maxima_used; i++)
        largest = record_maxima_view(record)[i] > largest ? record_maxima_view(record)[i] : largest;
    return largest;
}

/* The claims that the toolkit checks of each series. */
static bool fits(const struct record *record)
{
    bool is_sorted = true;
    for (uint32_t i = 1; i < record->worst_count; i++)
        is_sorted &= record->worst[i - 1].value_ns >= record->worst[i].value_ns;
    if (record->count == 0)
        return held_by(record) == 0;
    return held_by(record) == record->count && (record->min < 0) == (record->underflow > 0) &&
           (record->max > RECORD_LIMIT_NS) == (record->overflow > 0) &&
           is_in(record, record->min, first_bucket(record)) &&
           is_in(record, record->max, last_bucket(record)) && is_sorted &&
           (record->worst_count == 0 || record->worst[0].value_ns == record->max) &&
           largest_maximum(record) == record->max && record_mean(record) >= (double)record->min &&
           record_mean(record) <= (double)record->max && record_stddev(record) >= 0;
}

/* ---- values ---- */

enum kind { USUAL, SOME_NEGATIVE, OF_ALL_SIZES, EQUAL, FAR_FIRST, LONG, KINDS };

static struct {
    int count;
    int64_t value[MANY], at_ns[MANY];
} values;

static int64_t one_value(enum kind kind, int index, uint64_t *state)
{
    int64_t usual = 1000 + (int64_t)(tap_random(state) % 2000);
    if (kind == SOME_NEGATIVE && tap_random(state) % 50 == 0)
        return -(int64_t)(tap_random(state) % 90);
    if (kind == OF_ALL_SIZES)
        return (int64_t)(tap_random(state) >> (tap_random(state) % 50 + 13));
    if (kind == EQUAL)
        return 500 + (int64_t)(tap_random(state) % 4);
    return kind == FAR_FIRST && index == 0 ? INT64_C(3000000000) : usual;
}

/* LONG: the interval of the maxima doubles on the way. */
static void make_values(enum kind kind, int count)
{
    uint64_t state = 5 + (uint64_t)kind, step = kind == LONG ? 2000000000 : 3000000;
    int64_t at_ns = 0;
    values.count = count;
    for (int i = 0; i < count; i++) {
        values.value[i] = one_value(kind, i, &state);
        values.at_ns[i] = at_ns += (int64_t)(tap_random(&state) % step);
    }
}

static void record_from(struct record *record, int first, int end)
{
    for (int i = first; i < end; i++)
        record_value(record, values.value[i], values.at_ns[i]);
}

/* Each was recorded, or is just being recorded, as it stands there; and none twice. */
static bool is_worst_true(const struct record *record, int known)
{
    bool is_true = true;
    for (uint32_t i = 0; i < record->worst_count; i++) {
        const struct record_worst *worst = &record->worst[i];
        is_true = is_true && worst->index < (uint64_t)known &&
                  worst->value_ns == values.value[worst->index] &&
                  worst->at_ns == values.at_ns[worst->index];
        for (uint32_t j = 0; j < i; j++)
            is_true = is_true && record->worst[j].index != worst->index;
    }
    return is_true;
}

/* None of the maxima is above what came in its time. */
static bool are_maxima_true(const struct record *record, int known)
{
    for (uint32_t i = 0; i < record->maxima_used; i++) {
        int64_t largest = RECORD_NO_MAXIMUM;
        for (int j = 0; j < known; j++)
            if (values.at_ns[j] / record->maxima_interval_ns == i && values.value[j] > largest)
                largest = values.value[j];
        /* one that could not be entered any more stands in the interval before */
        bool is_entered =
            record_maxima_view(record)[i] != record->max || i + 1 < record->maxima_used;
        if (is_entered && record_maxima_view(record)[i] > largest)
            return false;
    }
    return true;
}

/* But for a value that is in the sums and not yet counted. */
static bool are_moments_true(const struct record *record)
{
    double count = (double)record->count, sum = 0, squares = 0;
    for (int i = 0; i < (int)record->count; i++)
        sum += (double)values.value[i];
    for (int i = 0; i < (int)record->count; i++)
        squares += pow((double)values.value[i] - sum / count, 2);
    double stddev = record->count > 1 ? sqrt(squares / (count - 1)) : 0;
    double slack = 0.002 * (fabs((double)record->min) + fabs((double)record->max));
    double span = (double)record->max - (double)record->min;
    return fabs(record_mean(record) - sum / count) <= slack + span / count &&
           fabs(record_stddev(record) - stddev) <= slack + span / sqrt(count);
}

/* The list has all of the largest; one that came later may be of the bucket of its last. */
static bool is_worst_complete(const struct record *record)
{
    uint64_t most = record->count < RECORD_WORST ? record->count : RECORD_WORST;
    if (record->worst_count == 0)
        return true;
    int64_t last = record->worst[record->worst_count - 1].value_ns;
    uint64_t above = record->overflow;
    for (int i = 0; last <= RECORD_LIMIT_NS && i < RECORD_BUCKETS; i++)
        if (last < record_bucket_low((uint32_t)i, RECORD_SUB_BITS))
            above += record->buckets[i];
    return record->worst_count == most && (last > RECORD_LIMIT_NS || above < most);
}

/* ---- what stays ---- */

TEST(a_whole_record_stays)
{
    struct record *record = new_record(), *copy = new_record();
    for (int kind = 0; kind < KINDS; kind++)
        for (int count = 0; count <= MANY; count = count < 40 ? count + 1 : count * 3) {
            make_values((enum kind)kind, count);
            record_init(record, NULL, DURATION_NS);
            record_from(record, 0, count);
            copy_from(copy, record, 0);
            struct recovered recovered = record_recover(copy);
            CHECK(!record_was_recovered(&recovered) && !copy->is_recovered);
            copy->recovered_mean = copy->recovered_stddev = 0;
            CHECK_SAME(memcmp(copy, record, record_size(NULL, DURATION_NS)), 0);
        }
}

TEST(damage_stays)
{
    static const int64_t more[] = {-2, -100, RECORD_LATER_MOST + 1, INT64_C(1) << 45, INT64_MIN};
    struct record *record = new_record(), *copy = new_record();
    make_values(USUAL, VALUES);
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        record_init(record, NULL, DURATION_NS);
        record_from(record, 0, VALUES);
        record->buckets[5] += (uint64_t)more[i];
        copy_from(copy, record, 0);
        struct recovered recovered = record_recover(copy);
        CHECK(!record_was_recovered(&recovered));
        CHECK_SAME(memcmp(copy, record, record_size(NULL, DURATION_NS)), 0);
    }
}

/* ---- what a kill leaves ---- */

struct seen {
    int changes, refused, untrue_worst, untrue_maxima, untrue_moments, told, without_worst;
};

static void look(const struct record *record, int known, struct record *copy, struct seen *seen)
{
    copy_from(copy, record, 0);
    struct recovered recovered = record_recover(copy);
    seen->changes++;
    seen->refused += !fits(copy);
    seen->untrue_worst += !is_worst_true(copy, known);
    seen->untrue_maxima += !are_maxima_true(copy, known);
    seen->untrue_moments += copy->count > 0 && !are_moments_true(copy);
    seen->told += recovered.later_count > 1;
    seen->without_worst += recovered.lost_worst;
}

/* But for buckets of other values than the last one. */
static bool is_same(const struct record *record, const struct record *before, int known)
{
    size_t rest = MAXIMA_OFFSET;
    int64_t last = known > 0 ? values.value[known - 1] : -1;
    return memcmp(before, record, offsetof(struct record, buckets)) == 0 &&
           memcmp((const char *)before + rest, (const char *)record + rest,
                  record_size(NULL, DURATION_NS) - rest) == 0 &&
           (last < 0 || last > RECORD_LIMIT_NS ||
            before->buckets[record_bucket((uint64_t)last, RECORD_SUB_BITS)] ==
                record->buckets[record_bucket((uint64_t)last, RECORD_SUB_BITS)]);
}

/* A process that records, and what is known of it. The first two are shared with it. */
struct steps {
    struct record *record;
    volatile int *known;
    struct record *before, *copy;
    struct seen seen;
};

static void record_all(void *own)
{
    const struct steps *steps = own;
    for (*steps->known = 0; *steps->known < values.count;) {
        int i = (*steps->known)++;
        record_value(steps->record, values.value[i], values.at_ns[i]);
    }
}

/* Whenever its record changed. */
static void look_at_change(void *own)
{
    struct steps *steps = own;
    if (is_same(steps->record, steps->before, *steps->known))
        return;
    copy_from(steps->before, steps->record, 0);
    look(steps->record, *steps->known, steps->copy, &steps->seen);
}

TEST(a_kill_at_any_instruction)
{
    size_t bytes = record_size(NULL, DURATION_NS);
    FILE *file = tmpfile();
    if (!file || ftruncate(fileno(file), (off_t)(bytes + sizeof(int))) != 0)
        abort();
    char *memory =
        mmap(NULL, bytes + sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (memory == MAP_FAILED)
        abort();
    for (int kind = 0; kind < KINDS; kind++) {
        struct steps steps = {.record = (struct record *)(void *)memory,
                              .known = (int *)(void *)(memory + bytes)};
        steps.before = new_record();
        steps.copy = new_record();
        make_values((enum kind)kind, kind == LONG ? VALUES : VALUES / 2);
        record_init(steps.record, NULL, DURATION_NS);
        bool is_done = single_step(record_all, look_at_change, &steps);
        if (is_done) {
            CHECK_SAME(*steps.known, values.count);
            CHECK(steps.seen.changes > 4 * values.count);
            CHECK_SAME(steps.seen.refused, 0);
            CHECK_SAME(steps.seen.untrue_worst, 0);
            CHECK_SAME(steps.seen.untrue_maxima, 0);
            CHECK_SAME(steps.seen.untrue_moments, 0);
            CHECK_SAME(steps.seen.told, 0);
            CHECK(steps.seen.without_worst > 0);
        }
        if (!is_done)
            break;
    }
    munmap(memory, bytes + sizeof(int));
    fclose(file);
}

/* ---- copies made at work ---- */

/* How many values the record of a stop has. */
static int count_at(size_t stop)
{
    return 1 + (int)(stop < STOPS / 2 ? stop : stop * (VALUES / STOPS));
}

/* From `stops` moments, ascending, with cuts at any eight bytes. The last of them. */
static size_t copy_at_work(struct record *copy, struct record *const stops[], uint64_t *state)
{
    size_t bytes = record_size(NULL, DURATION_NS), head = offsetof(struct record, buckets);
    size_t rest = MAXIMA_OFFSET, from = 0;
    size_t moment = tap_random(state) % STOPS;
    for (int i = 0; i <= CUTS; i++) {
        size_t low = i < CUTS / 2 ? 0 : i < CUTS - 1 ? head : rest;
        size_t high = i < CUTS / 2 ? head : i < CUTS - 1 ? rest : bytes;
        size_t to = i == CUTS ? bytes : (low + tap_random(state) % (high - low)) & ~(size_t)7;
        if (to <= from)
            continue;
        memcpy((char *)copy + from, (char *)stops[moment] + from, to - from);
        from = to;
        if (to < bytes)
            moment += tap_random(state) % (STOPS - moment);
    }
    return moment;
}

TEST(a_copy_made_at_work)
{
    uint64_t state = 11;
    int told = 0, kept = 0, lost = 0, exact = 0, halved = 0;
    struct record *stops[STOPS], *copy = new_record();
    for (int i = 0; i < STOPS; i++)
        stops[i] = new_record();
    for (int kind = 0; kind < KINDS; kind++) {
        make_values((enum kind)kind, VALUES);
        for (int i = 0; i < STOPS; i++) {
            record_init(stops[i], NULL, DURATION_NS);
            record_from(stops[i], 0, count_at((size_t)i));
        }
        for (int round = 0; round < ROUNDS / KINDS; round++) {
            size_t end = copy_at_work(copy, stops, &state);
            uint64_t counted = copy->count, held = held_by(copy);
            struct recovered recovered = record_recover(copy);
            if (counted > held + 1) /* underflow and overflow are read before it */
                continue;
            if (!CHECK(fits(copy)))
                break;
            CHECK(copy->count >= held && copy->count <= held + 2);
            CHECK_SAME(recovered.later_count, copy->count - counted);
            CHECK(is_worst_true(copy, VALUES) && is_worst_complete(copy));
            CHECK(are_maxima_true(copy, VALUES));
            CHECK(!recovered.lost_maxima ||
                  (copy->maxima_used == 1 &&
                   copy->maxima_interval_ns > values.at_ns[count_at(end) - 1]));
            CHECK(recovered.has_other_moments || copy->count <= counted + 1);
            told += record_was_recovered(&recovered);
            kept += copy->worst_count > 0 && recovered.later_count > 0;
            lost += recovered.lost_worst;
            exact += !recovered.has_other_moments;
            halved += recovered.lost_maxima;
        }
    }
    CHECK(told > 100 && kept > 10 && lost > 100 && exact > 10 && halved > 10);
}

/* Of 3000 values 60 more are in the histogram: all but the list of the worst is known. */
TEST(moments_of_the_histogram)
{
    struct record *record = new_record(), *copy = new_record();
    make_values(USUAL, MANY);
    record_from(record, 0, MANY - 60);
    memcpy(copy, record, offsetof(struct record, buckets));
    record_from(record, MANY - 60, MANY);
    copy_from(copy, record, offsetof(struct record, buckets));
    struct recovered recovered = record_recover(copy);
    CHECK(recovered.later_count == 60 && recovered.has_other_moments && !recovered.lost_maxima);
    CHECK(fits(copy) && copy->count == MANY);
    double off = fabs(record_mean(copy) - record_mean(record));
    CHECK(off > 0 && off <= record_mean(record) / 2048);
    CHECK(fabs(record_stddev(copy) - record_stddev(record)) <= 3000. / 2048);
}

/* Between the two halves of a sum of 128 bits. */
TEST(sums_that_cannot_be)
{
    struct record *record = new_record();
    make_values(USUAL, VALUES);
    for (int is_square = 0; is_square <= 1; is_square++)
        for (int change = -1; change <= 1; change++) {
            record_init(record, NULL, DURATION_NS);
            record_from(record, 0, VALUES);
            double mean = record_mean(record), stddev = record_stddev(record);
            *(is_square ? &record->sum_of_squares.high : &record->sum.high) += change;
            struct recovered recovered = record_recover(record);
            CHECK_SAME(recovered.has_other_moments, change != 0);
            CHECK(fabs(record_mean(record) - mean) <= mean / 2048);
            CHECK(fabs(record_stddev(record) - stddev) <= mean / 2048);
        }
}

/* In turn: beside values that all overflow; where nothing but an overflow was copied. */
TEST(outside_of_the_buckets)
{
    struct record *record = new_record();
    for (int i = 0; i < 3; i++)
        record_value(record, RECORD_LIMIT_NS + 1 + i, i);
    record->min = 70;
    CHECK_SAME(record_recover(record).later_count, 1);
    CHECK(fits(record) && record->min == 70);
    record_init(record, NULL, DURATION_NS);
    record->overflow = 1;
    record_maxima(record)[0] = RECORD_LIMIT_NS + 9;
    CHECK_SAME(record_recover(record).later_count, 1);
    CHECK(fits(record) && record->min == RECORD_LIMIT_NS + 9);
}

/* In the sums and the count, and not in the histogram, or the other way: the sums stay exact. */
TEST(one_value_of_difference)
{
    struct record *record = new_record();
    make_values(USUAL, VALUES);
    for (int more = -1; more <= 1; more += 2) {
        record_init(record, NULL, DURATION_NS);
        record_from(record, 0, VALUES);
        double mean = record_mean(record), stddev = record_stddev(record);
        record->buckets[last_bucket(record) - 9] += 1;
        record->count += more == 1 ? 0 : 2;
        record->sum.low += more == 1 ? 0 : (uint64_t)(2 * (int64_t)(mean - (double)record->shift));
        struct recovered recovered = record_recover(record);
        CHECK(!recovered.has_other_moments && recovered.later_count == (more == 1 ? 1 : 0));
        CHECK_SAME(record->count, VALUES + 1);
        CHECK(more == -1 || (record_mean(record) == mean && record_stddev(record) == stddev));
        CHECK(fabs(record_mean(record) - mean) <= 1);
    }
}

/* Another second has begun, and the largest value came, after the histogram was copied. */
TEST(what_only_the_maxima_have)
{
    struct record *record = new_record(), *copy = new_record();
    for (int i = 0; i < 10; i++)
        record_value(record, 100 + i, i);
    memcpy(copy, record, MAXIMA_OFFSET);
    record_value(record, 5000, 3 * DURATION_NS);
    copy_from(copy, record, MAXIMA_OFFSET);
    struct recovered recovered = record_recover(copy);
    CHECK(recovered.later_count == 1 && recovered.lost_worst && !recovered.lost_maxima);
    CHECK(fits(copy));
    CHECK(copy->count == 11 && copy->max == 5000 && copy->maxima_used == 4);
}

/* ---- arenas: series that share a slot, while slots are moved ---- */

enum {
    EACH = 2, /* series of a variant */
    VARIANTS = 3,
    SERIES = EACH * VARIANTS,
    SCENE_VALUES = 16,
    PHASES = VARIANTS + 1, /* the first variant is measured once more */
    SCENE_STOPS = 900,
    STOP_EVERY = 9,
    COPIES = 3000,
    SCENE_CUTS = 8
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
    } stops[SCENE_STOPS];
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
    for (int j = 0; j < SCENE_VALUES; j++)
        for (int i = 0; i < EACH; i++) {
            int index = scene->known->begun[first + i]++;
            record_value(records[i], value_of(first + i, index), index * STEP_NS);
            scene->known->done[first + i]++;
        }
}

static void record_scene(void *own)
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
    if (!scene->wants_stops || scene->changes % STOP_EVERY != 0 || scene->stop_count == SCENE_STOPS)
        return;
    struct stop *stop = &scene->stops[scene->stop_count++];
    size_t bytes = (size_t)scene->arena->bytes;
    stop->bytes = memcpy(tap_memory(bytes), scene->arena, bytes);
    stop->known = *known;
}

static void look_at_scene(void *own)
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

TEST(an_arena_killed_at_any_instruction)
{
    struct scene *scene = new_scene(false);
    if (single_step(record_scene, look_at_scene, scene)) {
        CHECK(scene->changes > 100 * SCENE_VALUES);
        check_tally(scene);
    }
    free_scene(scene);
}

/* ---- a copy ---- */

/* From ascending moments, from the first byte to the last, with cuts at any eight bytes: some in
 * the head, most in the slots and in the compact forms. */
static void copy_scene(const struct scene *scene, char *copy, uint64_t *state, int *first,
                       int *last)
{
    size_t bytes = (size_t)scene->arena->bytes, head = sizeof(struct arena), from = 0;
    int moment = (int)(tap_random(state) % (uint64_t)scene->stop_count);
    int most_leap = tap_random(state) % 2 ? scene->stop_count : 20;
    *first = moment;
    for (int i = 0; i <= SCENE_CUTS; i++) {
        size_t low = i == 0 ? 0 : from > head ? from : head;
        size_t to = (low + tap_random(state) % (bytes - low)) & ~(size_t)7;
        to = i == SCENE_CUTS ? bytes
             : i == 0        ? to
                             : low + (to - low) / (tap_random(state) % 4 + 1) / 8 * 8;
        memcpy(copy + from, scene->stops[moment].bytes + from, to > from ? to - from : 0);
        from = to > from ? to : from;
        int left = scene->stop_count - moment;
        if (from < bytes)
            moment += (int)(tap_random(state) % (uint64_t)(left < most_leap ? left : most_leap));
    }
    *last = moment;
}

TEST(an_arena_copied_at_work)
{
    struct scene *scene = new_scene(true);
    if (single_step(record_scene, look_at_scene, scene)) {
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
            copy_scene(scene, copy, &state, &first, &last);
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

/* Records in a file: what is refused, what survives the probe, also of series that left their slot,
 * and files that are damaged or not record files. No content may crash the reader. */
#include "base/posix_source.h"

#include "new_arena.h"
#include "record_file.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CUTS = 200, SHARED = 4 };

static struct arena *create(const char *path, struct outcome *outcome)
{
    static struct arena_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.duration_ns = 1;
    plan.more_events = 2;
    arena_plan_series(&plan, "wakeup", "ns", &(struct record_shape){1 << 16, 5});
    arena_plan_label_number(&plan, 0, "cpu", 1);
    arena_plan_series(&plan, "missed", "count", &(struct record_shape){1 << 16, 5});
    memset(outcome, 0, sizeof *outcome);
    struct arena *arena = arena_create(&plan, path, outcome);
    arena_plan_free(&plan);
    return arena;
}

static void fill(struct arena *arena)
{
    for (int i = 0; i < 1000; i++)
        record_value(arena_record(arena, 0), i * 37, i * INT64_C(10000000));
    arena_event(arena, "missed_periods", -1, NO_DATA, "an event");
    arena_verdict(arena, true, 1, "monotonic", "a verdict");
    arena_calibrated(arena, "turns", 4711);
    put_header(arena);
    snprintf(arena->conditions_json, sizeof arena->conditions_json, "{}");
}

/* A record file as a probe leaves it behind; its length. */
static size_t leave_file(const char *path)
{
    struct outcome outcome;
    unlink(path);
    struct arena *arena = create(path, &outcome);
    if (!arena)
        abort();
    fill(arena);
    size_t bytes = arena->bytes;
    arena_free(arena);
    return bytes;
}

/* One of four series of one slot; the last one is in it. */
static size_t leave_shared_file(const char *path)
{
    struct arena_plan plan = {0};
    for (int i = 0; i < SHARED; i++) {
        arena_plan_series(&plan, "wakeup", "ns", &(struct record_shape){1 << 12, 5});
        if (i > 0)
            arena_plan_share(&plan, 0);
    }
    unlink(path);
    struct arena *arena = new_arena(&plan, path);
    put_header(arena);
    for (int i = 0; i < SHARED; i++)
        for (int j = 0; j <= 100 * i; j++)
            record_value(arena_record(arena, i), i + j, j * INT64_C(10000000));
    size_t bytes = arena->bytes;
    arena_free(arena);
    return bytes;
}

/* A file that was left, and its content, to be changed. */
static struct {
    char path[2 * PATH_BYTES];
    size_t bytes;
    struct arena *arena;
} left;

static bool leave(size_t (*leave_one)(const char *path))
{
    snprintf(left.path, sizeof left.path, "%s", path_of("left"));
    left.arena = left_by(leave_one, left.path, &left.bytes);
    return true;
}

static void remove_left(void)
{
    free(left.arena);
    unlink(left.path);
}

#define LEFT_TEST(what) TEST_IN(leave(leave_file), remove_left(), what)
#define SHARED_TEST(what) TEST_IN(leave(leave_shared_file), remove_left(), what)

static void write_left(void)
{
    write_all(left.path, (const char *)left.arena, left.bytes);
}

static void refuse_left(const char *part)
{
    write_left();
    refuse_file(left.path, part);
}

static struct arena *open_left(void)
{
    char reason[REASON_BYTES] = "";
    struct arena *arena = arena_open(left.path, reason, sizeof reason);
    if (!arena) {
        printf("# %s\n", reason);
        abort();
    }
    return arena;
}

/* ---- making a file ---- */

static void refused(const char *path, enum status status)
{
    struct outcome outcome;
    CHECK(create(path, &outcome) == NULL);
    CHECK_SAME(outcome.status, status);
    CHECK_HOLDS(outcome.reason, "for the records in ");
    CHECK(outcome.remedy[0] != '\0');
}

/* Neither a file nor what a symbolic link leads to is touched. */
TEST(files_that_cannot_be_made)
{
    char aim[2 * PATH_BYTES], kept[6] = "";
    struct stat facts;
    const char *path = path_of("existing");
    write_all(path, "mine", 4);
    refused(path, STATUS_FAILED);
    read_all(path, kept, 4);
    CHECK_TEXT(kept, "mine");
    unlink(path);
    snprintf(aim, sizeof aim, "%s", path_of("aim"));
    path = path_of("link");
    CHECK_SAME(symlink(aim, path), 0);
    refused(path, STATUS_FAILED);
    CHECK(stat(aim, &facts) != 0);
    unlink(path);
    refused(path_of("none/records"), STATUS_FAILED);
}

TEST(unwritable_folder)
{
    if (geteuid() == 0) {
        tap_skip("the administrator may write anywhere");
        return;
    }
    chmod(tap_folder(), 0500);
    refused(path_of("records"), STATUS_DENIED);
    chmod(tap_folder(), 0700);
}

/* A limit on the size of files stands for a full file system: both are told when the
 * file is made, and nothing stays behind. */
static void create_under_limit(void)
{
    struct rlimit limit = {65536, 65536};
    struct outcome outcome;
    struct stat facts;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    const char *path = path_of("limited");
    bool is_refused = create(path, &outcome) == NULL && outcome.status != STATUS_MEASURED;
    bool is_gone = stat(path, &facts) != 0;
    _exit(!is_refused ? 1 : !is_gone ? 2 : 0);
}

TEST(no_room_leaves_no_file)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        create_under_limit();
    waitpid(child, &status, 0);
    CHECK_SAME(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

/* ---- reading one ---- */

LEFT_TEST(left_file_is_read)
{
    struct stat facts;
    struct arena *arena = open_left();
    struct record *scratch = new_scratch(arena);
    CHECK_SAME(arena_read(arena, 0, scratch)->count, 1000);
    CHECK_SAME(arena_read(arena, 0, scratch)->max, 999 * 37);
    CHECK_SAME(arena_read(arena, 1, scratch)->count, 0);
    free(scratch);
    CHECK_TEXT(arena->verdicts[0].evidence, "a verdict");
    CHECK_SAME(arena->calibrated_count, 1);
    CHECK_TEXT(arena->calibrated[0].param, "turns");
    CHECK_SAME(arena->calibrated[0].value, 4711);
    arena_free(arena);
    CHECK(open_and_dump(left.path));
    CHECK_SAME(stat(left.path, &facts), 0);
    CHECK_SAME(facts.st_mode & 0777, 0600);
}

/* Killed where the last value was counted and not yet in the histogram. */
LEFT_TEST(half_a_value_is_left_out)
{
    arena_record(left.arena, 0)->count++;
    write_left();
    struct arena *arena = open_left();
    CHECK_SAME(arena_count(arena, 0), 1000);
    CHECK_SAME(arena->event_count, 1); /* that of fill */
    arena_free(arena);
}

/* Killed before it took the value out of its record. */
LEFT_TEST(a_value_of_a_stop_is_taken_out)
{
    record_value(arena_record(left.arena, 0), 100000000, INT64_C(12000000000));
    stops_add(left.arena, left.arena->started_ns + INT64_C(11950000000));
    write_left();
    struct arena *arena = open_left();
    CHECK_SAME(arena_count(arena, 0), 1000);
    CHECK_SAME(arena_record(arena, 0)->max, 999 * 37);
    CHECK_SAME(count_events(arena, "stopped"), 1);
    arena_free(arena);
}

LEFT_TEST(a_copy_made_at_work_is_told)
{
    arena_record(left.arena, 0)->count -= 30;
    write_left();
    struct arena *arena = open_left();
    CHECK_SAME(arena_count(arena, 0), 1000);
    CHECK_SAME(arena->event_count, 2);
    CHECK_TEXT(arena->events[1].name, "read_at_work");
    CHECK_HOLDS(arena->events[1].text,
                "wakeup was copied, or its probe killed, while values arrived: 1000 values, 30 "
                "of them after the count was read; mean and deviation are computed from the "
                "histogram");
    arena_free(arena);
}

TEST(no_record_files)
{
    static char garbage[300000];
    uint64_t state = 9;
    refuse_file(path_of("absent"), "No such file");
    refuse_file(tap_folder(), "Is a directory");
    refuse_file("/dev/null", "not a record file");
    const char *path = path_of("garbage");
    write_all(path, "", 0);
    refuse_file(path, "not a record file");
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = (char)tap_random(&state);
    write_all(path, garbage, sizeof garbage);
    refuse_file(path, "not a record file");
    unlink(path);
}

LEFT_TEST(other_version)
{
    left.arena->version ^= 4;
    refuse_left("another version");
}

/* A file that was made a moment ago: its probe says next what it measures. */
LEFT_TEST(without_header)
{
    left.arena->header_json[0] = '\0';
    refuse_left("it has no header yet");
}

LEFT_TEST(cut_short)
{
    uint64_t state = 21;
    for (int i = 0; i < CUTS; i++) {
        size_t rest = i == 0 ? left.bytes - 1 : (size_t)(tap_random(&state) % left.bytes);
        write_left();
        CHECK_SAME(truncate(left.path, (off_t)rest), 0);
        CHECK(!open_and_dump(left.path));
    }
}

#define CHECK_ENDS(text) CHECK(memchr((text), '\0', sizeof(text)) != NULL)

static void check_ends(void)
{
    CHECK(open_and_dump(left.path));
    struct arena *arena = open_left();
    CHECK_ENDS(arena->header_json);
    CHECK_ENDS(arena->conditions_json);
    for (uint32_t i = 0; i < arena->series_count; i++) {
        CHECK_ENDS(arena->series[i].name);
        CHECK_ENDS(arena->series[i].unit);
        CHECK_ENDS(arena->series[i].derived);
        CHECK_ENDS(arena->series[i].labels[0].key);
        CHECK_ENDS(arena->series[i].labels[ARENA_LABELS - 1].text);
    }
    CHECK_ENDS(arena->events[0].name);
    CHECK_ENDS(arena->events[ARENA_EVENTS - 1].text);
    CHECK_ENDS(arena_event_at(arena, arena_event_room(arena) - 1)->text);
    CHECK_ENDS(arena->verdicts[0].name);
    CHECK_ENDS(arena->verdicts[ARENA_VERDICTS - 1].evidence);
    arena_free(arena);
}

/* The head from header_json on, and of each series all but its slot and its shape; nothing that
 * is_whole looks at. */
static void fill_texts(struct arena *arena, char fill_with)
{
    struct arena head = *arena;
    memset(arena->header_json, fill_with, sizeof *arena - offsetof(struct arena, header_json));
    arena->verdict_count = ARENA_VERDICTS;
    arena->series_count = head.series_count;
    arena->slot_count = head.slot_count;
    arena->slot_shape = head.slot_shape;
    arena->more_events = head.more_events;
    for (int i = 0; i < TABLE_KINDS; i++)
        arena->tables[i].room = head.tables[i].room;
    arena->kept_begin = head.kept_begin;
    for (uint32_t i = 0; i < arena->series_count; i++) {
        const struct arena_series before = arena->series[i];
        memset(&arena->series[i], fill_with, sizeof arena->series[i]);
        arena->series[i].slot = before.slot;
        arena->series[i].shape = before.shape;
    }
    memset(&arena->series[arena->series_count], fill_with,
           arena->more_events * sizeof arena->events[0]);
}

/* Everything but what is_whole looks at, bytes of all values, and no end of any text up to
 * the end of the file; then no end of the texts of series. */
TEST(texts_without_end)
{
    static char ones[] = "\x01\x7f\xff";
    size_t head = (sizeof(struct arena) + 63) / 64 * 64;
    for (const char *fill_with = ones; *fill_with; fill_with++) {
        leave(leave_file);
        fill_texts(left.arena, *fill_with);
        write_left();
        check_ends();
        left.arena->series_count = left.arena->slot_count = left.arena->more_events = 0;
        left.arena->bytes = left.arena->kept_begin = left.bytes = head;
        memset(left.arena + 1, *fill_with, head - sizeof *left.arena);
        write_left();
        check_ends();
        remove_left();
    }
}

/* Records are written to when they are recovered, so none may lie elsewhere than where it is made.
 */
LEFT_TEST(records_out_of_place)
{
    static const uint32_t slots[] = {2, 3, INT32_MAX, UINT32_MAX};
    const uint64_t right = left.arena->kept_begin;
    const uint64_t begins[] = {right - 64, right + 8, 0, offsetof(struct arena, series),
                               UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        left.arena->series[1].slot = slots[i];
        refuse_left("damaged");
    }
    left.arena->series[1].slot = 1;
    left.arena->series[0].slot = 1; /* and slot 0 is that of series 0 */
    refuse_left("damaged");
    left.arena->series[0].slot = 0;
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        left.arena->kept_begin = begins[i];
        refuse_left("damaged");
    }
    left.arena->kept_begin = right;
    left.arena->slot_count = 1;
    refuse_left("damaged");
    left.arena->slot_count = 2;
    write_left();
    CHECK(open_and_dump(left.path));
    arena_record(left.arena, 0)->maxima_capacity *= 2; /* into the next record */
    refuse_left("damaged");
}

/* A record that says it is wider than its slot; a series that needs a wider one. */
LEFT_TEST(records_larger_than_their_slot)
{
    struct record *record = arena_record(left.arena, 0);
    record->bucket_count *= 2;
    refuse_left("damaged");
    record->bucket_count /= 2;
    const struct record_shape right = left.arena->series[1].shape;
    left.arena->series[1].shape = (struct record_shape){0, 0}; /* than is there to read it into */
    refuse_left("damaged");
    left.arena->series[1].shape = right;
    left.arena->slot_shape = (struct record_shape){1023, 4};
    refuse_left("damaged");
}

/* Memory of a device is larger than the arena in it: only the arena is read. A head that says it is
 * larger than any memory is refused by itself. */
LEFT_TEST(a_file_of_any_size)
{
    const uint64_t any_memory = (uint64_t)1 << 42;
    int file = open(left.path, O_RDWR | O_CLOEXEC);
    if (ftruncate(file, (off_t)any_memory) == 0) {
        CHECK(open_and_dump(left.path));
        CHECK_SAME(pwrite(file, &any_memory, sizeof any_memory, offsetof(struct arena, bytes)),
                   sizeof any_memory);
        refuse_file(left.path, "damaged");
    }
    close(file);
}

/* Numbers of a record that no probe writes. */
LEFT_TEST(absurd_numbers)
{
    struct record *record = arena_record(left.arena, 0);
    record->maxima_interval_ns = INT64_MAX;
    record->maxima_used = 50;
    record->count = UINT64_MAX;
    record->sum.high = INT64_MIN;
    write_left();
    open_and_dump(left.path);
    left.arena->event_count = UINT32_MAX; /* and one more comes */
    left.arena->calibrated_count = UINT32_MAX;
    record->maxima_interval_ns = 1000000000;
    record->count = 970;
    write_left();
    struct arena *opened = open_left();
    CHECK_SAME(opened->event_count, ARENA_EVENTS + 1);
    CHECK_SAME(opened->calibrated_count, 0);
    arena_free(opened);
    left.arena->duration_ns = INT64_MIN;
    write_left();
    CHECK(!open_and_dump(left.path));
}

/* ---- series that left their slot: found whatever the head says, told where they are damaged,
 * counted once ---- */

SHARED_TEST(flipped_bits_of_series_that_left_their_slot)
{
    flip_bits(leave_shared_file, (size_t)left.arena->kept_begin,
              (size_t)(left.arena->kept_end - left.arena->kept_begin));
}

/* Series up to `whole` are there, the others that left the slot empty. */
static void check_shared(int whole)
{
    write_left();
    struct arena *arena = open_left();
    struct record *scratch = new_scratch(arena);
    for (int i = 0; i < SHARED; i++) {
        bool is_there = i < whole || i == SHARED - 1;
        const struct record *record = arena_read(arena, (uint32_t)i, scratch);
        CHECK_SAME(record->count, is_there ? 100 * i + 1 : 0);
        CHECK_SAME(arena_count(arena, (uint32_t)i), record->count);
        CHECK(!is_there || (record->min == i && record->max == 101 * i));
    }
    CHECK_SAME(arena->event_count, whole < SHARED - 1);
    if (arena->event_count == 1) {
        CHECK_TEXT(arena->events[0].name, "file_damaged");
        CHECK_HOLDS(arena->events[0].text, "of the file: this result has them without values");
    }
    CHECK(open_and_dump(left.path));
    free(scratch);
    arena_free(arena);
}

SHARED_TEST(finished_series_are_found)
{
    check_shared(SHARED - 1);
    left.arena->kept_end = left.arena->kept_begin;
    left.arena->kept_count = 0;
    for (int i = 0; i < SHARED; i++)
        left.arena->series[i].kept_offset = 0;
    check_shared(SHARED - 1);
    for (int i = 0; i < SHARED; i++)
        left.arena->series[i].kept_offset = UINT64_MAX - 8 * (uint64_t)i;
    check_shared(SHARED - 1);
}

SHARED_TEST(a_damaged_finished_series_is_told)
{
    for (int i = 0; i < SHARED - 1; i++) {
        char *at = (char *)left.arena + left.arena->series[i].kept_offset + 100;
        *at ^= 4;
        check_shared(i);
        *at ^= 4;
    }
}

/* In its slot as well, as where the probe was killed before the slot was moved: it counts once. */
SHARED_TEST(a_series_in_its_slot_and_kept)
{
    struct record *slot = arena_record(left.arena, SHARED - 1);
    slot->owner = SHARED - 1; /* the series before, which is kept */
    write_left();
    struct arena *opened = open_left();
    CHECK_SAME(arena_count(opened, SHARED - 1), 0);
    CHECK_SAME(arena_count(opened, SHARED - 2), 301); /* the slot has more */
    arena_free(opened);
    slot->count = 150; /* the slot was copied before more values came */
    write_left();
    opened = open_left();
    CHECK_SAME(arena_count(opened, SHARED - 2), 201);
    CHECK_SAME(opened->event_count, 0);
    arena_free(opened);
}

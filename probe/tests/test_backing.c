/* Records in a file: what is refused, what survives the probe, and files that are damaged or not
 * record files. No content may crash the reader. */
#include "base/posix_source.h"

#include "record_file.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CUTS = 200 };

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
    arena_verdict(arena, true, "monotonic", "a verdict");
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

static struct arena *left_arena(const char *path, size_t *bytes)
{
    return left_by(leave_file, path, bytes);
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

TEST(existing_file_is_refused)
{
    const char *path = path_of("existing");
    char kept[6] = "";
    write_all(path, "mine", 4);
    refused(path, STATUS_FAILED);
    read_all(path, kept, 4);
    CHECK_TEXT(kept, "mine");
    unlink(path);
}

TEST(symbolic_link_is_refused)
{
    char aim[2 * PATH_BYTES];
    struct stat facts;
    snprintf(aim, sizeof aim, "%s", path_of("aim"));
    const char *path = path_of("link");
    if (symlink(aim, path) != 0)
        abort();
    refused(path, STATUS_FAILED);
    CHECK(stat(aim, &facts) != 0);
    unlink(path);
}

TEST(no_such_folder)
{
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

TEST(mode_is_private)
{
    struct stat facts;
    const char *path = path_of("private");
    leave_file(path);
    CHECK_SAME(stat(path, &facts), 0);
    CHECK_SAME(facts.st_mode & 0777, 0600);
    unlink(path);
}

/* ---- reading one ---- */

TEST(left_file_is_read)
{
    char reason[REASON_BYTES] = "";
    const char *path = path_of("left");
    leave_file(path);
    struct arena *arena = arena_open(path, reason, sizeof reason);
    if (CHECK(arena != NULL)) {
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
    }
    CHECK(open_and_dump(path));
    unlink(path);
}

/* As one is left by a probe of which the first record's count is `ahead` of its histogram. */
static struct arena *open_with_count_ahead(int ahead)
{
    char reason[REASON_BYTES] = "";
    const char *path = path_of("ahead");
    struct outcome outcome;
    struct arena *left = create(path, &outcome);
    if (!left)
        abort();
    fill(left);
    arena_record(left, 0)->count += ahead;
    arena_free(left);
    struct arena *arena = arena_open(path, reason, sizeof reason);
    unlink(path);
    if (!CHECK(arena != NULL))
        abort();
    return arena;
}

/* Killed where the last value was counted and not yet in the histogram. */
TEST(half_a_value_is_left_out)
{
    struct arena *arena = open_with_count_ahead(1);
    CHECK_SAME(arena_count(arena, 0), 1000);
    CHECK_SAME(arena->event_count, 1); /* that of fill */
    arena_free(arena);
}

TEST(a_copy_made_at_work_is_told)
{
    struct arena *arena = open_with_count_ahead(-30);
    CHECK_SAME(arena_count(arena, 0), 1000);
    if (CHECK_SAME(arena->event_count, 2)) {
        CHECK_TEXT(arena->events[1].name, "read_at_work");
        CHECK_HOLDS(arena->events[1].text,
                    "wakeup was copied, or its probe killed, while values came: 1000 values, 30 of "
                    "them after "
                    "the count was read; mean and deviation are computed from the histogram");
    }
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

TEST(other_version)
{
    const char *path = path_of("version");
    size_t bytes;
    struct arena *arena = left_arena(path, &bytes);
    arena->version ^= 4;
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "another version");
    free(arena);
    unlink(path);
}

/* A file that was made a moment ago: its probe says next what it measures. */
TEST(without_header)
{
    const char *path = path_of("begun");
    size_t bytes;
    struct arena *arena = left_arena(path, &bytes);
    arena->header_json[0] = '\0';
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "it has no header yet");
    free(arena);
    unlink(path);
}

TEST(cut_short)
{
    uint64_t state = 21;
    const char *path = path_of("cut");
    size_t bytes = leave_file(path);
    for (int i = 0; i < CUTS; i++) {
        size_t left = i == 0 ? bytes - 1 : (size_t)(tap_random(&state) % bytes);
        leave_file(path);
        CHECK_SAME(truncate(path, (off_t)left), 0);
        CHECK(!open_and_dump(path));
    }
    unlink(path);
}

TEST(flipped_bits)
{
    flip_bits(leave_file, 0, sizeof(struct arena) + sizeof(struct record));
}

#define CHECK_ENDS(text) CHECK(memchr((text), '\0', sizeof(text)) != NULL)

static void check_ends(const char *path)
{
    char reason[REASON_BYTES];
    struct arena *arena = arena_open(path, reason, sizeof reason);
    if (!CHECK(arena != NULL))
        return;
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
    arena->window_room = head.window_room;
    arena->gap_room = head.gap_room;
    arena->table_room = head.table_room;
    arena->row_room = head.row_room;
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
    const char *path = path_of("endless");
    for (const char *fill_with = ones; *fill_with; fill_with++) {
        size_t bytes, head = (sizeof(struct arena) + 63) / 64 * 64;
        struct arena *arena = left_arena(path, &bytes);
        fill_texts(arena, *fill_with);
        write_all(path, (char *)arena, bytes);
        CHECK(open_and_dump(path));
        check_ends(path);
        arena->series_count = arena->slot_count = arena->more_events = 0;
        arena->bytes = arena->kept_begin = head;
        memset((char *)arena + sizeof *arena, *fill_with, head - sizeof *arena);
        write_all(path, (char *)arena, head);
        CHECK(open_and_dump(path));
        check_ends(path);
        free(arena);
    }
    unlink(path);
}

static void refuse_kept_begin(const char *path, struct arena *arena, size_t bytes)
{
    uint64_t right = arena->kept_begin;
    uint64_t wrong[] = {right - 64, right + 8, 0, offsetof(struct arena, series), UINT64_MAX - 7};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        arena->kept_begin = wrong[i];
        write_all(path, (char *)arena, bytes);
        refuse_file(path, "damaged");
    }
    arena->kept_begin = right;
}

/* Records are written to when they are recovered, so none may lie elsewhere than where it is made.
 */
TEST(records_out_of_place)
{
    const char *path = path_of("overlap");
    size_t bytes;
    struct arena *arena = left_arena(path, &bytes);
    static const uint32_t slots[] = {2, 3, INT32_MAX, UINT32_MAX};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        arena->series[1].slot = slots[i];
        write_all(path, (char *)arena, bytes);
        refuse_file(path, "damaged");
    }
    arena->series[1].slot = 1;
    arena->series[0].slot = 1; /* and slot 0 is that of series 0 */
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "damaged");
    arena->series[0].slot = 0;
    refuse_kept_begin(path, arena, bytes);
    arena->slot_count = 1;
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "damaged");
    arena->slot_count = 2;
    write_all(path, (char *)arena, bytes);
    CHECK(open_and_dump(path));
    arena_record(arena, 0)->maxima_capacity *= 2; /* into the next record */
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "damaged");
    free(arena);
    unlink(path);
}

/* A record that says it is wider than its slot; a series that needs a wider one. */
TEST(records_larger_than_their_slot)
{
    const char *path = path_of("wide");
    size_t bytes;
    struct arena *arena = left_arena(path, &bytes);
    struct record *record = arena_record(arena, 0);
    record->bucket_count *= 2;
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "damaged");
    record->bucket_count /= 2;
    arena->slot_shape = (struct record_shape){1023, 4};
    write_all(path, (char *)arena, bytes);
    refuse_file(path, "damaged");
    free(arena);
    unlink(path);
}

/* Memory of a device is larger than the arena in it: only the arena is read. A head that says it is
 * larger than any memory is refused by itself. */
TEST(a_file_of_any_size)
{
    const char *path = path_of("large");
    const uint64_t any_memory = (uint64_t)1 << 42;
    leave_file(path);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (ftruncate(file, (off_t)any_memory) == 0) {
        CHECK(open_and_dump(path));
        CHECK_SAME(pwrite(file, &any_memory, sizeof any_memory, offsetof(struct arena, bytes)),
                   sizeof any_memory);
        refuse_file(path, "damaged");
    }
    close(file);
    unlink(path);
}

/* Numbers of a record that no probe writes. */
TEST(absurd_numbers)
{
    const char *path = path_of("absurd");
    size_t bytes;
    struct arena *arena = left_arena(path, &bytes);
    struct record *record = arena_record(arena, 0);
    record->maxima_interval_ns = INT64_MAX;
    record->maxima_used = 50;
    record->count = UINT64_MAX;
    record->sum.high = INT64_MIN;
    write_all(path, (char *)arena, bytes);
    open_and_dump(path);
    arena->event_count = UINT32_MAX; /* and one more comes */
    arena->calibrated_count = UINT32_MAX;
    record->maxima_interval_ns = 1000000000;
    record->count = 970;
    write_all(path, (char *)arena, bytes);
    char reason[REASON_BYTES];
    struct arena *opened = arena_open(path, reason, sizeof reason);
    if (CHECK(opened != NULL))
        CHECK_SAME(opened->event_count, ARENA_EVENTS + 1);
    if (opened)
        CHECK_SAME(opened->calibrated_count, 0);
    arena_free(opened);
    arena->duration_ns = INT64_MIN;
    write_all(path, (char *)arena, bytes);
    CHECK(!open_and_dump(path));
    free(arena);
    unlink(path);
}

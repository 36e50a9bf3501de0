/* How much disk and memory a load takes, and that the external stressor is ended when they run
 * short. Their sizes are made up: the linker wraps the calls that report and allocate them
 * (--wrap). */
#include "base/posix_source.h"

#include "load/element.h"
#include "load/external_stressor.h"
#include "load/spec.h"
#include "port/file.h"
#include "tap.h"
#include "work/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define UNIT INT64_C(4096)

static struct {
    int64_t size, free; /* of the file system; size < 0: it cannot be asked */
    bool has_no_fragments;
    int64_t end;                              /* of what was written */
    int cuts;                                 /* of the file, to nothing */
    int64_t available, of_bytes, most_memory; /* < 0: not known */
    bool is_at_work;                          /* the element: what is taken now is its own */
    int64_t held, most_held;                  /* of memory */
} world;

static struct load_map map;
static struct load_slot slot;

static int tell_disk(struct statvfs *facts)
{
    if (world.size < 0)
        return tap_fail(EIO);
    memset(facts, 0, sizeof *facts);
    facts->f_bsize = UNIT;
    facts->f_frsize = world.has_no_fragments ? 0 : UNIT;
    facts->f_blocks = facts->f_bfree = (fsblkcnt_t)(world.size / UNIT);
    facts->f_bavail = (fsblkcnt_t)(world.free / UNIT);
    return 0;
}

static ssize_t note_end(size_t count, off_t at)
{
    world.end = at + (int64_t)count > world.end ? at + (int64_t)count : world.end;
    return (ssize_t)count;
}

static int note_cut(off_t length)
{
    world.cuts += length == 0 ? 1 : 0;
    return 0;
}

static int tell_limit(struct rlimit *limit)
{
    limit->rlim_max = RLIM_INFINITY;
    limit->rlim_cur = world.most_memory < 0 ? RLIM_INFINITY : (rlim_t)world.most_memory;
    return 0;
}

/* The second name is that of large files, where there are two. */
WRAP_IF_LARGE(true, tell_disk(facts), int, fstatvfs, (int file, struct statvfs *facts),
              (file, facts));
WRAP_IF_LARGE(true, note_end(count, at), ssize_t, pwrite,
              (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at));
WRAP_IF_LARGE(true, note_cut(length), int, ftruncate, (int file, off_t length), (file, length));
WRAP_IF(true, 0, int, fdatasync, (int file), (file));
WRAP_IF_LARGE(true, tell_limit(limit), int, getrlimit, (int resource, struct rlimit *limit),
              (resource, limit));

WRAP(int64_t, port_available_bytes, int64_t *of_bytes)
{
    if (of_bytes)
        *of_bytes = world.of_bytes;
    return world.available;
}

#ifdef WRAPPED
/* Before each piece, as long as its alignment needs. */
union head {
    struct {
        union head *before, *after;
        size_t bytes;
    } of;
    char room[32];
};
static union head pieces = {.of = {&pieces, &pieces, 0}};

WRAP(void *, malloc, size_t bytes)
{
    union head *piece = __real_malloc(sizeof *piece + bytes);
    if (!piece)
        return NULL;
    *piece = (union head){.of = {piece, piece, 0}};
    if (!world.is_at_work) /* a static C library's own, too */
        return piece + 1;
    piece->of.before = &pieces;
    piece->of.after = pieces.of.after;
    piece->of.bytes = bytes;
    pieces.of.after->of.before = piece;
    pieces.of.after = piece;
    world.held += (int64_t)bytes;
    world.most_held = world.held > world.most_held ? world.held : world.most_held;
    return piece + 1;
}

WRAP(void, free, void *memory)
{
    if (!memory)
        return;
    union head *piece = (union head *)memory - 1;
    piece->of.before->of.after = piece->of.after;
    piece->of.after->of.before = piece->of.before;
    world.held -= (int64_t)piece->of.bytes;
    __real_free(piece);
}

/* A worker ends instead. */
static void give_back(void *own)
{
    while (pieces.of.after != &pieces)
        __wrap_free(pieces.of.after + 1);
    __real_free(own); /* by calloc */
}
#else
static void give_back(void *own)
{
    free(own);
}
#endif

static void make_up(int64_t size, int64_t available_on_disk)
{
    memset(&world, 0, sizeof world);
    world.size = size;
    world.free = available_on_disk;
    world.available = world.most_memory = -1;
}

/* ---- what must stay free ---- */

TEST_IN(tap_is_wrapped(), (void)0, a_part_stays_free)
{
    static const struct {
        int64_t size, free, room;
    } cases[] = {
        {1000, 1000, 1000 - 256},
        {1000, 256, 0},
        {1000, 255, -1}, /* 256 MiB */
        {20000, 3000, 3000 - 1000},
        {20000, 1000, 0},
        {20000, 999, -1}, /* 5 % */
        {100, 100, -1},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        size_t at = i / 2;
        make_up(cases[at].size * MIB, cases[at].free * MIB);
        world.has_no_fragments = i % 2 == 1;
        CHECK_SAME(scratch_room_bytes(0), cases[at].room > 0 ? cases[at].room * MIB : 0);
        CHECK_SAME(scratch_is_short(0), cases[at].room < 0);
    }
    make_up(-1, 0);
    CHECK_SAME(scratch_room_bytes(0), 0);
    CHECK(scratch_is_short(0));
}

/* ---- disk ---- */

static struct worker made_worker(const struct load_element *element, int peers)
{
    static const struct load_degree degree = {.busy_ns = 1000000, .period_ns = 10000000};
    memset(&slot, 0, sizeof slot);
    return (struct worker){.element = element,
                           .degree = &degree,
                           .map = &map,
                           .slot = &slot,
                           .peers = peers,
                           .random = 1};
}

/* How far a file goes in so many writes of 64 KiB. */
static int64_t grown(int peers)
{
    enum { WRITES = 1500 };
    struct worker worker = made_worker(&load_disk, peers);
    snprintf(map.scratch.folder, sizeof map.scratch.folder, "/tmp");
    if (!CHECK_SAME(load_disk.prepare(&worker), 0))
        return -1;
    for (int i = 0; i < WRITES; i++)
        load_disk.work(&worker);
    give_back(worker.own);
    return world.end;
}

TEST_IN(tap_is_wrapped(), (void)0, a_file_has_a_quota)
{
    static const struct {
        int64_t size, free;
        int peers;
        int64_t grown;
    } rows[] = {{1000000, 900000, 1, 64},
                {1000000, 900000, 2, 64}, /* each */
                {1000, 256 + 100, 1, 50}, /* half of the room */
                {1000, 256 + 100, 5, 10}, /* of all */
                {1000, 255, 1, 0}};
    int file = port_anonymous_file("/tmp");
    if (file < 0) {
        tap_skip("files without a name are not to be had here");
        return;
    }
    close(file);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        make_up(rows[i].size * MIB, rows[i].free * MIB);
        CHECK_SAME(grown(rows[i].peers), rows[i].grown * MIB);
    }
    CHECK_HOLDS(load_slot_note(&slot), "has too little free space");
    CHECK_SAME(world.cuts, 1);
}

/* ---- memory ---- */

/* The most that is held at a time; the pieces are the same in each run. */
static int64_t most_held(int64_t available, int64_t limit, int peers)
{
    enum { TURNS = 500 };
    make_up(1000 * MIB, 1000 * MIB);
    struct worker worker = made_worker(&load_memory, peers);
    world.available = available;
    world.most_memory = limit;
    if (!CHECK_SAME(load_memory.prepare(&worker), 0))
        return -1;
    world.is_at_work = true;
    for (int i = 0; i < TURNS; i++)
        load_memory.work(&worker);
    world.is_at_work = false;
    CHECK_SAME(atomic_load(&slot.counters[COUNTER_OWN + 2]), 0); /* none failed */
    give_back(worker.own);
    return world.most_held;
}

static void check_held(int64_t held, int64_t most)
{
    CHECK(held <= most);
    CHECK(held > most - MIB); /* the limit is what held it back: a piece is below 1 MiB */
}

TEST_IN(tap_is_wrapped(), (void)0, memory_has_a_limit)
{
    check_held(most_held(64 * MIB, -1, 1), 4 * MIB);    /* a sixteenth */
    check_held(most_held(64 * MIB, -1, 2), 2 * MIB);    /* and of that a share */
    check_held(most_held(-1, 24 * MIB, 1), 6 * MIB);    /* a quarter of what one may have */
    check_held(most_held(-1, -1, 16), 4 * MIB);         /* 64 MiB for all */
    check_held(most_held(16 * MIB, -1, 1000), 1 * MIB); /* each gets that */
    CHECK(most_held(-1, -1, 1) > 8 * MIB);              /* with no limit in reach */
}

/* ---- the external stressor, a child of this process that ends late or at once ---- */

static struct load_map *one; /* of the stressor alone */
static struct load_spec spec;
static struct external_stressor external_stressor;

/* A program that ends with 7 when it is asked to, or does not hear it. */
static pid_t start_program(bool is_deaf)
{
    sigset_t set, before;
    int heard;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t child = fork();
    if (child == 0) {
        (void)port_kill_with_parent(getppid());
        while (is_deaf)
            pause();
        sigwait(&set, &heard);
        _exit(7);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return child;
}

/* Plenty of everything: 1000 MiB of disk, 256 of which must stay, and 3200 MiB of memory, 200 of
 * which must. */
static bool start(bool is_deaf, int64_t disk)
{
    size_t bytes = sizeof *one + sizeof one->slots[0];
    char error[LOAD_ERROR_BYTES];
    make_up(1000 * MIB, disk);
    world.available = 3000 * MIB;
    world.of_bytes = 3200 * MIB;
    if (!one && !(one = port_shared_memory(bytes)))
        abort();
    memset(one, 0, bytes);
    one->slot_count = 1;
    snprintf(one->scratch.folder, sizeof one->scratch.folder, "/tmp");
    CHECK_SAME(load_spec_parse("stress-ng:--cpu 1", &spec, error, sizeof error), 0);
    external_stressor_find(&external_stressor, one, &spec);
    one->slots[0].state = WORKER_WORKS;
    one->slots[0].process = start_program(is_deaf);
    return CHECK(external_stressor.slot == &one->slots[0]) && tap_is_wrapped();
}

/* What became of it: an exit code, a signal below 0, or 0: it runs. */
static int fate(bool is_to_end)
{
    static const struct timespec moment = {.tv_nsec = 200000000};
    int status;
    if (!is_to_end)
        nanosleep(&moment, NULL);
    if (waitpid((pid_t)one->slots[0].process, &status, is_to_end ? 0 : WNOHANG) <= 0)
        return 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void finish(void)
{
    pid_t process = (pid_t)one->slots[0].process;
    if (waitpid(process, NULL, WNOHANG) == 0) {
        kill(process, SIGKILL);
        waitpid(process, NULL, 0);
    }
    if (external_stressor.folder >= 0)
        close(external_stressor.folder);
}

TEST_IN(start(false, 256 * MIB), finish(), plenty_is_left_alone)
{
    world.available = 200 * MIB;
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(false), 0);
    CHECK(!load_slot_note(&one->slots[0]));
    world.available = -1; /* not known */
    external_stressor_look(&external_stressor);
    CHECK_SAME(external_stressor.kill_ns, 0);
}

TEST(a_short_disk_or_memory_ends_it)
{
    static const struct {
        bool is_deaf;
        int64_t free, available, of_bytes; /* MiB */
        int fate;
        const char *text;
    } rows[] = {
        {false, 255, 3000, 3200, 7, "/tmp ran short of free space"},
        {false, 900, 199, 3200, 7, "199 MiB available, 200 MiB must stay free"}, /* a sixteenth */
        {false, 900, 63, 512, 7, "63 MiB available, 64 MiB must stay free"},     /* 64 MiB */
        {false, 900, 63, -1, 7, "63 MiB available, 64 MiB must stay free"},
        {true, 127, 3000, 3200, -SIGKILL, ""}, /* half is gone: there is no time */
        {true, 900, 99, 3200, -SIGKILL, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tap_row(rows[i].text);
        if (!start(rows[i].is_deaf, 900 * MIB))
            return;
        world.free = rows[i].free * MIB;
        world.available = rows[i].available * MIB;
        world.of_bytes = rows[i].of_bytes * MIB;
        external_stressor_look(&external_stressor);
        CHECK_SAME(fate(true), rows[i].fate);
        CHECK_HOLDS(load_slot_note(&one->slots[0]), rows[i].text);
        finish();
    }
}

TEST_IN(start(true, 900 * MIB), finish(), one_that_does_not_hear_is_killed_in_the_end)
{
    world.free = 200 * MIB;
    external_stressor_look(&external_stressor);
    CHECK(external_stressor.kill_ns > 0);
    external_stressor.kill_ns = INT64_MAX; /* it has time, also on a busy machine */
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(false), 0);
    external_stressor.kill_ns = 1;
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(true), -SIGKILL);
}

TEST_IN(start(false, 100 * MIB), finish(), a_disk_that_was_short_before_is_not_watched)
{
    CHECK_SAME(external_stressor.folder, -1);
    external_stressor_look(&external_stressor);
    CHECK_SAME(fate(false), 0);
}

TEST_IN(start(false, 900 * MIB), finish(), its_files_go_with_it)
{
    char place[] = "/tmp/test-load-XXXXXX", path[SCRATCH_BYTES + 32];
    if (!CHECK(mkdtemp(place) != NULL))
        return;
    snprintf(one->scratch.own, sizeof one->scratch.own, "%s", place);
    snprintf(path, sizeof path, "%s/room", place);
    CHECK_SAME(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/room/file", place);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    external_stressor_look(&external_stressor);
    CHECK_SAME(access(path, F_OK), 0);
    one->slots[0].state = WORKER_ENDED;
    CHECK(external_stressor_is_watched(&external_stressor));
    external_stressor_look(&external_stressor);
    CHECK(!external_stressor_is_watched(&external_stressor));
    CHECK_SAME(rmdir(place), 0);
}

/* It ends when it is asked to, and is waited for. Where others have the CPU for all that time: then
 * again. */
HOST_TEST(it_is_asked_before_all_is_killed)
{
    for (bool is_in_time = false; !is_in_time;) {
        if (!start(false, 900 * MIB))
            return;
        int64_t begun_ns = clock_monotonic_ns();
        external_stressor_end(&external_stressor);
        is_in_time = waitpid((pid_t)one->slots[0].process, NULL, WNOHANG) == -1 &&
                     clock_monotonic_ns() - begun_ns < EXTERNAL_STRESSOR_END_NS;
        external_stressor_end(&external_stressor); /* of no child */
        finish();
    }
}

TEST(a_load_without_one)
{
    char error[LOAD_ERROR_BYTES];
    if (!start(false, 900 * MIB))
        return;
    finish();
    CHECK_SAME(load_spec_parse("cpu", &spec, error, sizeof error), 0);
    external_stressor_find(&external_stressor, one, &spec);
    CHECK(!external_stressor_is_watched(&external_stressor));
    external_stressor_look(&external_stressor);
    external_stressor_end(&external_stressor);
}

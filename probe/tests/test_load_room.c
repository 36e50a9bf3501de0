/* How much disk and memory a load takes. Their sizes are made up: the linker wraps the calls that
 * report and allocate them (--wrap). */
#include "base/posix_source.h"

#include "load/spec.h"
#include "port/file.h"
#include "tap.h"
#include "work/scratch.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define UNIT INT64_C(4096)

static struct {
    int64_t size, free; /* of the file system; size < 0: it cannot be asked */
    bool has_no_fragments;
    int64_t end;                    /* of what was written */
    int cuts;                       /* of the file, to nothing */
    int64_t available, most_memory; /* < 0: not known */
    bool is_at_work;                /* the element: what is taken now is its own */
    int64_t held, most_held;        /* of memory */
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
WRAP_IF(true, tell_disk(facts), int, fstatvfs, (int file, struct statvfs *facts), (file, facts));
WRAP_IF(true, tell_disk(facts), int, fstatvfs64, (int file, struct statvfs *facts), (file, facts));
WRAP_IF(true, note_end(count, at), ssize_t, pwrite,
        (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at));
WRAP_IF(true, note_end(count, at), ssize_t, pwrite64,
        (int file, const void *bytes, size_t count, off_t at), (file, bytes, count, at));
WRAP_IF(true, note_cut(length), int, ftruncate, (int file, off_t length), (file, length));
WRAP_IF(true, note_cut(length), int, ftruncate64, (int file, off_t length), (file, length));
WRAP_IF(true, 0, int, fdatasync, (int file), (file));
WRAP_IF(true, tell_limit(limit), int, getrlimit, (int resource, struct rlimit *limit),
        (resource, limit));
WRAP_IF(true, tell_limit(limit), int, getrlimit64, (int resource, struct rlimit *limit),
        (resource, limit));
WRAP_IF(true, world.available, int64_t, port_available_bytes, (int64_t * of_bytes), (of_bytes));

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

/* Record files in a folder of the test's own: left, changed, read again. */
#ifndef HS_RECORD_FILE_H
#define HS_RECORD_FILE_H

#include "record/arena.h"
#include "run/stream.h"
#include "tap.h"

#include "record/tables.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_BYTES = 256, REASON_BYTES = 200, FLIPS = 1000 };

/* Without it the file is one that was made a moment ago. */
static inline void put_header(struct arena *arena)
{
    snprintf(arena->header_json, sizeof arena->header_json, "{\"type\":\"header\"}");
}

static inline const char *path_of(const char *name)
{
    static char path[2 * PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", tap_folder(), name);
    return path;
}

static inline void read_all(const char *path, char *bytes, size_t count)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || read(file, bytes, count) != (ssize_t)count)
        abort();
    close(file);
}

static inline void write_all(const char *path, const char *bytes, size_t count)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0 || write(file, bytes, count) != (ssize_t)count)
        abort();
    close(file);
}

static inline struct record *new_scratch(const struct arena *arena)
{
    struct record *scratch = malloc(arena_scratch_bytes(arena));
    if (!scratch)
        abort();
    return scratch;
}

/* The content of a record file as a probe leaves it behind, to be changed and written again. */
static inline struct arena *left_by(size_t (*leave)(const char *path), const char *path,
                                    size_t *bytes)
{
    *bytes = leave(path);
    struct arena *arena = malloc(*bytes);
    if (!arena)
        abort();
    read_all(path, (char *)arena, *bytes);
    return arena;
}

/* What the stream has of an arena's tables, or all that a dump has. */
static inline const char *sent_of(const struct arena *arena, bool is_dump)
{
    static struct emit emit;
    static char text[8192];
    int file = open(path_of("sent"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        abort();
    emit_open(&emit, file);
    if (is_dump) {
        struct record *scratch = new_scratch(arena);
        stream_dump(&emit, arena, scratch);
        free(scratch);
    } else {
        table_lines(&emit, arena);
    }
    emit_flush(&emit);
    ssize_t bytes = pread(file, text, sizeof text - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(file);
    unlink(path_of("sent"));
    return text;
}

/* Opens the file, and sends what is in it if it passes: a crash is the failure. */
static inline bool open_and_dump(const char *path)
{
    static struct emit emit;
    char reason[REASON_BYTES] = "";
    struct arena *arena = arena_open(path, reason, sizeof reason);
    if (!arena) {
        CHECK(reason[0] != '\0');
        return false;
    }
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    emit_open(&emit, nowhere);
    struct record *scratch = new_scratch(arena);
    stream_dump(&emit, arena, scratch);
    free(scratch);
    emit_flush(&emit);
    close(nowhere);
    arena_free(arena);
    return true;
}

static inline void refuse_file(const char *path, const char *part)
{
    char reason[REASON_BYTES] = "";
    CHECK(arena_open(path, reason, sizeof reason) == NULL);
    CHECK_HOLDS(reason, part);
}

/* In the head, in what stands behind `rest`, anywhere. */
static inline void flip_bits(size_t (*leave)(const char *path), size_t rest, size_t rest_bytes)
{
    uint64_t state = 22;
    int passed = 0;
    const char *path = path_of("flipped");
    size_t bytes, head = sizeof(struct arena) + sizeof(struct record);
    char *whole = (char *)left_by(leave, path, &bytes);
    int file = open(path, O_RDWR | O_CLOEXEC);
    for (int i = 0; i < FLIPS; i++) {
        size_t at = (size_t)(tap_random(&state) % (i % 2 ? bytes : head));
        if (i % 3 == 2)
            at = rest + (size_t)(tap_random(&state) % rest_bytes);
        char flipped = (char)(whole[at] ^ (1 << tap_random(&state) % 8));
        CHECK_SAME(pwrite(file, &flipped, 1, (off_t)at), 1);
        passed += open_and_dump(path) ? 1 : 0;
        CHECK_SAME(pwrite(file, &whole[at], 1, (off_t)at), 1);
    }
    CHECK(passed > 0);
    close(file);
    free(whole);
    unlink(path);
}

#endif

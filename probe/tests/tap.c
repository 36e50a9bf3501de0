#include "base/posix_source.h"

#include "tap.h"

#include <fcntl.h>
#include <unistd.h>

enum { REMARKS = 20, FOLDER_BYTES = 256 }; /* remarks: most of one test */

const char *tap_program = "";
static struct tap_test *first, *last;
static unsigned failed_checks;
static const char *skip_reason, *row;
static char folder[FOLDER_BYTES];
static struct piece {
    void *bytes; /* of their own, so that a sanitizer sees what is behind them */
    struct piece *next;
} * pieces;

void tap_add(struct tap_test *test)
{
    *(last ? &last->next : &first) = test;
    last = test;
}

bool tap_row(const char *name)
{
    row = name;
    return true;
}

/* Whether the caller prints a remark, which begins with the place. */
static bool is_remark(bool is_good, const char *file, int line)
{
    if (is_good || ++failed_checks > REMARKS)
        return false;
    printf("# %s:%d: %s%s", file, line, row ? row : "", row ? ": " : "");
    return true;
}

bool tap_true(bool is_true, const char *claim, const char *file, int line)
{
    if (is_remark(is_true, file, line))
        printf("not so: %s\n", claim);
    return is_true;
}

bool tap_same(int64_t got, int64_t wanted, const char *what, const char *file, int line)
{
    if (is_remark(got == wanted, file, line))
        printf("%s is %lld, not %lld\n", what, (long long)got, (long long)wanted);
    return got == wanted;
}

bool tap_text(const char *got, const char *wanted, const char *file, int line)
{
    got = got ? got : "(null)";
    bool is_good = strcmp(got, wanted) == 0;
    if (is_remark(is_good, file, line))
        printf("got '%s', wanted '%s'\n", got, wanted);
    return is_good;
}

bool tap_parts(const char *got, bool holds, const char *const parts[], size_t count,
               const char *file, int line)
{
    bool is_good = true;
    got = got ? got : "(null)";
    for (size_t i = 0; i < count; i++) {
        bool is_right = (strstr(got, parts[i]) != NULL) == holds;
        if (is_remark(is_right, file, line))
            printf("got '%s', wanted %s '%s'\n", got, holds ? "a part" : "no part", parts[i]);
        is_good = is_good && is_right;
    }
    return is_good;
}

void tap_near(double got, double wanted, double error, const char *what, const char *file, int line)
{
    if (is_remark(got >= wanted - error && got <= wanted + error, file, line))
        printf("%s is %.17g, not %.17g +- %.3g\n", what, got, wanted, error);
}

void tap_skip(const char *reason)
{
    skip_reason = reason;
}

const char *tap_folder(void)
{
    const char *place = getenv("TMPDIR");
    if (folder[0] != '\0')
        return folder;
    snprintf(folder, sizeof folder, "%.200s/hs-test-XXXXXX", place ? place : "/tmp");
    if (!mkdtemp(folder))
        abort();
    return folder;
}

void *tap_memory(size_t bytes)
{
    struct piece *piece = malloc(sizeof *piece);
    if (!piece || !(piece->bytes = calloc(1, bytes ? bytes : 1)))
        abort();
    piece->next = pieces;
    pieces = piece;
    return piece->bytes;
}

void tap_free_memory(void)
{
    while (pieces) {
        struct piece *piece = pieces;
        pieces = piece->next;
        free(piece->bytes);
        free(piece);
    }
}

int tap_open_files(void)
{
    enum { MOST = 1024 };
    int count = 0;
    for (int file = 0; file < MOST; file++)
        count += fcntl(file, F_GETFD) >= 0 ? 1 : 0;
    return count;
}

static void run_one(const struct tap_test *test, size_t number)
{
    failed_checks = 0;
    skip_reason = row = NULL;
    test->body();
    tap_free_memory();
    const char *skip = failed_checks == 0 ? skip_reason : NULL;
    printf("%s %zu - ", failed_checks == 0 ? "ok" : "not ok", number);
    for (const char *at = test->name; *at; at++)
        putchar(*at == '_' ? ' ' : *at);
    printf("%s%s\n", skip ? " # SKIP " : "", skip ? skip : "");
}

int tap_run(void)
{
    bool is_good = true, wants_host = getenv("HARDSTONE_HOST_TESTS") != NULL;
    size_t number = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (const struct tap_test *test = first; test; test = test->next) {
        if (test->is_for_host != wants_host)
            continue;
        run_one(test, ++number);
        is_good = is_good && failed_checks == 0;
    }
    printf("1..%zu\n", number);
    return (folder[0] == '\0' || rmdir(folder) == 0) && is_good ? 0 : 1;
}

uint64_t tap_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

#include "base/posix_source.h"

#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

enum { REMARKS = 20, FOLDER_BYTES = 256 }; /* remarks: most of one test */

const char *tap_program = "";
static struct tap_test *first, *last;
static unsigned failed_checks;
static const char *skip_reason;
static char folder[FOLDER_BYTES];

void tap_add(struct tap_test *test)
{
    *(last ? &last->next : &first) = test;
    last = test;
}

static bool note(bool is_good)
{
    if (!is_good)
        failed_checks++;
    return !is_good && failed_checks <= REMARKS;
}

bool tap_true(bool is_true, const char *claim, const char *file, int line)
{
    if (note(is_true))
        printf("# %s:%d: not so: %s\n", file, line, claim);
    return is_true;
}

bool tap_same(int64_t got, int64_t wanted, const char *what, const char *file, int line)
{
    if (note(got == wanted))
        printf("# %s:%d: %s is %lld, not %lld\n", file, line, what, (long long)got,
               (long long)wanted);
    return got == wanted;
}

bool tap_text(const char *got, const char *wanted, bool is_part, const char *file, int line)
{
    got = got ? got : "(null)";
    bool is_good = is_part ? strstr(got, wanted) != NULL : strcmp(got, wanted) == 0;
    if (note(is_good))
        printf("# %s:%d: got '%s', wanted '%s'\n", file, line, got, wanted);
    return is_good;
}

void tap_near(double got, double wanted, double error, const char *what, const char *file, int line)
{
    if (note(got >= wanted - error && got <= wanted + error))
        printf("# %s:%d: %s is %.17g, not %.17g +- %.3g\n", file, line, what, got, wanted, error);
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

static void run_one(const struct tap_test *test, size_t number)
{
    failed_checks = 0;
    skip_reason = NULL;
    test->body();
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

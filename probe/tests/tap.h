/* Test Anything Protocol, as far as these tests need it. A test is a function; each failed check
 * prints a remark and makes the test `not ok`. Tests that judge when the real kernel lets threads
 * run fail on a busy host: they are marked, and run only with the variable HARDSTONE_HOST_TESTS
 * (Meson's suite `host`), alone. */
#ifndef HS_TAP_H
#define HS_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap_test {
    const char *name;
    void (*body)(void);
    bool is_for_host; /* judges the timing or the scheduling of the real kernel */
};

#define TAP_FOR_HOST true

enum { TAP_REMARKS = 20 }; /* most remarks of one test */

static unsigned tap_failed_checks;
static const char *tap_skip_reason;

static inline bool tap_note(bool is_good)
{
    if (!is_good)
        tap_failed_checks++;
    return !is_good && tap_failed_checks <= TAP_REMARKS;
}

static inline bool tap_true(bool is_true, const char *claim, const char *file, int line)
{
    if (tap_note(is_true))
        printf("# %s:%d: not so: %s\n", file, line, claim);
    return is_true;
}

static inline bool tap_same(int64_t got, int64_t wanted, const char *what, const char *file,
                            int line)
{
    if (tap_note(got == wanted))
        printf("# %s:%d: %s is %lld, not %lld\n", file, line, what, (long long)got,
               (long long)wanted);
    return got == wanted;
}

static inline bool tap_text(const char *got, const char *wanted, bool is_part, const char *file,
                            int line)
{
    got = got ? got : "(null)";
    bool is_good = is_part ? strstr(got, wanted) != NULL : strcmp(got, wanted) == 0;
    if (tap_note(is_good))
        printf("# %s:%d: got '%s', wanted '%s'\n", file, line, got, wanted);
    return is_good;
}

static inline void tap_near(double got, double wanted, double error, const char *what,
                            const char *file, int line)
{
    if (tap_note(got >= wanted - error && got <= wanted + error))
        printf("# %s:%d: %s is %.17g, not %.17g +- %.3g\n", file, line, what, got, wanted, error);
}

#define CHECK(claim) tap_true((claim), #claim, __FILE__, __LINE__)
#define CHECK_SAME(got, wanted)                                                                    \
    tap_same((int64_t)(got), (int64_t)(wanted), #got, __FILE__, __LINE__)
#define CHECK_NEAR(got, wanted, error) tap_near((got), (wanted), (error), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) tap_text((got), (wanted), false, __FILE__, __LINE__)
#define CHECK_HOLDS(got, part) tap_text((got), (part), true, __FILE__, __LINE__)

/* The test cannot run here; its caller returns after it. `reason` must outlive the test. */
static inline void tap_skip(const char *reason)
{
    tap_skip_reason = reason;
}

/* Whether the build put functions of the test before real ones (the linker's --wrap); else skips.
 */
static inline bool tap_is_wrapped(void)
{
#ifdef WRAPPED
    return true;
#else
    tap_skip("this linker cannot put a function before another");
    return false;
#endif
}

static inline int tap_run(const struct tap_test *tests, size_t count)
{
    bool is_good = true, wants_host = getenv("HARDSTONE_HOST_TESTS") != NULL;
    size_t number = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < count; i++) {
        if (tests[i].is_for_host != wants_host)
            continue;
        tap_failed_checks = 0;
        tap_skip_reason = NULL;
        tests[i].body();
        const char *skip = tap_failed_checks == 0 ? tap_skip_reason : NULL;
        printf("%s %zu - %s%s%s\n", tap_failed_checks == 0 ? "ok" : "not ok", ++number,
               tests[i].name, skip ? " # SKIP " : "", skip ? skip : "");
        is_good = is_good && tap_failed_checks == 0;
    }
    printf("1..%zu\n", number);
    return is_good ? 0 : 1;
}

#define TAP_MAIN(...)                                                                              \
    int main(void)                                                                                 \
    {                                                                                              \
        static const struct tap_test tests[] = {__VA_ARGS__};                                      \
        return tap_run(tests, sizeof tests / sizeof tests[0]);                                     \
    }

/* Numbers that look random and are the same in each run (splitmix64). */
static inline uint64_t tap_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t mixed = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

#endif

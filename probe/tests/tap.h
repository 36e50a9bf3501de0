/* Test Anything Protocol, as far as these tests need it. TEST(it_does_so) { ... } is a test; each
 * failed check prints a remark and makes it `not ok`. All tests of a program run in the order in
 * which they are written. HOST_TEST is one that judges when the real kernel lets threads run: it
 * fails on a busy host, and runs only with the variable HARDSTONE_HOST_TESTS (Meson's suite
 * `host`), without the others. */
#ifndef HS_TAP_H
#define HS_TAP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tap_test {
    const char *name;
    void (*body)(void);
    bool is_for_host;
    struct tap_test *next;
};

/* Called before main, by TEST and HOST_TEST. */
void tap_add(struct tap_test *test);

#define TEST(what) TAP_ADD(what, false)
#define HOST_TEST(what) TAP_ADD(what, true)
#define TAP_ADD(what, is_for_host)                                                                 \
    static void test_##what(void);                                                                 \
    __attribute__((constructor)) static void add_##what(void)                                      \
    {                                                                                              \
        static struct tap_test tap_of_##what = {#what, test_##what, is_for_host, NULL};            \
        tap_add(&tap_of_##what);                                                                   \
    }                                                                                              \
    static void test_##what(void)

/* A test between `open`, which says whether it can begin, and `close`. */
#define TEST_IN(open, close, what) TAP_ADD_IN(open, close, what, false)
#define HOST_TEST_IN(open, close, what) TAP_ADD_IN(open, close, what, true)
#define TAP_ADD_IN(open, close, what, is_for_host)                                                 \
    static void do_##what(void);                                                                   \
    TAP_ADD(what, is_for_host)                                                                     \
    {                                                                                              \
        if (!(open))                                                                               \
            return;                                                                                \
        do_##what();                                                                               \
        close;                                                                                     \
    }                                                                                              \
    static void do_##what(void)

#define CHECK(claim) tap_true((claim), #claim, __FILE__, __LINE__)
#define CHECK_SAME(got, wanted)                                                                    \
    tap_same((int64_t)(got), (int64_t)(wanted), #got, __FILE__, __LINE__)
#define CHECK_NEAR(got, wanted, error) tap_near((got), (wanted), (error), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, wanted) tap_text((got), (wanted), __FILE__, __LINE__)
/* All of these parts, none of them. */
#define CHECK_HOLDS(got, ...) CHECK_PARTS(got, true, __VA_ARGS__)
#define CHECK_LACKS(got, ...) CHECK_PARTS(got, false, __VA_ARGS__)
#define CHECK_PARTS(got, holds, ...)                                                               \
    tap_parts((got), (holds), (const char *const[]){__VA_ARGS__},                                  \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), __FILE__, __LINE__)

bool tap_true(bool is_true, const char *claim, const char *file, int line);
bool tap_same(int64_t got, int64_t wanted, const char *what, const char *file, int line);
bool tap_text(const char *got, const char *wanted, const char *file, int line);
bool tap_parts(const char *got, bool holds, const char *const parts[], size_t count,
               const char *file, int line);
void tap_near(double got, double wanted, double error, const char *what, const char *file,
              int line);

/* The remarks of failed checks name this row of a table, until the next; NULL: of none. The test's
 * end is also the row's. */
bool tap_row(const char *name); /* true */

/* Each row of a table, named so: an array, no pointer. */
#define foreach(row, rows, name)                                                                   \
    for (__typeof__(&(rows)[0]) row = (rows);                                                      \
         row < (rows) + sizeof(rows) / sizeof(rows)[0] && tap_row(name); row++)

/* The test cannot run here; its caller returns after it. `reason` must outlive the test. */
void tap_skip(const char *reason);

/* WRAP(int, pipe, int ends[2]) { ... } is what callers of pipe() get in a program whose entry in
 * meson.build wraps `pipe`; __real_pipe() is the real one. Where the linker cannot wrap, it is
 * compiled and not used: the tests ask tap_is_wrapped(). */
#define WRAP(result, name, ...) WRAP_PAIR(result, __real_##name, __wrap_##name, __VA_ARGS__)
#ifdef WRAPPED
#define WRAP_PAIR(result, real, wrapped, ...)                                                      \
    result real(__VA_ARGS__);                                                                      \
    result wrapped(__VA_ARGS__);                                                                   \
    result wrapped(__VA_ARGS__)
#else
#define WRAP_PAIR(result, real, wrapped, ...)                                                      \
    result real(__VA_ARGS__);                                                                      \
    __attribute__((unused)) static inline result wrapped(__VA_ARGS__)
#endif

/* The same for one that does nothing but to answer `otherwise` while `is_so`, with types and names
 * of the parameters, then their names: WRAP_IF(is_off, tap_fail(EPERM), int, pipe, (int e[2]),
 * (e)); */
#define WRAP_IF(is_so, otherwise, result, name, parameters, arguments)                             \
    WRAP_PAIR(result, __real_##name, __wrap_##name, WRAP_BARE parameters)                          \
    {                                                                                              \
        return (is_so) ? (otherwise) : __real_##name arguments;                                    \
    }                                                                                              \
    result __real_##name parameters
#define WRAP_BARE(...) __VA_ARGS__

/* The same, also under the name that a call has where files may be large: pwrite, pwrite64. */
#define WRAP_IF_LARGE(is_so, otherwise, result, name, parameters, arguments)                       \
    WRAP_IF(is_so, otherwise, result, name, parameters, arguments);                                \
    WRAP_IF(is_so, otherwise, result, name##64, parameters, arguments)

/* Sets errno; -1. */
static inline int tap_fail(int error)
{
    errno = error;
    return -1;
}

/* Whether WRAP works; else skips. */
static inline bool tap_is_wrapped(void)
{
#ifdef WRAPPED
    return true;
#else
    tap_skip("this linker cannot put a function before another");
    return false;
#endif
}

/* A test that is skipped where it does not. */
#define WRAP_TEST(what) TEST_IN(tap_is_wrapped(), (void)0, what)

/* The program's argv[0]. */
extern const char *tap_program;

/* Runs all tests; the exit code. A main of its own is for programs that begin something first. */
int tap_run(void);

/* Zeroed memory that is freed at the test's end, or by tap_free_memory() with all the rest of it;
 * aborts where there is none. Not for several threads at once. */
void *tap_memory(size_t bytes);
void tap_free_memory(void);

/* A folder of this program, which must be empty when the tests are over. */
const char *tap_folder(void);

/* Open descriptors of this process. */
int tap_open_files(void);

/* Numbers that look random and are the same in each run (splitmix64). */
uint64_t tap_random(uint64_t *state);

#endif

/* Reading lines without stdio: long lines, an empty file, a last line without newline. */
#include "base/posix_source.h"

#include "port/linux/files.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

static char root[64];

/* In the place of the port's. */
const char *linux_root(void);
const char *linux_root(void)
{
    return root;
}

static void put(const char *text)
{
    snprintf(root, sizeof root, "/tmp/hardstone-test-XXXXXX");
    int file = mkstemp(root);
    CHECK_SAME(write(file, text, strlen(text)), (long)strlen(text));
    close(file);
}

static void test_lines_in_order(void)
{
    struct linux_lines lines;
    char line[16];
    put("one\n\nthree is too long for it\nlast");
    if (!CHECK(linux_lines_open(&lines, "")))
        return;
    static const char *const wanted[] = {"one", "", "three is too lo", "last"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CHECK(linux_lines_next(&lines, line, sizeof line));
        CHECK_TEXT(line, wanted[i]);
    }
    CHECK(!linux_lines_next(&lines, line, sizeof line));
    linux_lines_close(&lines);
    unlink(root);
}

/* Lines that do not end where a part does that is read at once. */
static void test_lines_across_parts(void)
{
    enum { COUNT = 1000, DIGITS = 13 };
    char text[COUNT * (DIGITS + 1) + 1], line[32], wanted[32];
    struct linux_lines lines;
    for (int i = 0; i < COUNT; i++)
        snprintf(text + i * (DIGITS + 1), DIGITS + 2, "%0*d\n", DIGITS, i);
    put(text);
    if (!CHECK(linux_lines_open(&lines, "")))
        return;
    for (int i = 0; i < COUNT; i++) {
        snprintf(wanted, sizeof wanted, "%0*d", DIGITS, i);
        CHECK(linux_lines_next(&lines, line, sizeof line));
        if (!CHECK_TEXT(line, wanted))
            break;
    }
    CHECK(!linux_lines_next(&lines, line, sizeof line));
    linux_lines_close(&lines);
    unlink(root);
}

static void test_a_file_that_is_not_there(void)
{
    struct linux_lines lines;
    snprintf(root, sizeof root, "/nowhere");
    CHECK(!linux_lines_open(&lines, "/at/all"));
}

TAP_MAIN({"lines in order", test_lines_in_order}, {"lines across parts", test_lines_across_parts},
         {"a file that is not there", test_a_file_that_is_not_there})

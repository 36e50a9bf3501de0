/* Reading lines without stdio: long lines, an empty file, a last line without newline. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/linux/files.h"
#include "tap.h"

TEST(lines_in_order)
{
    struct linux_lines lines;
    char line[16];
    machine_open();
    machine_put("/lines", "one\n\nthree is too long for it\nlast");
    if (!CHECK(linux_lines_open(&lines, "/lines")))
        return;
    static const char *const wanted[] = {"one", "", "three is too lo", "last"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        CHECK(linux_lines_next(&lines, line, sizeof line));
        CHECK_TEXT(line, wanted[i]);
    }
    CHECK(!linux_lines_next(&lines, line, sizeof line));
    linux_lines_close(&lines);
    machine_close();
}

/* Lines that do not end where a part does that is read at once. */
TEST(lines_across_parts)
{
    enum { COUNT = 1000, DIGITS = 13 };
    char text[COUNT * (DIGITS + 1) + 1], line[32], wanted[32];
    struct linux_lines lines;
    for (int i = 0; i < COUNT; i++)
        snprintf(text + i * (DIGITS + 1), DIGITS + 2, "%0*d\n", DIGITS, i);
    machine_open();
    machine_put("/lines", text);
    if (!CHECK(linux_lines_open(&lines, "/lines")))
        return;
    for (int i = 0; i < COUNT; i++) {
        snprintf(wanted, sizeof wanted, "%0*d", DIGITS, i);
        CHECK(linux_lines_next(&lines, line, sizeof line));
        if (!CHECK_TEXT(line, wanted))
            break;
    }
    CHECK(!linux_lines_next(&lines, line, sizeof line));
    linux_lines_close(&lines);
    machine_close();
}

TEST(a_file_that_is_not_there)
{
    struct linux_lines lines;
    CHECK(!linux_lines_open(&lines, "/nowhere/at/all"));
}

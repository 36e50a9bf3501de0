/* A point in time as text, against the C library's. */
#include "base/posix_source.h"

#include "base/utc.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DRAWN = 200000 };

static bool is_right(int64_t seconds)
{
    char ours[UTC_BYTES], theirs[UTC_BYTES];
    struct tm parts;
    time_t time = (time_t)seconds;
    gmtime_r(&time, &parts);
    strftime(theirs, sizeof theirs, "%Y-%m-%d %H:%M:%S UTC", &parts);
    utc_format(seconds * 1000000000, ours);
    return strcmp(ours, theirs) == 0;
}

/* Times that an int64_t of ns holds are those of 1677 to 2262. */
static void test_dates(void)
{
    static const int64_t days[] = {-25509, -1, 0, 11015, 11016, 19782, 47540, 47541, 106750};
    unsigned short random[3] = {1, 2, 3};
    int wrong = 0;
    for (size_t i = 0; i < sizeof days / sizeof days[0]; i++)
        wrong += is_right(days[i] * 86400) && is_right(days[i] * 86400 + 86399) ? 0 : 1;
    for (int i = 0; i < DRAWN; i++)
        wrong += is_right((int64_t)((erand48(random) * 2 - 1) * 9.2e9)) ? 0 : 1;
    CHECK_SAME(wrong, 0);
}

static void test_parts_of_a_second(void)
{
    char text[UTC_BYTES];
    utc_format(999999999, text);
    CHECK_TEXT(text, "1970-01-01 00:00:00 UTC");
    utc_format(-1, text);
    CHECK_TEXT(text, "1969-12-31 23:59:59 UTC");
    utc_format(INT64_MAX, text);
    CHECK_TEXT(text, "2262-04-11 23:47:16 UTC");
}

TAP_MAIN({"dates", test_dates}, {"parts of a second", test_parts_of_a_second})

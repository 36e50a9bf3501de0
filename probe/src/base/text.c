#include "base/posix_source.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_NS (INT64_C(366) * 86400 * 1000000000)

static int unit_ns(const char *unit, int64_t bare_ns, int64_t *ns)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {
        {"ns", 1},          {"us", 1000},         {"ms", 1000000},      {"s", 1000000000},
        {"m", 60000000000}, {"min", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000}};
    if (*unit == '\0') {
        *ns = bare_ns;
        return 0;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0) {
            *ns = units[i].ns;
            return 0;
        }
    return -1;
}

int duration_parse(const char *text, int64_t bare_ns, int64_t *ns)
{
    char *end;
    int64_t scale;
    if (*text < '0' || *text > '9')
        return -1;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || unit_ns(end, bare_ns, &scale) != 0 || number > YEAR_NS / scale)
        return -1;
    *ns = number * scale;
    return 0;
}

/* ---- points in time ---- */

#define DAY_S INT64_C(86400)

enum { DAYS_OF_ERA = 146097 /* 400 years */, DAYS_TO_1970 = 719468 /* since 1 March 0000 */ };

/* gmtime_r and strftime would bring in time zones and scanf: 90 KB of a statically linked probe,
 * which are locked in memory while it measures.
 *
 * The calendar repeats after 400 years. Years that begin in March have the leap day at their end,
 * and then each five months have 153 days. Method: H. Hinnant, chrono-Compatible Low-Level Date
 * Algorithms, civil_from_days. */
static void write_date(int64_t days_since_1970, char *text, size_t bytes)
{
    int64_t days = days_since_1970 + DAYS_TO_1970;
    int64_t era = (days >= 0 ? days : days - (DAYS_OF_ERA - 1)) / DAYS_OF_ERA;
    int64_t day_of_era = days - era * DAYS_OF_ERA;
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * day_of_year + 2) / 153;
    int64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    int64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    int64_t year = year_of_era + era * 400 + (month <= 2 ? 1 : 0);
    snprintf(text, bytes, "%04lld-%02lld-%02lld", (long long)year, (long long)month,
             (long long)day);
}

void utc_format(int64_t utc_ns, char text[UTC_BYTES])
{
    char date[UTC_BYTES / 2];
    int64_t seconds = utc_ns / 1000000000 - (utc_ns % 1000000000 < 0 ? 1 : 0);
    int64_t days = seconds / DAY_S - (seconds % DAY_S < 0 ? 1 : 0);
    int64_t rest = seconds - days * DAY_S;
    write_date(days, date, sizeof date);
    snprintf(text, UTC_BYTES, "%s %02d:%02d:%02d UTC", date, (int)(rest / 3600),
             (int)(rest / 60 % 60), (int)(rest % 60));
}

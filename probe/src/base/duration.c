#include "base/posix_source.h"

#include "base/duration.h"

#include <errno.h>
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

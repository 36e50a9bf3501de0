#include "base/posix_source.h"

#include "family/posix/option.h"

#include "family/posix/sysconf_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int option_count(void)
{
    int count = 0;
    while (posix_options[count].key)
        count++;
    return count;
}

int option_place(const char *key)
{
    for (int i = 0; posix_options[i].key; i++)
        if (strcmp(posix_options[i].key, key) == 0)
            return i;
    return -1;
}

/* The text is the macro's value: a number, perhaps in parentheses, a character, or nothing, which
 * POSIX.1-1990 allowed; or the name of the macro, where there is none. */
struct saying option_header(const struct posix_option *option)
{
    const char *text = option->header;
    if (!text || text[0] == '_')
        return (struct saying){.kind = SAYING_NONE};
    text += strspn(text, "( ");
    return (struct saying){.kind = SAYING_NUMBER, .number = strtol(text, NULL, 0)};
}

struct saying option_sysconf(const struct posix_option *option, const char *folder)
{
    if (option->name == NO_NAME)
        return (struct saying){.kind = SAYING_UNKNOWN};
    errno = 0;
    long number = option->is_path ? pathconf(folder, option->name) : sysconf(option->name);
    if (number != -1)
        return (struct saying){.kind = SAYING_NUMBER, .number = number};
    return (struct saying){.kind = errno == 0 ? SAYING_NONE : SAYING_UNKNOWN};
}

const char *saying_text(struct saying saying, char text[SAYING_BYTES])
{
    if (saying.kind == SAYING_NUMBER)
        snprintf(text, SAYING_BYTES, "%ld", saying.number);
    else
        snprintf(text, SAYING_BYTES, "%s", saying.kind == SAYING_NONE ? "none" : "unknown");
    return text;
}

bool option_is_claimed(const struct posix_option *option, struct saying header,
                       struct saying sysconf)
{
    long least = option->is_path ? 0 : 1;
    return (header.kind == SAYING_NUMBER && header.number > 0) ||
           (sysconf.kind == SAYING_NUMBER && sysconf.number >= least);
}

/* Lists of CPUs, and of words of which one is marked. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <string.h>

bool linux_each_cpu(const char *list, void (*take)(void *context, int cpu), void *context)
{
    struct cpus set;
    if (cpus_parse_list(list, &set) != 0)
        return false;
    for (int cpu = cpus_first(&set); cpu >= 0; cpu = cpus_next(&set, cpu))
        take(context, cpu);
    return true;
}

bool linux_each_online(void (*take)(void *context, int cpu), void *context)
{
    char list[CPUS_TEXT_BYTES];
    return linux_read("/sys/devices/system/cpu/online", list, sizeof list) &&
           linux_each_cpu(list, take, context);
}

bool linux_bracketed(const char *list, char *word, size_t bytes)
{
    const char *open = strpbrk(list, "[(");
    const char *close = open ? strpbrk(open, "])") : NULL;
    if (!close || close == open + 1)
        return false;
    snprintf(word, bytes, "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

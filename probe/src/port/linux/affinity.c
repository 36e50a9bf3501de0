#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/affinity.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* A kernel refuses a set that is smaller than its own (EINVAL), which has a bit for each possible
 * CPU: 8192 at most on x86-64. */
enum {
    LONG_BITS = 8 * sizeof(unsigned long),
    LEAST_WORDS = (PORT_CPUS + LONG_BITS - 1) / LONG_BITS,
    MOST_WORDS = 65536 / LONG_BITS,
};

static int get_words(pid_t id, unsigned long words[MOST_WORDS])
{
    for (size_t count = LEAST_WORDS;; count *= 2) {
        if (count > MOST_WORDS)
            count = MOST_WORDS;
        memset(words, 0, count * sizeof *words);
        if (sched_getaffinity(id, count * sizeof *words, (cpu_set_t *)(void *)words) == 0)
            return 0;
        if (errno != EINVAL || count == MOST_WORDS)
            return errno;
    }
}

int linux_affinity_get(pid_t id, struct cpus *cpus)
{
    unsigned long words[MOST_WORDS];
    cpus_clear(cpus);
    int error = get_words(id, words);
    for (int cpu = 0; error == 0 && cpu < PORT_CPUS; cpu++)
        if (words[cpu / LONG_BITS] >> cpu % LONG_BITS & 1)
            cpus_add(cpus, cpu);
    return error;
}

/* The kernel takes a set of any size; what is missing is none. */
int linux_affinity_set(pid_t id, const struct cpus *cpus)
{
    unsigned long words[LEAST_WORDS] = {0};
    for (int cpu = cpus_first(cpus); cpu >= 0; cpu = cpus_next(cpus, cpu))
        words[cpu / LONG_BITS] |= 1UL << cpu % LONG_BITS;
    return sched_setaffinity(id, sizeof words, (const cpu_set_t *)(const void *)words) == 0 ? 0
                                                                                            : errno;
}

int linux_affinity_set_again(pid_t id)
{
    unsigned long words[MOST_WORDS] = {0};
    int error = get_words(id, words);
    if (error)
        return error;
    return sched_setaffinity(id, sizeof words, (const cpu_set_t *)(const void *)words) == 0 ? 0
                                                                                            : errno;
}

/* Runs of the probe on one CPU with a fake port. The file that includes it defines _GNU_SOURCE. */
#ifndef HS_ONE_CPU_RUN_H
#define HS_ONE_CPU_RUN_H

#include "child_run.h"
#include "tap.h"

#include <sched.h>
#include <time.h>

/* The fake port claims one CPU and binds nobody: the whole process is bound instead. */
static inline void one_cpu_run_bind(void)
{
#ifdef __linux__
    cpu_set_t set;
    int cpu = 0;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &set))
        cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof set, &set);
#endif
}

static inline void one_cpu_run_be(struct request *request)
{
    (void)request;
    one_cpu_run_bind();
}

/* A run from which others take the CPU fails by that, and says little of anything else: it is made
 * again; NULL and a skip when that goes on. */
static inline const char *one_cpu_run(char *const words[])
{
    static const struct timespec moment = {.tv_nsec = 300000000};
    for (int i = 0; i < 8; i++) {
        const char *text = child_run(words, one_cpu_run_be);
        if (!strstr(text, "\"throttled\""))
            return text;
        nanosleep(&moment, NULL);
    }
    tap_skip("something of higher priority has the CPU");
    return NULL;
}

#endif

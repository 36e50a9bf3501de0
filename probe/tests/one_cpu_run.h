/* Runs of the probe on one CPU with a fake port. The file that includes it defines _GNU_SOURCE. */
#ifndef HS_ONE_CPU_RUN_H
#define HS_ONE_CPU_RUN_H

#include "child_run.h"
#include "tap.h"

#include <sched.h>

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

/* A run from which the CPU was taken away says little; NULL and a skip when that goes on. */
static inline const char *one_cpu_run(char *const words[])
{
    int code;
    const char *text = child_run_uncut(words, one_cpu_run_be, &code);
    if (!child_run_is_cut(text))
        return text;
    tap_skip("something of higher priority has the CPU");
    return NULL;
}

#endif

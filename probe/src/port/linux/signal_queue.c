/* RLIMIT_SIGPENDING: the limit is of the process that gets the signals, the count of its user. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int64_t to_count(rlim_t limit)
{
    return limit == RLIM_INFINITY || limit > INT64_MAX ? INT64_MAX : (int64_t)limit;
}

static rlim_t from_count(int64_t count)
{
    return count == INT64_MAX ? RLIM_INFINITY : (rlim_t)count;
}

/* "SigQ: USED/LIMIT" */
static int64_t used_count(void)
{
    char line[128];
    int64_t used = -1;
    FILE *status = fopen("/proc/self/status", "re");
    while (status && used < 0 && fgets(line, sizeof line, status))
        if (strncmp(line, "SigQ:", 5) == 0)
            used = strtoll(line + 5, NULL, 10);
    if (status)
        fclose(status);
    return used;
}

void port_signal_queue(struct port_signal_queue *queue)
{
    struct rlimit limit;
    queue->limit = getrlimit(RLIMIT_SIGPENDING, &limit) == 0 ? to_count(limit.rlim_cur) : -1;
    queue->used = used_count();
}

int port_limit_signal_queue(int64_t limit, int64_t *soft_before, int64_t *hard_before)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_SIGPENDING, &now) != 0)
        return errno;
    *soft_before = to_count(now.rlim_cur);
    *hard_before = to_count(now.rlim_max);
    now.rlim_cur = from_count(limit);
    if (now.rlim_cur > now.rlim_max)
        now.rlim_max = now.rlim_cur;
    return setrlimit(RLIMIT_SIGPENDING, &now) == 0 ? 0 : errno;
}

void port_restore_signal_queue(int64_t soft, int64_t hard)
{
    struct rlimit limit = {.rlim_cur = from_count(soft), .rlim_max = from_count(hard)};
    setrlimit(RLIMIT_SIGPENDING, &limit);
}

int port_power_signal(void)
{
    return SIGPWR;
}

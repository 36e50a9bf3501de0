/* sched_setattr has no wrapper in most C libraries, and its structure none in their headers. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SCHED_DEADLINE
#define SCHED_DEADLINE 6
#endif

/* Version 0 of struct sched_attr, 48 bytes. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

int port_deadline_self(int64_t runtime_ns, int64_t period_ns)
{
#ifdef SYS_sched_setattr
    struct attributes attributes = {
        .size = sizeof attributes,
        .policy = SCHED_DEADLINE,
        .runtime_ns = (uint64_t)runtime_ns,
        .deadline_ns = (uint64_t)period_ns,
        .period_ns = (uint64_t)period_ns,
    };
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 ? 0 : errno;
#else
    (void)runtime_ns, (void)period_ns;
    return ENOTSUP;
#endif
}

bool port_own_switches(int64_t *voluntary, int64_t *involuntary)
{
    struct rusage usage;
    bool is_known = getrusage(RUSAGE_THREAD, &usage) == 0;
    *voluntary = is_known ? usage.ru_nvcsw : -1;
    *involuntary = is_known ? usage.ru_nivcsw : -1;
    return is_known;
}

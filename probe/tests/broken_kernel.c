/* Breaches of operations of the kernel; broken.c says how they are used.
 *   blocks_in_rename  for 5 ms from each rename on nobody who waits for a time is woken, as if the
 *                     kernel could not be preempted for that long
 *   no_terminal       there are no pseudo-terminals
 *   fsync_fails       each call of fsync but the first of a process fails
 *   usage_takes_long  getrusage of the children takes 20 ms
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define S 1000000000LL
#define BLOCKED_NS 5000000LL

/* Shared with the processes that are forked: the end of what cannot be preempted. */
static atomic_llong *blocked_until_ns;

__attribute__((constructor)) static void share(void)
{
    void *memory = mmap(NULL, sizeof *blocked_until_ns, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    blocked_until_ns = memory == MAP_FAILED ? NULL : memory;
}

static long long now_ns(void)
{
    struct timespec now = {0};
    REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
    return now.tv_sec * S + now.tv_nsec;
}

int rename(const char *from, const char *to)
{
    int answer = REAL(rename)(from, to);
    if (!breaks("blocks_in_rename") || !blocked_until_ns)
        return answer;
    long long end_ns = now_ns() + BLOCKED_NS;
    atomic_store(blocked_until_ns, end_ns);
    while (now_ns() < end_ns)
        ;
    return answer;
}

void broken_wait_for_kernel(void)
{
    if (!blocked_until_ns || !breaks("blocks_in_rename"))
        return;
    long long end_ns = atomic_load(blocked_until_ns);
    struct timespec end = {.tv_sec = end_ns / S, .tv_nsec = end_ns % S};
    if (end_ns > now_ns())
        REAL(clock_nanosleep)(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

int posix_openpt(int flags)
{
    if (!breaks("no_terminal"))
        return REAL(posix_openpt)(flags);
    errno = ENOENT;
    return -1;
}

int fsync(int file)
{
    static int count;
    if (!breaks("fsync_fails") || ++count == 1)
        return REAL(fsync)(file);
    errno = EIO;
    return -1;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    static const struct timespec moment = {.tv_nsec = 20000000};
    if (who == RUSAGE_CHILDREN && breaks("usage_takes_long"))
        REAL(nanosleep)(&moment, NULL);
    return REAL(getrusage)(who, usage);
}

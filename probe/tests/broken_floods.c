/* Breaches by a flood (see broken.c):
 *   flooded_late  sleeps until an absolute time end 2 ms late while a process sends packets
 */
#define _GNU_SOURCE
#include "broken.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

enum { LATE_NS = 2000000, FLOODED_NS = 3000000, NS_PER_S = 1000000000 };

static _Atomic int64_t *sent_ns; /* shared with the processes that are forked */

__attribute__((constructor)) static void share(void)
{
    void *page = MAP_FAILED;
    if (breaks("flooded_late"))
        page =
            mmap(NULL, sizeof *sent_ns, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sent_ns = page == MAP_FAILED ? NULL : page;
}

static int64_t now_ns(void)
{
    struct timespec now;
    REAL(clock_gettime)(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

ssize_t send(int socket, const void *buffer, size_t length, int flags)
{
    if (sent_ns)
        atomic_store(sent_ns, now_ns());
    if (broken_refuses_send(length))
        return -1;
    return REAL(send)(socket, buffer, length, flags);
}

int64_t broken_lateness_ns(void)
{
    return sent_ns && now_ns() - atomic_load(sent_ns) < FLOODED_NS ? LATE_NS : 0;
}

/* Keeps the C library from mapping memory that would be locked and never used. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

/* glibc reserves 64 MiB for the heap of a second thread. Other C libraries have one heap. */
void port_trim_heap(void)
{
#ifdef __GLIBC__
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TOP_PAD, 0);
    malloc_trim(0); /* of what was there before main */
#endif
}

static void advise_forks(void *memory, size_t bytes, int advice)
{
    uintptr_t page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)memory + page_bytes - 1) / page_bytes * page_bytes;
    uintptr_t end = ((uintptr_t)memory + bytes) / page_bytes * page_bytes;
    if (begin < end)
        madvise((char *)memory + (begin - (uintptr_t)memory), end - begin, advice);
}

void port_keep_from_forks(void *memory, size_t bytes)
{
    advise_forks(memory, bytes, MADV_DONTFORK);
}

void port_give_to_forks(void *memory, size_t bytes)
{
    advise_forks(memory, bytes, MADV_DOFORK);
}

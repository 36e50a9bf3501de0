#include "base/posix_source.h"

#include "base/stacks.h"

#include "base/rt_thread.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* The first page of `block`. Not posix_memalign: what it frees is smaller than what it takes, so
 * the heap would grow with each call. */
static char *at_page(void *block, size_t page_bytes)
{
    size_t behind = (uintptr_t)block % page_bytes;
    return (char *)block + (behind ? page_bytes - behind : 0);
}

int stacks_make(struct stacks *stacks, int count, bool is_locked)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = rt_thread_stack_bytes(RT_THREAD_SMALL_STACK_BYTES);
    int error = 0;
    stacks->block = NULL;
    stacks->stack_bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (count == 0)
        return 0;
    if (is_locked && mlockall(MCL_CURRENT) != 0) /* what is mapped from now on stays unlocked */
        return errno;
    stacks->block = malloc((size_t)count * stacks->stack_bytes + page_bytes);
    error = stacks->block ? 0 : ENOMEM;
    stacks->memory = at_page(stacks->block, page_bytes);
    if (is_locked && mlockall(MCL_FUTURE) != 0) /* again, and without what is mapped now */
        return errno;
    return error;
}

void *stacks_at(const struct stacks *stacks, int place)
{
    return stacks->memory + (size_t)place * stacks->stack_bytes;
}

void stacks_free(struct stacks *stacks)
{
    free(stacks->block);
    stacks->block = NULL;
}

#include "base/posix_source.h"

#include "base/stacks.h"

#include "base/rt_thread.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int stacks_make(struct stacks *stacks, int count, bool is_locked)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes = rt_thread_stack_bytes(RT_THREAD_SMALL_STACK_BYTES);
    void *memory = NULL;
    int error = 0;
    stacks->memory = NULL;
    stacks->stack_bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (count == 0)
        return 0;
    if (is_locked && mlockall(MCL_CURRENT) != 0) /* what is mapped from now on stays unlocked */
        return errno;
    error = posix_memalign(&memory, page_bytes, (size_t)count * stacks->stack_bytes);
    stacks->memory = memory;
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
    free(stacks->memory);
    stacks->memory = NULL;
}

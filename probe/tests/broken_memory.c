/* Breaches of locked memory; broken.c says how they are used.
 *   lock_nothing   mlockall is accepted and does nothing
 *   lock_current   mlockall with MCL_FUTURE does not lock what is mapped later
 *   lock_refused   mlockall fails with EPERM, as at a limit of 0
 * No breaches, but systems that lack something:
 *   no_group       nobody may make a control group
 *   no_page_out    the kernel takes no pages back on request
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

bool broken_lock(int flags, int *answer)
{
    *answer = 0;
    if (breaks("lock_refused")) {
        errno = EPERM;
        *answer = -1;
    }
    if (breaks("lock_current"))
        *answer = REAL(mlockall)(flags & ~MCL_FUTURE);
    return breaks("lock_nothing") || breaks("lock_refused") || breaks("lock_current");
}

int mkdir(const char *path, mode_t mode)
{
    if (broken_refuses_folder())
        return -1;
    if (!breaks("no_group") || !strstr(path, "/hardstone-memory-"))
        return REAL(mkdir)(path, mode);
    errno = EACCES;
    return -1;
}

int madvise(void *memory, size_t bytes, int advice)
{
    if (advice != MADV_PAGEOUT || !breaks("no_page_out"))
        return REAL(madvise)(memory, bytes, advice);
    errno = EINVAL;
    return -1;
}

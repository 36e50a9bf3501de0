#include "base/posix_source.h"

#include "run/run.h"

#include <sys/mman.h>

/* Alone in its file: who reserves CPUs calls it, and the rest of run.h's functions call them. */
void run_lock_again(const struct run *run)
{
    if (run->is_locked)
        mlockall(MCL_CURRENT | MCL_FUTURE);
}

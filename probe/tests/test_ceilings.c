/* Priority ceilings on a system that has them but does not define POSIX's macro for them in
 * unistd.h. Builds lock_kind.c without that macro. */
#include "base/posix_source.h"

#include <unistd.h>

#undef _POSIX_THREAD_PRIO_PROTECT

#include "family/mutex/lock_kind.c"
#include "tap.h"

TEST(the_call_is_tried)
{
#if HS_HAS_PRIO_PROTECT
    struct lock lock;
    CHECK_SAME(lock_open(&lock, LOCK_KIND_PROTECT, sched_get_priority_min(SCHED_FIFO)), 0);
    lock_close(&lock);
#else
    tap_skip("the C library has no priority ceilings");
#endif
}

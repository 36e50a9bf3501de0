#include "base/posix_source.h"

#include "port/linux/trace_guard.h"

#include "base/guard.h"
#include "port/linux/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum { TRIES = 500, PAUSE_NS = 20000000 };

/* Other processes that end with the owner may have files of the instance open a little longer. */
static void remove_instance(void *instance)
{
    static const struct timespec pause = {.tv_nsec = PAUSE_NS};
    char path[TRACEFS_PATH_BYTES + 20];
    snprintf(path, sizeof path, "%s/tracing_on", (const char *)instance);
    (void)tracefs_write(path, "0", NULL);
    for (int i = 0; i < TRIES && tracefs_remove(instance) != 0; i++)
        nanosleep(&pause, NULL);
}

pid_t trace_guard_start(const char *instance)
{
    struct guard guard;
    const struct guard_duty duty = {.watch = GUARD_BY_SIGNAL,
                                    .name = "hs-trace-guard",
                                    .kept = -1,
                                    .undo = remove_instance,
                                    .context = (void *)instance};
    int error = guard_start(&guard, &duty);
    errno = error;
    return error ? -1 : guard.pid;
}

void trace_guard_dismiss(pid_t pid)
{
    guard_dismiss(&(struct guard){.pid = pid, .pipe = -1});
}

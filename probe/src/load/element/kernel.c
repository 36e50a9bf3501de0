/* kernel: every class of KRN-P-PRE in turn. A round is all of them once. */
#include "base/posix_source.h"

#include "load/element.h"

#include "load/element/kernel_classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REST_NS = 10000000 };

static int prepare(struct loader *loader)
{
    struct kernel_space *space = calloc(1, sizeof *space);
    if (!space)
        return ENOMEM;
    loader->own = space;
    return kernel_space_open(space, loader->map, loader->program);
}

/* Whether any class could be done. */
static bool do_round(struct loader *loader)
{
    bool is_done = false;
    for (int i = 0; i < KERNEL_CLASSES && !loader_should_stop(loader); i++) {
        int error = kernel_classes[i].act(loader->own);
        if (error) {
            loader_note(loader, "the class %s could not be done: %s", kernel_classes[i].name,
                        strerror(error));
            continue;
        }
        loader_count(loader, KERNEL_FIRST_CLASS + i, 1);
        is_done = true;
    }
    return is_done;
}

static void work(struct loader *loader)
{
    struct timespec rest = {.tv_nsec = REST_NS};
    while (!loader_should_stop(loader)) {
        bool is_done = do_round(loader);
        loader_set(loader, COUNTER_CHILDREN, (uint64_t)loader_children_cpu_ns());
        loader_works(loader);
        if (is_done)
            loader_count(loader, COUNTER_ROUNDS, 1);
        else
            nanosleep(&rest, NULL);
    }
}

const struct load_element load_kernel = {
    .name = "kernel",
    .title = "every class of kernel operations in turn: fork, exec, exit, copies, files, maps, ...",
    .kind = LOAD_CONTINUOUS,
    .counters = {NULL, "cpu_ns", NULL, "rounds_count", "fork_count", "exec_count", "exit_count",
                 "copy_count", "file_count", "map_count", "terminal_count", "socket_count",
                 "pipe_count", "fsync_count", "scan_count"},
    .needs_names = true,
    .prepare = prepare,
    .work = work,
};
_Static_assert(KERNEL_FIRST_CLASS + KERNEL_CLASSES <= LOAD_COUNTERS, "a counter for each class");

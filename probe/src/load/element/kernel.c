/* kernel: every class of KRN-P-PRE in turn. A round is one pass over all classes. */
#include "base/posix_source.h"

#include "load/element.h"
#include "work/kernel_operations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { REST_NS = 10000000 };

static int prepare(struct worker *worker)
{
    struct kernel_space *space = calloc(1, sizeof *space);
    if (!space)
        return ENOMEM;
    worker->own = space;
    return kernel_space_open(space, &worker->map->scratch, worker->program);
}

/* One round: true if at least one class succeeded. */
static bool do_round(struct worker *worker)
{
    bool is_done = false;
    for (int i = 0; i < KERNEL_CLASSES && !worker_should_stop(worker); i++) {
        int error = kernel_classes[i].act(worker->own);
        if (error) {
            worker_note(worker, "the operation class %s failed: %s", kernel_classes[i].name,
                        strerror(error));
            continue;
        }
        worker_count(worker, KERNEL_FIRST_CLASS + i, 1);
        is_done = true;
    }
    return is_done;
}

static void work(struct worker *worker)
{
    struct timespec rest = {.tv_nsec = REST_NS};
    while (!worker_should_stop(worker)) {
        bool is_done = do_round(worker);
        worker_set(worker, COUNTER_CHILDREN, (uint64_t)worker_children_cpu_ns());
        worker_works(worker);
        if (is_done)
            worker_count(worker, COUNTER_ROUNDS, 1);
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

/* build: short jobs like those of a compiler, one after another: fork, exec, read, compute,
 * write, exit. Source and object are anonymous files. A round is one job. */
#include "base/posix_source.h"

#include "load/element.h"

#include "load/job.h"
#include "load/scratch.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = COUNTER_OWN, REST_NS = 10000000 };

struct build {
    int source, object;
};

static int write_source(struct worker *worker, int file)
{
    static const char *const words[] = {"int ", "static ", "return ", "value", ";\n", "+ ", "{\n"};
    char text[JOB_SOURCE_BYTES];
    size_t used = 0;
    while (used + 16 < sizeof text) {
        const char *next = words[worker_random(worker) % (sizeof words / sizeof words[0])];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s", next);
    }
    return write(file, text, used) == (ssize_t)used ? 0 : errno ? errno : ENOSPC;
}

/* Opens a file with a descriptor above those that the jobs use. */
static int open_file(const struct load_map *map)
{
    int file = scratch_file(map);
    if (file < 0)
        return -1;
    int moved = fcntl(file, F_DUPFD_CLOEXEC, JOB_OBJECT + 1);
    close(file);
    return moved;
}

static int prepare(struct worker *worker)
{
    struct build *own = calloc(1, sizeof *own);
    if (!own)
        return ENOMEM;
    worker->own = own;
    own->source = open_file(worker->map);
    own->object = own->source < 0 ? -1 : open_file(worker->map);
    int error = own->object < 0 ? errno : 0;
    if (!error && scratch_is_short(own->object))
        error = ENOSPC;
    if (!error)
        error = write_source(worker, own->source);
    if (error)
        worker_note(worker, "no files for the jobs in %.60s: %s", worker->map->folder,
                    strerror(error));
    return error;
}

static void be_job(const struct worker *worker, pid_t parent)
{
    const struct build *own = worker->own;
    int error = port_kill_with_parent(parent);
    if ((error != 0 && error != ENOTSUP) || dup2(own->source, JOB_SOURCE) < 0 ||
        dup2(own->object, JOB_OBJECT) < 0)
        _exit(JOB_FAILED);
    job_be(worker->program, "compile");
}

/* Runs one job: 0, or an errno value. */
static int do_job(const struct worker *worker)
{
    int status = 0;
    pid_t parent = getpid(), child = port_fork();
    if (child == 0)
        be_job(worker, parent);
    if (child < 0)
        return errno;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return errno;
    if (WIFEXITED(status) && WEXITSTATUS(status) == JOB_DONE)
        return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == JOB_NOT_STARTED ? ENOEXEC : ECANCELED;
}

static void work(struct worker *worker)
{
    struct timespec rest = {.tv_nsec = REST_NS};
    while (!worker_should_stop(worker)) {
        int error = do_job(worker);
        worker_set(worker, COUNTER_CHILDREN, (uint64_t)worker_children_cpu_ns());
        worker_count(worker, error ? FAILED : COUNTER_ROUNDS, 1);
        worker_works(worker);
        if (error) {
            worker_note(worker, "a job failed: %s", strerror(error));
            nanosleep(&rest, NULL);
        }
    }
}

const struct load_element load_build = {
    .name = "build",
    .title = "short jobs like a compiler's: fork, exec, read, compute, write, exit",
    .kind = LOAD_CONTINUOUS,
    .counters = {NULL, "cpu_ns", NULL, "jobs_count", "failed_count"},
    .prepare = prepare,
    .work = work,
};

/* build: short jobs like those of a compiler: fork, exec, read, compute, write, exit. N of them are
 * under way at once. A process keeps at most LOAD_JOBS_EACH of them: it has to fork as often as
 * they end, and gets no more of the CPUs than one of them: with 8 a third was not under way. Source
 * and objects are anonymous files. A round is one job. */
#include "base/posix_source.h"

#include "load/element.h"
#include "port/port.h"
#include "work/job.h"
#include "work/scratch.h"

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
    int running;  /* jobs started and not yet reaped */
    int reported; /* BUILD_AT_ONCE: does not fall when a job ends that is replaced at once */
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
    int file = scratch_file(&map->scratch);
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
        worker_note(worker, "no files for the jobs in %.60s: %s", worker->map->scratch.folder,
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

static void report_running(struct worker *worker, struct build *own)
{
    own->reported = own->running;
    worker_set(worker, BUILD_AT_ONCE, (uint64_t)own->running);
}

/* Starts jobs until all jobs of this process are running. 0, or the errno value of fork. */
static int start_missing(struct worker *worker, struct build *own)
{
    pid_t parent = getpid();
    int error = 0;
    while (!error && own->running < worker->jobs && !worker_should_stop(worker)) {
        pid_t child = port_fork();
        if (child == 0)
            be_job(worker, parent);
        if (child < 0)
            error = errno;
        else if (++own->running > own->reported)
            report_running(worker, own);
    }
    if (error)
        report_running(worker, own);
    return error;
}

static int error_of(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == JOB_DONE)
        return 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == JOB_NOT_STARTED ? ENOEXEC : ECANCELED;
}

/* Waits for one job, and reaps all that have ended. 0, or the error of one of them. Their
 * successors start at once: the number of jobs at the same time changes only where they cannot, or
 * rest. */
static int take_ended(struct worker *worker, struct build *own)
{
    int status, error = 0;
    for (int options = 0; own->running > 0; options = WNOHANG) {
        pid_t child = waitpid(-1, &status, options);
        if (child == 0 || (child < 0 && errno != EINTR))
            break;
        if (child < 0)
            continue;
        own->running--;
        int one = error_of(status);
        worker_count(worker, one ? FAILED : COUNTER_ROUNDS, 1);
        error = one ? one : error;
    }
    worker_set(worker, COUNTER_CHILDREN, (uint64_t)worker_children_cpu_ns());
    return error;
}

static void rest(struct worker *worker, const char *what, int error)
{
    struct timespec span = {.tv_nsec = REST_NS};
    worker_note(worker, "%s: %s", what, strerror(error));
    nanosleep(&span, NULL);
}

/* The process works once all its jobs run, or as many as the system allows: the degree is their
 * number. Of thousands of jobs each takes long to end. */
static void work(struct worker *worker)
{
    struct build *own = worker->own;
    while (!worker_should_stop(worker)) {
        int error = start_missing(worker, own);
        if (error) {
            worker_count(worker, FAILED, 1);
            rest(worker, "a job could not be started", error);
        }
        worker_works(worker);
        error = take_ended(worker, own);
        if (error) {
            report_running(worker, own);
            rest(worker, "a job failed", error);
        }
    }
}

const struct load_element load_build = {
    .name = "build",
    .title = "N short jobs at a time, like a compiler's: fork, exec, read, compute, write, exit",
    .kind = LOAD_JOBS,
    .default_degree = "1",
    .counters = {NULL, "cpu_ns", NULL, "jobs_count", "failed_count"},
    .prepare = prepare,
    .work = work,
};

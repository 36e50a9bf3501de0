#include "base/posix_source.h"

#include "family/posix/call.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "base/status.h"
#include "port/port.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- answers ---- */

const char *call_result_name(enum call_result result)
{
    static const char *const names[] = {"untried", "works", "partly", "fails", "missing", "denied"};
    return names[result];
}

static struct answer answer(enum call_result result, const char *format, va_list words)
{
    struct answer given = {.result = result};
    vsnprintf(given.why, sizeof given.why, format, words);
    return given;
}

struct answer answer_works(void)
{
    return (struct answer){.result = CALL_WORKS};
}

#define ANSWER(name, result)                                                                       \
    struct answer name(const char *format, ...)                                                    \
    {                                                                                              \
        va_list words;                                                                             \
        va_start(words, format);                                                                   \
        struct answer given = answer(result, format, words);                                       \
        va_end(words);                                                                             \
        return given;                                                                              \
    }

ANSWER(answer_partly, CALL_PARTLY)
ANSWER(answer_fails, CALL_FAILS)
ANSWER(answer_untried, CALL_UNTRIED)
ANSWER(answer_denied, CALL_DENIED)

struct answer answer_missing(const char *call)
{
    struct answer given = {.result = CALL_MISSING};
    snprintf(given.why, sizeof given.why, "this build has no %s", call);
    return given;
}

struct answer answer_error(const char *call, int error)
{
    struct answer given = {.result = CALL_FAILS};
    const char *limit = status_limit_remedy(error);
    if (error == ENOSYS || error == ENOTSUP)
        given.result = CALL_MISSING;
    else if (error == EPERM || error == EACCES || limit)
        given.result = CALL_DENIED;
    snprintf(given.why, sizeof given.why, "%s: %s%s%s", call, strerror(error), limit ? "; " : "",
             limit ? limit : "");
    return given;
}

/* ---- help ---- */

#define STEP_NS INT64_C(1000000)

struct timespec call_timespec(int64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / CLOCK_NS_PER_S),
                             .tv_nsec = (long)(ns % CLOCK_NS_PER_S)};
}

void call_nap(int64_t ns)
{
    struct timespec nap = call_timespec(ns);
    nanosleep(&nap, NULL);
}

struct timespec call_time_in(clockid_t clock, int64_t ns)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return call_timespec(clock_timespec_ns(&now) + ns);
}

bool call_wait_for(const atomic_bool *flag, const struct call_tools *tools)
{
    for (int64_t waited_ns = 0; waited_ns < tools->wait_ns; waited_ns += STEP_NS) {
        if (atomic_load(flag))
            return true;
        call_nap(STEP_NS);
    }
    return atomic_load(flag);
}

struct job {
    int (*body)(void *);
    void *argument;
    int result;
};

static void *run_job(void *argument)
{
    struct job *job = argument;
    job->result = job->body(job->argument);
    return NULL;
}

int call_on_thread(int (*body)(void *), void *argument, int if_not)
{
    struct job job = {body, argument, if_not};
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes) != 0)
        return if_not;
    /* The stack of a thread may be 2 KB unless it is given one. */
    int error = pthread_attr_setstacksize(&attributes, RT_THREAD_STACK_BYTES);
    if (!error)
        error = pthread_create(&thread, &attributes, run_job, &job);
    pthread_attr_destroy(&attributes);
    if (error)
        return if_not;
    pthread_join(thread, NULL);
    return job.result;
}

void call_end_with(pid_t parent)
{
    if (port_kill_with_parent(parent) == ESRCH)
        _exit(1);
}

int call_in_process(bool (*body)(void *), void *argument)
{
    pid_t parent = getpid(), process = port_fork();
    if (process < 0)
        return errno;
    if (process == 0) {
        call_end_with(parent);
        _exit(body(argument) ? 0 : 1);
    }
    return port_wait_for(process);
}

bool call_program(struct call_program *program)
{
    bool has_shell = access("/bin/sh", X_OK) == 0;
    memset(program, 0, sizeof *program);
    snprintf(program->path, sizeof program->path, "/bin/sh");
    if (!has_shell && port_own_executable(program->path, sizeof program->path) != 0)
        return false;
    program->status = has_shell ? 7 : 0;
    snprintf(program->words[0], sizeof program->words[0], has_shell ? "-c" : "list");
    snprintf(program->words[1], sizeof program->words[1], "exit %d", program->status);
    program->arguments[0] = program->path;
    program->arguments[1] = program->words[0];
    program->arguments[2] = has_shell ? program->words[1] : NULL;
    return true;
}

int call_file(const struct call_tools *tools, struct answer *answer)
{
    int file = scratch_file(tools->scratch);
    if (file < 0)
        *answer = answer_untried("no file in the scratch folder (TMPDIR)");
    return file;
}

bool call_path(const struct call_tools *tools, const char *name, char path[CALL_PATH_BYTES],
               struct answer *answer)
{
    if (tools->scratch->own[0] == '\0' || access(tools->scratch->own, W_OK) != 0) {
        *answer = answer_untried("no scratch folder (TMPDIR)");
        return false;
    }
    snprintf(path, CALL_PATH_BYTES, "%s/%s", tools->scratch->own, name);
    return true;
}

struct answer call_no_queue(int error)
{
    const char *limit = error == EMFILE   ? "ulimit -q"
                        : error == ENOSPC ? port_hint(PORT_HINT_QUEUES_LIMIT)
                        : error == EINVAL ? port_hint(PORT_HINT_DEPTH_LIMIT)
                                          : NULL;
    return limit ? answer_denied("mq_open: %s; raise %s", strerror(error), limit)
                 : answer_error("mq_open", error);
}

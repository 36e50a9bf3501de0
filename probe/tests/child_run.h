/* Runs of the probe, mostly in a process that the test forks: what it changes ends with it. */
#ifndef HS_CHILD_RUN_H
#define HS_CHILD_RUN_H

#include "command/args.h"
#include "run/life_cycle.h"
#include "run/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_RUN_BYTES = 400000 };

#define LONG_DEADLINE_NS INT64_C(7200000000000) /* more than any test may take */

/* The exit code of the run with these words, up to NULL, by this very process, with its stream to
 * `output`. `change`: called before it with the request; NULL: nothing is changed. */
static inline int run_here(char *const words[], void (*change)(struct request *), int output)
{
    static struct request request;
    char error[ARGS_ERROR_BYTES];
    int count = 0;
    while (words[count])
        count++;
    if (args_parse(count, words, &request, error, sizeof error) != 0)
        abort();
    request.json = true;
    if (request.deadline_ns == 0)
        request.deadline_ns = LONG_DEADLINE_NS;
    if (change)
        change(&request);
    fflush(stdout);
    int own = dup(STDOUT_FILENO);
    dup2(output, STDOUT_FILENO);
    int code = run_test(&request);
    dup2(own, STDOUT_FILENO);
    close(own);
    return code;
}

static int child_code; /* exit code of the latest child, -1 where a signal ended it */

/* The stream of such a run by a process of its own, valid until the next call. */
static inline const char *child_run(char *const words[], void (*change)(struct request *))
{
    static char text[CHILD_RUN_BYTES];
    int ends[2], status;
    size_t used = 0;
    ssize_t got;
    fflush(stdout);
    if (pipe(ends) != 0)
        abort();
    pid_t child = fork();
    if (child == 0)
        _exit(run_here(words, change, ends[1]));
    close(ends[1]);
    while (used + 1 < sizeof text && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    child_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
}

/* ---- parts of invented tests ---- */

static const struct series_spec child_series[] = {{"value", "ns", "", "nothing", NULL}, {0}};

static inline int child_until_stopped(struct run *run)
{
    static const struct timespec rest = {0, 1000000};
    (void)run;
    while (!run_should_stop())
        nanosleep(&rest, NULL);
    return 0;
}

static inline int child_until_signal(struct run *run)
{
    kill(getpid(), SIGTERM);
    return child_until_stopped(run);
}

/* In the place of the words' test. */
static const struct test *child_test;

static inline void take_child_test(struct request *request)
{
    request->test = child_test;
}

/* The stream of a run of `test` by an ordinary thread on CLOCK_MONOTONIC, with more words up to
 * NULL. */
static inline const char *child_run_of(const struct test *test, const char *const more[])
{
    const char *words[16] = {"hardstone-probe", "run",     "SEM-P-SIG", "--policy",
                             "other",           "--clock", "monotonic"};
    for (int i = 7; *more; i++)
        words[i] = *more++;
    child_test = test;
    return child_run((char *const *)words, take_child_test);
}

#endif

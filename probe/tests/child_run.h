/* A run of the probe in a process of its own, which its test forks: what it changes ends with it.
 */
#ifndef HS_CHILD_RUN_H
#define HS_CHILD_RUN_H

#include "command/args.h"
#include "run/life_cycle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_RUN_BYTES = 400000 };

/* `change`: called in the child before the run, with the request; NULL: nothing is changed. */
static inline void child_run_be(char *const words[], void (*change)(struct request *), int output)
{
    static struct request request;
    char error[ARGS_ERROR_BYTES];
    int count = 0;
    while (words[count])
        count++;
    if (args_parse(count, words, &request, error, sizeof error) != 0)
        _exit(2);
    request.json = true;
    if (change)
        change(&request);
    dup2(output, STDOUT_FILENO);
    _exit(run_test(&request));
}

/* The stream of the run with these words, up to NULL, valid until the next call. `code`: its exit
 * code, -1 where a signal ended it. */
static inline const char *child_run(char *const words[], void (*change)(struct request *),
                                    int *code)
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
        child_run_be(words, change, ends[1]);
    close(ends[1]);
    while (used + 1 < sizeof text && (got = read(ends[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)got;
    text[used] = '\0';
    close(ends[0]);
    waitpid(child, &status, 0);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return text;
}

#endif

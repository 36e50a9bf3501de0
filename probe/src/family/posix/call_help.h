/* What real calls share: threads, processes and waits of a call's own process. */
#ifndef HS_FAMILY_POSIX_CALL_HELP_H
#define HS_FAMILY_POSIX_CALL_HELP_H

#include "family/posix/answer.h"
#include "family/posix/option.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { CALL_PATH_BYTES = SCRATCH_BYTES + 32 };

/* Sleeps. */
void call_nap(int64_t ns);

/* `ns` from now on this clock. */
struct timespec call_time_in(clockid_t clock, int64_t ns);
struct timespec call_timespec(int64_t ns);

/* Waits until `*flag` is set, at most tools->wait_ns. */
bool call_wait_for(const atomic_bool *flag, const struct call_tools *tools);

/* Runs `body(argument)` on a thread of its own and joins it: what it returned; `if_not`, if no
 * thread could be started. */
int call_on_thread(int (*body)(void *), void *argument, int if_not);

/* For a process that was just forked: it ends with its parent, also if that has ended before; where
 * the port cannot do that, it goes on. */
void call_end_with(pid_t parent);

/* Runs `body(argument)` in a forked process: 0 if it returned true, ECHILD if it did not, or ended
 * in another way; or the error of fork. */
int call_in_process(bool (*body)(void *), void *argument);

/* A program that ends with a status that is known: the shell, or else the probe itself. False:
 * there is none to be found. */
struct call_program {
    char path[CALL_PATH_BYTES];
    char words[2][16];
    char *arguments[4]; /* with the path first; NULL after the last */
    int status;
};
bool call_program(struct call_program *program);

/* Opens an anonymous scratch file: descriptor, or -1 with `answer` set. */
int call_file(const struct call_tools *tools, struct answer *answer);

/* mq_open failed with `error`: its limits have names of their own. */
struct answer call_no_queue(int error);

/* A path in the scratch folder of this run; false with `answer` set: there is none. */
bool call_path(const struct call_tools *tools, const char *name, char path[CALL_PATH_BYTES],
               struct answer *answer);

#endif

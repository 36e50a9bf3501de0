/* A real call: what it answers, and help for those that make it. */
#ifndef HS_FAMILY_POSIX_CALL_H
#define HS_FAMILY_POSIX_CALL_H

#include "base/posix_source.h"

#include "work/scratch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* ---- answers ---- */

/* What a real call said of an option. */

enum call_result {
    CALL_UNTRIED, /* it was not called: `why` says why */
    CALL_WORKS,
    CALL_PARTLY,  /* it does less than the option promises */
    CALL_FAILS,   /* it is there and does not do it, or did not end by its deadline */
    CALL_MISSING, /* no such call in this build or this kernel: ENOSYS, ENOTSUP */
    CALL_DENIED,  /* refused for want of a privilege, or by a limit of this user */
};

enum { ANSWER_WHY_BYTES = 120 };

/* Without pointers: it crosses to another process. */
struct answer {
    enum call_result result;
    char why[ANSWER_WHY_BYTES]; /* empty: it works */
    int64_t number;             /* that the call counted, if it counts something */
};

/* "works", "partly", ... */
const char *call_result_name(enum call_result result);

struct answer answer_works(void);
struct answer answer_partly(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct answer answer_fails(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct answer answer_untried(const char *format, ...) __attribute__((format(printf, 1, 2)));
struct answer answer_denied(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The build has no such call. */
struct answer answer_missing(const char *call);

/* `call` failed with `error`: ENOSYS and ENOTSUP are missing; EPERM, EACCES and the limits of
 * status_limit_remedy denied, which `why` then says how to raise; all others fails. */
struct answer answer_error(const char *call, int error);

/* What calls may use. */
struct call_tools {
    const char *name; /* of a queue, a semaphore or shared memory; removed if the probe is killed */
    const struct scratch *scratch; /* a folder of its own, made already; or empty texts */
    int64_t wait_ns;               /* how long a call waits for what has to come */
};

typedef struct answer (*posix_call)(const struct call_tools *tools);

/* ---- help ---- */

/* What real calls share: threads, processes and waits of a call's own process. */

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

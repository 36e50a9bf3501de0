/* Runs real calls one after another, each in a process of its own with a deadline: a call may hang,
 * or end its process. A runner, forked before there are threads, forks them; its answers are in
 * memory that it shares with the probe.
 *
 * On a system without processes the calls run on threads of the probe, without a deadline but the
 * test's; those that change their whole process are untried. */
#ifndef HS_FAMILY_POSIX_CALL_RUNNER_H
#define HS_FAMILY_POSIX_CALL_RUNNER_H

#include "base/posix_source.h"

#include "family/posix/limits.h"
#include "family/posix/option.h"
#include "run/run.h"

#include <sys/types.h>

enum { CALLS_MOST = 100 };

struct call_board {
    struct answer answers[CALLS_MOST];
};

struct call_runner {
    const posix_call *calls;
    int count;
    struct call_tools tools;
    int64_t limit_ns; /* of one call */
    struct call_board *board;
    pid_t process; /* 0: there is none, the calls run in the probe */
    int go;        /* write end of the pipe on which it waits */
};

/* Starts the runner, which waits. The fields up to limit_ns are set by the caller. 0, or an errno
 * value. */
int call_runner_open(struct call_runner *runner);

/* Runs all calls; ends early when a stop is requested. Calls that were not reached are untried. 0,
 * or ECHILD: the runner was ended by somebody. */
int call_runner_run(struct call_runner *runner);

/* Ends the runner and all that it started. */
void call_runner_close(struct call_runner *runner);

/* For tests: one call in a process of its own, `answer` in memory that is shared with it. */
void call_run(posix_call call, const struct call_tools *tools, int64_t limit_ns,
              struct answer *answer);

/* ---- Tells what was found: the events and verdicts of POS-B-INV. ---- */

/* All answers of one run, each in the order of its table. */
struct inventory {
    int option_count, limit_count;
    const struct answer *options;
    const struct answer *limits; /* of those with a call; untried otherwise */
    const struct answer *fifo, *rr;
    const char *folder; /* that pathconf is asked about */
};

/* Places for events that inventory_report needs beyond the usual ones. */
int inventory_events(void);

void inventory_report(struct run *run, const struct inventory *inventory);
void inventory_judge(struct run *run, const struct inventory *inventory);

#endif

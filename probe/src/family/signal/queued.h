/* Queued real-time signals with a number in their value, and the receiver that checks many. */
#ifndef HS_FAMILY_SIGNAL_QUEUED_H
#define HS_FAMILY_SIGNAL_QUEUED_H

#include "base/posix_source.h"

#include "family/shared/signal_state.h"
#include "run/run.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* For `check`: 0, or -1 with the outcome (unsupported). */
int queued_check(struct run *run);

/* sigqueue: 0, or an errno value. All bits of the value depend on `value`. */
int queued_send(pid_t to, int number, uint32_t value);

/* sigwaitinfo, again after another signal's handler; with `timeout` sigtimedwait. The number, or -1
 * with errno (EAGAIN: none came in time). */
int queued_wait(const sigset_t *wanted, siginfo_t *info, const struct timespec *timeout);

/* Whether the signal has a value of queued_send, in all bits. */
bool queued_value(const siginfo_t *info, uint32_t *value);

/* Sets the outcome for an error of queued_send. -1. */
int queued_not_sent(struct run *run, int error);

extern const char *const queued_receiver_names[]; /* by enum queued_receiver */
enum queued_receiver { QUEUED_HANDLER, QUEUED_SIGWAITINFO };

#define QUEUED_RECEIVER_PARAM                                                                      \
    {                                                                                              \
        "receivers", PARAM_NAME, true, "handler,sigwaitinfo", 0, 0, queued_receiver_names,         \
            "who receives the signals: a handler, a thread in sigwaitinfo", "receiver"             \
    }

/* ---- the receiver ---- */

/* The receiving side of SIG-B-QUE: a thread, or a process, that blocks real-time signals, looks at
 * what is pending, and takes it when it is told to. It checks each signal as it comes, in constant
 * memory. */

enum { QUEUE_NUMBERS = 8, QUEUE_PLACE_BITS = 24 };

/* What came of one burst. */
struct queue_findings {
    uint64_t received_count;
    uint64_t early_count;       /* delivered although blocked */
    uint64_t seen_count;        /* numbers that sigpending told */
    uint64_t wrong_count;       /* value, si_code or sender not as sent */
    uint64_t lower_later_count; /* a lower number came after a higher one */
    uint64_t not_fifo_count;    /* came after a later one of its number */
    uint64_t standard_count;    /* deliveries of the standard signal */
};

enum queue_command {
    QUEUE_BLOCK = 1, /* from now on; forgets earlier findings */
    QUEUE_LOOK,      /* at what is pending, and whether anything was delivered */
    QUEUE_TAKE,      /* unblocks, until all has come or nothing comes any more */
    QUEUE_LIMIT,     /* sets the limit of its process to `limit`, or as near as it may */
    QUEUE_END,       /* with the limit as it was */
};

/* In memory that both sides share. */
struct queue_table {
    enum queued_receiver receiver;
    pid_t sender;
    int standard;                      /* a standard signal */
    int first, number_count;           /* real-time signals: `first` and those after it */
    uint64_t sent[QUEUE_NUMBERS];      /* accepted, of each number */
    int64_t limit;                     /* after QUEUE_LIMIT: what it is now */
    int64_t limit_before, hard_before; /* -1: not changed */
    atomic_uint asked, done;           /* count of commands, and in its lowest byte the command */
    atomic_int error;
    atomic_bool is_blocking;
    /* Of the receiver alone, but for a look after `done`. */
    struct queue_findings findings;
    int latest_number;
    uint64_t next_place[QUEUE_NUMBERS];
};

/* The value of the signal `place` (from 0) of number `first + number`. */
static inline uint32_t queue_value(int number, uint64_t place)
{
    return (uint32_t)number << QUEUE_PLACE_BITS | (uint32_t)place;
}

/* Chooses the signals. */
void queue_table_open(struct queue_table *table, pid_t sender);

/* Sets the actions that the receiver relies on, in its process or before it is forked. 0, or an
 * errno value. */
int queue_actions_set(struct queue_table *table, struct signal_actions *actions);

/* The body of the receiver. */
void queue_receiver_run(void *table);

/* Has the receiver carry out `command`, and waits until it has, or a stop is requested. 0 or its
 * errno value; ECANCELED: a stop. */
int queue_ask(struct queue_table *table, enum queue_command command);

#endif

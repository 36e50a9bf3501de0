/* Real calls that reach the least value of a limit, and the priorities of real-time policies. Each
 * runs in a process of its own (call_runner.h). */
#ifndef HS_FAMILY_POSIX_REACH_H
#define HS_FAMILY_POSIX_REACH_H

#include "family/posix/option.h"

/* The least that POSIX.1-2008 promises, limits.h. */
enum {
    REACH_KEYS = 128,
    REACH_MQ_PRIO = 32,
    REACH_OPEN = 20,
    REACH_RTSIG = 8,
    REACH_SEM_VALUE = 32767,
    REACH_SIGQUEUE = 32,
    REACH_THREADS = 64,
    REACH_TIMERS = 32,
    REACH_PRIORITIES = 32,
};

struct answer reach_keys(const struct call_tools *tools);
struct answer reach_mq_prio(const struct call_tools *tools);
struct answer reach_open(const struct call_tools *tools);
struct answer reach_rtsig(const struct call_tools *tools);
struct answer reach_sem_value(const struct call_tools *tools);
struct answer reach_sigqueue(const struct call_tools *tools);
struct answer reach_threads(const struct call_tools *tools);
struct answer reach_timers(const struct call_tools *tools);

/* Sets every priority from sched_get_priority_min to _max; `number` has how many there are, also
 * where setting them is denied. */
struct answer reach_priorities_fifo(const struct call_tools *tools);
struct answer reach_priorities_rr(const struct call_tools *tools);

#endif

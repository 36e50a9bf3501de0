/* Attempts to use a right, by a process that has it or has it not. */
#ifndef HS_FAMILY_PRIVILEGE_ATTEMPT_H
#define HS_FAMILY_PRIVILEGE_ATTEMPT_H

#include "base/posix_source.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum attempt {
    ATTEMPT_REALTIME,    /* the policy SCHED_FIFO with the priority `amount` */
    ATTEMPT_MEMORY_LOCK, /* mlock of `amount` bytes */
    ATTEMPT_NICE,        /* the nice value `amount` */
    ATTEMPT_IO_REALTIME,
    ATTEMPT_AFFINITY, /* of the process `amount` */
    ATTEMPT_OFFLINE,
    ATTEMPT_CPUSET,
    ATTEMPTS
};

/* Names for verdicts ("realtime") and texts ("SCHED_FIFO"). */
extern const char *const attempt_names[ATTEMPTS];
extern const char *const attempt_calls[ATTEMPTS];

/* The answer to one: `error` (errno value; 0: granted), and whether it was seen to have an effect,
 * where that can be seen. */
struct answer {
    int error;
    bool has_effect;
};

/* Makes the attempt in the calling process. `memory`: of at least ATTEMPT_MEMORY_LOCK's bytes, at
 * the begin of a page. */
struct answer attempt_make(enum attempt attempt, int64_t amount, void *memory);

/* Whether the answer is a refusal for want of a right. */
bool answer_is_refusal(const struct answer *answer);

#endif

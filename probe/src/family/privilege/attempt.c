#include "base/posix_source.h"

#include "family/privilege/attempt.h"

#include "base/posix_optional.h"
#include "base/rt_thread.h"
#include "port/limits.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>

const char *const attempt_names[ATTEMPTS] = {
    [ATTEMPT_REALTIME] = "realtime", [ATTEMPT_MEMORY_LOCK] = "memory_lock",
    [ATTEMPT_NICE] = "nice",         [ATTEMPT_IO_REALTIME] = "io_realtime",
    [ATTEMPT_AFFINITY] = "affinity", [ATTEMPT_OFFLINE] = "offline",
    [ATTEMPT_CPUSET] = "cpuset",
};

const char *const attempt_calls[ATTEMPTS] = {
    [ATTEMPT_REALTIME] = "SCHED_FIFO, priority",
    [ATTEMPT_MEMORY_LOCK] = "mlock, bytes",
    [ATTEMPT_NICE] = "setpriority, nice value",
    [ATTEMPT_IO_REALTIME] = "real-time I/O priority",
    [ATTEMPT_AFFINITY] = "affinity of another user's process",
    [ATTEMPT_OFFLINE] = "taking a CPU offline",
    [ATTEMPT_CPUSET] = "control of groups' CPUs",
};

static struct answer become_realtime(int64_t priority)
{
    struct sched_param now;
    int policy = SCHED_OTHER;
    struct answer answer = {rt_thread_set_self(SCHED_FIFO, (int)priority), false};
    answer.has_effect = pthread_getschedparam(pthread_self(), &policy, &now) == 0 &&
                        policy == SCHED_FIFO && now.sched_priority == priority;
    return answer;
}

/* Not unlocked: a second lock of the same memory and more counts what is new. */
static struct answer lock_memory(void *memory, int64_t bytes)
{
#if HS_HAS_MEMLOCK_RANGE
    struct answer answer = {mlock(memory, (size_t)bytes) == 0 ? 0 : errno, false};
#else
    struct answer answer = {ENOSYS, false};
    (void)memory;
#endif
    int64_t locked = port_locked_bytes();
    answer.has_effect = locked < 0 ? answer.error == 0 : locked >= bytes;
    return answer;
}

static struct answer become_nice(int64_t nice)
{
    struct answer answer = {setpriority(PRIO_PROCESS, 0, (int)nice) == 0 ? 0 : errno, false};
    errno = 0;
    answer.has_effect = getpriority(PRIO_PROCESS, 0) == nice && errno == 0;
    return answer;
}

/* Of which only the answer is known. */
static struct answer answer_of(int error)
{
    return (struct answer){error, error == 0};
}

struct answer attempt_make(enum attempt attempt, int64_t amount, void *memory)
{
    switch (attempt) {
    case ATTEMPT_REALTIME:
        return become_realtime(amount);
    case ATTEMPT_MEMORY_LOCK:
        return lock_memory(memory, amount);
    case ATTEMPT_NICE:
        return become_nice(amount);
    case ATTEMPT_IO_REALTIME:
        return answer_of(port_try_io_realtime());
    case ATTEMPT_AFFINITY:
        return answer_of(port_try_affinity((pid_t)amount));
    case ATTEMPT_OFFLINE:
        return answer_of(port_try_offline());
    case ATTEMPT_CPUSET:
        return answer_of(port_try_cpuset());
    default:
        return answer_of(ENOTSUP);
    }
}

/* mlock beyond the limit is ENOMEM, or EAGAIN by POSIX's words. */
bool answer_is_refusal(const struct answer *answer)
{
    int error = answer->error;
    return !answer->has_effect &&
           (error == EPERM || error == EACCES || error == ENOMEM || error == EAGAIN);
}

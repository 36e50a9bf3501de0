#include "base/posix_source.h"

#include "family/signal/queued.h"

#include "base/options.h"

#include <errno.h>
#include <string.h>

const char *const queued_receiver_names[] = {"handler", "sigwaitinfo", NULL};

int queued_check(struct run *run)
{
    if (HS_HAS_SIGQUEUE)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "this system has no queued signals (sigqueue, sigwaitinfo)");
}

/* The upper half of a 64-bit value has the bits of the lower one inverted. */
static uintptr_t whole(uint32_t value)
{
    return (uintptr_t)((uint64_t)~value << 32 | value);
}

#if HS_HAS_SIGQUEUE
int queued_send(pid_t to, int number, uint32_t value)
{
    union sigval carried;
    uintptr_t bits = whole(value);
    memcpy(&carried.sival_ptr, &bits, sizeof bits);
    return sigqueue(to, number, carried) == 0 ? 0 : errno;
}

int queued_wait(const sigset_t *wanted, siginfo_t *info, const struct timespec *timeout)
{
    int number;
    do
        number = timeout ? sigtimedwait(wanted, info, timeout) : sigwaitinfo(wanted, info);
    while (number < 0 && errno == EINTR);
    return number;
}
#else
int queued_send(pid_t to, int number, uint32_t value)
{
    (void)to, (void)number, (void)value;
    return ENOSYS;
}

int queued_wait(const sigset_t *wanted, siginfo_t *info, const struct timespec *timeout)
{
    (void)wanted, (void)info, (void)timeout;
    errno = ENOSYS;
    return -1;
}
#endif

bool queued_value(const siginfo_t *info, uint32_t *value)
{
    uintptr_t carried = (uintptr_t)info->si_value.sival_ptr;
    *value = (uint32_t)carried;
    return carried == whole(*value);
}

int queued_not_sent(struct run *run, int error)
{
    const struct remedy raise = {"raise the limit on queued signals", "ulimit -i 100000"};
    if (error != EAGAIN)
        return outcome_set_errno(&run->outcome, error, "sigqueue", NULL);
    return outcome_set_remedy(&run->outcome, STATUS_DENIED, raise,
                              "sigqueue: the limit on queued signals is reached");
}

#include "base/posix_source.h"

#include "family/posix/limits.h"

#include "family/posix/reach.h"
#include "family/posix/sysconf_names.h"

#include <errno.h>
#include <unistd.h>

/* clang-format off */
const struct posix_limit posix_limits[] = {
    {"aio_listio_max", SC_AIO_LISTIO_MAX, 2, NULL, false},
    {"aio_max", SC_AIO_MAX, 1, NULL, false},
    {"aio_prio_delta_max", SC_AIO_PRIO_DELTA_MAX, 0, NULL, false},
    {"arg_max", SC_ARG_MAX, 4096, NULL, true},
    {"atexit_max", SC_ATEXIT_MAX, 32, NULL, true},
    {"child_max", SC_CHILD_MAX, 25, NULL, true},
    {"delaytimer_max", SC_DELAYTIMER_MAX, 32, NULL, false},
    {"host_name_max", SC_HOST_NAME_MAX, 255, NULL, true},
    {"login_name_max", SC_LOGIN_NAME_MAX, 9, NULL, true},
    {"mq_open_max", SC_MQ_OPEN_MAX, 8, NULL, false},
    {"mq_prio_max", SC_MQ_PRIO_MAX, REACH_MQ_PRIO, reach_mq_prio, false},
    {"ngroups_max", SC_NGROUPS_MAX, 8, NULL, true},
    {"open_max", SC_OPEN_MAX, REACH_OPEN, reach_open, true},
    {"page_size", SC_PAGE_SIZE, 1, NULL, true},
    {"rtsig_max", SC_RTSIG_MAX, REACH_RTSIG, reach_rtsig, false},
    {"sem_nsems_max", SC_SEM_NSEMS_MAX, 256, NULL, false},
    {"sem_value_max", SC_SEM_VALUE_MAX, REACH_SEM_VALUE, reach_sem_value, false},
    {"sigqueue_max", SC_SIGQUEUE_MAX, REACH_SIGQUEUE, reach_sigqueue, false},
    {"stream_max", SC_STREAM_MAX, 8, NULL, true},
    {"symloop_max", SC_SYMLOOP_MAX, 8, NULL, true},
    {"thread_destructor_iterations", SC_THREAD_DESTRUCTOR_ITERATIONS, 4, NULL, false},
    {"thread_keys_max", SC_THREAD_KEYS_MAX, REACH_KEYS, reach_keys, false},
    {"thread_stack_min", SC_THREAD_STACK_MIN, 0, NULL, false},
    {"thread_threads_max", SC_THREAD_THREADS_MAX, REACH_THREADS, reach_threads, false},
    {"timer_max", SC_TIMER_MAX, REACH_TIMERS, reach_timers, false},
    {"tty_name_max", SC_TTY_NAME_MAX, 9, NULL, true},
    {0},
};
/* clang-format on */

bool limit_value(const struct posix_limit *limit, int64_t *value)
{
    errno = 0;
    *value = limit->name == NO_NAME ? -1 : sysconf(limit->name);
    return limit->name != NO_NAME && (*value != -1 || errno == 0);
}

bool limit_is_low(const struct posix_limit *limit, bool is_told, int64_t value,
                  const struct answer *reached)
{
    bool is_fault = reached && (reached->result == CALL_FAILS || reached->result == CALL_PARTLY);
    bool is_denied = reached && reached->result == CALL_DENIED;
    return is_fault || (!is_denied && is_told && value != -1 && value < limit->least);
}

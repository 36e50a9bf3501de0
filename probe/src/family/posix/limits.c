#include "base/posix_source.h"

#include "family/posix/limits.h"

#include "base/options.h"
#include "base/rt_thread.h"
#include "family/posix/sysconf_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if HS_HAS_MESSAGE_QUEUES
#include <mqueue.h>
#endif

/* ---- calls that reach them ---- */

/* Keys that the C library and the program itself may have, which count too. */
enum { KEYS_OF_OTHERS = 8, STANDARD_STREAMS = 3 };

/* How far it came; a limit of this user is no fault of the system. */
static struct answer answer_reached(const char *call, int got, int wanted, int error,
                                    const char *limit)
{
    if (got >= wanted)
        return answer_works();
    if (limit && (error == EAGAIN || error == EMFILE || error == ENOMEM))
        return answer_denied("%s: %d of %d: %s; raise ulimit %s", call, got, wanted,
                             strerror(error), limit);
    if (error == ENOSYS || error == ENOTSUP)
        return answer_error(call, error);
    return answer_fails("%s: %d of %d: %s", call, got, wanted, strerror(error));
}

struct answer reach_keys(const struct call_tools *tools)
{
    (void)tools;
    pthread_key_t keys[REACH_KEYS];
    int got = 0, error = 0;
    while (got < REACH_KEYS && (error = pthread_key_create(&keys[got], NULL)) == 0)
        got++;
    for (int i = 0; i < got; i++)
        pthread_key_delete(keys[i]);
    return answer_reached("pthread_key_create", got + KEYS_OF_OTHERS, REACH_KEYS, error, NULL);
}

#if HS_HAS_MESSAGE_QUEUES
struct answer reach_mq_prio(const struct call_tools *tools)
{
    struct mq_attr room = {.mq_maxmsg = 1, .mq_msgsize = 1};
    unsigned got = 0;
    char byte = 'x';
    mqd_t queue = mq_open(tools->name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, (mode_t)0600, &room);
    if (queue == (mqd_t)-1)
        return call_no_queue(errno);
    mq_unlink(tools->name);
    if (mq_send(queue, &byte, 1, REACH_MQ_PRIO - 1) != 0)
        return answer_error("mq_send with priority 31", errno);
    return mq_receive(queue, &byte, 1, &got) == 1 && got == REACH_MQ_PRIO - 1
               ? answer_works()
               : answer_fails("a message of priority 31 arrives with %u", got);
}
#else
struct answer reach_mq_prio(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mq_open");
}
#endif

struct answer reach_open(const struct call_tools *tools)
{
    (void)tools;
    int copies[REACH_OPEN], got = 0, error = 0;
    while (got < REACH_OPEN && (copies[got] = dup(STDERR_FILENO)) >= 0)
        got++;
    error = errno;
    for (int i = 0; i < got; i++)
        close(copies[i]);
    return answer_reached("dup", got + STANDARD_STREAMS, REACH_OPEN, error, "-n");
}

struct answer reach_rtsig(const struct call_tools *tools)
{
    (void)tools;
    int count = SIGRTMAX - SIGRTMIN + 1;
    return count >= REACH_RTSIG
               ? answer_works()
               : answer_fails("from SIGRTMIN to SIGRTMAX there are %d signals", count);
}

#if HS_HAS_UNNAMED_SEMAPHORES
struct answer reach_sem_value(const struct call_tools *tools)
{
    (void)tools;
    sem_t semaphore;
    int value = 0;
    if (sem_init(&semaphore, 0, REACH_SEM_VALUE) != 0)
        return answer_error("sem_init with 32767", errno);
    return sem_getvalue(&semaphore, &value) == 0 && value == REACH_SEM_VALUE
               ? answer_works()
               : answer_fails("a semaphore of value 32767 has %d", value);
}
#else
struct answer reach_sem_value(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("sem_init");
}
#endif

#if HS_HAS_SIGQUEUE
struct answer reach_sigqueue(const struct call_tools *tools)
{
    (void)tools;
    union sigval value = {.sival_int = 0};
    sigset_t set;
    int got = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    while (got < REACH_SIGQUEUE && sigqueue(getpid(), SIGRTMIN, value) == 0)
        got++;
    return answer_reached("sigqueue", got, REACH_SIGQUEUE, errno, "-i");
}
#else
struct answer reach_sigqueue(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("sigqueue");
}
#endif

static void *wait_to_end(void *argument)
{
    sem_t *end = argument;
    while (sem_wait(end) != 0 && errno == EINTR)
        ;
    return NULL;
}

struct answer reach_threads(const struct call_tools *tools)
{
    (void)tools;
    pthread_t threads[REACH_THREADS];
    pthread_attr_t attributes;
    sem_t end;
    int got = 1, error = 0; /* the first thread counts */
    sem_init(&end, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, rt_thread_stack_bytes(RT_THREAD_SMALL_STACK_BYTES));
    while (got < REACH_THREADS &&
           (error = pthread_create(&threads[got], &attributes, wait_to_end, &end)) == 0)
        got++;
    for (int i = 1; i < got; i++)
        sem_post(&end);
    for (int i = 1; i < got; i++)
        pthread_join(threads[i], NULL);
    return answer_reached("pthread_create", got, REACH_THREADS, error, "-u");
}

struct answer reach_timers(const struct call_tools *tools)
{
    (void)tools;
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    timer_t timers[REACH_TIMERS];
    int got = 0;
    while (got < REACH_TIMERS && timer_create(CLOCK_REALTIME, &event, &timers[got]) == 0)
        got++;
    int error = errno;
    for (int i = 0; i < got; i++)
        timer_delete(timers[i]);
    return answer_reached("timer_create", got, REACH_TIMERS, error, "-i");
}

/* ---- priorities ---- */

static struct answer set_each(int policy, int lowest, int highest)
{
    struct sched_param param;
    int got;
    for (int priority = lowest; priority <= highest; priority++) {
        param.sched_priority = priority;
        int error = pthread_setschedparam(pthread_self(), policy, &param);
        if (error == EPERM)
            return answer_denied("setting priority %d: %s", priority, strerror(error));
        if (error)
            return answer_error("pthread_setschedparam", error);
        if (pthread_getschedparam(pthread_self(), &got, &param) != 0 || got != policy ||
            param.sched_priority != priority)
            return answer_fails("priority %d was set, but %d is reported", priority,
                                param.sched_priority);
    }
    return answer_works();
}

static struct answer reach_priorities(int policy)
{
    int lowest = sched_get_priority_min(policy), highest = sched_get_priority_max(policy);
    if (lowest < 0 || highest < lowest)
        return answer_error("sched_get_priority_min", errno ? errno : EINVAL);
    struct answer answer = set_each(policy, lowest, highest);
    answer.number = highest - lowest + 1;
    return answer;
}

struct answer reach_priorities_fifo(const struct call_tools *tools)
{
    (void)tools;
    return reach_priorities(SCHED_FIFO);
}

struct answer reach_priorities_rr(const struct call_tools *tools)
{
    (void)tools;
    return reach_priorities(SCHED_RR);
}

/* ---- limits ---- */

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

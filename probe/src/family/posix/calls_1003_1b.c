/* Timers, scheduling, signals, semaphores, queues and shared memory of 1003.1b. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/clock.h"
#include "base/options.h"
#include "family/posix/call_help.h"
#include "family/shared/ipc_calls.h"
#include "port/port.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#if HS_HAS_MESSAGE_QUEUES
#include <mqueue.h>
#endif

#define EXPIRY_NS INT64_C(5000000)
#define MOMENT_NS INT64_C(5000000)

#if HS_HAS_SIGQUEUE
static void block_signal(sigset_t *set, int number)
{
    sigemptyset(set);
    sigaddset(set, number);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

/* A timer of CLOCK_REALTIME expires once, with its value and not early. The time is looked at on
 * CLOCK_MONOTONIC, which nobody sets. */
static struct answer wait_for_expiry(timer_t timer, const sigset_t *set,
                                     const struct call_tools *tools)
{
    struct itimerspec when = {.it_value = call_timespec(EXPIRY_NS)};
    struct timespec wait = call_timespec(tools->wait_ns);
    siginfo_t expiry;
    int64_t begin_ns = clock_monotonic_ns();
    if (timer_settime(timer, 0, &when, NULL) != 0)
        return answer_error("timer_settime", errno);
    if (sigtimedwait(set, &expiry, &wait) != SIGRTMIN)
        return answer_fails("a timer of 5 ms did not expire");
    if (clock_monotonic_ns() - begin_ns < EXPIRY_NS)
        return answer_fails("a timer of 5 ms expired early");
    if (expiry.si_code != SI_TIMER || expiry.si_value.sival_int != 42)
        return answer_fails("the signal of the timer does not carry its value");
    return answer_works();
}

struct answer call_timers(const struct call_tools *tools)
{
    timer_t timer;
    sigset_t set;
    struct sigevent event = {
        .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = 42};
    block_signal(&set, SIGRTMIN);
    if (timer_create(CLOCK_REALTIME, &event, &timer) != 0)
        return answer_error("timer_create", errno);
    struct answer answer = wait_for_expiry(timer, &set, tools);
    if (answer.result == CALL_WORKS && timer_delete(timer) != 0)
        return answer_error("timer_delete", errno);
    return answer;
}

/* Signals of one number queue, each with its value, in their order; a lower number comes first. */
struct answer call_realtime_signals(const struct call_tools *tools)
{
    enum { QUEUED = 3, LATER = 9 };
    struct timespec wait = call_timespec(tools->wait_ns / 4);
    union sigval value = {.sival_int = LATER};
    siginfo_t got;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaddset(&set, SIGRTMAX);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (sigqueue(getpid(), SIGRTMAX, value) != 0)
        return answer_error("sigqueue", errno);
    for (value.sival_int = 1; value.sival_int <= QUEUED; value.sival_int++)
        if (sigqueue(getpid(), SIGRTMIN, value) != 0)
            return answer_error("sigqueue", errno);
    for (int i = 1; i <= QUEUED; i++) {
        if (sigtimedwait(&set, &got, &wait) < 0)
            return answer_fails("%d of %d queued signals arrived", i - 1, QUEUED + 1);
        if (got.si_signo != SIGRTMIN)
            return answer_fails("signal %d came before a lower one, or for it", got.si_signo);
        if (got.si_code != SI_QUEUE || got.si_value.sival_int != i)
            return answer_fails("queued signals arrive without their values, or in another order");
    }
    return sigtimedwait(&set, &got, &wait) == SIGRTMAX && got.si_value.sival_int == LATER
               ? answer_works()
               : answer_fails("%d of %d queued signals arrived", QUEUED, QUEUED + 1);
}
#else
struct answer call_timers(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("sigtimedwait");
}

struct answer call_realtime_signals(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("sigqueue");
}
#endif

#if HS_HAS_PROCESS_SCHEDULING
struct answer call_priority_scheduling(const struct call_tools *tools)
{
    (void)tools;
    struct sched_param set = {.sched_priority = sched_get_priority_min(SCHED_FIFO)}, got = {0};
    if (set.sched_priority < 0)
        return answer_error("sched_get_priority_min", errno);
    if (sched_setscheduler(0, SCHED_FIFO, &set) < 0)
        return answer_error("sched_setscheduler", errno);
    if (sched_getscheduler(0) != SCHED_FIFO || sched_getparam(0, &got) != 0 ||
        got.sched_priority != set.sched_priority)
        return answer_fails("the policy that was set is not the one that is told");
    struct timespec slice;
    if (sched_rr_get_interval(0, &slice) != 0 || sched_yield() != 0)
        return answer_error("sched_rr_get_interval", errno);
    return answer_works();
}
#else
struct answer call_priority_scheduling(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("sched_setscheduler");
}
#endif

struct waiter {
    sem_t semaphore;
    atomic_bool has_begun, has_passed;
};

static void *wait_on_semaphore(void *argument)
{
    struct waiter *waiter = argument;
    atomic_store(&waiter->has_begun, true);
    while (sem_wait(&waiter->semaphore) != 0 && errno == EINTR)
        ;
    atomic_store(&waiter->has_passed, true);
    return NULL;
}

/* Whether a value of 0 holds a thread until another one posts. */
static struct answer try_unnamed(struct waiter *waiter, const struct call_tools *tools)
{
    pthread_t thread;
    if (sem_trywait(&waiter->semaphore) == 0)
        return answer_fails("sem_trywait passes at value 0");
    int error = pthread_create(&thread, NULL, wait_on_semaphore, waiter);
    if (error)
        return answer_error("pthread_create", error);
    call_wait_for(&waiter->has_begun, tools);
    call_nap(MOMENT_NS);
    if (atomic_load(&waiter->has_passed))
        return answer_fails("sem_wait passes at value 0");
    if (sem_post(&waiter->semaphore) != 0)
        return answer_error("sem_post", errno);
    if (!call_wait_for(&waiter->has_passed, tools))
        return answer_fails("sem_post did not wake a waiter");
    pthread_join(thread, NULL);
    return answer_works();
}

#if HS_HAS_NAMED_SEMAPHORES
/* Two handles of one name are one semaphore. */
static struct answer try_named(const char *name)
{
    sem_t *one = ipc_named_create(name, 0700);
    if (one == SEM_FAILED)
        return answer_error("sem_open", errno);
    sem_t *other = sem_open(name, 0);
    int error = errno;
    ipc_named_unlink(name);
    if (other == SEM_FAILED)
        return answer_error("sem_open of an existing name", error);
    if (sem_trywait(other) == 0)
        return answer_fails("a named semaphore passes at value 0");
    return sem_post(one) == 0 && sem_trywait(other) == 0
               ? answer_works()
               : answer_fails("a named semaphore lost a post");
}
#else
static struct answer try_named(const char *name)
{
    (void)name;
    return answer_partly("this build has no named semaphores");
}
#endif

struct answer call_semaphores(const struct call_tools *tools)
{
    struct waiter waiter = {.has_begun = false};
    if (sem_init(&waiter.semaphore, 0, 0) != 0)
        return answer_error("sem_init", errno);
    struct answer answer = try_unnamed(&waiter, tools);
    return answer.result == CALL_WORKS ? try_named(tools->name) : answer;
}

#if HS_HAS_MESSAGE_QUEUES
enum { QUEUE_BYTES = 8, QUEUE_ROOM = 4, SENT = 3 };

/* The highest priority comes first, and of one priority the oldest. */
static struct answer try_queue(mqd_t queue)
{
    static const unsigned priorities[SENT] = {1, 3, 1};
    static const char expected[SENT] = {'b', 'a', 'c'};
    struct mq_attr facts;
    char letter;
    for (int i = 0; i < SENT; i++) {
        letter = (char)('a' + i);
        if (mq_send(queue, &letter, 1, priorities[i]) != 0)
            return answer_error("mq_send", errno);
    }
    if (mq_getattr(queue, &facts) != 0 || facts.mq_curmsgs != SENT)
        return answer_fails("the queue does not hold the %d messages that were sent", SENT);
    for (int i = 0; i < SENT; i++) {
        char got[QUEUE_BYTES] = "";
        if (mq_receive(queue, got, sizeof got, NULL) != 1)
            return answer_fails("%d of %d messages arrived", i, SENT);
        if (got[0] != expected[i])
            return answer_fails("messages do not arrive by priority and age");
    }
    return answer_works();
}

struct answer call_message_passing(const struct call_tools *tools)
{
    struct mq_attr room = {.mq_maxmsg = QUEUE_ROOM, .mq_msgsize = QUEUE_BYTES};
    mqd_t queue = mq_open(tools->name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, (mode_t)0600, &room);
    if (queue == (mqd_t)-1)
        return call_no_queue(errno);
    int error = mq_unlink(tools->name) == 0 ? 0 : errno;
    struct answer answer = try_queue(queue);
    mq_close(queue);
    return error && answer.result == CALL_WORKS ? answer_error("mq_unlink", error) : answer;
}
#else
struct answer call_message_passing(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mq_open");
}
#endif

#if HS_HAS_SHARED_MEMORY
/* Two objects of one name, mapped apart, are one memory. */
static struct answer try_shared(int file, int again)
{
    enum { BYTES = 4096 };
    if (ftruncate(file, BYTES) != 0)
        return answer_error("ftruncate", errno);
    volatile char *one = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    volatile char *other = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0);
    if (one == MAP_FAILED || other == MAP_FAILED)
        return answer_error("mmap", errno);
    one[7] = 'x';
    return other[7] == 'x' ? answer_works()
                           : answer_fails("what one mapping wrote, another does not see");
}

struct answer call_shared_memory_objects(const struct call_tools *tools)
{
    int file = shm_open(tools->name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (file < 0)
        return answer_error("shm_open", errno);
    int again = shm_open(tools->name, O_RDWR, 0600), error = errno;
    shm_unlink(tools->name);
    return again < 0 ? answer_error("shm_open of an existing name", error)
                     : try_shared(file, again);
}
#else
struct answer call_shared_memory_objects(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("shm_open");
}
#endif

/* Real-time, 1003.1b: timers, scheduling, signals, semaphores, queues, memory, input and output.
 * Whether data were on the device when a call returned, FIO-P-SYN looks at. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/clock.h"
#include "base/options.h"
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
#if HS_HAS_AIO
#include <aio.h>
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
        return answer_fails("the policy reported is not the one that was set");
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

#if HS_HAS_UNNAMED_SEMAPHORES
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
    if (!one)
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
#else
struct answer call_semaphores(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("sem_init");
}
#endif

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

/* ---- memory: locking, protection, mapped files ---- */

/* Faults that others of the process may cause. */
enum { PAGES = 64, FEW_FAULTS = 8 };

/* The limit on locked memory is ENOMEM or EAGAIN, and EPERM where it is 0. */
static struct answer answer_not_locked(const char *call, int error)
{
    if (error == ENOMEM || error == EAGAIN || error == EPERM)
        return answer_denied("%s: %s; raise ulimit -l", call, strerror(error));
    return answer_error(call, error);
}

#if HS_HAS_MAPPED_FILES
static volatile char *map_pages(size_t bytes)
{
    void *memory = port_shared_memory(bytes);
    return memory;
}

/* Locked memory is there: its first use causes no page fault. Of a system that does not count
 * faults only the answer of the call is known. */
static struct answer touch_locked(volatile char *memory, size_t page)
{
    struct port_usage before, after;
    port_usage(&before);
    for (size_t i = 0; i < PAGES; i++)
        memory[i * page] = 1;
    port_usage(&after);
    int64_t faults = after.minor_faults - before.minor_faults;
    if (before.minor_faults < 0 || after.minor_faults < 0 || faults <= FEW_FAULTS)
        return answer_works();
    return answer_fails("%lld page faults at the first use of %d locked pages", (long long)faults,
                        PAGES);
}

struct answer call_memlock(const struct call_tools *tools)
{
    (void)tools;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
        return answer_not_locked("mlockall", errno);
    volatile char *memory = map_pages(PAGES * page);
    if (!memory)
        return answer_not_locked("mmap after mlockall", errno);
    struct answer answer = touch_locked(memory, page);
    if (answer.result == CALL_WORKS && munlockall() != 0)
        return answer_error("munlockall", errno);
    return answer;
}
#else
struct answer call_memlock(const struct call_tools *tools)
{
    (void)tools;
    if (mlockall(MCL_CURRENT) != 0)
        return answer_not_locked("mlockall", errno);
    return answer_works();
}
#endif

#if HS_HAS_MAPPED_FILES && HS_HAS_MEMLOCK_RANGE
struct answer call_memlock_range(const struct call_tools *tools)
{
    (void)tools;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = map_pages(PAGES * page);
    if (!memory)
        return answer_error("mmap", errno);
    if (mlock((void *)memory, PAGES * page) != 0)
        return answer_not_locked("mlock", errno);
    struct answer answer = touch_locked(memory, page);
    if (answer.result == CALL_WORKS && munlock((void *)memory, PAGES * page) != 0)
        return answer_error("munlock", errno);
    return answer;
}
#else
struct answer call_memlock_range(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mlock");
}
#endif

#if HS_HAS_MAPPED_FILES && HS_HAS_MEMORY_PROTECTION && HS_HAS_FORK
static void end_well(int number)
{
    (void)number;
    _exit(0);
}

/* Writes where writing is forbidden; true: it was stopped, by a signal whose handler ends the
 * process. */
static bool is_stopped(void *argument)
{
    struct sigaction action = {.sa_handler = end_well};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    *(volatile char *)argument = 2;
    return false;
}

struct answer call_memory_protection(const struct call_tools *tools)
{
    (void)tools;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = map_pages(page);
    if (!memory)
        return answer_error("mmap", errno);
    memory[0] = 1;
    if (mprotect((void *)memory, page, PROT_READ) != 0)
        return answer_error("mprotect", errno);
    if (memory[0] != 1)
        return answer_fails("mprotect changed the memory");
    int error = call_in_process(is_stopped, (void *)memory);
    if (error && error != ECHILD)
        return answer_error("fork", error);
    return error == 0 && memory[0] == 1 ? answer_works()
                                        : answer_fails("a page that is only readable was written");
}
#else
struct answer call_memory_protection(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mprotect");
}
#endif

#if HS_HAS_MAPPED_FILES
struct answer call_mapped_files(const struct call_tools *tools)
{
    struct answer answer;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char back = 0;
    int file = call_file(tools, &answer);
    if (file < 0)
        return answer;
    if (ftruncate(file, (off_t)page) != 0)
        return answer_error("ftruncate", errno);
    char *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return answer_error("mmap", errno);
    memory[9] = 'x';
    if (msync(memory, page, MS_SYNC) != 0)
        return answer_error("msync", errno);
    if (pread(file, &back, 1, 9) != 1 || back != 'x')
        return answer_fails("what was written to the mapping is not in the file");
    return munmap(memory, page) == 0 ? answer_works() : answer_error("munmap", errno);
}
#else
struct answer call_mapped_files(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("mmap");
}
#endif

/* ---- input and output: synchronized, asynchronous, prioritized, fsync ---- */

#if defined(O_SYNC) && defined(O_DSYNC)
struct answer call_synchronized_io(const struct call_tools *tools)
{
    struct answer answer;
    char path[CALL_PATH_BYTES];
    if (!call_path(tools, "synchronized", path, &answer))
        return answer;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_SYNC, 0600), error = errno;
    unlink(path);
    if (file < 0)
        return answer_error("open with O_SYNC", error);
    if ((fcntl(file, F_GETFL) & O_SYNC) != O_SYNC)
        return answer_fails("a file that was opened with O_SYNC does not have it");
    if (write(file, "x", 1) != 1)
        return answer_error("write", errno);
    return fdatasync(file) == 0 ? answer_works() : answer_error("fdatasync", errno);
}
#else
struct answer call_synchronized_io(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("O_SYNC or O_DSYNC");
}
#endif

/* An fsync that says 0 to anything does nothing. */
struct answer call_fsync(const struct call_tools *tools)
{
    struct answer answer;
    int file = call_file(tools, &answer);
    if (file < 0)
        return answer;
    if (write(file, "x", 1) != 1)
        return answer_error("write", errno);
    if (fsync(file) != 0)
        return answer_error("fsync", errno);
    return fsync(-1) != 0 && errno == EBADF ? answer_works()
                                            : answer_fails("fsync says 0 to no file");
}

#if HS_HAS_AIO
static int wait_for_aio(struct aiocb *request, const struct call_tools *tools)
{
    const struct aiocb *const list[] = {request};
    struct timespec wait = call_timespec(tools->wait_ns);
    while (aio_error(request) == EINPROGRESS)
        if (aio_suspend(list, 1, &wait) != 0 && errno != EINTR)
            return errno;
    return aio_error(request);
}

static struct aiocb make_request(int file, char *buffer, size_t bytes)
{
    struct aiocb request;
    memset(&request, 0, sizeof request);
    request.aio_fildes = file;
    request.aio_buf = buffer;
    request.aio_nbytes = bytes;
    request.aio_sigevent.sigev_notify = SIGEV_NONE;
    return request;
}

static struct answer write_and_read(int file, const struct call_tools *tools)
{
    char out[] = "abc", in[sizeof out] = "";
    struct aiocb writing = make_request(file, out, sizeof out);
    if (aio_write(&writing) != 0)
        return answer_error("aio_write", errno);
    int error = wait_for_aio(&writing, tools);
    if (error)
        return answer_error("aio_write did not end well", error == EAGAIN ? EIO : error);
    if (aio_return(&writing) != (ssize_t)sizeof out)
        return answer_fails("aio_write wrote another number of bytes");
    struct aiocb reading = make_request(file, in, sizeof in);
    struct aiocb *const list[] = {&reading};
    reading.aio_lio_opcode = LIO_READ;
    if (lio_listio(LIO_WAIT, list, 1, NULL) != 0)
        return answer_error("lio_listio", errno);
    return aio_error(&reading) == 0 && memcmp(in, out, sizeof out) == 0
               ? answer_works()
               : answer_fails("what aio_write wrote, lio_listio does not read");
}

struct answer call_asynchronous_io(const struct call_tools *tools)
{
    struct answer answer;
    int file = call_file(tools, &answer);
    return file < 0 ? answer : write_and_read(file, tools);
}

/* Three reads of a pipe: the first waits for data, the second is less urgent than the third. The
 * third must get the second byte. */
static struct answer try_order(const int ends[2], int lowered, const struct call_tools *tools)
{
    enum { FIRST, LOWERED, URGENT, READS };
    char got[READS] = "";
    struct aiocb reads[READS];
    for (int i = 0; i < READS; i++) {
        reads[i] = make_request(ends[0], &got[i], 1);
        reads[i].aio_reqprio = i == LOWERED ? lowered : 0;
        if (aio_read(&reads[i]) != 0)
            return errno == EINVAL ? answer_fails("a priority of %d is refused", lowered)
                                   : answer_error("aio_read", errno);
        call_nap(INT64_C(2000000)); /* the first has begun when the others come */
    }
    static const int order[READS] = {FIRST, URGENT, LOWERED};
    bool is_ordered = true;
    for (int i = 0; i < READS; i++) {
        char letter = (char)('a' + i);
        if (write(ends[1], &letter, 1) != 1 || (i == 0 && wait_for_aio(&reads[0], tools) != 0))
            return answer_fails("an asynchronous read of a pipe does not end");
    }
    for (int i = 0; i < READS; i++) {
        if (wait_for_aio(&reads[i], tools) != 0)
            return answer_fails("an asynchronous read of a pipe does not end");
        is_ordered = is_ordered && got[order[i]] == (char)('a' + i);
    }
    return is_ordered ? answer_works()
                      : answer_partly("requests are taken, and not served by priority");
}

struct answer call_prioritized_io(const struct call_tools *tools)
{
    int ends[2];
    long most = 1;
#ifdef _SC_AIO_PRIO_DELTA_MAX
    most = sysconf(_SC_AIO_PRIO_DELTA_MAX);
#endif
    if (most < 1)
        return answer_error("AIO_PRIO_DELTA_MAX is 0: priorities of I/O", ENOTSUP);
    return pipe(ends) != 0 ? answer_error("pipe", errno) : try_order(ends, (int)most, tools);
}
#else
struct answer call_asynchronous_io(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("aio_read");
}

struct answer call_prioritized_io(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("aio_read");
}
#endif

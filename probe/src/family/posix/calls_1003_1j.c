/* Advanced real-time options, 1003.1j. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/clock.h"
#include "base/options.h"
#include "family/posix/call_help.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#define MOMENT_NS INT64_C(10000000)

#if HS_HAS_TYPED_MEMORY
/* The names of typed memory are the system's own, so that an unknown one is all that can be asked
 * for here. */
struct answer call_typed_memory_objects(const struct call_tools *tools)
{
    int object = posix_typed_mem_open(tools->name, O_RDWR, POSIX_TYPED_MEM_ALLOCATE);
    if (object >= 0)
        return answer_fails("typed memory of an unknown name was opened");
    return errno == ENOENT ? answer_partly("the call is there; no object of it is known")
                           : answer_error("posix_typed_mem_open", errno);
}
#else
struct answer call_typed_memory_objects(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("posix_typed_mem_open");
}
#endif

#if HS_HAS_BARRIERS
struct barrier {
    pthread_barrier_t barrier;
    atomic_bool has_begun, has_passed;
    int result;
};

static void *wait_at_barrier(void *argument)
{
    struct barrier *barrier = argument;
    atomic_store(&barrier->has_begun, true);
    barrier->result = pthread_barrier_wait(&barrier->barrier);
    atomic_store(&barrier->has_passed, true);
    return NULL;
}

/* Of two threads none passes before the other has come, and exactly one is the serial thread. */
struct answer call_barriers(const struct call_tools *tools)
{
    struct barrier barrier = {.result = 0};
    pthread_t thread;
    int error = pthread_barrier_init(&barrier.barrier, NULL, 2);
    if (error)
        return answer_error("pthread_barrier_init", error);
    error = pthread_create(&thread, NULL, wait_at_barrier, &barrier);
    if (error)
        return answer_error("pthread_create", error);
    call_wait_for(&barrier.has_begun, tools);
    call_nap(MOMENT_NS);
    if (atomic_load(&barrier.has_passed))
        return answer_fails("a barrier of two let one thread pass");
    int own = pthread_barrier_wait(&barrier.barrier);
    pthread_join(thread, NULL);
    bool is_one =
        (own == PTHREAD_BARRIER_SERIAL_THREAD) != (barrier.result == PTHREAD_BARRIER_SERIAL_THREAD);
    return is_one && (own == 0 || barrier.result == 0)
               ? answer_works()
               : answer_fails("a barrier did not name one serial thread");
}
#else
struct answer call_barriers(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_barrier_wait");
}
#endif

#if HS_HAS_READER_WRITER_LOCKS
static int try_read(void *lock)
{
    int error = pthread_rwlock_tryrdlock(lock);
    if (error == 0)
        pthread_rwlock_unlock(lock);
    return error;
}

static int try_write(void *lock)
{
    int error = pthread_rwlock_trywrlock(lock);
    if (error == 0)
        pthread_rwlock_unlock(lock);
    return error;
}

struct answer call_reader_writer_locks(const struct call_tools *tools)
{
    (void)tools;
    pthread_rwlock_t lock;
    int error = pthread_rwlock_init(&lock, NULL);
    if (!error)
        error = pthread_rwlock_rdlock(&lock);
    if (error)
        return answer_error("pthread_rwlock_rdlock", error);
    if (call_on_thread(try_read, &lock, 0) != 0)
        return answer_fails("a reader keeps other readers out");
    if (call_on_thread(try_write, &lock, EBUSY) != EBUSY)
        return answer_fails("a writer comes beside a reader");
    pthread_rwlock_unlock(&lock);
    error = pthread_rwlock_wrlock(&lock);
    if (error)
        return answer_error("pthread_rwlock_wrlock", error);
    return call_on_thread(try_read, &lock, EBUSY) == EBUSY &&
                   call_on_thread(try_write, &lock, EBUSY) == EBUSY
               ? answer_works()
               : answer_fails("another thread comes beside a writer");
}
#else
struct answer call_reader_writer_locks(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_rwlock_rdlock");
}
#endif

#if HS_HAS_SPIN_LOCKS
static int try_spin(void *lock)
{
    int error = pthread_spin_trylock(lock);
    if (error == 0)
        pthread_spin_unlock(lock);
    return error;
}

struct answer call_spin_locks(const struct call_tools *tools)
{
    (void)tools;
    pthread_spinlock_t lock;
    int error = pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    if (!error)
        error = pthread_spin_lock(&lock);
    if (error)
        return answer_error("pthread_spin_lock", error);
    if (call_on_thread(try_spin, (void *)&lock, EBUSY) != EBUSY)
        return answer_fails("a spin lock that one thread holds, another takes");
    pthread_spin_unlock(&lock);
    return call_on_thread(try_spin, (void *)&lock, 0) == 0
               ? answer_works()
               : answer_fails("a released spin lock cannot be taken");
}
#else
struct answer call_spin_locks(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_spin_lock");
}
#endif

#ifdef CLOCK_MONOTONIC
struct answer call_monotonic_clock(const struct call_tools *tools)
{
    (void)tools;
    struct timespec begin, end;
    if (clock_gettime(CLOCK_MONOTONIC, &begin) != 0)
        return answer_error("clock_gettime", errno);
    call_nap(MOMENT_NS);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return clock_timespec_ns(&end) - clock_timespec_ns(&begin) >= MOMENT_NS
               ? answer_works()
               : answer_fails("CLOCK_MONOTONIC does not move by a sleep of 10 ms");
}
#else
struct answer call_monotonic_clock(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("CLOCK_MONOTONIC");
}
#endif

#if HS_HAS_CLOCK_SELECTION
/* A condition that waited by another clock would find its time in the past, and end at once. */
static struct answer wait_by_monotonic(void)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_condattr_t attributes;
    pthread_cond_t cond;
    pthread_condattr_init(&attributes);
    int error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (!error)
        error = pthread_cond_init(&cond, &attributes);
    if (error)
        return answer_error("pthread_condattr_setclock", error);
    int64_t begin_ns = clock_monotonic_ns();
    struct timespec end = call_timespec(begin_ns + MOMENT_NS);
    pthread_mutex_lock(&mutex);
    while ((error = pthread_cond_timedwait(&cond, &mutex, &end)) == 0)
        ;
    if (error != ETIMEDOUT)
        return answer_error("pthread_cond_timedwait", error);
    return clock_monotonic_ns() - begin_ns >= MOMENT_NS
               ? answer_works()
               : answer_fails("a condition does not wait by CLOCK_MONOTONIC");
}

struct answer call_clock_selection(const struct call_tools *tools)
{
    (void)tools;
    int64_t end_ns = clock_monotonic_ns() + MOMENT_NS;
    struct timespec end = call_timespec(end_ns);
    int error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
    if (error)
        return answer_error("clock_nanosleep", error);
    return clock_monotonic_ns() >= end_ns ? wait_by_monotonic()
                                          : answer_fails("clock_nanosleep ended early");
}
#else
struct answer call_clock_selection(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_condattr_setclock");
}
#endif

/* Threads, 1003.1c, and the protocols of their mutexes. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/clock.h"
#include "base/options.h"
#include "base/rt_thread.h"
#include "port/port.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { USED_BYTES = 64 * 1024, STACK_BYTES = RT_THREAD_STACK_BYTES + 2 * USED_BYTES };

static void *double_it(void *argument)
{
    return (char *)argument + (size_t)argument;
}

struct answer call_threads(const struct call_tools *tools)
{
    (void)tools;
    pthread_t thread;
    void *result = NULL;
    int error = pthread_create(&thread, NULL, double_it, (void *)21);
    if (error)
        return answer_error("pthread_create", error);
    if (pthread_equal(thread, pthread_self()))
        return answer_fails("a new thread has the id of its creator");
    error = pthread_join(thread, &result);
    if (error)
        return answer_error("pthread_join", error);
    return result == (void *)42 ? answer_works() : answer_fails("a thread returned another value");
}

/* Two uses of one function do not disturb each other. */
struct answer call_thread_safe_functions(const struct call_tools *tools)
{
    (void)tools;
    char one[] = "a b", other[] = "c d", *one_place, *other_place;
    struct tm one_time, other_time;
    time_t day = 0, later = 86400;
    strtok_r(one, " ", &one_place);
    strtok_r(other, " ", &other_place);
    const char *second = strtok_r(NULL, " ", &one_place);
    if (!second || strcmp(second, "b") != 0)
        return answer_fails("strtok_r keeps one place for all");
    if (gmtime_r(&day, &one_time) != &one_time || gmtime_r(&later, &other_time) != &other_time)
        return answer_fails("gmtime_r does not use the caller's room");
    return one_time.tm_mday == 1 && other_time.tm_mday == 2 ? answer_works()
                                                            : answer_fails("gmtime_r is wrong");
}

/* Where the frame of a thread lies. */
static void *use_stack(void *argument)
{
    volatile char used[USED_BYTES];
    for (size_t i = 0; i < sizeof used; i += 512)
        used[i] = 1;
    *(uintptr_t *)argument = (uintptr_t)&used[USED_BYTES / 2];
    return NULL;
}

static int run_with(const pthread_attr_t *attributes, uintptr_t *place)
{
    pthread_t thread;
    int error = pthread_create(&thread, attributes, use_stack, place);
    return error ? error : pthread_join(thread, NULL);
}

#if HS_HAS_STACK_ATTRIBUTES
struct answer call_thread_attr_stackaddr(const struct call_tools *tools)
{
    (void)tools;
    pthread_attr_t attributes;
    void *stack = NULL;
    uintptr_t place = 0;
    if (posix_memalign(&stack, 4096, STACK_BYTES) != 0)
        return answer_untried("no memory for a stack");
    pthread_attr_init(&attributes);
    int error = pthread_attr_setstack(&attributes, stack, STACK_BYTES);
    if (error)
        return answer_error("pthread_attr_setstack", error);
    error = run_with(&attributes, &place);
    if (error)
        return answer_error("pthread_create", error);
    return place >= (uintptr_t)stack && place < (uintptr_t)stack + STACK_BYTES
               ? answer_works()
               : answer_fails("a thread does not run on the stack that it was given");
}

struct answer call_xsi_threads_ext(const struct call_tools *tools)
{
    pthread_attr_t attributes;
    size_t guard = 0, page = (size_t)sysconf(_SC_PAGESIZE);
    pthread_attr_init(&attributes);
    int error = pthread_attr_setguardsize(&attributes, 2 * page);
    if (error)
        return answer_error("pthread_attr_setguardsize", error);
    if (pthread_attr_getguardsize(&attributes, &guard) != 0 || guard < 2 * page)
        return answer_fails("pthread_attr_getguardsize reports another size");
    return call_thread_attr_stackaddr(tools);
}
#else
struct answer call_thread_attr_stackaddr(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_attr_setstack");
}

struct answer call_xsi_threads_ext(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_attr_setstack");
}
#endif

struct answer call_thread_attr_stacksize(const struct call_tools *tools)
{
    (void)tools;
    pthread_attr_t attributes;
    size_t told = 0;
    uintptr_t place;
    pthread_attr_init(&attributes);
    int error = pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (error)
        return answer_error("pthread_attr_setstacksize", error);
    if (pthread_attr_getstacksize(&attributes, &told) != 0 || told != STACK_BYTES)
        return answer_fails("pthread_attr_getstacksize reports another size");
    error = run_with(&attributes, &place);
    return error ? answer_error("pthread_create", error) : answer_works();
}

/* Scheduling of a thread, as it sees it itself. */
struct seen {
    int error, policy;
    struct sched_param param;
};

static void *see_scheduling(void *argument)
{
    struct seen *seen = argument;
    seen->error = pthread_getschedparam(pthread_self(), &seen->policy, &seen->param);
    return NULL;
}

struct answer call_thread_priority_scheduling(const struct call_tools *tools)
{
    (void)tools;
    pthread_attr_t attributes;
    pthread_t thread;
    struct sched_param set = {.sched_priority = sched_get_priority_min(SCHED_FIFO) + 1};
    struct seen seen = {0};
    pthread_attr_init(&attributes);
    int error = pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    if (!error)
        error = pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    if (!error)
        error = pthread_attr_setschedparam(&attributes, &set);
    if (!error)
        error = pthread_create(&thread, &attributes, see_scheduling, &seen);
    if (error)
        return answer_error("pthread_create with SCHED_FIFO", error);
    pthread_join(thread, NULL);
    return seen.error == 0 && seen.policy == SCHED_FIFO &&
                   seen.param.sched_priority == set.sched_priority
               ? answer_works()
               : answer_fails("a new thread does not have the priority of its attributes");
}

#if HS_HAS_PROCESS_SHARED && HS_HAS_FORK
static bool is_busy(void *argument)
{
    return pthread_mutex_trylock(argument) == EBUSY;
}

static bool can_lock(void *argument)
{
    return pthread_mutex_trylock(argument) == 0 && pthread_mutex_unlock(argument) == 0;
}

struct answer call_thread_process_shared(const struct call_tools *tools)
{
    (void)tools;
    pthread_mutexattr_t attributes;
    pthread_mutex_t *mutex = port_shared_memory(sizeof *mutex);
    if (!mutex)
        return answer_untried("no shared memory for the mutex");
    pthread_mutexattr_init(&attributes);
    int error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (!error)
        error = pthread_mutex_init(mutex, &attributes);
    if (error)
        return answer_error("pthread_mutexattr_setpshared", error);
    pthread_mutex_lock(mutex);
    error = call_in_process(is_busy, mutex);
    if (error)
        return error == ECHILD ? answer_fails("a mutex that one process holds, another locks")
                               : answer_error("fork", error);
    pthread_mutex_unlock(mutex);
    return call_in_process(can_lock, mutex) == 0
               ? answer_works()
               : answer_fails("a mutex that one process released, another cannot lock");
}
#else
struct answer call_thread_process_shared(const struct call_tools *tools)
{
    (void)tools;
    return HS_HAS_PROCESS_SHARED ? answer_untried("it needs a second process (fork)")
                                 : answer_missing("pthread_mutexattr_setpshared");
}
#endif

static int try_mutex(void *mutex)
{
    int error = pthread_mutex_trylock(mutex);
    if (error == 0)
        pthread_mutex_unlock(mutex);
    return error;
}

struct answer call_mutexes(const struct call_tools *tools)
{
    (void)tools;
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    int error = pthread_mutex_init(&mutex, &attributes);
    if (!error)
        error = pthread_mutex_lock(&mutex);
    if (error)
        return answer_error("pthread_mutex_lock", error);
    if (call_on_thread(try_mutex, &mutex, EBUSY) != EBUSY)
        return answer_fails("a mutex that one thread holds, another locks");
    if (pthread_mutex_lock(&mutex) != EDEADLK)
        return answer_fails("an error-checking mutex is locked twice");
    pthread_mutex_unlock(&mutex);
    return call_on_thread(try_mutex, &mutex, 0) == 0
               ? answer_works()
               : answer_fails("a released mutex cannot be locked");
}

struct condition {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool is_true;
    atomic_bool has_begun, has_passed;
};

static void *wait_for_condition(void *argument)
{
    struct condition *condition = argument;
    pthread_mutex_lock(&condition->mutex);
    atomic_store(&condition->has_begun, true);
    while (!condition->is_true)
        pthread_cond_wait(&condition->cond, &condition->mutex);
    pthread_mutex_unlock(&condition->mutex);
    atomic_store(&condition->has_passed, true);
    return NULL;
}

/* The waiter holds the mutex from its begin until it waits, so the signal cannot come before. */
struct answer call_condition_variables(const struct call_tools *tools)
{
    struct condition condition = {.is_true = false};
    pthread_t thread;
    pthread_mutex_init(&condition.mutex, NULL);
    pthread_cond_init(&condition.cond, NULL);
    int error = pthread_create(&thread, NULL, wait_for_condition, &condition);
    if (error)
        return answer_error("pthread_create", error);
    if (!call_wait_for(&condition.has_begun, tools))
        return answer_fails("the waiter did not begin");
    pthread_mutex_lock(&condition.mutex);
    condition.is_true = true;
    error = pthread_cond_signal(&condition.cond);
    pthread_mutex_unlock(&condition.mutex);
    if (error)
        return answer_error("pthread_cond_signal", error);
    if (!call_wait_for(&condition.has_passed, tools))
        return answer_fails("pthread_cond_signal did not wake the waiter");
    pthread_join(thread, NULL);
    return answer_works();
}

static int try_file(void *stream)
{
    int result = ftrylockfile(stream);
    if (result == 0)
        funlockfile(stream);
    return result;
}

struct answer call_file_locking(const struct call_tools *tools)
{
    struct answer answer;
    int file = call_file(tools, &answer);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w+");
    if (!stream)
        return file < 0 ? answer : answer_error("fdopen", errno);
    flockfile(stream);
    if (call_on_thread(try_file, stream, 1) == 0)
        return answer_fails("a stream that one thread holds, another locks");
    funlockfile(stream);
    return call_on_thread(try_file, stream, 0) == 0
               ? answer_works()
               : answer_fails("a released stream cannot be locked");
}

/* ---- protocols ---- */

/* Priority inheritance and ceilings of mutexes (1003.1c), each seen at work on one CPU: what it is
 * worth in time, MUT-B-INV and MUT-P-INV look at.
 *
 * Three levels above the lowest: `low` holds the mutex, `high` waits for it, `middle` would run for
 * long. With inheritance `low` runs before `middle`. With a ceiling a holder is not preempted by
 * `middle` at all. Every loop has an end of its own. */

#define SPIN_NS INT64_C(20000000)

enum { LOW = 1, MIDDLE, HIGH, TOP };

#if HS_HAS_PRIO_INHERIT || HS_HAS_PRIO_PROTECT
/* Puts the calling thread on one CPU, at `level`. False with `answer` set. */
static bool begin(int level, struct answer *answer)
{
    int error = rt_thread_set_self(SCHED_FIFO, sched_get_priority_min(SCHED_FIFO) + level);
    if (error == EPERM)
        *answer = answer_denied("accepted; seeing it at work needs real-time priorities");
    else if (error)
        *answer = answer_error("SCHED_FIFO", error);
    if (error)
        return false;
    struct cpus allowed;
    int count = port_allowed_cpus(&allowed), cpu = cpus_first(&allowed);
    if (count == 1 || (cpu >= 0 && port_pin_self(cpu) == 0))
        return true;
    *answer = answer_untried("accepted; seeing it at work needs threads on one CPU");
    return false;
}

static int start(pthread_t *thread, int level, void *(*body)(void *), void *argument)
{
    pthread_attr_t attributes;
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO) + level};
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &param);
    return pthread_create(thread, &attributes, body, argument);
}

struct scene {
    pthread_mutex_t mutex;
    sem_t is_held, go;
    atomic_bool is_released;
    atomic_bool high_came_first; /* while `middle` still ran */
    atomic_bool middle_ran;
};
#endif

#if HS_HAS_PRIO_INHERIT
static void *be_low(void *argument)
{
    struct scene *scene = argument;
    pthread_mutex_lock(&scene->mutex);
    sem_post(&scene->is_held);
    sem_wait(&scene->go);
    pthread_mutex_unlock(&scene->mutex);
    return NULL;
}

static void *be_high(void *argument)
{
    struct scene *scene = argument;
    pthread_mutex_lock(&scene->mutex);
    atomic_store(&scene->is_released, true);
    pthread_mutex_unlock(&scene->mutex);
    return NULL;
}

static void *be_middle(void *argument)
{
    struct scene *scene = argument;
    int64_t end_ns = clock_monotonic_ns() + SPIN_NS;
    while (!atomic_load(&scene->is_released) && clock_monotonic_ns() < end_ns)
        ;
    atomic_store(&scene->high_came_first, atomic_load(&scene->is_released));
    return NULL;
}

/* The caller has the highest priority: the others run when it waits. */
static struct answer see_inheritance(struct scene *scene)
{
    pthread_t low, middle, high;
    sem_init(&scene->is_held, 0, 0);
    sem_init(&scene->go, 0, 0);
    int error = start(&low, LOW, be_low, scene);
    if (error)
        return answer_error("pthread_create", error);
    sem_wait(&scene->is_held);
    if (start(&high, HIGH, be_high, scene) != 0)
        return answer_untried("no thread");
    call_nap(INT64_C(1000000)); /* `high` waits for the mutex now */
    if (start(&middle, MIDDLE, be_middle, scene) != 0)
        return answer_untried("no thread");
    sem_post(&scene->go);
    pthread_join(high, NULL);
    pthread_join(middle, NULL);
    pthread_join(low, NULL);
    return atomic_load(&scene->high_came_first)
               ? answer_works()
               : answer_fails("the holder of a mutex did not inherit");
}

struct answer call_thread_prio_inherit(const struct call_tools *tools)
{
    (void)tools;
    struct answer answer;
    struct scene scene = {.high_came_first = false};
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    int error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (!error)
        error = pthread_mutex_init(&scene.mutex, &attributes);
    if (error)
        return answer_error("PTHREAD_PRIO_INHERIT", error);
    return begin(TOP, &answer) ? see_inheritance(&scene) : answer;
}
#else
struct answer call_thread_prio_inherit(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_mutexattr_setprotocol");
}
#endif

#if HS_HAS_PRIO_PROTECT
static void *note_middle(void *argument)
{
    atomic_store(&((struct scene *)argument)->middle_ran, true);
    return NULL;
}

/* The caller is `low`; a new thread above it would run at once, but for the ceiling. */
static struct answer see_ceiling(struct scene *scene)
{
    pthread_t middle;
    int error = pthread_mutex_lock(&scene->mutex);
    if (error)
        return answer_error("locking with a ceiling", error);
    error = start(&middle, MIDDLE, note_middle, scene);
    bool ran_under_lock = atomic_load(&scene->middle_ran);
    pthread_mutex_unlock(&scene->mutex);
    bool ran_after = atomic_load(&scene->middle_ran);
    if (error)
        return answer_error("pthread_create", error);
    pthread_join(middle, NULL);
    if (ran_under_lock)
        return answer_fails("a thread below the ceiling preempted the holder");
    return ran_after ? answer_works() : answer_partly("the holder keeps the ceiling after unlock");
}

struct answer call_thread_prio_protect(const struct call_tools *tools)
{
    (void)tools;
    struct answer answer;
    struct scene scene = {.middle_ran = false};
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    int error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
    if (!error)
        error = pthread_mutexattr_setprioceiling(&attributes,
                                                 sched_get_priority_min(SCHED_FIFO) + HIGH);
    if (!error)
        error = pthread_mutex_init(&scene.mutex, &attributes);
    if (error)
        return answer_error("PTHREAD_PRIO_PROTECT", error);
    return begin(LOW, &answer) ? see_ceiling(&scene) : answer;
}
#else
struct answer call_thread_prio_protect(const struct call_tools *tools)
{
    (void)tools;
    return answer_missing("pthread_mutexattr_setprioceiling");
}
#endif

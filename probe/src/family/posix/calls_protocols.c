/* Priority inheritance and ceilings of mutexes (1003.1c), each seen at work on one CPU: what it is
 * worth in time, MUT-B-INV and MUT-P-INV look at.
 *
 * Three levels above the lowest: `low` holds the mutex, `high` waits for it, `middle` would run for
 * long. With inheritance `low` runs before `middle`. With a ceiling a holder is not preempted by
 * `middle` at all. Every loop has an end of its own. */
#include "base/posix_source.h"

#include "family/posix/calls.h"

#include "base/clock.h"
#include "base/options.h"
#include "base/rt_thread.h"
#include "family/posix/call_help.h"
#include "port/port.h"

#include <errno.h>
#include <sched.h>

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

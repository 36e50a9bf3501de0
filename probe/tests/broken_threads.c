/* Breaches of threads and scheduling; broken.c says how they are used.
 *   equal_at_once   a new thread of its creator's priority gets the next higher one
 *   lower_at_once   a new thread one below its creator is put one above it
 *   higher_later    a new thread above its creator gets its creator's priority
 *   yield_nothing   sched_yield does nothing
 *   setschedprio_tail   a thread that lowers its priority by pthread_setschedprio goes to the tail
 *                       of its new priority's queue
 *   setschedparam_tail  the same by pthread_setschedparam; no breach: POSIX requires it
 *   rr_is_fifo      SCHED_RR is SCHED_FIFO
 *   rr_unfair       each third SCHED_RR thread yields after 50 ms of each slice
 *   rr_little       the same after 90 ms
 *   rr_first_short  a SCHED_RR thread yields after 20 ms of its first slice
 *   rr_first_long   a SCHED_RR thread's first slice is 150 ms
 *   rr_interval     slices are 11 % longer than sched_rr_get_interval says
 *   two_levels      priorities below 97 are mapped to two: 24 and 72
 *   few_levels      the system reports a range of 20 priorities
 *   one_pair        priority 18 is the same as 17
 *   late_wake       sem_post takes effect with the caller's next call
 *   late_wake_rare  the same, at each 400th call by a SCHED_OTHER thread
 *   degrade         a thread that has spun on the clock for 150 ms loses its priority
 *   late_start      a semaphore wakes a real-time thread below priority 50 after 20 ms
 *   late_beside_child   a semaphore wakes a real-time thread after 1 ms while the process has a
 * child naps            such a thread sleeps for 1 ms at each 20th reading of the clock naps, and
 * the rr_ breaches that end a slice, act in clock_gettime: use --clock monotonic.
 */
#define _GNU_SOURCE
#include "broken.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>

#define MS 1000000LL
enum {
    LEVEL_LIMIT = 97,
    LEVEL_MIDDLE = 48,
    LEVEL_LOW = 24,
    LEVEL_HIGH = 72,
    LEVEL_NAPS = 50,
    NAP_EVERY = 20,
    THIRD = 3,
    FEW = 20,
    RARE = 400
};

/* ---- wake-ups that are put off ---- */

static __thread sem_t *put_off;

static void catch_up(void)
{
    sem_t *semaphore = put_off;
    put_off = NULL;
    if (semaphore)
        REAL(sem_post)(semaphore);
}

static bool is_rarely_late(void)
{
    static __thread unsigned count;
    return breaks("late_wake_rare") && sched_getscheduler(0) == SCHED_OTHER && ++count % RARE == 0;
}

int sem_post(sem_t *semaphore)
{
    catch_up();
    if (broken_post(semaphore))
        return 0;
    if (!breaks("late_wake") && !is_rarely_late())
        return REAL(sem_post)(semaphore);
    put_off = semaphore;
    return 0;
}

static int own_priority(void);

/* The others keep the CPU meanwhile. */
static void nap(const char *breach, long long ns)
{
    struct timespec while_ns = {.tv_nsec = ns};
    int priority = breaks(breach) ? own_priority() : 0;
    if (priority > 0 && priority < LEVEL_NAPS)
        REAL(nanosleep)(&while_ns, NULL);
}

/* Its child has the CPU meanwhile. */
static void nap_beside_child(void)
{
    struct timespec while_ns = {.tv_nsec = 1 * MS};
    siginfo_t end;
    if (breaks("late_beside_child") && own_priority() > 0 &&
        waitid(P_ALL, 0, &end, WEXITED | WNOHANG | WNOWAIT) == 0)
        REAL(nanosleep)(&while_ns, NULL);
}

int sem_wait(sem_t *semaphore)
{
    catch_up();
    int answer = broken_wait(semaphore) ? 0 : REAL(sem_wait)(semaphore);
    nap("late_start", 20 * MS);
    nap_beside_child();
    return answer;
}

int sched_yield(void)
{
    catch_up();
    return breaks("yield_nothing") ? 0 : REAL(sched_yield)();
}

int pthread_join(pthread_t thread, void **result)
{
    catch_up();
    return REAL(pthread_join)(thread, result);
}

/* ---- priorities ---- */

static bool is_realtime(int policy)
{
    return policy == SCHED_FIFO || policy == SCHED_RR;
}

static int bent_priority(int priority)
{
    if (breaks("two_levels") && priority > 0 && priority < LEVEL_LIMIT)
        return priority <= LEVEL_MIDDLE ? LEVEL_LOW : LEVEL_HIGH;
    if (breaks("one_pair") && priority == 18)
        return 17;
    return priority;
}

static int bent_policy(int policy)
{
    return policy == SCHED_RR && breaks("rr_is_fifo") ? SCHED_FIFO : policy;
}

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *wanted)
{
    struct sched_param before, after = *wanted;
    int policy_before;
    after.sched_priority = bent_priority(after.sched_priority);
    pthread_getschedparam(thread, &policy_before, &before);
    int error = REAL(pthread_setschedparam)(thread, bent_policy(policy), &after);
    bool is_lower = is_realtime(policy) && before.sched_priority > after.sched_priority;
    if (!error && is_lower && breaks("setschedparam_tail"))
        REAL(sched_yield)();
    return error;
}

int pthread_setschedprio(pthread_t thread, int priority)
{
    int error = REAL(pthread_setschedprio)(thread, bent_priority(priority));
    if (!error && breaks("setschedprio_tail"))
        REAL(sched_yield)();
    return error;
}

static int own_priority(void)
{
    struct sched_param own;
    int policy;
    return pthread_getschedparam(pthread_self(), &policy, &own) == 0 ? own.sched_priority : 0;
}

static int priority_of_new(int wanted)
{
    int own = own_priority();
    if (own == 0 || wanted == 0)
        return bent_priority(wanted);
    if ((breaks("equal_at_once") && wanted == own) ||
        (breaks("lower_at_once") && wanted == own - 1))
        return own + 1;
    if (breaks("higher_later") && wanted > own)
        return own;
    return bent_priority(wanted);
}

int sched_get_priority_max(int policy)
{
    int most = REAL(sched_get_priority_max)(policy);
    return breaks("few_levels") && most > FEW ? FEW : most;
}

/* ---- slices ---- */

/* Of a thread: since when it has had the CPU, as far as its looks at the clock tell. */
struct spinner {
    bool is_round_robin;
    int number;
    int slice_count;
    long long slice_ns, looked_ns;
};
static __thread struct spinner spinner;
static atomic_int round_robin_count;

static void end_slice(void)
{
    spinner.looked_ns = 0;
    REAL(sched_yield)();
}

static void become(int policy)
{
    struct sched_param own = {.sched_priority = own_priority()};
    REAL(pthread_setschedparam)(pthread_self(), policy, &own);
}

/* Whose slices end here and not by the kernel: it would remember what is left of one. */
static bool has_own_slices(void)
{
    bool is_third = spinner.number % THIRD == 0 && (breaks("rr_unfair") || breaks("rr_little"));
    return is_third || breaks("rr_first_short") || breaks("rr_first_long");
}

static void shorten_slice(long long spun_ns)
{
    bool is_third = spinner.number % THIRD == 0, is_first = spinner.slice_count == 1;
    if (is_third &&
        ((breaks("rr_unfair") && spun_ns > 50 * MS) || (breaks("rr_little") && spun_ns > 90 * MS)))
        end_slice();
    if (is_first && ((breaks("rr_first_short") && spun_ns > 20 * MS) ||
                     (breaks("rr_first_long") && spun_ns > 150 * MS))) {
        become(SCHED_RR);
        end_slice();
    }
}

static void degrade(long long spun_ns)
{
    struct sched_param lowest = {.sched_priority = 1};
    if (spun_ns > 150 * MS && own_priority() > 1 && breaks("degrade"))
        REAL(pthread_setschedparam)(pthread_self(), SCHED_FIFO, &lowest);
}

void broken_look_at_spinner(long long now_ns)
{
    static __thread unsigned reading;
    catch_up();
    if (++reading % NAP_EVERY == 0)
        nap("naps", 1 * MS);
    if (now_ns - spinner.looked_ns > 15 * MS) {
        spinner.slice_ns = now_ns;
        spinner.slice_count++;
    }
    spinner.looked_ns = now_ns;
    if (spinner.is_round_robin)
        shorten_slice(now_ns - spinner.slice_ns);
    else
        degrade(now_ns - spinner.slice_ns);
}

int sched_rr_get_interval(pid_t process, struct timespec *interval)
{
    if (spinner.is_round_robin && has_own_slices())
        become(SCHED_RR);
    int answer = REAL(sched_rr_get_interval)(process, interval);
    if (answer == 0 && breaks("rr_interval"))
        interval->tv_nsec = interval->tv_nsec / 100 * 90;
    return answer;
}

/* ---- new threads ---- */

struct start {
    void *(*body)(void *);
    void *argument;
    bool is_round_robin;
};

static void *begin(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    spinner.is_round_robin = start.is_round_robin;
    if (start.is_round_robin)
        spinner.number = atomic_fetch_add(&round_robin_count, 1);
    if (start.is_round_robin && has_own_slices())
        become(SCHED_FIFO);
    void *result = start.body(start.argument);
    catch_up();
    return result;
}

static void bend_attributes(pthread_attr_t *attributes, struct start *start)
{
    struct sched_param priority;
    int policy = SCHED_OTHER;
    pthread_attr_getschedparam(attributes, &priority);
    pthread_attr_getschedpolicy(attributes, &policy);
    start->is_round_robin = policy == SCHED_RR;
    if (!is_realtime(policy))
        return;
    priority.sched_priority = priority_of_new(priority.sched_priority);
    pthread_attr_setschedpolicy(attributes, bent_policy(policy));
    pthread_attr_setschedparam(attributes, &priority);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *wanted, void *(*body)(void *),
                   void *argument)
{
    catch_up();
    if (!wanted || !getenv("HARDSTONE_BROKEN"))
        return REAL(pthread_create)(thread, wanted, body, argument);
    struct start *start = malloc(sizeof *start);
    if (!start)
        return EAGAIN;
    *start = (struct start){.body = body, .argument = argument};
    pthread_attr_t attributes = *wanted;
    bend_attributes(&attributes, start);
    return REAL(pthread_create)(thread, &attributes, begin, start);
}

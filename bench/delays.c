/* Put before the C library (LD_PRELOAD), this delays what a test may hold to be immediate: the
 * begin of a program, both sides of a fork, a new thread and who made it, and calls that wait, read
 * a clock, set a timer, wake others or change a file. A delay is up to DELAY_MS, at some of these
 * moments, drawn anew in each process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Of 1000. */
enum { BEGIN = 350, FORK = 350, THREAD = 400 };

struct beginning {
    void *(*routine)(void *);
    void *argument;
};

static __thread uint64_t state;

/* xorshift64, seeded by clock and thread; system calls only, since a library may replace libc's. */
static uint64_t drawn(void)
{
    if (!state) {
        struct timespec now;
        syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
        state = (uint64_t)now.tv_nsec * 2654435761U + (uint64_t)syscall(SYS_gettid) + 1;
    }
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int64_t now_us(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

static void spin(long us)
{
    int64_t end_us = now_us() + us;
    while (now_us() < end_us)
        continue;
}

static void delay(unsigned of_1000)
{
    const char *most_ms = getenv("DELAY_MS");
    if (!most_ms || drawn() % 1000 >= of_1000)
        return;
    long us = (long)(drawn() % ((unsigned long)atol(most_ms) * 1000 + 1));
    struct timespec length = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    int error = errno;
    if (syscall(SYS_sched_getscheduler, 0) == SCHED_OTHER)
        syscall(SYS_ppoll, NULL, 0, &length, NULL, 0); /* a test may refuse nanosleep */
    else
        spin(us); /* who sleeps gives the CPU to others, who loses it to a hog does not */
    errno = error;
}

static __attribute__((constructor)) void begin(void)
{
    delay(BEGIN);
}

pid_t fork(void)
{
    pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    pid_t child = real();
    if (!child)
        state = 0; /* drawn anew: else both sides are delayed by the same */
    if (child >= 0)
        delay(FORK);
    return child;
}

/* A fork: the parent of a vfork goes on only when the child has executed its program. */
pid_t vfork(void)
{
    return fork();
}

static void *run(void *data)
{
    struct beginning begin = *(struct beginning *)data;
    free(data);
    delay(THREAD);
    return begin.routine(begin.argument);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                   void *argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
        (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
            RTLD_NEXT, "pthread_create");
    struct beginning *begin = malloc(sizeof *begin);
    if (!begin)
        return EAGAIN;
    *begin = (struct beginning){routine, argument};
    int error = real(thread, attributes, run, begin);
    if (error)
        free(begin);
    else
        delay(THREAD);
    return error;
}

/* Calls whose words are integers or pointers, delayed before and after: the first OFTEN of a
 * process at one rate, all others at a lower one, so that long runs end. */
enum { OFTEN = 40 };
#define DELAYED(call, of_1000, of_1000_later)                                                      \
    long delayed_##call(long a, long b, long c, long d, long e, long f) __asm__(#call);            \
    long delayed_##call(long a, long b, long c, long d, long e, long f)                            \
    {                                                                                              \
        static long (*real)(long, long, long, long, long, long);                                   \
        static unsigned count;                                                                     \
        if (!real)                                                                                 \
            real = (long (*)(long, long, long, long, long, long))dlsym(RTLD_NEXT, #call);          \
        unsigned rate = count++ < OFTEN ? of_1000 : of_1000_later;                                 \
        delay(rate);                                                                               \
        long result = real(a, b, c, d, e, f);                                                      \
        delay(rate);                                                                               \
        return result;                                                                             \
    }

DELAYED(kill, 150, 150)
DELAYED(sem_post, 20, 2)
DELAYED(sem_wait, 20, 2)
DELAYED(sem_timedwait, 40, 2)
DELAYED(clock_gettime, 20, 0)
DELAYED(clock_nanosleep, 40, 2)
DELAYED(nanosleep, 40, 2)
DELAYED(timer_settime, 80, 2)
DELAYED(timerfd_settime, 80, 2)
DELAYED(setitimer, 80, 2)
DELAYED(sigtimedwait, 80, 2)
DELAYED(sigwaitinfo, 80, 2)
DELAYED(sigqueue, 40, 2)
DELAYED(poll, 40, 2)
DELAYED(ppoll, 40, 2)
DELAYED(select, 40, 2)
DELAYED(read, 10, 1)
DELAYED(write, 10, 1)
DELAYED(recv, 20, 1)
DELAYED(send, 20, 1)
DELAYED(unlink, 40, 1)
DELAYED(rename, 40, 1)
DELAYED(mkdir, 40, 1)
DELAYED(flock, 80, 2)
DELAYED(waitpid, 80, 2)
DELAYED(pthread_cond_signal, 20, 1)
DELAYED(pthread_mutex_timedlock, 40, 1)
DELAYED(sched_setaffinity, 40, 1)
DELAYED(getrusage, 40, 1)

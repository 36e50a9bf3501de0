/* Put before the C library (LD_PRELOAD), this delays what a test may hold to be immediate: the
 * begin of a program, both sides of a fork, a new thread and who made it, a signal, a posted
 * semaphore. A delay is up to DELAY_MS, at some of these moments, drawn anew in each process. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* Of 1000 calls. Programs post semaphores a thousand times as often as they make threads. */
enum { BEGIN = 350, FORK = 350, THREAD = 400, SIGNAL = 150, POST = 3 };

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

static void delay(unsigned of_1000)
{
    const char *most_ms = getenv("DELAY_MS");
    if (!most_ms || drawn() % 1000 >= of_1000)
        return;
    long us = (long)(drawn() % ((unsigned long)atol(most_ms) * 1000 + 1));
    struct timespec length = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    int error = errno;
    syscall(SYS_ppoll, NULL, 0, &length, NULL, 0); /* a test may refuse nanosleep */
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

int kill(pid_t process, int number)
{
    int (*real)(pid_t, int) = (int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill");
    delay(SIGNAL);
    int result = real(process, number);
    delay(SIGNAL);
    return result;
}

int sem_post(sem_t *semaphore)
{
    int (*real)(sem_t *) = (int (*)(sem_t *))dlsym(RTLD_NEXT, "sem_post");
    int result = real(semaphore);
    delay(POST);
    return result;
}

/* Inheritance through a chain of two mutexes.
 *
 * All threads are SCHED_FIFO on one CPU, so the order in which they get it follows from their
 * priorities alone: no wait and no loop of this program has to be long enough.
 *
 * Linux: cc -pthread inheritance_chain.c && sudo taskset -c 0 ./a.out
 * NuttX: in place of examples/hello/hello_main.c of its applications. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { LOWEST = 1, LOW = 10, MID = 20, HOG = 30, HIGH = 40, STARTER = 60 };
static pthread_mutex_t first, second;
static sem_t low_may_go, mid_may_go, hog_may_go;
static char order[8];

static void ran(const char *who)
{
    strcat(order, who);
}

static void *low(void *none) // the owner at the end of the chain
{
    pthread_mutex_lock(&first);
    sem_wait(&low_may_go);
    ran("L");
    pthread_mutex_unlock(&first);
    return none;
}

static void *mid(void *none) // owns the second mutex, waits for the first
{
    pthread_mutex_lock(&second);
    sem_wait(&mid_may_go);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return none;
}

static void *high(void *mutex) // the waiter whose priority the owners inherit
{
    pthread_mutex_lock(mutex);
    ran("H");
    pthread_mutex_unlock(mutex);
    return NULL;
}

static void *hog(void *none) // must not run before low has unlocked
{
    sem_wait(&hog_may_go);
    ran("X");
    return none;
}

static void *starter(void *none) // makes both ready at the same time
{
    sem_post(&low_may_go);
    sem_post(&hog_may_go);
    return none;
}

static pthread_t start(void *(*function)(void *), void *argument, int priority)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    struct sched_param parameters = {.sched_priority = priority};
    pthread_attr_setschedparam(&attributes, &parameters);
    int error = pthread_create(&thread, &attributes, function, argument);
    if (error != 0) {
        printf("pthread_create: %s\n", strerror(error));
    }
    return thread;
}

static void one_case(const char *title, int chained, int high_first)
{
    pthread_t threads[5];
    int count = 0;
    order[0] = '\0';
    threads[count++] = start(low, NULL, LOW);
    if (chained) {
        threads[count++] = start(mid, NULL, MID);
        if (!high_first) {
            sem_post(&mid_may_go);
        }
    }
    threads[count++] = start(high, chained ? &second : &first, HIGH);
    if (chained && high_first) {
        sem_post(&mid_may_go);
    }
    threads[count++] = start(hog, NULL, HOG);
    threads[count++] = start(starter, NULL, STARTER);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%-58s ran %s, expected LHX: %s\n", title, order,
           strcmp(order, "LHX") == 0 ? "right" : "WRONG");
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    int error = pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    if (error == 0) {
        struct sched_param lowest = {.sched_priority = LOWEST};
        error = pthread_setschedparam(pthread_self(), SCHED_FIFO, &lowest);
    }
    if (error != 0) {
        printf("not possible here: %s\n", strerror(error));
        return 1;
    }
    pthread_mutex_init(&first, &attributes);
    pthread_mutex_init(&second, &attributes);
    sem_init(&low_may_go, 0, 0);
    sem_init(&mid_may_go, 0, 0);
    sem_init(&hog_may_go, 0, 0);
    one_case("high waits for low", 0, 0);
    one_case("high waits for mid, and then mid waits for low", 1, 1);
    one_case("mid waits for low, and then high waits for mid", 1, 0);
    return 0;
}

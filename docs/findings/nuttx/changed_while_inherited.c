/* The own priority of a mutex's owner is changed while it runs at an inherited one.
 *
 * All threads are SCHED_FIFO on one CPU, so the order in which they get it follows from their
 * priorities alone: no wait and no loop of this program has to be long enough.
 *
 * Linux: cc -pthread changed_while_inherited.c && sudo taskset -c 0 ./a.out
 * NuttX: in place of examples/hello/hello_main.c of its applications. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { LOWEST = 1, LOW = 10, CHANGED = 15, HOG = 30, HIGH = 40, STARTER = 60 };
enum { NOBODY, ITSELF, ANOTHER };
static pthread_mutex_t mutex;
static sem_t low_may_go, hog_may_go;
static pthread_t low_thread;
static int changer, told;
static char order[8];

static void ran(const char *who)
{
    strcat(order, who);
}

static int own_priority(void)
{
    struct sched_param parameters;
    int policy;
    pthread_getschedparam(low_thread, &policy, &parameters);
    return parameters.sched_priority;
}

static void *low(void *none) // the owner, which high waits for
{
    pthread_mutex_lock(&mutex);
    sem_wait(&low_may_go);
    if (changer == ITSELF) {
        pthread_setschedprio(low_thread, CHANGED);
    }
    ran("L");
    told = own_priority();
    pthread_mutex_unlock(&mutex);
    return none;
}

static void *high(void *none)
{
    pthread_mutex_lock(&mutex);
    ran("H");
    pthread_mutex_unlock(&mutex);
    return none;
}

static void *hog(void *none) // must not run before low has unlocked
{
    sem_wait(&hog_may_go);
    ran("X");
    return none;
}

static void *starter(void *none) // makes both ready at the same time
{
    if (changer == ANOTHER) {
        pthread_setschedprio(low_thread, CHANGED);
    }
    sem_post(&low_may_go);
    sem_post(&hog_may_go);
    return none;
}

static pthread_t start(void *(*function)(void *), int priority)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    struct sched_param parameters = {.sched_priority = priority};
    pthread_attr_setschedparam(&attributes, &parameters);
    int error = pthread_create(&thread, &attributes, function, NULL);
    if (error != 0) {
        printf("pthread_create: %s\n", strerror(error));
    }
    return thread;
}

static void one_case(const char *title, int who, int expected)
{
    changer = who;
    order[0] = '\0';
    low_thread = start(low, LOW);
    pthread_t threads[] = {low_thread, start(high, HIGH), start(hog, HOG), start(starter, STARTER)};
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%-24s ran %s, expected LHX: %s; pthread_getschedparam %d, expected %d: %s\n", title,
           order, strcmp(order, "LHX") == 0 ? "right" : "WRONG", told, expected,
           told == expected ? "right" : "WRONG");
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
    pthread_mutex_init(&mutex, &attributes);
    sem_init(&low_may_go, 0, 0);
    sem_init(&hog_may_go, 0, 0);
    one_case("nobody changes it", NOBODY, LOW);
    one_case("the owner changes it", ITSELF, CHANGED);
    one_case("another changes it", ANOTHER, CHANGED);
    return 0;
}

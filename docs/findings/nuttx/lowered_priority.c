/* Where a thread goes in the list of its new priority.
 *
 * All threads are SCHED_FIFO on one CPU, so the order in which they get it follows from their
 * priorities alone: no wait and no loop of this program has to be long enough.
 *
 * Linux: cc -pthread lowered_priority.c && sudo taskset -c 0 ./a.out
 * NuttX: in place of examples/hello/hello_main.c of its applications. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

enum { LOWEST = 1, BASE = 20, RAISED = 30, HIGH = 40, STARTER = 60 };
enum { SETSCHEDPRIO, SETSCHEDPARAM, BY_ANOTHER, UNLOCK };
struct change {
    int how, from;
};
static pthread_mutex_t mutex;
static sem_t may_go[3];
static pthread_t a_thread;
static char order[8];

static void ran(const char *who)
{
    strcat(order, who);
}

static void *a(void *argument) // its priority becomes BASE
{
    const struct change *change = argument;
    if (change->how == UNLOCK) {
        pthread_mutex_lock(&mutex);
    }
    sem_wait(&may_go[0]);
    if (change->how == UNLOCK) {
        pthread_mutex_unlock(&mutex);
    } else if (change->how == SETSCHEDPRIO) {
        pthread_setschedprio(pthread_self(), BASE);
    } else if (change->how == SETSCHEDPARAM) {
        struct sched_param base = {.sched_priority = BASE};
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &base);
    }
    ran("A");
    return NULL;
}

static void *b(void *none) // ready at priority BASE all the time, before C
{
    sem_wait(&may_go[1]);
    ran("B");
    return none;
}

static void *c(void *none) // ready at priority BASE all the time, after B
{
    sem_wait(&may_go[2]);
    ran("C");
    return none;
}

static void *high(void *none) // lends A its priority
{
    pthread_mutex_lock(&mutex);
    ran("H");
    pthread_mutex_unlock(&mutex);
    return none;
}

static void *starter(void *argument) // makes A, B and C ready, in this order
{
    for (int i = 0; i < 3; i++) {
        sem_post(&may_go[i]);
    }
    if (((struct change *)argument)->how == BY_ANOTHER) {
        pthread_setschedprio(a_thread, BASE);
    }
    return NULL;
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

static void one_case(const char *title, struct change change, const char *expected)
{
    pthread_t threads[5];
    int count = 0;
    order[0] = '\0';
    threads[count++] = a_thread = start(a, &change, change.from);
    if (change.how == UNLOCK) {
        threads[count++] = start(high, NULL, HIGH);
    }
    threads[count++] = start(b, NULL, BASE);
    threads[count++] = start(c, NULL, BASE);
    threads[count++] = start(starter, &change, STARTER);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%-46s ran %s, expected %s: %s\n", title, order, expected,
           strcmp(order, expected) == 0 ? "right" : "WRONG");
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
    for (int i = 0; i < 3; i++) {
        sem_init(&may_go[i], 0, 0);
    }
    one_case("A lowers itself, pthread_setschedprio", (struct change){SETSCHEDPRIO, RAISED}, "ABC");
    one_case("A keeps its priority, pthread_setschedprio", (struct change){SETSCHEDPRIO, BASE},
             "ABC");
    one_case("another lowers A, pthread_setschedprio", (struct change){BY_ANOTHER, RAISED}, "ABC");
    one_case("another keeps A's, pthread_setschedprio", (struct change){BY_ANOTHER, BASE}, "ABC");
    one_case("A lowers itself, pthread_setschedparam", (struct change){SETSCHEDPARAM, RAISED},
             "BCA");
    one_case("A unlocks, and loses an inherited priority", (struct change){UNLOCK, BASE}, "HABC");
    return 0;
}

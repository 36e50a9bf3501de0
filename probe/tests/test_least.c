/* The core built for a system without any optional feature (options.h): the rest is
 * measured, and what is missing is reported. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "child_run.h"
#include "fake_port.h"
#include "family/message/kind.h"
#include "family/mutex/lock_kind.h"
#include "family/semaphore/kind.h"
#include "tap.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void have_no_processes(struct request *request)
{
    (void)request;
    fake_port.has_no_processes = true;
}

static const char *stream_of(char *const words[])
{
    return child_run(words, have_no_processes);
}

#define STREAM_BY(policy, ...)                                                                     \
    stream_of((char *const[]){"hardstone-probe", "run", __VA_ARGS__, "--clock", "monotonic",       \
                              "--policy", policy, NULL})

/* As an ordinary thread, from which a busy machine may take the CPU without a failure. */
#define STREAM(...) STREAM_BY("other", __VA_ARGS__)

#define LACKS(kind) "\"kind_unsupported\",\"at_ns\":null,\"data\":{\"kind\":\"" kind "\","
#define FIFTY "\"unit\":\"ns\",\"derived\":null,\"count\":50"

TEST(one_thread)
{
    const char *text = STREAM("SEM-P-SIG", "--samples", "50");
    CHECK_HOLDS(text, "\"status\":\"measured\"", LACKS("unnamed"),
                "\"signal_wait\",\"labels\":{\"kind\":\"mutex\",\"scope\":\"thread\"}," FIFTY,
                LACKS("named"), LACKS("sysv"), "\"scope_unsupported\"", "\"no_cleanup_process\"");
}

/* The folder of $TMPDIR, /var/tmp or /tmp; nothing is known of it. One mode a run: this build has
 * room for five events. */
TEST(files)
{
    const char *text = STREAM("FIO-P-SYN", "--samples", "20");
    CHECK_HOLDS(text, "\"status\":\"measured\"",
                "\"name\":\"write\",\"labels\":{\"mode\":\"buffered\"},\"unit\":\"ns\","
                "\"derived\":null,\"count\":20");
    CHECK(text && !strstr(text, "\"mode\":\"o_dsync\""));
    CHECK_HOLDS(text, "\"synchronised_not_checked\"");
    text = STREAM("FIO-P-PRE", "-p", "mode=preallocated", "--samples", "20");
    CHECK_HOLDS(text, "\"preallocation_unsupported\"");
    text = STREAM("FIO-P-STR", "-p", "mode=direct", "--samples", "20");
    CHECK_HOLDS(text, "\"direct_unsupported\"");
}

/* POSIX requires these calls, and a system may lack them all the same. */
TEST(sleeping_and_timers)
{
    const char *text = STREAM("TMR-P-LAT", "--samples", "10");
    CHECK_HOLDS(text, "\"status\":\"unsupported\",\"reason\":\"" LACKS_CLOCK_NANOSLEEP "\"");
    text = STREAM("TMR-P-JIT", "-p", "mechanisms=timer-handler,nanosleep,setitimer", "-p",
                  "periods_ns=1000000", "--samples", "10");
    CHECK_HOLDS(text,
                "\"timer-handler\",\"period_ns\":1000000,\"error\":\"Function not implemented\"",
                "\"nanosleep\",\"period_ns\":1000000,\"error\":\"Function not implemented\"",
                "\"status\":\"measured\"", "\"memory_locked\":false");
}

TEST(sleeping_until_a_moment)
{
    struct timespec until = {.tv_nsec = 1000000000}, now;
    CHECK_SAME(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL), EINVAL);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec = (until.tv_nsec + 2000000) % 1000000000;
    until.tv_sec += until.tv_nsec < 2000000 ? 1 : 0;
    CHECK_SAME(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL), 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    CHECK(now.tv_sec > until.tv_sec ||
          (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
}

/* A signal that comes while it waits ends the wait, as a time-out of the whole does. */
TEST(waiting_with_signals)
{
    struct timespec second = {.tv_sec = 1}, moment = {.tv_nsec = 1000000};
    sigset_t none;
    sigemptyset(&none);
    CHECK_SAME(pselect(0, NULL, NULL, NULL, &second, &none), -1);
    CHECK_SAME(errno, EINTR);
    CHECK_SAME(pselect(0, NULL, NULL, NULL, &moment, &none), 0);
    CHECK_SAME(pselect(0, NULL, NULL, NULL, &moment, NULL), 0);
}

/* ---- semaphores in memory of the caller, of a mutex and a condition variable ---- */

static struct timespec in_ms(long ms)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

TEST(semaphores_count)
{
    sem_t semaphore;
    int value = -1;
    CHECK_SAME(sem_init(&semaphore, 0, 2), 0);
    CHECK_SAME(sem_post(&semaphore), 0);
    CHECK_SAME(sem_getvalue(&semaphore, &value), 0);
    CHECK_SAME(value, 3);
    CHECK_SAME(sem_wait(&semaphore), 0);
    CHECK_SAME(sem_trywait(&semaphore), 0);
    CHECK_SAME(sem_trywait(&semaphore), 0);
    CHECK_SAME(sem_trywait(&semaphore), -1);
    CHECK_SAME(errno, EAGAIN);
    CHECK_SAME(sem_destroy(&semaphore), 0);
}

TEST(semaphores_have_limits)
{
    sem_t semaphore;
    int value = -1;
    CHECK_SAME(sem_init(&semaphore, 1, 0), -1); /* this build has nothing that processes share */
    CHECK_SAME(errno, ENOSYS);
    CHECK_SAME(sem_init(&semaphore, 0, (unsigned)INT_MAX + 1), -1);
    CHECK_SAME(errno, EINVAL);
    CHECK_SAME(sem_init(&semaphore, 0, INT_MAX), 0);
    CHECK_SAME(sem_post(&semaphore), -1);
    CHECK_SAME(errno, EOVERFLOW);
    CHECK_SAME(sem_getvalue(&semaphore, &value), 0);
    CHECK_SAME(value, INT_MAX);
    CHECK_SAME(sem_destroy(&semaphore), 0);
}

TEST(semaphores_wait_until_a_time)
{
    sem_t semaphore;
    struct timespec past = {.tv_sec = 1}, soon = in_ms(20), now, wrong = {.tv_nsec = -1};
    CHECK_SAME(sem_init(&semaphore, 0, 1), 0);
    CHECK_SAME(sem_timedwait(&semaphore, &past), 0); /* it does not have to wait */
    CHECK_SAME(sem_timedwait(&semaphore, &past), -1);
    CHECK_SAME(errno, ETIMEDOUT);
    CHECK_SAME(sem_timedwait(&semaphore, &wrong), -1);
    CHECK_SAME(errno, EINVAL);
    CHECK_SAME(sem_timedwait(&semaphore, &soon), -1);
    CHECK_SAME(errno, ETIMEDOUT);
    clock_gettime(CLOCK_REALTIME, &now);
    CHECK(now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
    CHECK_SAME(sem_destroy(&semaphore), 0);
}

struct hand_over {
    sem_t there, back;
    int number;
};

enum { HAND_OVERS = 2000 };

static void *add_in_turn(void *argument)
{
    struct hand_over *hand_over = argument;
    for (int i = 0; i < HAND_OVERS; i++) {
        sem_wait(&hand_over->there);
        hand_over->number = 2 * i + 1;
        sem_post(&hand_over->back);
    }
    return NULL;
}

/* What one thread writes before its post, the other one sees after its wait. */
TEST(semaphores_hand_over)
{
    struct hand_over hand_over = {.number = 0};
    pthread_t other;
    int wrong_count = 0;
    sem_init(&hand_over.there, 0, 0);
    sem_init(&hand_over.back, 0, 0);
    CHECK_SAME(pthread_create(&other, NULL, add_in_turn, &hand_over), 0);
    for (int i = 0; i < HAND_OVERS; i++) {
        hand_over.number = 2 * i;
        sem_post(&hand_over.there);
        sem_wait(&hand_over.back);
        wrong_count += hand_over.number != 2 * i + 1;
    }
    pthread_join(other, NULL);
    CHECK_SAME(wrong_count, 0);
    CHECK_SAME(sem_trywait(&hand_over.there), -1);
    CHECK_SAME(sem_trywait(&hand_over.back), -1);
    CHECK_SAME(sem_destroy(&hand_over.there), 0);
    CHECK_SAME(sem_destroy(&hand_over.back), 0);
}

enum { TAKERS = 8, TAKES = 500 };

struct crowd {
    sem_t places, taken;
    atomic_int inside, most_inside;
};

static void *take_a_place(void *argument)
{
    struct crowd *crowd = argument;
    for (int i = 0; i < TAKES; i++) {
        sem_wait(&crowd->places);
        int inside = atomic_fetch_add(&crowd->inside, 1) + 1;
        if (inside > atomic_load(&crowd->most_inside))
            atomic_store(&crowd->most_inside, inside);
        atomic_fetch_sub(&crowd->inside, 1);
        sem_post(&crowd->places);
        sem_post(&crowd->taken);
    }
    return NULL;
}

/* Many threads: none is forgotten, and no more are inside than there are places. */
TEST(semaphores_of_many_threads)
{
    struct crowd crowd = {.inside = 0};
    pthread_t takers[TAKERS];
    int value = -1;
    sem_init(&crowd.places, 0, 2);
    sem_init(&crowd.taken, 0, 0);
    for (int i = 0; i < TAKERS; i++)
        CHECK_SAME(pthread_create(&takers[i], NULL, take_a_place, &crowd), 0);
    for (int i = 0; i < TAKERS * TAKES; i++)
        sem_wait(&crowd.taken);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(takers[i], NULL);
    CHECK(atomic_load(&crowd.most_inside) <= 2);
    CHECK_SAME(sem_getvalue(&crowd.places, &value), 0);
    CHECK_SAME(value, 2);
    CHECK_SAME(sem_getvalue(&crowd.taken, &value), 0);
    CHECK_SAME(value, 0);
    CHECK_SAME(sem_destroy(&crowd.places), 0);
    CHECK_SAME(sem_destroy(&crowd.taken), 0);
}

static void *post_once(void *argument)
{
    sem_post(argument);
    return NULL;
}

/* The waiter may undo it as soon as it has passed, while the other thread is still in its post. */
TEST(semaphores_end_after_a_wait)
{
    enum { LIVES = 500 };
    int wrong_count = 0;
    for (int i = 0; i < LIVES; i++) {
        sem_t *semaphore = malloc(sizeof *semaphore);
        pthread_t other;
        wrong_count += sem_init(semaphore, 0, 0) != 0;
        wrong_count += pthread_create(&other, NULL, post_once, semaphore) != 0;
        wrong_count += sem_wait(semaphore) != 0;
        wrong_count += sem_destroy(semaphore) != 0;
        memset(semaphore, 0xff, sizeof *semaphore);
        free(semaphore);
        pthread_join(other, NULL);
    }
    CHECK_SAME(wrong_count, 0);
}

/* Figures of something else are none: each says why. */
TEST(what_times_semaphores)
{
    static char *const words[][2] = {
        {"MUT-P-ARC", "protocols=none"},      {"MUT-P-INV", "protocols=none"},
        {"SEM-P-ARC", "kinds=unnamed"},       {"THR-P-PRE", "by=thread"},
        {"THR-P-NEW", "cases=run-and-block"}, {"SIM-P-RF", "solver=semaphore"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *text = STREAM_BY("fifo", words[i][0], "-p", words[i][1]);
        if (text && strstr(text, "\"status\":\"denied\""))
            tap_skip("no right to real-time priorities");
        else
            CHECK_HOLDS(text,
                        "\"status\":\"unsupported\",\"reason\":\"" LACKS_UNNAMED_SEMAPHORES "\"");
    }
}

/* The order says enough: verdicts need no figure. */
TEST(what_only_starts_by_semaphores)
{
    const char *text =
        STREAM_BY("fifo", "MUT-B-INV", "-p", "primitives=none", "-p", "medium_ns=1ms");
    if (text && strstr(text, "\"status\":\"denied\"")) {
        tap_skip("no right to real-time priorities");
        return;
    }
    CHECK_HOLDS(text, "\"delay_unsupported\"");
    CHECK_HOLDS(text, "\"status\":\"measured\"");
}

TEST(locks)
{
    static const struct {
        enum lock_kind kind;
        int error;
    } wanted[] = {{LOCK_KIND_NONE, 0},          {LOCK_KIND_INHERIT, ENOTSUP},
                  {LOCK_KIND_PROTECT, ENOTSUP}, {LOCK_KIND_SEMAPHORE, ENOTSUP},
                  {LOCK_KIND_ROBUST, ENOTSUP},  {LOCK_KIND_ROBUST_INHERIT, ENOTSUP},
                  {LOCK_KIND_SPIN, ENOTSUP},    {LOCK_KIND_RWLOCK, 0},
                  {LOCK_KIND_CONDITION, 0}};
    struct lock lock;
    foreach (row, wanted, NULL) {
        CHECK_SAME(lock_open(&lock, row->kind, 1), row->error);
        if (row->error == 0)
            lock_close(&lock);
    }
}

TEST(kinds)
{
    struct semaphore semaphore;
    struct ipc_cleanup_place place = {.name = "/hardstone-test-least"};
    CHECK_SAME(semaphore_open(&semaphore, SEMAPHORE_NAMED, false, &place), ENOSYS);
    CHECK_SAME(semaphore_open(&semaphore, SEMAPHORE_SYSV, false, &place), ENOSYS);
    CHECK_SAME(semaphore_open(&semaphore, SEMAPHORE_MUTEX, true, &place), ENOTSUP);
    CHECK_SAME(semaphore_open(&semaphore, SEMAPHORE_CONDITION, true, &place), ENOTSUP);
    CHECK_SAME(semaphore_open(&semaphore, SEMAPHORE_CONDITION, false, &place), 0);
    semaphore_close(&semaphore);
    CHECK_SAME(semaphore_open(&semaphore, SEMAPHORE_UNNAMED, false, &place), ENOSYS);
}

TEST(channels)
{
    static const int wanted[MESSAGE_KINDS] = {[MESSAGE_MQ] = ENOSYS,
                                              [MESSAGE_FIFO] = ENOSYS,
                                              [MESSAGE_SYSV] = ENOSYS,
                                              [MESSAGE_RING] = ENOSYS};
    static _Alignas(64) unsigned char room[256], ring[256];
    struct ipc_cleanup_place place = {.name = "/hardstone-test-least"};
    for (int kind = 0; kind < MESSAGE_KINDS; kind++) {
        struct message_channel channel;
        struct message_plan plan = {.kind = (enum message_kind)kind,
                                    .bytes = 8,
                                    .depth = 2,
                                    .place = &place,
                                    .folder = "",
                                    .memory = ring,
                                    .trial = (struct message *)(void *)room};
        CHECK_SAME(message_open(&channel, &plan), wanted[kind]);
        if (wanted[kind] == 0)
            message_close(&channel);
    }
}

TEST(queues)
{
    const char *text = STREAM_BY("fifo", "MSG-B-PRI");
    if (strstr(text, "\"status\":\"denied\"")) {
        tap_skip("no right to real-time priorities");
        return;
    }
    CHECK_HOLDS(text, "\"status\":\"unsupported\"");
    CHECK_HOLDS(text, LACKS("mq"), LACKS("sysv"));
}

/* This build asks for small ones; what the C library needs for itself, and the probe at least,
 * comes on top. */
TEST(stacks)
{
    static const struct rt_thread_setup plain = {SCHED_OTHER, 0, -1};
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (RT_THREAD_STACK_BYTES != 8 * 1024) {
        tap_skip("sanitizers need more stack");
        return;
    }
    CHECK_SAME(RT_THREAD_SMALL_STACK_BYTES, 8 * 1024);
    CHECK_SAME(rt_thread_attributes(&attributes, &plain, RT_THREAD_STACK_BYTES), 0);
    pthread_attr_getstacksize(&attributes, &bytes);
    CHECK(bytes <= (size_t)sysconf(_SC_THREAD_STACK_MIN) + 12 * 1024);
    pthread_attr_destroy(&attributes);
    CHECK_SAME(rt_thread_try(&plain), 0);
}

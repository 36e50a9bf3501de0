/* Each kind of semaphore counts correctly and leaves nothing behind. */
#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/ipc_cleanup.h"
#include "family/shared/peer.h"
#include "tap.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { COUNT = 1000 };

static const struct request request = {.cpu = -1, .priority = -1};

struct game {
    struct semaphore semaphore;
    atomic_int taken;
};

static void take(void *argument)
{
    struct game *game = argument;
    for (int i = 0; i < COUNT; i++) {
        semaphore_wait(&game->semaphore);
        atomic_fetch_add(&game->taken, 1);
    }
}

static void give_all(struct game *game)
{
    for (int i = 0; i < COUNT; i++)
        semaphore_signal(&game->semaphore);
}

static bool rests_at(struct game *game, int taken)
{
    struct timespec step = {.tv_nsec = 1000000};
    for (int i = 0; i < 20000 && atomic_load(&game->taken) != taken; i++)
        nanosleep(&step, NULL);
    return atomic_load(&game->taken) == taken;
}

/* Two takers get as many as were given, no more and no fewer. */
static void check_kind(enum semaphore_kind kind)
{
    struct run run;
    struct ipc_cleanup ipc_cleanup;
    struct game game;
    struct rt_thread takers[2];
    struct rt_thread_setup plain = {SCHED_OTHER, 0, -1};
    memset(&run, 0, sizeof run);
    run.request = &request;
    CHECK_SAME(ipc_cleanup_open(&ipc_cleanup, &run, true), 0);
    int error = semaphore_open(&game.semaphore, kind, false, &ipc_cleanup.places[0]);
    if (error == ENOTSUP || error == ENOSYS) {
        ipc_cleanup_close(&ipc_cleanup);
        tap_skip("not on this system");
        return;
    }
    CHECK_SAME(error, 0);
    atomic_store(&game.taken, 0);
    for (int i = 0; i < 2; i++) {
        CHECK_SAME(rt_thread_start(&takers[i], &plain, take, &game), 0);
        rt_thread_go(&takers[i]);
    }
    give_all(&game);
    CHECK(rests_at(&game, COUNT));
    give_all(&game);
    CHECK(rests_at(&game, 2 * COUNT));
    for (int i = 0; i < 2; i++)
        rt_thread_join(&takers[i]);
    semaphore_close(&game.semaphore);
    ipc_cleanup_close(&ipc_cleanup);
}

TEST(unnamed)
{
    check_kind(SEMAPHORE_UNNAMED);
}

TEST(named)
{
    check_kind(SEMAPHORE_NAMED);
}

TEST(sysv)
{
    check_kind(SEMAPHORE_SYSV);
}

TEST(eventfd)
{
    check_kind(SEMAPHORE_EVENTFD);
}

TEST(futex)
{
    check_kind(SEMAPHORE_FUTEX);
}

TEST(condition)
{
    check_kind(SEMAPHORE_CONDITION);
}

static void pass_through(void *argument)
{
    struct game *game = argument;
    atomic_store(&game->taken, 1);
    semaphore_wait(&game->semaphore);
    atomic_store(&game->taken, 2);
    semaphore_signal(&game->semaphore);
}

/* In memory that processes share; NULL, with a failed check, where there is none. */
static struct game *open_shared_game(struct run *run, struct ipc_cleanup *ipc_cleanup)
{
    memset(run, 0, sizeof *run);
    run->request = &request;
    CHECK_SAME(ipc_cleanup_open(ipc_cleanup, run, true), 0);
    struct game *game = peer_memory(sizeof *game, &ipc_cleanup->places[0]);
    CHECK(game != NULL);
    return game;
}

/* What was made to be shared wakes who waits in another process. */
TEST(every_kind_between_processes)
{
    struct run run;
    struct ipc_cleanup ipc_cleanup;
    struct peer peer;
    struct rt_thread_setup plain = {SCHED_OTHER, 0, -1};
    struct timespec while_it_blocks = {.tv_nsec = 20000000};
    struct game *game = open_shared_game(&run, &ipc_cleanup);
    if (!game)
        return;
    for (int kind = 0; kind < SEMAPHORE_KINDS; kind++) {
        if (semaphore_open(&game->semaphore, (enum semaphore_kind)kind, true,
                           &ipc_cleanup.places[0]) != 0)
            continue;
        atomic_store(&game->taken, 0);
        CHECK_SAME(peer_start(&peer, &run, &ipc_cleanup, PEER_PROCESS, &plain, pass_through, game),
                   0);
        CHECK(rests_at(game, 1));
        nanosleep(&while_it_blocks, NULL);
        CHECK_SAME(atomic_load(&game->taken), 1);
        semaphore_signal(&game->semaphore);
        bool has_passed = rests_at(game, 2);
        if (!CHECK(has_passed))
            kill(peer.process, SIGKILL);
        CHECK_SAME(peer_join(&peer), 0);
        if (kind == SEMAPHORE_MUTEX)
            semaphore_wait(&game->semaphore);
        semaphore_close(&game->semaphore);
    }
    peer_memory_free(game, sizeof *game);
    ipc_cleanup_close(&ipc_cleanup);
}

TEST(a_mutex_is_locked_and_unlocked)
{
    struct semaphore mutex;
    CHECK_SAME(semaphore_open(&mutex, SEMAPHORE_MUTEX, false, NULL), 0);
    CHECK_SAME(pthread_mutex_trylock(&mutex.mutex), EBUSY);
    semaphore_signal(&mutex);
    CHECK_SAME(pthread_mutex_trylock(&mutex.mutex), 0);
    semaphore_signal(&mutex);
    semaphore_wait(&mutex);
    semaphore_close(&mutex);
}

/* ---- mutex with condition variable ---- */

static void start_taker(struct rt_thread *taker, struct game *game)
{
    static const struct rt_thread_setup plain = {SCHED_OTHER, 0, -1};
    atomic_store(&game->taken, 0);
    CHECK_SAME(rt_thread_start(taker, &plain, pass_through, game), 0);
    rt_thread_go(taker);
}

/* A wake-up without a V lets nobody pass. */
TEST(a_condition_is_signalled)
{
    struct timespec while_it_blocks = {.tv_nsec = 20000000};
    struct rt_thread taker;
    struct game game;
    CHECK_SAME(semaphore_open(&game.semaphore, SEMAPHORE_CONDITION, false, NULL), 0);
    start_taker(&taker, &game);
    CHECK(rests_at(&game, 1));
    nanosleep(&while_it_blocks, NULL);
    pthread_cond_broadcast(&game.semaphore.condition);
    nanosleep(&while_it_blocks, NULL);
    CHECK_SAME(atomic_load(&game.taken), 1);
    semaphore_signal(&game.semaphore);
    CHECK(rests_at(&game, 2));
    rt_thread_join(&taker);
    semaphore_close(&game.semaphore);
}

static void wait_for_ever(void *argument)
{
    struct game *game = argument;
    atomic_store(&game->taken, 1);
    for (;;)
        semaphore_wait(&game->semaphore);
}

/* A C library may wait in pthread_cond_destroy for who was in pthread_cond_wait. */
TEST(a_condition_in_which_a_process_died)
{
    struct run run;
    struct ipc_cleanup ipc_cleanup;
    struct peer peer;
    struct rt_thread_setup plain = {SCHED_OTHER, 0, -1};
    struct timespec while_it_blocks = {.tv_nsec = 20000000};
    struct game *game = open_shared_game(&run, &ipc_cleanup);
    if (!game)
        return;
    CHECK_SAME(semaphore_open(&game->semaphore, SEMAPHORE_CONDITION, true, NULL), 0);
    CHECK_SAME(peer_start(&peer, &run, &ipc_cleanup, PEER_PROCESS, &plain, wait_for_ever, game), 0);
    CHECK(rests_at(game, 1));
    nanosleep(&while_it_blocks, NULL);
    kill(peer.process, SIGKILL);
    CHECK_SAME(peer_join(&peer), ECHILD);
    alarm(30); /* ends the test where it would wait for ever */
    semaphore_abandon(&game->semaphore);
    semaphore_close(&game->semaphore);
    alarm(0);
    peer_memory_free(game, sizeof *game);
    ipc_cleanup_close(&ipc_cleanup);
}

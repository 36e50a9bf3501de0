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

static const struct rt_thread_setup plain = {SCHED_OTHER, 0, -1};
static struct run run;
static struct ipc_cleanup ipc_cleanup;
static struct peer peer;

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
    for (int i = 0; i < 3600000 && atomic_load(&game->taken) != taken; i++)
        nanosleep(&step, NULL);
    return atomic_load(&game->taken) == taken;
}

static void let_it_block(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static void open_run(void)
{
    memset(&run, 0, sizeof run);
    CHECK_SAME(ipc_cleanup_open(&ipc_cleanup, &run, true), 0);
}

/* Two takers get as many as were given, no more and no fewer. */
static void check_kind(enum semaphore_kind kind)
{
    struct game game;
    struct rt_thread takers[2];
    open_run();
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

TEST(two_takers_of_every_kind)
{
    for (int kind = 0; kind < SEMAPHORE_KINDS; kind++) {
        tap_row(semaphore_and_mutex_names[kind]);
        if (kind != SEMAPHORE_MUTEX)
            check_kind((enum semaphore_kind)kind);
    }
}

static void pass_through(void *argument)
{
    struct game *game = argument;
    atomic_store(&game->taken, 1);
    semaphore_wait(&game->semaphore);
    atomic_store(&game->taken, 2);
    semaphore_signal(&game->semaphore);
}

/* In memory that processes share. */
static struct game *shared;

static bool open_game(void)
{
    open_run();
    shared = peer_memory(sizeof *shared, &ipc_cleanup.places[0]);
    return CHECK(shared != NULL);
}

static void close_game(void)
{
    peer_memory_free(shared, sizeof *shared);
    ipc_cleanup_close(&ipc_cleanup);
}

/* What was made to be shared wakes who waits in another process. */
TEST_IN(open_game(), close_game(), every_kind_between_processes)
{
    for (int kind = 0; kind < SEMAPHORE_KINDS; kind++) {
        if (semaphore_open(&shared->semaphore, (enum semaphore_kind)kind, true,
                           &ipc_cleanup.places[0]) != 0)
            continue;
        atomic_store(&shared->taken, 0);
        CHECK_SAME(
            peer_start(&peer, &run, &ipc_cleanup, PEER_PROCESS, &plain, pass_through, shared), 0);
        CHECK(rests_at(shared, 1));
        let_it_block();
        CHECK_SAME(atomic_load(&shared->taken), 1);
        semaphore_signal(&shared->semaphore);
        bool has_passed = rests_at(shared, 2);
        if (!CHECK(has_passed))
            kill(peer.process, SIGKILL);
        CHECK_SAME(peer_join(&peer), 0);
        if (kind == SEMAPHORE_MUTEX)
            semaphore_wait(&shared->semaphore);
        semaphore_close(&shared->semaphore);
    }
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

/* A call that fails ends; of several errors the first is kept, and a call that was interrupted is
 * none. */
TEST(the_first_error_is_kept)
{
    struct semaphore semaphore;
    memset(&semaphore, 0, sizeof semaphore);
    semaphore.handle = -1;
    errno = EINTR;
    CHECK(semaphore_try_again(&semaphore));
    CHECK_SAME(atomic_load(&semaphore.error), 0);
    semaphore_signal_of(&semaphore, SEMAPHORE_EVENTFD);
    CHECK_SAME(atomic_load(&semaphore.error), EBADF);
    CHECK(!semaphore_is_good(&semaphore, EINVAL));
    semaphore_wait_of(&semaphore, SEMAPHORE_EVENTFD);
    CHECK_SAME(atomic_load(&semaphore.error), EBADF);
}

/* ---- mutex with condition variable ---- */

/* A wake-up without a V lets nobody pass. */
TEST(a_condition_is_signalled)
{
    struct rt_thread taker;
    struct game game;
    CHECK_SAME(semaphore_open(&game.semaphore, SEMAPHORE_CONDITION, false, NULL), 0);
    atomic_store(&game.taken, 0);
    CHECK_SAME(rt_thread_start(&taker, &plain, pass_through, &game), 0);
    rt_thread_go(&taker);
    CHECK(rests_at(&game, 1));
    let_it_block();
    pthread_cond_broadcast(&game.semaphore.condition);
    let_it_block();
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
TEST_IN(open_game(), close_game(), a_condition_in_which_a_process_died)
{
    CHECK_SAME(semaphore_open(&shared->semaphore, SEMAPHORE_CONDITION, true, NULL), 0);
    CHECK_SAME(peer_start(&peer, &run, &ipc_cleanup, PEER_PROCESS, &plain, wait_for_ever, shared),
               0);
    CHECK(rests_at(shared, 1));
    let_it_block();
    kill(peer.process, SIGKILL);
    CHECK_SAME(peer_join(&peer), ECHILD);
    alarm(3600); /* ends the test where it would wait for ever */
    semaphore_abandon(&shared->semaphore);
    semaphore_close(&shared->semaphore);
    alarm(0);
}

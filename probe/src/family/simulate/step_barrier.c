#include "base/posix_source.h"

#include "family/simulate/step_barrier.h"

#include <string.h>

/* Some 20 us: the time that a thread takes to fall asleep and to wake up, on a CPU that sleeps
 * too. */
enum { SPINS = 20000 };

int step_barrier_open(struct step_barrier *barrier, int threads, int cpus)
{
    memset(barrier, 0, sizeof *barrier);
    barrier->threads = threads;
    barrier->spins = threads <= cpus ? SPINS : 0;
    int error = pthread_mutex_init(&barrier->mutex, NULL);
    if (error)
        return error;
    error = pthread_cond_init(&barrier->passed, NULL);
    if (error)
        pthread_mutex_destroy(&barrier->mutex);
    return error;
}

void step_barrier_close(struct step_barrier *barrier)
{
    pthread_cond_destroy(&barrier->passed);
    pthread_mutex_destroy(&barrier->mutex);
}

/* A thread counts as a sleeper before it looks at the turn for the last time, and the turn changes
 * before the sleepers are counted: one of the two sees the other. */
static void wake_sleepers(struct step_barrier *barrier)
{
    if (atomic_load(&barrier->sleepers) == 0)
        return;
    pthread_mutex_lock(&barrier->mutex);
    pthread_cond_broadcast(&barrier->passed);
    pthread_mutex_unlock(&barrier->mutex);
}

static bool is_passed(struct step_barrier *barrier, unsigned turn)
{
    return atomic_load(&barrier->turn) != turn || atomic_load(&barrier->is_broken);
}

static void sleep_until_passed(struct step_barrier *barrier, unsigned turn)
{
    pthread_mutex_lock(&barrier->mutex);
    atomic_fetch_add(&barrier->sleepers, 1);
    while (!is_passed(barrier, turn))
        pthread_cond_wait(&barrier->passed, &barrier->mutex);
    atomic_fetch_sub(&barrier->sleepers, 1);
    pthread_mutex_unlock(&barrier->mutex);
}

static void await(struct step_barrier *barrier, unsigned turn)
{
    for (int i = 0; i < barrier->spins; i++)
        if (is_passed(barrier, turn))
            return;
    sleep_until_passed(barrier, turn);
}

bool step_barrier_wait(struct step_barrier *barrier)
{
    unsigned turn = atomic_load(&barrier->turn);
    if (atomic_load(&barrier->is_broken))
        return false;
    if (atomic_fetch_add(&barrier->arrived, 1) + 1 < barrier->threads) {
        await(barrier, turn);
        return atomic_load(&barrier->turn) != turn;
    }
    atomic_store(&barrier->arrived, 0);
    atomic_store(&barrier->turn, turn + 1);
    wake_sleepers(barrier);
    return true;
}

void step_barrier_break(struct step_barrier *barrier)
{
    atomic_store(&barrier->is_broken, true);
    wake_sleepers(barrier);
}

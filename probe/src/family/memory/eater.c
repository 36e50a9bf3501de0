#include "base/posix_source.h"

#include "family/memory/eater.h"

#include "run/supervise.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_NS = 10000000, MOST_PAUSES = 500, PATIENCE = 200 };

static void rest(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
}

/* ---- in the process ---- */

static int begin(void *argument)
{
    struct eater_table *table = argument;
    (void)port_end_first();
    munlockall();
    return table->group[0] ? port_memory_group_enter(table->group) : 0;
}

/* Not every system ends it with the probe. */
static bool is_over(struct eater_table *table)
{
    return atomic_load(&table->is_over) || getppid() != table->parent;
}

/* Each page is written over and over: none of them is idle. */
static void eat(void *argument)
{
    struct eater_table *table = argument;
    int64_t page_bytes = (int64_t)sysconf(_SC_PAGESIZE);
    volatile char *memory = malloc((size_t)table->bytes);
    while (memory && !is_over(table)) {
        for (int64_t at = 0; at < table->bytes && !atomic_load(&table->is_over); at += page_bytes) {
            memory[at] = (char)at;
            if (!atomic_load(&table->is_full))
                atomic_store(&table->eaten_bytes, at + page_bytes);
        }
        atomic_store(&table->is_full, true);
        rest();
    }
    atomic_store(&table->is_full, true);
    free((void *)memory);
}

/* ---- in the probe ---- */

static bool is_settled(const struct eater *eater)
{
    return atomic_load(&eater->table->is_full) || peer_is_gone(&eater->peer) || run_should_stop();
}

int eater_start(struct eater *eater, struct run *run, const struct ipc_cleanup *cleanup)
{
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), -1};
    eater->was_killed = false;
    eater->table->parent = getpid();
    int error = peer_start_process(&eater->peer, run, cleanup, &setup, begin, eat, eater->table);
    if (error)
        return peer_not_started(run, error, "process that eats memory", NULL);
    eater->is_running = true;
    for (int i = 0; i < MOST_PAUSES && !is_settled(eater); i++)
        rest();
    return 0;
}

void eater_stop(struct eater *eater)
{
    if (!eater->is_running)
        return;
    atomic_store(&eater->table->is_over, true);
    for (int i = 0; i < PATIENCE && !peer_is_gone(&eater->peer); i++)
        rest();
    if (!peer_is_gone(&eater->peer))
        kill(eater->peer.process, SIGKILL);
    eater->was_killed = peer_join(&eater->peer) != 0;
    eater->is_running = false;
}

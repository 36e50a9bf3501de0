#include "base/posix_source.h"

#include "family/message/loss_watch.h"

#include "base/clock.h"

enum { LOOKS = 3 /* without progress, one second each */ };

static uint64_t progress_of(struct exchange_table *table)
{
    return atomic_load(&table->answer_count) + atomic_load(&table->sent_count);
}

/* True when the watch is to end. */
static bool sleep_a_second(struct loss_watch *watch)
{
    struct timespec until;
    int failed;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    while ((failed = sem_timedwait(&watch->end, &until)) != 0 && errno == EINTR)
        ;
    return failed == 0;
}

static void look(void *argument)
{
    struct loss_watch *watch = argument;
    struct exchange_table *table = watch->table;
    uint64_t before = progress_of(table);
    int looks = 0;
    while (!sleep_a_second(watch)) {
        uint64_t now = progress_of(table);
        looks = now == before ? looks + 1 : 0;
        before = now;
        if (looks < LOOKS)
            continue;
        atomic_store(&table->is_lost, true);
        (void)message_try_send(&table->back, watch->room, table->bytes);
    }
}

void loss_watch_start(struct loss_watch *watch, struct exchange_table *table, struct message *room,
                      const struct rt_thread_setup *parties)
{
    struct rt_thread_setup setup = *parties;
    watch->table = table;
    watch->room = room;
    watch->is_running = false;
    if (--setup.priority < sched_get_priority_min(setup.policy) || sem_init(&watch->end, 0, 0) != 0)
        return;
    watch->is_running = rt_thread_start_with_stack(&watch->rt_thread, &setup,
                                                   RT_THREAD_SMALL_STACK_BYTES, look, watch) == 0;
    if (watch->is_running)
        rt_thread_go(&watch->rt_thread);
    else
        sem_destroy(&watch->end);
}

void loss_watch_end(struct loss_watch *watch)
{
    if (!watch->is_running)
        return;
    sem_post(&watch->end);
    rt_thread_join(&watch->rt_thread);
    sem_destroy(&watch->end);
}

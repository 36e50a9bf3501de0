#include "base/posix_source.h"

#include "family/interrupt/sustained_sender.h"

#include <string.h>

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static bool is_to_end(struct sustained_sender *sender)
{
    return atomic_load_explicit(&sender->is_cut, memory_order_relaxed) || run_should_stop();
}

/* Until the k-th send is due and has a place. False: the test is to stop. */
static bool wait_until_due(struct sustained_sender *sender, uint64_t k)
{
    const struct clock *clock = &sender->run->clock;
    uint64_t due = sustained_due(&sender->grid, k);
    while ((int64_t)(clock_ticks(clock) - due) < 0 ||
           k - atomic_load_explicit(&sender->taken_count, memory_order_acquire) >= SUSTAINED_RING)
        if (is_to_end(sender))
            return false;
    return !is_to_end(sender);
}

/* Returns when it was served. */
static int send_one(const struct interrupt_line *line)
{
    int error = line->source->send(line);
    return error || !line->source->settle ? error : line->source->settle(line);
}

static void send_burst(struct sustained_sender *sender)
{
    const struct clock *clock = &sender->run->clock;
    for (uint64_t k = 0; k < sender->wanted_count && wait_until_due(sender, k); k++) {
        struct sustained_send *send = &sender->ring[k % SUSTAINED_RING];
        uint64_t at = clock_begin(clock);
        sender->error = send_one(sender->line);
        *send = (struct sustained_send){at, clock_end(clock), sustained_due(&sender->grid, k + 1)};
        if (sender->error)
            break;
        atomic_store_explicit(&sender->sent_count, k + 1, memory_order_release);
    }
    atomic_store_explicit(&sender->is_ended, true, memory_order_release);
}

static void be_sender(void *argument)
{
    struct sustained_sender *sender = argument;
    for (;;) {
        wait_for(&sender->start);
        if (atomic_load(&sender->is_over))
            return;
        send_burst(sender);
        sem_post(&sender->parked);
    }
}

int sustained_sender_start(struct sustained_sender *sender, struct run *run,
                           const struct interrupt_line *line)
{
    struct rt_thread_setup setup = run->setup;
    setup.cpu = interrupt_sender_cpu(run);
    memset(sender, 0, sizeof *sender);
    sender->run = run;
    sender->line = line;
    sender->skew = interrupt_skew_ticks(run, setup.cpu);
    sem_init(&sender->start, 0, 0);
    sem_init(&sender->parked, 0, 0);
    int error = rt_thread_start(&sender->rt_thread, &setup, be_sender, sender);
    if (error == 0)
        rt_thread_go(&sender->rt_thread);
    return error;
}

void sustained_sender_begin(struct sustained_sender *sender, const struct sustained_grid *grid,
                            uint64_t count)
{
    sender->grid = *grid;
    sender->wanted_count = count;
    sender->error = 0;
    atomic_store(&sender->is_cut, false);
    atomic_store(&sender->is_ended, false);
    atomic_store(&sender->sent_count, 0);
    atomic_store(&sender->taken_count, 0);
    sem_post(&sender->start);
}

void sustained_sender_wait(struct sustained_sender *sender)
{
    wait_for(&sender->parked);
}

void sustained_sender_stop(struct sustained_sender *sender)
{
    atomic_store(&sender->is_over, true);
    sem_post(&sender->start);
    rt_thread_join(&sender->rt_thread);
    sem_destroy(&sender->start);
    sem_destroy(&sender->parked);
}

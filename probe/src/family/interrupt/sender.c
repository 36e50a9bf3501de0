#include "base/posix_source.h"

#include "family/interrupt/sender.h"

#include <stdlib.h>
#include <string.h>

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static bool is_ended(struct sender *sender)
{
    return atomic_load_explicit(&sender->is_left, memory_order_relaxed) ||
           atomic_load_explicit(&sender->is_over, memory_order_relaxed) || run_should_stop();
}

static void spin(const struct clock *clock, int64_t ns)
{
    uint64_t from = clock_ticks(clock), ticks = clock_ticks_of_ns(clock, ns);
    while (clock_ticks(clock) - from < ticks)
        ;
}

static int64_t random_pause_ns(struct sender *sender)
{
    return SENDER_LEAST_PAUSE_NS + (int64_t)(erand48(sender->random) * SENDER_MORE_PAUSE_NS);
}

/* `at` is right before the call. */
static void send_one(struct sender *sender)
{
    const struct clock *clock = &sender->run->clock;
    uint64_t before = clock_begin(clock);
    int error = sender->line->source->send(sender->line);
    if (sender->line->source->window_ns > 0)
        spin(clock, sender->line->source->window_ns);
    uint64_t after = clock_end(clock);
    if (error) {
        sender->error = error;
        sender->refused_count++;
        return;
    }
    sender->sends[sender->sent_count++] = (struct sent){
        .from = before - sender->skew_ticks, .at = before, .to = after + sender->skew_ticks};
}

/* When the CPU under test no longer spins. */
static void settle(struct sender *sender)
{
    const struct interrupt_source *source = sender->line->source;
    if (!source->settle || sender->sent_count == 0)
        return;
    while (!is_ended(sender))
        ;
    int error = source->settle(sender->line);
    if (error)
        sender->error = error;
}

static void send_burst(struct sender *sender)
{
    const struct clock *clock = &sender->run->clock;
    while (!atomic_load_explicit(&sender->is_watched, memory_order_acquire) && !is_ended(sender))
        ;
    for (uint32_t i = 0; i < sender->wanted_count && !is_ended(sender); i++) {
        spin(clock, random_pause_ns(sender));
        send_one(sender);
    }
    spin(clock, SENDER_LEAST_PAUSE_NS);
    atomic_store_explicit(&sender->is_done, true, memory_order_release);
    settle(sender);
}

static void be_sender(void *argument)
{
    struct sender *sender = argument;
    for (;;) {
        wait_for(&sender->start);
        if (atomic_load(&sender->is_over))
            return;
        send_burst(sender);
        sem_post(&sender->parked);
    }
}

int sender_start(struct sender *sender, struct run *run, const struct interrupt_line *line)
{
    struct rt_thread_setup setup = run->setup;
    setup.cpu = interrupt_sender_cpu(run);
    memset(sender, 0, sizeof *sender);
    sender->run = run;
    sender->line = line;
    sender->skew_ticks = interrupt_skew_ticks(run, setup.cpu);
    sender->random[0] = 0x330e;
    sender->random[1] = (unsigned short)run->seed;
    sender->random[2] = (unsigned short)(run->seed >> 16);
    sem_init(&sender->start, 0, 0);
    sem_init(&sender->parked, 0, 0);
    int error = rt_thread_start(&sender->rt_thread, &setup, be_sender, sender);
    if (error == 0)
        rt_thread_go(&sender->rt_thread);
    return error;
}

void sender_begin(struct sender *sender, uint32_t count)
{
    uint32_t most = sender->line->source->most_in_a_burst;
    sender->wanted_count = most > 0 && count > most ? most : count;
    sender->sent_count = sender->refused_count = 0;
    sender->error = 0;
    atomic_store(&sender->is_watched, false);
    atomic_store(&sender->is_left, false);
    atomic_store(&sender->is_done, false);
    sem_post(&sender->start);
}

void sender_watched(struct sender *sender)
{
    atomic_store_explicit(&sender->is_watched, true, memory_order_release);
}

void sender_end(struct sender *sender)
{
    atomic_store(&sender->is_left, true);
    wait_for(&sender->parked);
}

void sender_stop(struct sender *sender)
{
    atomic_store(&sender->is_over, true);
    sem_post(&sender->start);
    rt_thread_join(&sender->rt_thread);
    sem_destroy(&sender->start);
    sem_destroy(&sender->parked);
}

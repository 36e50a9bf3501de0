#include "base/posix_source.h"

#include "family/interrupt/low_spinner.h"

#include <sched.h>
#include <string.h>

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static void raise_one(struct low_spinner *low)
{
    int64_t now_ns = clock_monotonic_ns(), until_ns = now_ns + low->pause_ns;
    atomic_store_explicit(&low->is_asked, false, memory_order_relaxed);
    while (now_ns < until_ns)
        now_ns = clock_monotonic_ns();
    atomic_store_explicit(&low->sent_ns, now_ns, memory_order_release);
    port_uio_raise(low->device);
}

static void spin(void *argument)
{
    struct low_spinner *low = argument;
    for (;;) {
        wait_for(&low->start);
        if (atomic_load(&low->is_over))
            return;
        while (!atomic_load_explicit(&low->is_resting, memory_order_relaxed)) {
            (void)clock_ticks(&low->run->clock);
            atomic_fetch_add_explicit(&low->turns, 1, memory_order_relaxed);
            if (atomic_load_explicit(&low->is_asked, memory_order_acquire))
                raise_one(low);
        }
        sem_post(&low->parked);
    }
}

int low_spinner_start(struct low_spinner *low, struct run *run)
{
    struct rt_thread_setup setup = run->setup;
    setup.priority = sched_get_priority_min(setup.policy);
    memset(low, 0, sizeof *low);
    low->run = run;
    sem_init(&low->start, 0, 0);
    sem_init(&low->parked, 0, 0);
    int error = rt_thread_start(&low->rt_thread, &setup, spin, low);
    if (error == 0)
        rt_thread_go(&low->rt_thread);
    return error;
}

void low_spinner_begin(struct low_spinner *low)
{
    atomic_store(&low->is_resting, false);
    sem_post(&low->start);
}

void low_spinner_end(struct low_spinner *low)
{
    atomic_store(&low->is_resting, true);
    wait_for(&low->parked);
}

void low_spinner_ask(struct low_spinner *low, const struct port_uio *device, int64_t pause_ns)
{
    low->device = device;
    low->pause_ns = pause_ns;
    atomic_store_explicit(&low->is_asked, true, memory_order_release);
}

int64_t low_spinner_sent_ns(struct low_spinner *low)
{
    return atomic_load_explicit(&low->sent_ns, memory_order_acquire);
}

uint64_t low_spinner_turns(struct low_spinner *low)
{
    return atomic_load_explicit(&low->turns, memory_order_relaxed);
}

void low_spinner_stop(struct low_spinner *low)
{
    atomic_store(&low->is_over, true);
    sem_post(&low->start);
    rt_thread_join(&low->rt_thread);
    sem_destroy(&low->start);
    sem_destroy(&low->parked);
}

#include "base/posix_source.h"

#include "family/interrupt/waker.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_PAUSE_NS INT64_C(20000)
#define MORE_PAUSE_NS 80000.0          /* random part */
#define PATIENCE_NS INT64_C(200000000) /* for the low thread's next turn */

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        ;
}

static void pause_at_random(struct waker *waker)
{
    int64_t until_ns =
        clock_monotonic_ns() + LEAST_PAUSE_NS + (int64_t)(erand48(waker->random) * MORE_PAUSE_NS);
    while (clock_monotonic_ns() < until_ns)
        ;
}

static bool is_ended(struct waker *waker)
{
    return atomic_load_explicit(&waker->is_left, memory_order_relaxed) || run_should_stop();
}

/* Waits until the counter has passed `value`; at most until a moment of CLOCK_MONOTONIC. */
static bool has_passed(struct waker *waker, atomic_uint_fast64_t *counter, uint64_t value,
                       int64_t until_ns)
{
    while (atomic_load_explicit(counter, memory_order_acquire) == value)
        if (is_ended(waker) || clock_monotonic_ns() > until_ns)
            return false;
    return true;
}

static bool low_has_run(struct waker *waker)
{
    return has_passed(waker, &waker->low->turns, low_spinner_turns(waker->low),
                      clock_monotonic_ns() + PATIENCE_NS);
}

/* High ran last before `served` was counted, so a turn of low after that finds it blocked. */
static bool wake_one(struct waker *waker)
{
    uint64_t served = atomic_load_explicit(&waker->served, memory_order_acquire);
    if (!low_has_run(waker))
        return false;
    pause_at_random(waker);
    int64_t now_ns = clock_monotonic_ns();
    atomic_store_explicit(&waker->sent_ns, now_ns, memory_order_release);
    if (waker->line->source == &interrupt_external)
        port_uio_raise(&waker->line->uio);
    else
        sem_post(&waker->ready);
    return has_passed(waker, &waker->served, served,
                      INT64_MAX); /* the longest wait is a value too */
}

static void wake_burst(struct waker *waker)
{
    uint32_t count = 0;
    while (count < waker->wanted_count && wake_one(waker))
        count++;
    atomic_store_explicit(&waker->has_ended, true, memory_order_release);
    sem_post(&waker->ready);
}

static void be_waker(void *argument)
{
    struct waker *waker = argument;
    for (;;) {
        wait_for(&waker->start);
        if (atomic_load(&waker->is_over))
            return;
        wake_burst(waker);
        sem_post(&waker->parked);
    }
}

int waker_start(struct waker *waker, struct run *run, const struct interrupt_line *line,
                struct low_spinner *low)
{
    struct rt_thread_setup setup = run->setup;
    setup.cpu = interrupt_sender_cpu(run);
    memset(waker, 0, sizeof *waker);
    waker->run = run;
    waker->line = line;
    waker->low = low;
    waker->random[0] = 0x330e;
    waker->random[1] = (unsigned short)run->seed;
    waker->random[2] = (unsigned short)(run->seed >> 16);
    sem_init(&waker->start, 0, 0);
    sem_init(&waker->parked, 0, 0);
    sem_init(&waker->ready, 0, 0);
    int error = rt_thread_start(&waker->rt_thread, &setup, be_waker, waker);
    if (error == 0)
        rt_thread_go(&waker->rt_thread);
    return error;
}

void waker_begin(struct waker *waker, uint32_t count)
{
    while (sem_trywait(&waker->ready) == 0) /* of the end of the burst before */
        ;
    waker->wanted_count = count;
    atomic_store(&waker->has_ended, false);
    atomic_store(&waker->is_left, false);
    sem_post(&waker->start);
}

bool waker_has_ended(struct waker *waker)
{
    return atomic_load_explicit(&waker->has_ended, memory_order_acquire);
}

int64_t waker_sent_ns(struct waker *waker)
{
    return atomic_load_explicit(&waker->sent_ns, memory_order_acquire);
}

void waker_served(struct waker *waker)
{
    atomic_fetch_add_explicit(&waker->served, 1, memory_order_release);
}

void waker_end(struct waker *waker)
{
    atomic_store(&waker->is_left, true);
    wait_for(&waker->parked);
}

void waker_stop(struct waker *waker)
{
    atomic_store(&waker->is_over, true);
    sem_post(&waker->start);
    rt_thread_join(&waker->rt_thread);
    sem_destroy(&waker->start);
    sem_destroy(&waker->parked);
    sem_destroy(&waker->ready);
}

/* The thread on another CPU that makes a blocked thread ready, by its semaphore or by the interrupt
 * of a device, while a thread of low priority spins on the CPU of the blocked one. */
#ifndef HS_FAMILY_INTERRUPT_WAKER_H
#define HS_FAMILY_INTERRUPT_WAKER_H

#include "family/interrupt/low_spinner.h"
#include "family/interrupt/source.h"

enum { WAKER_BURST = 64 };

#define WAKER_EARLY_NS INT64_C(10000) /* how early a timer's handler may begin */

/* CLOCK_MONOTONIC: the send or the expiry, and the woken thread's first reading. */
struct wake_up {
    int64_t sent_ns, user_ns;
};

struct waker {
    struct run *run;
    const struct interrupt_line *line;
    struct low_spinner *low;
    struct rt_thread rt_thread;
    sem_t start, parked;
    sem_t ready; /* that the blocked thread waits for, unless it waits for a device */
    atomic_bool is_over, has_ended, is_left; /* left: by the blocked thread */
    atomic_int_fast64_t sent_ns;
    atomic_uint_fast64_t served; /* wake-ups of the blocked thread */
    uint32_t wanted_count;       /* of the burst */
    unsigned short random[3];
};

/* 0, or an errno value. */
int waker_start(struct waker *waker, struct run *run, const struct interrupt_line *line,
                struct low_spinner *low);

/* Begins a burst of `count` wake-ups at most. Each follows when the woken thread has called
 * waker_served and the low one has run. A burst that ends early posts `ready` once more. */
void waker_begin(struct waker *waker, uint32_t count);
bool waker_has_ended(struct waker *waker);
int64_t waker_sent_ns(struct waker *waker);
void waker_served(struct waker *waker);

/* Ends the burst, and waits until it has. */
void waker_end(struct waker *waker);

void waker_stop(struct waker *waker);

#endif

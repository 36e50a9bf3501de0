/* The thread that sends interrupts at a fixed period from another CPU, while a thread on the CPU
 * under test watches. It has the run's policy and priority. It never skips a send: one that the
 * source could not make in time follows at once, and the period is held on the whole.
 *
 * Between two bursts it blocks. What it has sent is in a ring, from which the watching thread takes
 * it; a full ring stops it. */
#ifndef HS_FAMILY_INTERRUPT_SUSTAINED_SENDER_H
#define HS_FAMILY_INTERRUPT_SUSTAINED_SENDER_H

#include "family/interrupt/source.h"
#include "family/interrupt/sustained_match.h"

enum { SUSTAINED_RING = 1024 };

struct sustained_sender {
    struct run *run;
    const struct interrupt_line *line;
    struct rt_thread rt_thread;
    uint64_t skew; /* ticks by which the clocks of the two CPUs may differ */
    sem_t start, parked;
    atomic_bool is_over;
    /* of the burst */
    struct sustained_grid grid;
    uint64_t wanted_count;
    int error;            /* errno value of a send that was refused; valid when is_ended */
    atomic_bool is_cut;   /* set by the watching thread: no send is to follow */
    atomic_bool is_ended; /* no send follows */
    _Alignas(64) _Atomic uint64_t sent_count;  /* valid entries that were put into the ring */
    _Alignas(64) _Atomic uint64_t taken_count; /* of them taken by the watching thread */
    struct sustained_send ring[SUSTAINED_RING];
};

/* Starts the thread, which blocks. 0, or an errno value. */
int sustained_sender_start(struct sustained_sender *sender, struct run *run,
                           const struct interrupt_line *line);

/* Lets it send `count` interrupts on the grid. */
void sustained_sender_begin(struct sustained_sender *sender, const struct sustained_grid *grid,
                            uint64_t count);

/* Waits until it has ended the burst. */
void sustained_sender_wait(struct sustained_sender *sender);

/* Ends the thread. */
void sustained_sender_stop(struct sustained_sender *sender);

#endif

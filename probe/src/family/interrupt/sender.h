/* The thread that sends interrupts from another CPU, in bursts, while a thread on the CPU under
 * test watches. It has the run's policy and priority. Between two bursts it blocks.
 *
 * Each send is stamped before the call and after it, or after the time in which the interrupt is
 * expected. The next one follows when the interrupt was served and a random pause is over, so that
 * the sends are in phase with nothing. */
#ifndef HS_FAMILY_INTERRUPT_SENDER_H
#define HS_FAMILY_INTERRUPT_SENDER_H

#include "family/interrupt/sent_match.h"
#include "family/interrupt/source.h"

enum { SENDER_BURST = 128 };

#define SENDER_LEAST_PAUSE_NS INT64_C(20000)
#define SENDER_MORE_PAUSE_NS INT64_C(80000) /* random part */

struct sender {
    struct run *run;
    const struct interrupt_line *line;
    struct rt_thread rt_thread;
    sem_t start, parked;
    atomic_bool is_watched; /* the CPU under test spins: send */
    atomic_bool is_left;    /* it no longer does: end the burst */
    atomic_bool is_done;    /* the burst's last interrupt was served, and a pause is over */
    atomic_bool is_over;    /* ends the thread, and a burst under way */
    uint32_t wanted_count;  /* of the burst; at most SENDER_BURST */
    uint64_t skew_ticks;    /* by which the clocks of the two CPUs may differ */
    /* of the burst, valid when it has ended: */
    uint32_t sent_count, refused_count;
    int error; /* errno value of a send that was refused, or not settled; 0: none */
    struct sent sends[SENDER_BURST];
    unsigned short random[3];
};

/* Starts the thread, which blocks. 0, or an errno value. */
int sender_start(struct sender *sender, struct run *run, const struct interrupt_line *line);

/* Lets it send `count` interrupts, the first one after sender_watched. */
void sender_begin(struct sender *sender, uint32_t count);
void sender_watched(struct sender *sender);

/* Waits until the burst has ended; one under way ends with the next send. */
void sender_end(struct sender *sender);

/* Ends the thread. */
void sender_stop(struct sender *sender);

#endif

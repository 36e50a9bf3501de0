/* Bursts of THR-B-RR: threads of SCHED_RR that spin on one CPU, and their slices. thr_b_rr.c says
 * what a slice is and what is claimed. */
#ifndef HS_FAMILY_THREAD_ROUND_ROBIN_H
#define HS_FAMILY_THREAD_ROUND_ROBIN_H

#include "family/thread/slice_log.h"
#include "run/run.h"

#include <stdatomic.h>

enum { ROUND_ROBIN_THREADS = 16, ROUND_ROBIN_PARTS = 8 };

/* Series of THR-B-RR, and kinds of slices. */
enum { FIRST_SLICE, LATER_SLICE, SLICE_KINDS };

struct round_robin;

struct spinner {
    struct round_robin *round_robin;
    int place;
    struct rt_thread rt_thread;
    sem_t go; /* starts the thread's part of a burst */
};

struct slices {
    int count;
    int64_t sum_ns, least_ns, most_ns;
};

/* Spinning without a rest. */
struct spinning {
    uint64_t begin_ticks, end_ticks;
};

/* A burst is one part, or several with rests between them. */
struct round_robin {
    struct run *run;
    struct cpu_loss cpu_loss;
    int64_t claimed_ns; /* slice length by sched_rr_get_interval; -1: it fails */
    int64_t due_ns;     /* the same, or a guess if it fails */
    int64_t hold_ns;    /* in which a burst is due to end even if first slices are long */
    int thread_count, rounds;
    bool is_divided; /* bursts go on after rests until they have all slices */
    uint64_t until_ticks;
    struct slice_log log; /* of the burst */
    sem_t parked;         /* posted by each thread at the end of its part */
    atomic_bool is_ended; /* the burst is over: threads end */
    int part_count, cut_before;
    struct spinning parts[ROUND_ROBIN_PARTS];
    int64_t begin_at_ns; /* of the burst, as time of the run */
    struct spinner spinners[ROUND_ROBIN_THREADS];
    int64_t shares_ns[ROUND_ROBIN_THREADS]; /* of complete bursts */
    struct slices slices[SLICE_KINDS];      /* of complete bursts, seen whole */
    int64_t cut_most_ns[SLICE_KINDS];       /* longest of those that a rest cut: time it ran */
    int complete_count, incomplete_count, incomplete_in_row;
    int least_turns, incomplete_turns; /* fewest slices of a thread, by kind of burst */
    int64_t kept_ns;                   /* one thread kept the CPU for this; 0: none did */
};

/* Asks for the slice length and chooses the length of bursts. 0, or -1 with the outcome. */
int round_robin_plan(struct round_robin *round_robin);

/* Spins one burst. 0, or -1 with the outcome if the threads could not be started. */
int round_robin_spin(struct round_robin *round_robin);

/* Whether one thread has kept the CPU since the burst began. */
bool round_robin_keeps_cpu(struct round_robin *round_robin);

/* Whether the burst has lasted so many slices that a thread that kept the CPU until now counts as
 * keeping it for ever. */
bool round_robin_has_lasted(const struct round_robin *round_robin);

/* Records the slices of the burst. */
void round_robin_take(struct round_robin *round_robin);

/* Whether more bursts would tell nothing else. */
bool round_robin_is_decided(const struct round_robin *round_robin);

/* Gives the verdicts. 0, or -1 with the outcome if no burst proves anything. */
int round_robin_judge(struct round_robin *round_robin);

#endif

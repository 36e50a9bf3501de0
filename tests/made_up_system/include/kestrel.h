/* Kestrel's own calls. Each returns 0 or more, or a negative error: -KES_EINVAL, -KES_ENOENT. */
#ifndef KESTREL_H
#define KESTREL_H

#include <stdint.h>

#define KES_VERSION "3.1"
enum { KES_EINVAL = 1, KES_ENOENT = 2 };

/* The board and its processor. */
const char *kes_board(void);

/* CPUs, numbered from 0. */
int kes_cpu_count(void);
int kes_this_cpu(void);

/* Binds the calling thread to a CPU; -1: to none. `bound`: the CPU that a thread is bound to, or
 * -1; thread 0 is the caller. */
int kes_bind_cpu(int cpu);
int kes_bound_cpu(int thread, int *cpu);

/* Period of the tick. */
uint32_t kes_tick_us(void);

/* Whether the counter of the processor runs at one rate on all CPUs. */
int kes_cycles_are_even(void);

/* Stores the numbers of up to `most` threads; returns how many there are. */
int kes_thread_list(int *threads, int most);
int kes_thread_self(void);

struct kes_thread {
    uint64_t ran_ns;   /* had a CPU */
    uint64_t ready_ns; /* was ready, and had none */
};
int kes_thread_info(int thread, struct kes_thread *info);

/* The size of the heap, in bytes. */
int64_t kes_mem_total(void);

#endif

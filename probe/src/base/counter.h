/* The processor's monotonic counter. The only file that knows architectures.
 *
 * counter_read: cheapest read, may be reordered with neighbouring instructions.
 * counter_begin, counter_end: fenced, for short intervals. Instructions before
 * counter_begin complete before it reads; those after counter_end start after it has read.
 */
#ifndef HS_BASE_COUNTER_H
#define HS_BASE_COUNTER_H

#include <stdint.h>

#if defined(__x86_64__) || defined(__i386__)
#define COUNTER_NAME "tsc"
static inline uint64_t counter_read(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
static inline uint64_t counter_begin(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}
/* Not rdtscp: hypervisors may mask it, and rdtsc after lfence waits for the same. */
static inline uint64_t counter_end(void)
{
    return counter_begin();
}
#elif defined(__aarch64__)
#define COUNTER_NAME "cntvct"
static inline uint64_t counter_read(void)
{
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
}
static inline uint64_t counter_begin(void)
{
    uint64_t value;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(value)::"memory");
    return value;
}
static inline uint64_t counter_end(void)
{
    return counter_begin();
}
#elif defined(__riscv) && __riscv_xlen == 64
#define COUNTER_NAME "rdtime"
static inline uint64_t counter_read(void)
{
    uint64_t value;
    __asm__ volatile("rdtime %0" : "=r"(value));
    return value;
}
static inline uint64_t counter_begin(void)
{
    uint64_t value;
    __asm__ volatile("fence\n\trdtime %0\n\tfence" : "=r"(value)::"memory");
    return value;
}
static inline uint64_t counter_end(void)
{
    return counter_begin();
}
#elif defined(__riscv) && __riscv_xlen == 32
#define COUNTER_NAME "rdtime"
/* Read the upper half twice: if it changed, the lower half wrapped in between. */
static inline uint64_t counter_read(void)
{
    uint32_t high, low, again;
    do
        __asm__ volatile("rdtimeh %0\n\trdtime %1\n\trdtimeh %2"
                         : "=&r"(high), "=&r"(low), "=&r"(again));
    while (high != again);
    return (uint64_t)high << 32 | low;
}
static inline uint64_t counter_begin(void)
{
    __asm__ volatile("fence" ::: "memory");
    uint64_t value = counter_read();
    __asm__ volatile("fence" ::: "memory");
    return value;
}
static inline uint64_t counter_end(void)
{
    return counter_begin();
}
#else
#define COUNTER_NAME ""
static inline uint64_t counter_read(void)
{
    return 0;
}
static inline uint64_t counter_begin(void)
{
    return 0;
}
static inline uint64_t counter_end(void)
{
    return 0;
}
#endif

#endif

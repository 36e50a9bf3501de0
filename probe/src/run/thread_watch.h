/* Counters of the threads of a test between two looks, for each measured CPU (counter_watch.h). All
 * threads of this process count but its main thread, which supervises; and those of its second
 * process.
 *
 * A thread counts for the measured CPU on which it was seen first, also when it is moved away. What
 * a thread did before it was seen first, or after it was seen last, is not known: where a thread
 * came or went between two looks, a sum of 0 is not known either.
 *
 * A thread that is bound to one measured CPU, and was at the look before, has to stay there: if its
 * affinity changes or it migrates, it was moved from outside, and `taken` tells when. */
#ifndef HS_RUN_THREAD_WATCH_H
#define HS_RUN_THREAD_WATCH_H

#include "base/cpus.h"
#include "base/options.h"
#include "port/port.h"
#include "record/arena.h"

#include <stdbool.h>
#include <sys/types.h>

/* A CPU that a test does not have any more. Times: CLOCK_MONOTONIC. */
struct cpu_taken {
    bool is_found;
    bool is_offline; /* seen by who looks */
    int cpu;
    int64_t sure_ns;  /* latest look at which the test had it; 0: none */
    int64_t found_ns; /* 0: not while it measured */
};

/* Which threads have to stay on the CPU that they are bound to: all, those that start in the
 * measurement (the measuring thread visits their CPUs to start them), or none (they change it
 * themselves). */
enum watch_held { WATCH_HOLDS_ALL, WATCH_HOLDS_LATER, WATCH_HOLDS_NONE };

enum { WATCH_THREADS = HS_WATCH_THREADS, WATCH_COUNTERS = 5 };

struct watched_thread {
    pid_t process, thread; /* process 0: this one */
    int cpu;               /* that it counts for; -1: none yet */
    bool is_there;         /* at the last look */
    bool is_partial;       /* it came or went in this interval */
    bool was_asked_for;    /* the last look was made because threads were about to end */
    int64_t moves;         /* seen as changes of its CPU, where the kernel does not count them */
    int last_cpu;
    int bound_cpu;                 /* at the last look; -1: to none, or to several */
    bool only_waits;               /* it starts those that measure (WATCH_HOLDS_LATER) */
    int kept_cpu;                  /* that it must be bound to from now on; -1: none yet */
    int64_t last[WATCH_COUNTERS];  /* -1: not known */
    int64_t grown[WATCH_COUNTERS]; /* in this interval; -1: not known */
};

struct thread_watch {
    struct cpus measured;
    int count;
    bool is_short; /* more threads than WATCH_THREADS */
    int64_t total[WATCH_COUNTERS];
    bool is_total_partial;
    pid_t process; /* 0: this one */
    enum watch_held held;
    struct cpu_taken taken;
    int64_t looked_ns; /* the last look; 0: none yet */
    pid_t waits;       /* thread that is not watched; 0: none */
    struct watched_thread threads[WATCH_THREADS];
    pid_t found[WATCH_THREADS + 3]; /* with two that wait, and one that is too many */
};

/* Lists the threads of `process` (0: this one) without its first one, which only waits, and of
 * `second`, and takes the counters to compare with. `waits`: a thread of `process` that does not
 * measure either; 0: none. */
void thread_watch_begin(struct thread_watch *watch, const struct cpus *measured, pid_t process,
                        pid_t second, pid_t waits, enum watch_held held);

/* Reads all threads. `is_asked_for`: threads that are new are not at work yet, and those that are
 * about to end do nothing more. */
void thread_watch_look(struct thread_watch *watch, pid_t second, bool is_asked_for);

/* Stores the sums of this interval for interval->cpu. */
void thread_watch_take(const struct thread_watch *watch, struct arena_interval *interval);

/* Whether each thread was seen at its place at the last look: bound to a measured CPU, and not
 * moved. Then all values until that look are of that CPU. Not where threads change their CPU
 * themselves, are too many to watch, or cannot be read. */
bool thread_watch_is_sure(const struct thread_watch *watch);

/* Begins the next interval; forgets threads that have ended. */
void thread_watch_next(struct thread_watch *watch);

/* Sum over all threads and intervals; -1: not known. */
int64_t thread_watch_total(const struct thread_watch *watch, enum arena_counter counter);

#endif

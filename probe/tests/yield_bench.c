/* Context switches as in THR-P-SLS, without instrumentation: two SCHED_FIFO threads on one CPU that
 * only call sched_yield. The test's mean exceeds this by the cost of its stamps and records. The
 * clock is read only before and after the loop.
 *
 * hardstone-yield-bench CPU PRIORITY SWITCHES ROUNDS
 * Prints one line per round: ns per switch. Rounds are short and followed by rests, so that none is
 * throttled. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, MOST_SWITCHES = 100000, MOST_ROUNDS = 100 };

#define REST_NS INT64_C(200000000)

struct yielder {
    struct rt_thread rt_thread;
    int yields;
    int64_t begin_ns, end_ns;
};

static void yield_many(void *argument)
{
    struct yielder *yielder = argument;
    yielder->begin_ns = clock_monotonic_ns();
    for (int i = 0; i < yielder->yields; i++)
        sched_yield();
    yielder->end_ns = clock_monotonic_ns();
}

/* From the first thread's start to its end; each of its yields is two switches. The
 * starter is above both, so that they start together. */
static int run_round(const struct rt_thread_setup *setup, int switches, double *ns)
{
    struct yielder yielders[THREADS];
    int error = 0, started = 0;
    for (; started < THREADS && !error; started++) {
        yielders[started].yields = switches / THREADS;
        error =
            rt_thread_start(&yielders[started].rt_thread, setup, yield_many, &yielders[started]);
        if (error)
            break;
    }
    for (int i = 0; i < started; i++)
        rt_thread_go(&yielders[i].rt_thread);
    for (int i = 0; i < started; i++)
        rt_thread_join(&yielders[i].rt_thread);
    if (!error)
        *ns = (double)(yielders[0].end_ns - yielders[0].begin_ns) / (double)switches;
    return error;
}

struct bench {
    struct rt_thread_setup setup;
    int switches, rounds, error;
    double ns[MOST_ROUNDS];
};

static void direct(void *argument)
{
    struct bench *bench = argument;
    for (int i = 0; i < bench->rounds && !bench->error; i++) {
        struct timespec rest = clock_ns_timespec(REST_NS);
        nanosleep(&rest, NULL);
        bench->error = run_round(&bench->setup, bench->switches, &bench->ns[i]);
    }
}

/* 0 for what is none; the limits refuse it. */
static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

int main(int argc, char *argv[])
{
    static struct bench bench;
    if (argc != 5) {
        fprintf(stderr, "usage: hardstone-yield-bench CPU PRIORITY SWITCHES ROUNDS\n");
        return 2;
    }
    struct rt_thread_setup measuring_thread = {SCHED_FIFO, number(argv[2]), number(argv[1])};
    bench.setup = (struct rt_thread_setup){SCHED_FIFO, number(argv[2]) - 1, number(argv[1])};
    bench.switches = number(argv[3]);
    bench.rounds = number(argv[4]);
    if (bench.switches < THREADS || bench.switches > MOST_SWITCHES || bench.rounds < 1 ||
        bench.rounds > MOST_ROUNDS) {
        fprintf(stderr, "hardstone-yield-bench: at most %d switches and %d rounds\n", MOST_SWITCHES,
                MOST_ROUNDS);
        return 2;
    }
    struct rt_thread rt_thread;
    int error = rt_thread_start(&rt_thread, &measuring_thread, direct, &bench);
    if (!error) {
        rt_thread_go(&rt_thread);
        rt_thread_join(&rt_thread);
        error = bench.error;
    }
    if (error) {
        fprintf(stderr, "hardstone-yield-bench: %s\n", strerror(error));
        return 5;
    }
    for (int i = 0; i < bench.rounds; i++)
        printf("%.1f\n", bench.ns[i]);
    return 0;
}

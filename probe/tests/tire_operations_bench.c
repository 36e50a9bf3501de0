/* The semaphore operations of the tire's solver `semaphore` without its arithmetic: threads at one
 * priority that take and give the semaphores of a step in the same order, and copy a mass inside
 * each. What the solver takes beyond this is its springs and sums.
 *
 * hardstone-tire-operations-bench MASSES THREADS STEPS PRIORITY
 * Prints the CPU time of all threads over masses and steps: ns for the four operations of a mass.
 * THREADS 1 has no operation in the solver; here it gives those of a thread that nobody disturbs.
 */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_MASSES = 1000000, MOST_THREADS = 64, MOST_STEPS = 100000, DOUBLES = 4 };

struct mass {
    double values[DOUBLES];
};

struct worker {
    struct rt_thread rt_thread;
    struct bench *bench;
    int begin, end;
    int64_t cpu_ns;
    struct mass sum; /* used, so that no copy is left out */
};

struct bench {
    int masses, threads, steps, error;
    pthread_barrier_t start; /* none works alone while another is not there yet */
    sem_t *taken;
    struct mass *shared;
    struct rt_thread_setup setup;
    struct worker workers[MOST_THREADS];
};

static void enter(sem_t *semaphore)
{
    if (sem_trywait(semaphore) != 0)
        while (sem_wait(semaphore) != 0)
            ;
}

static void read_mass(struct bench *bench, int i, struct mass *into)
{
    enter(&bench->taken[i]);
    *into = bench->shared[i];
    sem_post(&bench->taken[i]);
}

static void write_mass(struct bench *bench, int i, const struct mass *from)
{
    enter(&bench->taken[i]);
    bench->shared[i] = *from;
    sem_post(&bench->taken[i]);
}

static void step(struct worker *worker)
{
    struct bench *bench = worker->bench;
    int masses = bench->masses;
    for (int i = worker->begin; i < worker->end; i++) {
        struct mass before, after, opposite;
        read_mass(bench, (i + masses - 1) % masses, &before);
        read_mass(bench, (i + 1) % masses, &after);
        read_mass(bench, (i + masses / 2) % masses, &opposite);
        for (int k = 0; k < DOUBLES; k++)
            worker->sum.values[k] += before.values[k] + after.values[k] + opposite.values[k];
    }
    for (int i = worker->begin; i < worker->end; i++)
        write_mass(bench, i, &worker->sum);
}

static int64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void work(void *argument)
{
    struct worker *worker = argument;
    pthread_barrier_wait(&worker->bench->start);
    int64_t begin_ns = thread_cpu_ns();
    for (int i = 0; i < worker->bench->steps; i++)
        step(worker);
    worker->cpu_ns = thread_cpu_ns() - begin_ns;
}

static int run(struct bench *bench)
{
    int started = 0, error = 0;
    for (; started < bench->threads && !error; started++) {
        struct worker *worker = &bench->workers[started];
        worker->bench = bench;
        worker->begin = (int)((int64_t)bench->masses * started / bench->threads);
        worker->end = (int)((int64_t)bench->masses * (started + 1) / bench->threads);
        error = rt_thread_start(&worker->rt_thread, &bench->setup, work, worker);
        if (error)
            break;
    }
    if (error)
        return error; /* those that were started wait at their gates until the process ends */
    for (int i = 0; i < started; i++)
        rt_thread_go(&bench->workers[i].rt_thread);
    for (int i = 0; i < started; i++)
        rt_thread_join(&bench->workers[i].rt_thread);
    return error;
}

static int prepare(struct bench *bench)
{
    bench->taken = malloc((size_t)bench->masses * sizeof *bench->taken);
    bench->shared = calloc((size_t)bench->masses, sizeof *bench->shared);
    if (!bench->taken || !bench->shared)
        return -1;
    if (pthread_barrier_init(&bench->start, NULL, (unsigned)bench->threads) != 0)
        return -1;
    for (int i = 0; i < bench->masses; i++)
        sem_init(&bench->taken[i], 0, 1);
    return 0;
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
        fprintf(stderr, "usage: hardstone-tire-operations-bench MASSES THREADS STEPS PRIORITY\n");
        return 2;
    }
    bench.masses = number(argv[1]);
    bench.threads = number(argv[2]);
    bench.steps = number(argv[3]);
    bench.setup = (struct rt_thread_setup){SCHED_FIFO, number(argv[4]), -1};
    if (bench.masses < 4 || bench.masses > MOST_MASSES || bench.threads < 1 ||
        bench.threads > MOST_THREADS || bench.threads > bench.masses || bench.steps < 1 ||
        bench.steps > MOST_STEPS) {
        fprintf(stderr, "hardstone-tire-operations-bench: 4 to %d masses, %d threads, %d steps\n",
                MOST_MASSES, MOST_THREADS, MOST_STEPS);
        return 2;
    }
    int error = prepare(&bench) == 0 ? run(&bench) : -1;
    if (error) {
        fprintf(stderr, "hardstone-tire-operations-bench: %s\n",
                error > 0 ? strerror(error) : "no memory");
        return 5;
    }
    double cpu_ns = 0;
    for (int i = 0; i < bench.threads; i++)
        cpu_ns += (double)bench.workers[i].cpu_ns;
    printf("%.2f\n", cpu_ns / bench.masses / bench.steps);
    return 0;
}

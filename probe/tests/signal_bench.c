/* Round trips of signals as in SIG-P-LAT, without stamps, checks and records: two parties of
 * SCHED_FIFO on one CPU. The clock is read only before and after the loop. A round trip is two
 * latencies.
 *
 * hardstone-signal-bench HOW CPU PRIORITY TRIPS ROUNDS
 *   thread, process   sigqueue and sigwaitinfo, as in the test
 *   kill              pthread_kill and sigwait between threads, as signaltest of rt-tests does
 * Prints one line per round: ns per round trip. Rounds are short and followed by rests, so that
 * none is throttled. */
#include "base/posix_source.h"

#include "base/clock.h"
#include "base/rt_thread.h"
#include "port/port.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_TRIPS = 50000, MOST_ROUNDS = 100, DEADLINE_S = 60 };

#define REST_NS INT64_C(200000000)

enum how { THREAD, PROCESS, KILL };

struct bench {
    enum how how;
    struct rt_thread_setup setup;
    int trips, rounds, error;
    int ask, answer;
    pid_t first, second;
    pthread_t first_thread;
    struct rt_thread other;
    double ns[MOST_ROUNDS];
};

static void wait_for(const struct bench *bench, int number)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, number);
    if (bench->how == KILL)
        sigwait(&set, &number);
    else
        sigwaitinfo(&set, &info);
}

static void answer_all(void *argument)
{
    struct bench *bench = argument;
    for (int i = 0; i < bench->trips; i++) {
        union sigval value = {.sival_int = i};
        wait_for(bench, bench->ask);
        if (bench->how == KILL)
            pthread_kill(bench->first_thread, bench->answer);
        else
            sigqueue(bench->first, bench->answer, value);
    }
}

/* Its thread blocked all signals when it was forked. */
static int be_process(struct bench *bench)
{
    sigset_t deadline;
    sigemptyset(&deadline);
    sigaddset(&deadline, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &deadline, NULL);
    alarm(DEADLINE_S);
    int error = port_kill_with_parent(bench->first);
    if (!error)
        error = port_pin_self(bench->setup.cpu);
    if (!error)
        error = rt_thread_set_self(bench->setup.policy, bench->setup.priority);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    if (!error)
        answer_all(bench);
    return error;
}

static int start_other(struct bench *bench)
{
    if (bench->how != PROCESS) {
        int error = rt_thread_start(&bench->other, &bench->setup, answer_all, bench);
        if (!error)
            rt_thread_go(&bench->other);
        bench->second = getpid();
        return error;
    }
    bench->second = fork();
    if (bench->second == 0)
        _exit(be_process(bench));
    return bench->second < 0 ? errno : 0;
}

static int join_other(struct bench *bench)
{
    if (bench->how == PROCESS)
        return port_wait_for(bench->second);
    rt_thread_join(&bench->other);
    return 0;
}

static double make_trips(struct bench *bench)
{
    int64_t begin_ns = clock_monotonic_ns();
    for (int i = 0; i < bench->trips; i++) {
        union sigval value = {.sival_int = i};
        if (bench->how == KILL)
            pthread_kill(bench->other.thread, bench->ask);
        else
            sigqueue(bench->second, bench->ask, value);
        wait_for(bench, bench->answer);
    }
    return (double)(clock_monotonic_ns() - begin_ns) / bench->trips;
}

/* The other party has blocked in its wait by the end of the rest. */
static void run_rounds(void *argument)
{
    struct bench *bench = argument;
    struct timespec rest = clock_ns_timespec(REST_NS);
    bench->first_thread = pthread_self();
    for (int i = 0; i < bench->rounds && !bench->error; i++) {
        bench->error = start_other(bench);
        if (bench->error)
            return;
        nanosleep(&rest, NULL);
        bench->ns[i] = make_trips(bench);
        bench->error = join_other(bench);
    }
}

static int run(struct bench *bench)
{
    struct rt_thread rt_thread;
    int error = rt_thread_start(&rt_thread, &bench->setup, run_rounds, bench);
    if (error)
        return error;
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    return bench->error;
}

/* 0 for what is none; the limits refuse it. */
static int number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

static bool read_words(struct bench *bench, char *words[])
{
    static const char *const names[] = {"thread", "process", "kill"};
    for (bench->how = THREAD; bench->how <= KILL && strcmp(words[1], names[bench->how]) != 0;)
        bench->how++;
    bench->setup = (struct rt_thread_setup){SCHED_FIFO, number(words[3]), number(words[2])};
    bench->trips = number(words[4]);
    bench->rounds = number(words[5]);
    return bench->how <= KILL && bench->trips > 0 && bench->trips <= MOST_TRIPS &&
           bench->rounds > 0 && bench->rounds <= MOST_ROUNDS;
}

/* In this thread, and all that it starts. */
static void block(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char *argv[])
{
    static struct bench bench;
    if (argc != 6 || !read_words(&bench, argv)) {
        fprintf(stderr,
                "usage: hardstone-signal-bench thread|process|kill CPU PRIORITY TRIPS ROUNDS\n"
                "at most %d trips and %d rounds\n",
                MOST_TRIPS, MOST_ROUNDS);
        return 2;
    }
    alarm(DEADLINE_S);
    bench.first = getpid();
    bench.ask = bench.how == KILL ? SIGUSR1 : SIGRTMIN;
    bench.answer = bench.how == KILL ? SIGUSR2 : SIGRTMIN + 1;
    block(bench.ask);
    block(bench.answer);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    int error = run(&bench);
    if (error) {
        fprintf(stderr, "hardstone-signal-bench: %s\n", strerror(error));
        return 5;
    }
    for (int i = 0; i < bench.rounds; i++)
        printf("%.1f\n", bench.ns[i]);
    return 0;
}

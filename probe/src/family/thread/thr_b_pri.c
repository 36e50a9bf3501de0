/* THR-B-PRI: fixed priorities are kept and do not degrade (HP 1987; Obenland 2000). All threads run
 * on one CPU. There is one thread of the run's policy at each priority from the lowest to just
 * below the run's; the measuring thread has the run's.
 *
 *   ready_order  all are made ready in a random order, then in its reverse, while the measuring
 *                thread keeps the CPU. Then they must run from the highest down, by their first
 *                readings of the counter
 *   preempts     each makes the next higher one ready and reads the counter before and after: the
 *                higher one must have run in between. The chain goes through all priorities up to
 *                the measuring thread, so every pair of neighbours is tried
 *   levels       at least 32 priorities exist, and as many were told apart in that chain
 *   long_use     a thread that has used much CPU time (again and again three quarters of what
 *                real-time threads may spin without a rest) is still preferred: a lower
 *                real-time thread and a time-shared one (SCHED_OTHER), both ready all the time,
 *                do not run before it blocks, and it runs at once when either makes it ready
 *   time_shared  a spinning time-shared thread makes a real-time thread ready, a thousand times:
 *                each time the real-time thread runs before the time-shared one goes on
 *
 *   system_calls/KIND
 *                a time-shared process on the run's CPU repeats one kind of system call all the
 *                time (call_party.c). The measuring thread sleeps for 50 us to 1 ms, at random, and
 *                so interrupts it anywhere; then it makes a real-time thread, one below itself,
 *                ready and blocks. From there until that thread has run for 50 us and blocks, the
 *                process must make no step and get no CPU time. `wait` is a process that is woken
 *                in its call at the same moment: time-sharing kernels of 1987 woke it with a
 *                priority above user mode. Only rounds count in which the process was between
 *                begin and end of its operation
 *   system_processes
 *                while the thread of long_use is ready or spins, no time-shared process of the
 *                system that is bound to the CPU gets CPU time; on Linux these are threads of the
 *                kernel, as workers and ksoftirqd. It holds only if one was ready meanwhile: its
 * run delay grew by more than the time around the spinning (system_threads.h)
 *
 * What is not seen: how long the call that a wake-up interrupts delays the measuring thread itself,
 * on a kernel that does not preempt it; work of the system that runs in
 * no process, as interrupt handlers. Where the system counts no CPU time of processes, what the
 * process does inside its call is not seen, only that it returns from it. What cannot be seen at
 * all has no verdict and an event with the reason (not_seen).
 *
 * How it could be wrong: priorities above the run's are not tried (the supervisor and the kernel's
 * threads are there). Throttling lets lower threads run: if it cut into a burst the result fails
 * with that reason (event throttled), not just the verdict.
 */
#include "base/posix_source.h"

#include "family/thread/long_use.h"
#include "family/thread/priority_ladder.h"
#include "family/thread/scenario.h"
#include "family/thread/system_calls.h"

enum { ROUNDS = 2, LEVELS = 4 };

static const struct verdict_spec verdicts[] = {
    {"ready_order", "ready threads run from the highest priority down"},
    {"preempts", "each priority preempts the next lower one at once"},
    {"levels", "there are at least 32 real-time priorities"},
    {"long_use", "a real-time thread that has used the CPU for long keeps its priority"},
    {"time_shared", "a time-shared thread does not delay a real-time one that it makes ready"},
    {"system_calls", "a time-shared process inside a system call does not run while a real-time "
                     "thread is ready; how "
                     "long the call keeps the CPU before is not seen"},
    {"system_processes",
     "time-shared processes of the system do not run while a real-time thread is ready"},
    {0},
};

struct own {
    struct long_use use;
    struct system_calls calls;
    struct levels *levels; /* in the same allocation, behind this struct */
};

static int rounds_of(const struct run *run)
{
    return run->samples < INT32_MAX ? (int)run->samples : INT32_MAX;
}

static int prepare(struct run *run)
{
    if (thread_scenario_check(run, LEVELS) != 0)
        return -1;
    size_t bytes =
        sizeof(struct levels) + (size_t)priority_ladder_count(run) * sizeof(struct level);
    struct own *own = run_own(run, sizeof *own + bytes);
    if (!own)
        return -1;
    own->levels = (struct levels *)(own + 1);
    own->levels->run = run;
    own->use.run = own->use.system.run = own->calls.run = run;
    system_threads_open(&own->use.system);
    return 0;
}

static int measure(struct run *run)
{
    struct own *own = run->own;
    if (priority_ladder_try(own->levels) != 0)
        return -1;
    if (system_calls_try(&own->calls) != 0)
        return -1;
    return long_use_try(&own->use, rounds_of(run));
}

static int judge(struct run *run)
{
    const struct own *own = run->own;
    if (cpu_loss_judge(&own->calls.cpu_loss, run) != 0)
        return -1;
    return cpu_loss_judge(&own->use.cpu_loss, run);
}

const struct test thr_b_pri = {
    .id = "THR-B-PRI",
    .title = "Fixed priorities: order, preemption, at least 32 levels",
    .source = "[H] HP 1987; [O] Obenland 2000",
    .verdicts = verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = ROUNDS,
    .counts_rounds = true,
    .setup_ns = 1500000000,
    .sample_ns = 900000000,
    .prepare = prepare,
    .measure = measure,
    .judge = judge,
};

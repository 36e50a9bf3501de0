#include "base/posix_source.h"

#include "family/clock/clock_ring.h"

#include <stdio.h>
#include <string.h>

/* MOST_TOKEN_ROUNDS: for a CLOCK_MONOTONIC that stands still. */
enum { TOKEN_ROUNDS = 4000, MOST_TOKEN_ROUNDS = 1000000 };

/* Goes on after TOKEN_ROUNDS while there are too few steps: equal readings prove nothing. */
static bool has_compared_enough(const struct clock_ring *ring, int round)
{
    if (round < TOKEN_ROUNDS)
        return false;
    return ring->step_count >= CLOCK_SUBJECT_STEPS || round >= MOST_TOKEN_ROUNDS ||
           clock_monotonic_ns() >= ring->until_ns;
}

static void compare(struct clock_ring *ring, int64_t reading)
{
    int64_t length = reading - ring->last;
    if (length != 0)
        ring->step_count++;
    if (length < 0)
        ring->back_count++;
    if (length < ring->back_worst)
        ring->back_worst = length;
}

/* The measuring thread, first in each round, ends the ring. */
static void pass_token(void *argument)
{
    struct clock_ring_member *member = argument;
    struct clock_ring *ring = member->ring;
    for (int round = 0;; round++) {
        int mine = round * ring->count + member->place;
        while (atomic_load_explicit(&ring->turn, memory_order_acquire) != mine)
            if (atomic_load_explicit(&ring->is_over, memory_order_relaxed) || run_should_stop())
                return;
        if (member->place == 0 && has_compared_enough(ring, round))
            break;
        int64_t reading = clock_subject_read(&ring->run->clock, ring->subject);
        if (mine > 0)
            compare(ring, reading);
        ring->last = reading;
        atomic_store_explicit(&ring->turn, mine + 1, memory_order_release);
    }
    atomic_store(&ring->is_over, 1);
}

/* Starts a thread on each other CPU; the measuring thread is member 0. 0 or an errno value. */
static int start_members(struct clock_ring *ring, const int *cpus, int count)
{
    for (int i = 1; i < count; i++) {
        ring->members[i] = (struct clock_ring_member){.ring = ring, .place = i};
        struct rt_thread_setup setup = ring->run->setup;
        setup.cpu = cpus[i];
        int error =
            rt_thread_start(&ring->members[i].rt_thread, &setup, pass_token, &ring->members[i]);
        if (!error)
            continue;
        atomic_store(&ring->is_over, 1);
        for (int j = 1; j < i; j++) {
            rt_thread_go(&ring->members[j].rt_thread);
            rt_thread_join(&ring->members[j].rt_thread);
        }
        return error;
    }
    return 0;
}

static void tell_ring(struct run *run, const struct clock_ring *ring)
{
    const struct clock_subject *subject = ring->subject;
    char name[ARENA_NAME_BYTES];
    if (ring->step_count == 0) {
        arena_event(run->arena, "clock_stands_still", -1,
                    DATA(data_text("clock", subject->name), data_integer("equal_count", ring->turn),
                         data_integer("cpu_count", ring->count)),
                    "%s: %d readings by CPUs in turn are all equal: no comparison", subject->name,
                    ring->turn);
        return;
    }
    snprintf(name, sizeof name, "monotonic_across_cpus/%.16s",
             subject->is_counter ? subject->name : subject->name + 6);
    arena_verdict(run->arena, ring->back_count == 0, (uint64_t)ring->turn, name,
                  "%d readings in turn, CPUs: %d; %llu steps back, the worst %lld ns", ring->turn,
                  ring->count, (unsigned long long)ring->back_count,
                  (long long)-clock_subject_ns(&run->clock, subject, ring->back_worst));
}

void clock_ring_run(struct run *run, struct clock_ring *ring, const struct clock_subject *subject,
                    const int *cpus, int count)
{
    memset(ring, 0, sizeof *ring);
    ring->run = run;
    ring->subject = subject;
    ring->count = count;
    int error = start_members(ring, cpus, count);
    if (error) {
        arena_event(run->arena, "ring_not_started", -1,
                    DATA(data_text("clock", subject->name), data_text("error", strerror(error))),
                    "%s across CPUs: %s", subject->name, strerror(error));
        return;
    }
    rt_budget_rest_ahead(&run->rt_budget, CLOCK_SUBJECT_STEPS_NS);
    ring->until_ns = clock_monotonic_ns() + CLOCK_SUBJECT_STEPS_NS;
    for (int i = 1; i < count; i++)
        rt_thread_go(&ring->members[i].rt_thread);
    ring->members[0] = (struct clock_ring_member){.ring = ring, .place = 0};
    pass_token(&ring->members[0]);
    for (int i = 1; i < count; i++)
        rt_thread_join(&ring->members[i].rt_thread);
    if (!run_should_stop())
        tell_ring(run, ring);
}

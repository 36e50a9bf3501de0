/* What a run says when the process that its test depends on dies, and when it looks at the trace.
 * Each run is that of a process of its own, with an invented test. */
#include "base/posix_source.h"

#include "child_run.h"
#include "fake_port.h"
#include "port/port.h"
#include "run/run.h"
#include "run/supervise.h"
#include "run/trace_ring.h"
#include "tap.h"

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

/* The calls in the place of the port's need few of their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static const struct timespec rest = {0, 1000000};
/* Depends on a process that is killed, until the supervisor has seen it and asks for the end. */
static void lose_the_party(struct run *run)
{
    pid_t party = fork();
    if (party == 0)
        for (;;)
            pause();
    supervise_process(run, party, "invented party");
    kill(party, SIGKILL);
    while (!run_should_stop())
        nanosleep(&rest, NULL);
    supervise_process(run, 0, NULL);
    waitpid(party, NULL, 0);
}

static int end_well(struct run *run)
{
    lose_the_party(run);
    record_value(arena_record(run->arena, 0), 1, 0);
    return 0;
}

/* As on a CPU that others take: the thread depends on nobody, and has no time to say so. */
static int end_never(struct run *run)
{
    static atomic_bool has_time;
    lose_the_party(run);
    while (!atomic_load(&has_time))
        nanosleep(&rest, NULL);
    return 0;
}

/* ---- looks at the trace ---- */

/* In the place of run/trace_ring.c. */
static struct trace_ring {
    atomic_bool is_due;
} ring;

ANSWERS(struct trace_ring *, trace_ring_open,
        (const struct cpus *measured, struct outcome *outcome), &ring);
ANSWERS(int, trace_ring_start, (struct trace_ring * started, struct outcome *outcome), 0);
DOES_NOTHING(trace_ring_hold, (struct trace_ring * held));

void trace_ring_look(struct trace_ring *looked_at, struct arena *arena)
{
    if (CHECK(looked_at == &ring))
        arena_event(arena, "ring_looked_at", -1, NO_DATA, "while it measures");
    atomic_store(&ring.is_due, false);
}

void trace_ring_end(struct trace_ring *ended, struct arena *arena)
{
    if (ended)
        arena_event(arena, "ring_ended", -1, NO_DATA, "when it has measured");
}

DOES_NOTHING(trace_ring_close, (struct trace_ring * closed));

/* In the place of the one in run/watch.c, by the linker: no second has to pass. */
WRAP_IF(true, atomic_load(&ring.is_due) ? 0 : INT64_MAX, int64_t, counter_watch_due_ns,
        (const struct counter_watch *watch), (watch));

/* SIGCHLD wakes the supervisor. */
static int end_after_a_look(struct run *run)
{
    atomic_store(&ring.is_due, true);
    kill(getpid(), SIGCHLD);
    while (atomic_load(&ring.is_due) && !run_should_stop())
        nanosleep(&rest, NULL);
    record_value(arena_record(run->arena, 0), 1, 0);
    return 0;
}

/* No CPU is free of measuring: whoever ends looks itself, and the supervisor sleeps. */
static int end_while_others_measure(struct run *run)
{
    int before = atomic_load(&run->looks);
    supervise_look_at_threads(run);
    if (atomic_load(&run->looks) == before)
        arena_event(run->arena, "supervisor_slept", -1, NO_DATA, "while others measure");
    record_value(arena_record(run->arena, 0), 1, 0);
    return 0;
}

/* `option`: NULL or one more word. */
static const char *stream_of(int (*measure)(struct run *run), char *deadline, char *option,
                             int wanted)
{
    const struct test invented = {.id = "INVENTED",
                                  .title = "is supervised",
                                  .setup_ns = 1000000,
                                  .series = child_series,
                                  .measure = measure};
    const char *text =
        child_run_of(&invented, (const char *const[]){"--deadline-ns", deadline, option, NULL});
    CHECK_SAME(child_code, wanted);
    return text;
}

TEST(who_ends_at_once_and_who_does_not)
{
    if (!port_has_processes()) {
        tap_skip("this system makes no second process");
        return;
    }
    for (int i = 0; i < 2; i++) {
        const char *text = stream_of(i == 0 ? end_well : end_never, "60s", NULL, 3);
        CHECK_HOLDS(text, "\"status\":\"failed\"", "the process of the invented party ended early");
    }
}

WRAP_TEST(the_trace)
{
    const char *text = stream_of(end_after_a_look, "60s", "--trace", 0);
    CHECK_HOLDS(text, "\"name\":\"ring_looked_at\"", "\"name\":\"ring_ended\"");
}

TEST(where_all_measure)
{
    const char *text = stream_of(end_while_others_measure, "60s", NULL, 0);
    CHECK_HOLDS(text, "\"name\":\"supervisor_slept\"");
}

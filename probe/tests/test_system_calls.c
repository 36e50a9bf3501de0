/* What a round of THR-B-PRI beside a process inside system calls proves: rounds are made up. */
#include "base/posix_source.h"

#include "fake_port.h"
#include "tap.h"

#include "family/thread/system_calls.c"

#define MS INT64_C(1000000)
#define KIND 1

static struct run run;
static struct system_calls calls;
static struct call_party party;

static void begin(void)
{
    memset(&run, 0, sizeof run);
    memset(&calls, 0, sizeof calls);
    memset(&party, 0, sizeof party);
    fake_port =
        (struct fake_port){.has_budget = true, .runtime_ns = 950 * MS, .period_ns = 1000 * MS};
    run.arena = arena_create(&run.plan, NULL, &run.outcome);
    calls.run = &run;
    calls.party = &party;
    party.kind = KIND;
    cpu_loss_open(&calls.cpu_loss, &run);
}

/* The party makes so many steps and runs for `cpu_ns` while the real-time thread, which runs after
 * `delay_ns`, is ready or has the CPU. */
static void play(bool is_inside, uint64_t steps, int64_t cpu_ns, int64_t delay_ns)
{
    calls.before = (struct call_progress){7, 3 * MS, 100 * MS};
    calls.first = calls.before;
    calls.first.at_ns += delay_ns;
    calls.last = calls.first;
    calls.last.step_count += steps;
    calls.last.cpu_ns += cpu_ns;
    judge_round(&calls, is_inside);
}

static void end(void)
{
    arena_free(run.arena);
    arena_plan_free(&run.plan);
}

static void check_verdict(bool pass, const char *evidence)
{
    tell_kind(&calls);
    if (CHECK_SAME(run.arena->verdict_count, 1)) {
        CHECK_TEXT(run.arena->verdicts[0].name, "system_calls/map");
        CHECK_SAME(run.arena->verdicts[0].pass, pass);
        CHECK_HOLDS(run.arena->verdicts[0].evidence, evidence);
    }
    end();
}

static void check_not_seen(const char *reason)
{
    tell_kind(&calls);
    CHECK_SAME(run.arena->verdict_count, 0);
    if (CHECK_SAME(run.arena->event_count, 1)) {
        CHECK_TEXT(run.arena->events[0].name, "not_seen");
        CHECK_HOLDS(run.arena->events[0].text, reason);
    }
    end();
}

TEST(it_stood_still)
{
    begin();
    play(true, 0, 0, 2 * MS);
    play(true, 0, 0, 0);
    check_verdict(true, "2 times a real-time thread was made ready");
}

/* It returned from its call, and the system counts no CPU time. */
TEST(a_step_is_a_delay)
{
    begin();
    play(true, 0, 0, 0);
    play(true, 1, 0, 2 * MS);
    check_verdict(false,
                  "1 times it went on before that thread had run and blocked, for up to 2000");
}

/* It went on inside its call. */
TEST(cpu_time_is_a_delay)
{
    begin();
    play(true, 0, MS / 2, 2 * MS);
    check_verdict(false,
                  "1 times it went on before that thread had run and blocked, for up to 500");
}

TEST(outside_a_call_nothing_is_proved)
{
    begin();
    play(false, 0, 0, 0);
    check_not_seen("was never inside: mmap");
    begin();
    play(true, 0, 0, 0);
    play(false, 1, MS, 0);
    check_verdict(true, "1 times a real-time thread was made ready");
}

/* Throttling lets time-shared processes run: the result fails for that reason. */
TEST(a_round_that_was_cut_is_not_judged)
{
    begin();
    play(true, 1, 50 * MS, 50 * MS);
    CHECK_SAME(calls.inside_count, 0);
    CHECK_SAME(calls.delayed_count, 0);
    CHECK_SAME(cpu_loss_judge(&calls.cpu_loss, &run), -1);
    end();
}

TEST(a_call_that_fails_is_told)
{
    begin();
    atomic_store(&party.error, ENOMEM);
    play(true, 0, 0, 0);
    check_not_seen("mmap, page faults, munmap failed: ");
}

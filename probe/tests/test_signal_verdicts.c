/* The verdicts of SIG-B-QUE on made-up counts of what was sent and delivered. Builds sig_b_que.c
 * anew. */
#include "base/posix_source.h"

#include "family/signal/sig_b_que.c"
#include "made_up_run.h"
#include "tap.h"

static struct own own;

static bool begin(void)
{
    memset(&own, 0, sizeof own);
    run_of(&sig_b_que);
    run.own = &own;
    run.variant.text[0] = "handler";
    run.variant.text[1] = "thread";
    run_make_arena();
    own.totals =
        (struct totals){.sent_count = 200, .numbers_count = 9, .round_count = 1, .burst_count = 2};
    own.totals.storm.seen_count = 9;
    return true;
}

static void deliver(uint64_t received)
{
    own.totals.storm.received_count = received;
    judge_storm(&run);
}

#define STORM_TEST(what) TEST_IN(begin(), run_free(), what)

static const struct arena_verdict *verdict_of(const char *claim)
{
    size_t length = strlen(claim);
    for (uint32_t i = 0; i < run.arena->verdict_count; i++)
        if (strncmp(run.arena->verdicts[i].name, claim, length) == 0)
            return &run.arena->verdicts[i];
    return NULL;
}

/* Passed, failed or none, of each claim in the order of `verdicts`. */
static const char *judged(void)
{
    static char text[sizeof verdicts / sizeof verdicts[0]];
    for (int i = 0; verdicts[i].name; i++) {
        const struct arena_verdict *verdict = verdict_of(verdicts[i].name);
        text[i] = !verdict ? '.' : verdict->pass ? '+' : '-';
    }
    return text;
}

STORM_TEST(all_are_delivered)
{
    deliver(200);
    CHECK_TEXT(judged(), "++++++..");
    CHECK(!event("not_seen"));
}

/* sigpending was seen to report them; all else that would hold speaks of nothing. */
STORM_TEST(none_is_delivered)
{
    deliver(0);
    CHECK_TEXT(judged(), ".+-.....");
    expect_event("not_seen", "too few of the queued signals were delivered");
}

STORM_TEST(one_is_delivered)
{
    deliver(1);
    CHECK_TEXT(judged(), "++-..+..");
}

STORM_TEST(what_is_wrong_fails_however_few_there_are)
{
    own.totals.storm.early_count = 1;
    own.totals.storm.lower_later_count = own.totals.storm.not_fifo_count = 1;
    own.totals.storm.wrong_count = 1;
    deliver(1);
    CHECK_TEXT(judged(), "-+----..");
}

/* Nobody sent them. */
STORM_TEST(some_are_delivered_though_none_was_queued)
{
    own.totals.sent_count = own.totals.numbers_count = own.totals.storm.seen_count = 0;
    own.totals.storm.wrong_count = 3;
    deliver(3);
    CHECK_SAME(judged()[0], '.');
    CHECK_SAME(judged()[1], '.');
    CHECK_SAME(judged()[2], '-');
    CHECK_SAME(judged()[5], '-');
}

/* The verdicts of SIG-B-QUE on made-up counts of what was sent and delivered. Builds sig_b_que.c
 * anew. */
#include "base/posix_source.h"

#include "family/signal/sig_b_que.c"
#include "made_up_run.h"
#include "tap.h"

static struct own own;

static void begin(void)
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
}

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

static const struct {
    const char *name;
    uint64_t received, sent, wrong, disorder; /* early, not in order of age or number */
    const char *judged;                       /* '*': either */
} rows[] = {
    {"all are delivered", 200, 200, 0, 0, "++++++.."},
    /* sigpending was seen to report them; all else that would hold speaks of nothing */
    {"none is delivered", 0, 200, 0, 0, ".+-....."},
    {"one is delivered", 1, 200, 0, 0, "++-..+.."},
    {"what is wrong fails however few there are", 1, 200, 1, 1, "-+----.."},
    /* nobody sent them */
    {"some are delivered though none was queued", 3, 0, 3, 0, "..-**-**"},
};

TEST(a_storm)
{
    foreach (row, rows, row->name) {
        begin();
        own.totals.sent_count = row->sent;
        if (row->sent == 0)
            own.totals.numbers_count = own.totals.storm.seen_count = 0;
        own.totals.storm.early_count = own.totals.storm.lower_later_count = row->disorder;
        own.totals.storm.not_fifo_count = row->disorder;
        own.totals.storm.wrong_count = row->wrong;
        own.totals.storm.received_count = row->received;
        judge_storm(&run);
        for (int i = 0; row->judged[i]; i++)
            CHECK(row->judged[i] == '*' || judged()[i] == row->judged[i]);
        CHECK(row->received < 200 || !event("not_seen"));
        if (row->received == 0)
            expect_event("not_seen", "too few of the queued signals were delivered");
        run_free();
    }
}

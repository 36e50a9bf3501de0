/* What MUT-B-ARC makes of an order: the log of each round is made up, and no thread plays it. And
 * how low keeps the lock until high has given up, on a made-up clock. Builds inversion.c anew. */
#include "base/posix_source.h"

#include "family/mutex/inversion.c"
#include "made_up_run.h"
#include "tap.h"

#define READ_NS 1000
#define NEVER INT64_MAX

static const char *const blocked[] = {
    "low locked", "high asked",  "high blocked", "low ran",    "medium made ready",
    "low let go", "high got it", "high ended",   "medium ran", NULL};
static const char *const inverted[] = {
    "low locked", "high asked", "high blocked", "low ran",    "medium made ready",
    "medium ran", "low let go", "high got it",  "high ended", NULL};
static const char *const asked_late[] = {"low locked", "low ran",    "medium made ready",
                                         "high asked", "low let go", "high got it",
                                         "high ended", "medium ran", NULL};
static const char *const asked_late_and_gave_up[] = {
    "low locked",   "low ran",    "medium made ready", "high asked", "low went on",
    "high gave up", "low let go", "medium ran",        NULL};
static const char *const let_in[] = {"low locked", "high asked", "high got it",
                                     "high ended", "low ran",    "medium made ready",
                                     "low let go", "medium ran", NULL};

static struct {
    const char *const *first; /* orders of the first rounds, and of those that follow */
    const char *const *then;
    int first_count, rounds, posts;
    int64_t now_ns, tick_ns, gives_up_ns; /* the time at which high gives up by itself */
    int yields;
    int64_t yielded_ns;  /* the first time */
    bool yield_lets_run; /* high, which gives up then */
} fake;

static struct inversion scenario;
static struct clock counter;

int clock_getres(clockid_t id, struct timespec *step)
{
    (void)id;
    *step = clock_ns_timespec(fake.tick_ns);
    return 0;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    fake.now_ns += READ_NS;
    if (fake.now_ns >= fake.gives_up_ns)
        atomic_store(&scenario.has_given_up, 1);
    *time = clock_ns_timespec(fake.now_ns);
    return 0;
}

int sched_yield(void)
{
    if (fake.yields++ == 0)
        fake.yielded_ns = fake.now_ns;
    if (fake.yield_lets_run)
        atomic_store(&scenario.has_given_up, 1);
    return 0;
}

bool burst_was_disturbed(const struct run *one)
{
    (void)one;
    return false;
}

int64_t burst_next(struct run *one)
{
    (void)one;
    return 0;
}

/* A round's threads: the words go to the log, in their order. */
static void tell(const char *const *words)
{
    static const char *const names[] = {"low", "medium", "high"};
    for (uint64_t i = 0; words[i]; i++)
        for (int who = 0; who < 3; who++)
            if (strncmp(words[i], names[who], strlen(names[who])) == 0)
                order_log_add_at(&scenario.log, i + 1, names[who], ORDER_LOG_NO_NUMBER,
                                 words[i] + strlen(names[who]) + 1);
}

/* The end of a part of a round. */
int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
    (void)semaphore, (void)until;
    if (fake.posts++ % 3 == 0)
        tell(fake.rounds++ < fake.first_count ? fake.first : fake.then);
    return 0;
}

static bool begin(void)
{
    memset(&fake, 0, sizeof fake);
    memset(&scenario, 0, sizeof scenario);
    run_of(&mut_b_inv);
    run_make_arena();
    clock_open(&counter, false, 0);
    scenario.clock = &counter;
    scenario.run = &run;
    scenario.scale = 1;
    scenario.setup =
        (struct inversion_setup){.kind = LOCK_KIND_INHERIT, .links = 1, .is_logged = true};
    fake.now_ns = CLOCK_NS_PER_S;
    fake.gives_up_ns = NEVER;
    return true;
}

static const char *judged(void)
{
    inversion_rounds(&scenario, &run, 20, NULL);
    inversion_verdict(&scenario, &run, "avoided/inherit");
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    return run.arena->verdict_count == 0 ? "none"
           : run.arena->verdicts[0].pass ? "passed"
                                         : "failed";
}

static const struct {
    const char *name;
    const char *const *then;
    int asked_late_count; /* rounds before */
    enum lock_kind kind;
    bool high_gives_up;
    const char *judged;
    int rounds; /* 0: not looked at */
    const char *event, *text;
} rows[] = {
    {"the promised order", blocked, 0, LOCK_KIND_INHERIT, false, "passed", 20},
    {"an inversion", inverted, 0, LOCK_KIND_INHERIT, false, "failed", 1},
    {"high waits late, and then waits", blocked, 7, LOCK_KIND_INHERIT, false, "passed", 27,
     "round_repeated", "high did not wait for the lock"},
    {"high waits late, and then there is an inversion", inverted, 7, LOCK_KIND_INHERIT, false,
     "failed"},
    {"high never waits", asked_late, 0, LOCK_KIND_INHERIT, false, "none",
     INVERSION_NOT_WAITED_MOST + 1, "not_seen",
     "avoided/inherit: no verdict, because high did not wait"},
    {"high never waits and gives up", asked_late_and_gave_up, 0, LOCK_KIND_INHERIT, true, "none", 0,
     "not_seen", "high did not wait"},
    {"the mutex does not exclude", let_in, 0, LOCK_KIND_INHERIT, false, "failed"},
    /* with a ceiling high asks when low has let go */
    {"high need not wait", asked_late, 0, LOCK_KIND_PROTECT, false, "failed"},
};

TEST(orders_are_judged)
{
    foreach (row, rows, row->name) {
        begin();
        fake.first = asked_late;
        fake.first_count = row->asked_late_count;
        fake.then = row->then;
        scenario.setup.kind = row->kind;
        scenario.setup.high_gives_up = row->high_gives_up;
        CHECK_TEXT(judged(), row->judged);
        if (row->rounds)
            CHECK_SAME(fake.rounds, row->rounds);
        if (row->event)
            expect_event(row->event, row->text);
        CHECK(!run_should_stop());
        run_free();
    }
}

/* ---- how long low keeps the lock ---- */

#define ORDER_TEST(what) TEST_IN(begin(), run_free(), what)

static void keep(void)
{
    scenario.setup.is_logged = false;
    keep_until_high_gave_up(&scenario);
}

/* A timeout that ends the boost lets high run at once. */
ORDER_TEST(low_does_not_yield_before_the_timeout)
{
    fake.tick_ns = 1000000;
    fake.gives_up_ns = fake.now_ns + PATIENCE_NS + 2 * fake.tick_ns;
    keep();
    CHECK_SAME(fake.yields, 0);
    CHECK(!scenario.has_kept_in_vain);
}

/* A high of the same priority has to be let run. */
ORDER_TEST(low_yields_after_the_timeout)
{
    int64_t begin_ns = fake.now_ns;
    fake.tick_ns = 1;
    fake.yield_lets_run = true;
    keep();
    CHECK_SAME(fake.yields, 1);
    CHECK(fake.yielded_ns >= begin_ns + PATIENCE_NS);
    CHECK(fake.yielded_ns <= begin_ns + PATIENCE_NS + 10 * READ_NS);
    CHECK(!scenario.has_kept_in_vain);
}

ORDER_TEST(low_does_not_keep_the_lock_for_ever)
{
    int64_t begin_ns = fake.now_ns;
    fake.tick_ns = CLOCK_NS_PER_S;
    keep();
    CHECK(scenario.has_kept_in_vain);
    CHECK(fake.yields > 0);
    CHECK(fake.now_ns <= begin_ns + KEEPING_NS + 10 * READ_NS);
}

/* MUT-B-INV (Garre et al. 2014), MUT-P-INV (Obenland 2000, "sync test 3"): priority inversion, and
 * the scenario that MUT-B-ARC and MUT-P-ARC play too.
 *
 * What: low holds a primitive, high asks for it, medium, made ready by low, spins for `medium_ns`
 *   (inversion.h). MUT-B-INV: it is vulnerable if medium ran before high was done (`inverted`), or
 *   if the round locked up (`ended_by_watchdog`); each is 1 or 0 for a round. delay: with priority
 *   inversion `medium_ns` and a little more, without it a few context switches.
 * Begin, end: of delay: low's first stamp with the primitive, high's first stamp with it, by fenced
 *   reads of the counter; no value if the watchdog ended the round.
 * Threads: low, medium, high of ascending priorities, below the measuring thread, on one CPU. The
 *   first 8 rounds of a variant, and after each rest, do not count; medium does not spin in them.
 * Wrong if: high never had to wait. MUT-P-INV looks at the stamps of each round and fails (event
 *   not_the_case); a verdict of MUT-B-INV needs exactly the promised order. POSIX promises that
 *   inheritance and ceilings avoid the inversion: only these have one, of the others the order is
 *   an event. The log is part of MUT-B-INV's delay; MUT-P-INV measures it without. Medium spins for
 *   a time and not for cycles: what interrupts it adds nothing to the delay. [G] found semaphores
 *   not vulnerable, but used a mutex for sem_t on Xenomai; `semaphore` is a POSIX one here.
 */
#include "base/posix_source.h"

#include "family/mutex/inversion.h"

#include "run/scheduling.h"
#include "run/variant.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Each attempt multiplies both by its scale. */
#define PATIENCE_NS INT64_C(5000000) /* timeout of high's wait */
#define KEEPING_NS INT64_C(50000000) /* longest time that low keeps the lock for that */

#define TICK_MOST_NS INT64_C(20000000) /* the coarsest that POSIX allows */

enum {
    WARM_UP = 8, /* rounds */
    LOOKS = 4,   /* waits into which a limit is split */
    TOLD = 3
};

/* ---- which rounds count ---- */

static int timed_out_count(const struct inversion_repeats *repeats)
{
    return repeats->watchdog_count + repeats->patience_count;
}

static enum inversion_answer answer(struct inversion_repeats *repeats, enum inversion_end end)
{
    if (end == INVERSION_GOOD || end == INVERSION_BAD)
        return INVERSION_COUNTS;
    if (end == INVERSION_DISTURBED_BAD)
        return repeats->disturbed_count++ < INVERSION_DISTURBED ? INVERSION_AGAIN
                                                                : INVERSION_UNDECIDED;
    if (end == INVERSION_NOT_WAITED)
        return repeats->not_waited_count++ < INVERSION_NOT_WAITED_MOST ? INVERSION_AGAIN
                                                                       : INVERSION_UNDECIDED;
    *(end == INVERSION_ENDED_BY_WATCHDOG ? &repeats->watchdog_count : &repeats->patience_count) +=
        1;
    if (timed_out_count(repeats) < INVERSION_ATTEMPTS)
        return INVERSION_AGAIN;
    return repeats->watchdog_count == 0 || repeats->patience_count == 0 ? INVERSION_COUNTS
                                                                        : INVERSION_UNDECIDED;
}

enum inversion_answer inversion_answer(struct inversion_repeats *repeats, enum inversion_end end)
{
    enum inversion_answer next = answer(repeats, end);
    if (next != INVERSION_AGAIN)
        repeats->watchdog_count = repeats->patience_count = 0;
    return next;
}

int inversion_scale(const struct inversion_repeats *repeats)
{
    return 1 << timed_out_count(repeats);
}

/* ---- a round ---- */

static int medium_place(const struct inversion *scenario)
{
    return scenario->setup.links;
}

static int high_place(const struct inversion *scenario)
{
    return scenario->setup.links + 1;
}

int inversion_ceiling(const struct run *run)
{
    return run->setup.priority - 1;
}

static void note(struct inversion *scenario, const char *who, const char *what)
{
    if (scenario->setup.is_logged)
        order_log_add(&scenario->log, who, what);
}

static void stamp(const struct inversion *scenario, _Atomic uint64_t *moment, bool is_begin)
{
    atomic_store_explicit(moment,
                          is_begin ? clock_begin(scenario->clock) : clock_end(scenario->clock),
                          memory_order_relaxed);
}

static void open_gate(struct inversion *scenario, int place)
{
    sem_post(&scenario->parties[place].gate);
}

/* How much later than asked a wait may end by the ticks of the clock, at most. */
static int64_t ticks_late_ns(void)
{
    struct timespec step;
    int64_t step_ns = clock_getres(CLOCK_REALTIME, &step) == 0 ? clock_timespec_ns(&step) : 0;
    return 2 * (step_ns < TICK_MOST_NS ? step_ns : TICK_MOST_NS);
}

static bool has_given_up(struct inversion *scenario)
{
    return atomic_load_explicit(&scenario->has_given_up, memory_order_relaxed);
}

/* Yield: a boosted low may still have high's priority at high's timeout, so that high does not
 * preempt it. Without the boost no thread has low's priority. Not before the timeout: NuttX's
 * sched_yield gives the caller anew the priority that it had at the call, also if its boost has
 * ended in between, and there the timeout ends it. */
static void keep_until_high_gave_up(struct inversion *scenario)
{
    int64_t begin_ns = clock_monotonic_ns(), now_ns = begin_ns;
    int64_t timeout_ns = begin_ns + PATIENCE_NS * scenario->scale + ticks_late_ns();
    int64_t until_ns = begin_ns + KEEPING_NS * scenario->scale;
    for (; !has_given_up(scenario) && now_ns < until_ns; now_ns = clock_monotonic_ns())
        if (now_ns >= timeout_ns)
            sched_yield();
    scenario->has_kept_in_vain = !has_given_up(scenario);
    note(scenario, "low", "went on");
}

/* Low runs again although high has a higher priority and has asked: so high is blocked. */
static void note_blocked(struct inversion *scenario)
{
    bool is_waiting = atomic_load(&scenario->asked) != 0 && atomic_load(&scenario->got) == 0;
    if (is_waiting && scenario->setup.kind != LOCK_KIND_SPIN) /* a spinning high is not blocked */
        note(scenario, "high", "blocked");
}

static void play_low(struct inversion *scenario)
{
    struct lock *lock = &scenario->locks[0];
    lock_take(lock, true);
    stamp(scenario, &scenario->locked, false);
    note(scenario, "low", "locked");
    for (int i = 1; i < scenario->setup.links; i++)
        open_gate(scenario, i);
    open_gate(scenario, high_place(scenario));
    stamp(scenario, &scenario->ran, false);
    if (scenario->setup.is_logged)
        note_blocked(scenario);
    note(scenario, "low", "ran");
    note(scenario, "medium", "made ready");
    open_gate(scenario, medium_place(scenario));
    if (scenario->setup.high_gives_up)
        keep_until_high_gave_up(scenario);
    note(scenario, "low", "let go");
    stamp(scenario, &scenario->letting_go, true);
    lock_let_go(lock);
}

static void play_owner(struct inversion *scenario, int place)
{
    static const char *const names[INVERSION_LINKS] = {"low", "second", "third"};
    lock_take(&scenario->locks[place], true);
    note(scenario, names[place], "locked");
    lock_take(&scenario->locks[place - 1], false);
    lock_let_go(&scenario->locks[place - 1]);
    lock_let_go(&scenario->locks[place]);
}

static void play_medium(struct inversion *scenario)
{
    note(scenario, "medium", "ran");
    if (scenario->setup.burn_ns == 0)
        return;
    int64_t until_ns = clock_monotonic_ns() + scenario->setup.burn_ns;
    while (clock_monotonic_ns() < until_ns)
        ;
}

static void ask_for_a_while(struct inversion *scenario, struct lock *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until = clock_ns_timespec(clock_timespec_ns(&until) + PATIENCE_NS * scenario->scale);
    if (lock_take_until(lock, &until) == 0) {
        stamp(scenario, &scenario->got, false);
        note(scenario, "high", "got it");
        lock_let_go(lock);
        return;
    }
    note(scenario, "high", "gave up");
    atomic_store(&scenario->has_given_up, 1);
}

static void play_high(struct inversion *scenario)
{
    struct lock *lock = &scenario->locks[scenario->setup.links - 1];
    note(scenario, "high", "asked");
    stamp(scenario, &scenario->asked, true);
    if (scenario->setup.high_gives_up) {
        ask_for_a_while(scenario, lock);
        return;
    }
    lock_take(lock, false);
    stamp(scenario, &scenario->got, false);
    note(scenario, "high", "got it");
    lock_let_go(lock);
    note(scenario, "high", "ended");
}

static void play(struct inversion_party *party)
{
    struct inversion *scenario = party->scenario;
    if (party->place == 0)
        play_low(scenario);
    else if (party->place == medium_place(scenario))
        play_medium(scenario);
    else if (party->place == high_place(scenario))
        play_high(scenario);
    else
        play_owner(scenario, party->place);
}

static void play_rounds(void *argument)
{
    struct inversion_party *party = argument;
    struct inversion *scenario = party->scenario;
    for (;;) {
        while (sem_wait(&party->gate) != 0 && errno == EINTR)
            ;
        if (atomic_load_explicit(&scenario->is_over, memory_order_relaxed))
            return;
        play(party);
        sem_post(&scenario->ended);
    }
}

static int start_party(struct inversion *scenario, const struct run *run, int place)
{
    struct inversion_party *party = &scenario->parties[place];
    struct rt_thread_setup setup = run->setup;
    setup.priority = scenario->low_priority + place;
    party->scenario = scenario;
    party->place = place;
    sem_init(&party->gate, 0, 0);
    int error = rt_thread_start_with_stack(&party->rt_thread, &setup, RT_THREAD_SMALL_STACK_BYTES,
                                           play_rounds, party);
    if (error) {
        sem_destroy(&party->gate);
        return error;
    }
    rt_thread_go(&party->rt_thread);
    scenario->started++;
    return 0;
}

static int open_locks(struct inversion *scenario, int ceiling)
{
    for (int i = 0; i < scenario->setup.links; i++) {
        int error = lock_open(&scenario->locks[i], scenario->setup.kind, ceiling);
        if (!error)
            continue;
        while (i > 0)
            lock_close(&scenario->locks[--i]);
        return error;
    }
    return 0;
}

/* False after `limit_ns`. sem_timedwait uses CLOCK_REALTIME; the check of CLOCK_MONOTONIC keeps the
 * limit whole if somebody sets that clock forward. */
static bool wait_for(struct inversion *scenario, int64_t limit_ns)
{
    int64_t until_ns = clock_monotonic_ns() + limit_ns;
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until = clock_ns_timespec(clock_timespec_ns(&until) + limit_ns);
        if (sem_timedwait(&scenario->ended, &until) == 0)
            return true;
        if (errno == ETIMEDOUT && clock_monotonic_ns() >= until_ns)
            return false;
    }
}

/* Waits for the end of one part. The limit is split into several waits: if the host stops the
 * machine, only one of them expires, and the threads go on during the next. */
static bool wait_for_part(struct inversion *scenario)
{
    int64_t look_ns = INVERSION_LIMIT_NS * scenario->scale / LOOKS;
    bool has_ended = wait_for(scenario, look_ns + scenario->setup.burn_ns);
    for (int look = 1; look < LOOKS && !has_ended; look++)
        has_ended = wait_for(scenario, look_ns);
    return has_ended;
}

static void set_priority(struct inversion *scenario, int place, int priority)
{
    struct sched_param parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.sched_priority = priority;
    int error = pthread_setschedparam(scenario->parties[place].rt_thread.thread, scenario->policy,
                                      &parameters);
    if (error)
        scheduling_not_restored(scenario->run, place == 0 ? "thread low" : "owner of the chain",
                                priority, error);
}

/* Low first, so that it runs first: the next owner of a chain waits for its lock, and may spin. */
static void free_owners(struct inversion *scenario)
{
    for (int i = 0; i < scenario->setup.links; i++)
        set_priority(scenario, i, scenario->top_priority);
}

static void restore_owners(struct inversion *scenario)
{
    for (int i = 0; i < scenario->setup.links; i++)
        set_priority(scenario, i, scenario->low_priority + i);
}

static void clear_stamps(struct inversion *scenario)
{
    _Atomic uint64_t *const stamps[] = {&scenario->locked, &scenario->asked, &scenario->ran,
                                        &scenario->letting_go, &scenario->got};
    for (size_t i = 0; i < sizeof stamps / sizeof stamps[0]; i++)
        atomic_store_explicit(stamps[i], 0, memory_order_relaxed);
}

static void begin_round(struct inversion *scenario, int scale)
{
    scenario->scale = scale;
    scenario->has_kept_in_vain = false;
    atomic_store(&scenario->has_given_up, 0);
    order_log_clear(&scenario->log, scenario->clock);
    clear_stamps(scenario);
    open_gate(scenario, 0);
}

/* One round with `scale` times the limits. False if the watchdog ended it. */
static bool play_round(struct inversion *scenario, int scale)
{
    bool is_in_time = true;
    int parts = scenario->setup.links + 2;
    begin_round(scenario, scale);
    for (int done = 0; done < parts; done++)
        while (!wait_for_part(scenario)) {
            if (is_in_time)
                note(scenario, "watchdog", "freed low");
            is_in_time = false;
            free_owners(scenario);
        }
    if (!is_in_time)
        restore_owners(scenario);
    return is_in_time;
}

/* Reports rounds that are left out of the figures. */
static void report_repeats(struct inversion *scenario, int count, const char *why)
{
    if (count > 0 && scenario->told_count++ < TOLD)
        arena_event(scenario->run->arena, "round_repeated",
                    run_at_ns(scenario->run, clock_monotonic_ns()),
                    DATA(data_text("protocol", lock_kind_names[scenario->setup.kind]),
                         data_integer("repeated_count", count), data_text("why", why)),
                    "%s: %s; repeats: %d", lock_kind_names[scenario->setup.kind], why, count);
}

static const char ended_by_watchdog[] = "the watchdog ended a round that exceeded its time limit";

bool inversion_round(struct inversion *scenario)
{
    struct inversion_repeats repeats = {0};
    for (int count = 0;; count++) {
        if (play_round(scenario, inversion_scale(&repeats))) {
            report_repeats(scenario, count, ended_by_watchdog);
            return true;
        }
        if (inversion_answer(&repeats, INVERSION_ENDED_BY_WATCHDOG) != INVERSION_AGAIN)
            return false;
    }
}

/* Stops at the first round that the watchdog ended: a lock-up would lock up each time. */
static void warm_up(struct inversion *scenario)
{
    struct inversion_setup kept = scenario->setup;
    scenario->setup.burn_ns = 0;
    scenario->setup.high_gives_up = false;
    for (int i = 0; i < WARM_UP && !run_should_stop() && !scenario->is_locking_up; i++)
        scenario->is_locking_up = !play_round(scenario, 1);
    scenario->setup = kept;
    scenario->warm_at_ns = scenario->run->rt_budget.started_ns;
}

void inversion_warm_up(struct inversion *scenario)
{
    if (scenario->warm_at_ns != scenario->run->rt_budget.started_ns)
        warm_up(scenario);
}

/* 0, or an errno value with nothing left open. */
static int open_scenario(struct inversion *scenario, struct run *run,
                         const struct inversion_setup *setup)
{
    memset(scenario, 0, sizeof *scenario);
    scenario->clock = &run->clock;
    scenario->run = run;
    scenario->setup = *setup;
    scenario->policy = run->setup.policy;
    scenario->top_priority = run->setup.priority;
    scenario->low_priority = run->setup.priority - setup->links - 2;
    int error = open_locks(scenario, inversion_ceiling(run));
    if (error)
        return error;
    sem_init(&scenario->ended, 0, 0);
    for (int i = 0; i < setup->links + 2 && !error; i++)
        error = start_party(scenario, run, i);
    if (error)
        inversion_close(scenario);
    else
        warm_up(scenario);
    return error;
}

int inversion_prepare(struct run *run, size_t own_bytes)
{
    if (one_cpu_require_levels(run, INVERSION_LEVELS) != 0)
        return -1;
    return run_own(run, own_bytes) ? 0 : -1;
}

int inversion_begin(struct inversion *scenario, struct run *run,
                    const struct inversion_setup *setup)
{
    int error = open_scenario(scenario, run, setup);
    if (error)
        return outcome_set_errno(&run->outcome, error, "starting the threads", NULL);
    burst_begin(run, 0);
    burst_plan(run, setup->burn_ns);
    return 0;
}

/* Whether all stamps were taken, in this order. */
static bool are_in_order(const _Atomic uint64_t *const stamps[], int count)
{
    for (int i = 0; i < count; i++) {
        uint64_t ticks = atomic_load(stamps[i]);
        if (ticks == 0 || (i > 0 && (int64_t)(ticks - atomic_load(stamps[i - 1])) < 0))
            return false;
    }
    return true;
}

bool inversion_took_place(const struct inversion *scenario)
{
    const _Atomic uint64_t *const waiting[] = {&scenario->locked, &scenario->asked, &scenario->ran,
                                               &scenario->letting_go, &scenario->got};
    const _Atomic uint64_t *const ceiling[] = {
        &scenario->locked, &scenario->ran, &scenario->letting_go, &scenario->asked, &scenario->got};
    bool is_ceiling = scenario->setup.kind == LOCK_KIND_PROTECT;
    return are_in_order(is_ceiling ? ceiling : waiting, sizeof waiting / sizeof waiting[0]);
}

int inversion_refuse(const struct inversion *scenario, struct run *run, bool is_in_time,
                     const char *test)
{
    const char *name = lock_kind_names[scenario->setup.kind];
    const char *what = !is_in_time ? "a round did not end and the watchdog ended it"
                       : scenario->setup.kind == LOCK_KIND_PROTECT
                           ? "high asked for the lock while low had it, in spite of the ceiling"
                           : "high did not ask for the lock while low had it, so nobody waited";
    char remedy[STATUS_TEXT_BYTES];
    snprintf(remedy, sizeof remedy, "run %s and see its result", test);
    arena_event(run->arena, "not_the_case", -1,
                DATA(data_text("variant", name), data_integer("count", 1), data_text("why", what)),
                "%s: %s; the value is left out", name, what);
    return outcome_set(&run->outcome, STATUS_FAILED, remedy, "%s: %s", name, what);
}

/* Kinds with a promise must show exactly the promised order: an order in which high did not wait
 * proves nothing. */
static bool was_good(struct inversion *scenario)
{
    return lock_kind_is_promised(scenario->setup.kind)
               ? order_log_is(&scenario->log, inversion_promise(&scenario->setup))
               : inversion_was_avoided(scenario);
}

/* High's wait timed out before low had made medium ready, or low reached its own limit before that
 * timeout. */
static bool ran_out_of_patience(struct inversion *scenario)
{
    int gave_up = order_log_place(&scenario->log, "high", "gave up");
    int made_ready = order_log_place(&scenario->log, "medium", "made ready");
    return scenario->has_kept_in_vain || (gave_up >= 0 && gave_up < made_ready);
}

/* High asked when low had already gone on, or never. If it got the lock while low had it, that is a
 * fault all the same. With a ceiling it need not wait. */
static bool has_not_waited(struct inversion *scenario)
{
    int got = order_log_place(&scenario->log, "high", "got it");
    int let_go = order_log_place(&scenario->log, "low", "let go");
    return lock_kind_is_promised(scenario->setup.kind) &&
           scenario->setup.kind != LOCK_KIND_PROTECT &&
           order_log_place(&scenario->log, "high", "blocked") < 0 && (got < 0 || got > let_go);
}

static enum inversion_end end_of_round(struct inversion *scenario, const struct run *run,
                                       bool is_in_time)
{
    bool is_disturbed = burst_was_disturbed(run);
    if (was_good(scenario))
        return INVERSION_GOOD;
    if (!is_in_time) /* before is_disturbed: threads that all sleep in a lock-up use no CPU time
                        either */
        return INVERSION_ENDED_BY_WATCHDOG;
    if (is_disturbed)
        return INVERSION_DISTURBED_BAD;
    if (has_not_waited(scenario))
        return INVERSION_NOT_WAITED;
    return ran_out_of_patience(scenario) ? INVERSION_OUT_OF_PATIENCE : INVERSION_BAD;
}

/* A round that may spin up to its limit starts only with that much of the real-time budget left. */
static void rest_before(struct run *run, int scale)
{
    if (scale == 1)
        return;
    rt_budget_rest_ahead(&run->rt_budget, INVERSION_LIMIT_NS * scale);
    burst_begin(run, 0);
}

static const char *cause_of(enum inversion_end end)
{
    return end == INVERSION_ENDED_BY_WATCHDOG ? ended_by_watchdog
           : end == INVERSION_OUT_OF_PATIENCE ? "a waiter timed out too early in a round"
           : end == INVERSION_NOT_WAITED      ? "high did not wait for the lock in a round"
                                              : "other tasks had the CPU during a round";
}

static void leave_undecided(struct inversion *scenario, struct run *run)
{
    outcome_set(&run->outcome, STATUS_FAILED,
                "end what runs at a higher priority, or give a virtual machine a CPU of its own",
                "%s: rounds were out of order each time they were repeated, and each time the CPU "
                "was taken from the test or a limit ran out: no verdict",
                lock_kind_names[scenario->setup.kind]);
    run_request_stop();
}

static enum inversion_end next_round(struct inversion *scenario, struct run *run, int scale)
{
    rest_before(run, scale);
    inversion_warm_up(scenario);
    return end_of_round(scenario, run, play_round(scenario, scale));
}

/* Repeats a round until it counts; false if the test ends first. Repeats of a lock-up are not
 * reported: its figures show that the watchdog ended it. */
static bool play_until_it_counts(struct inversion *scenario, struct run *run,
                                 struct inversion_repeats *repeats, enum inversion_end *end)
{
    enum inversion_answer answer = INVERSION_AGAIN;
    const char *cause = "";
    int count = 0;
    for (;; count++, cause = cause_of(*end)) {
        burst_next(run);
        if (run_should_stop())
            return false;
        *end = next_round(scenario, run, inversion_scale(repeats));
        answer = inversion_answer(repeats, *end);
        if (answer != INVERSION_AGAIN)
            break;
    }
    bool is_claim = lock_kind_is_promised(scenario->setup.kind);
    if (answer == INVERSION_UNDECIDED && *end == INVERSION_NOT_WAITED) {
        scenario->has_never_waited = true;
        return false;
    }
    if (answer == INVERSION_UNDECIDED && (is_claim || *end != INVERSION_DISTURBED_BAD)) {
        leave_undecided(scenario, run);
        return false;
    }
    report_repeats(scenario, *end == INVERSION_ENDED_BY_WATCHDOG ? 0 : count, cause);
    return true;
}

bool inversion_rounds(struct inversion *scenario, struct run *run, int most,
                      void (*each)(struct run *run, bool is_in_time))
{
    struct inversion_repeats repeats = {0};
    enum inversion_end end = INVERSION_GOOD;
    bool is_good = true, is_over = false;
    for (int round = 0; round < most && !is_over; round++) {
        if (!play_until_it_counts(scenario, run, &repeats, &end))
            break;
        if (each)
            each(run, end != INVERSION_ENDED_BY_WATCHDOG);
        is_good = is_good && end == INVERSION_GOOD;
        is_over = end == INVERSION_ENDED_BY_WATCHDOG ||
                  (end != INVERSION_GOOD && lock_kind_is_promised(scenario->setup.kind));
    }
    burst_next(run); /* looks for throttling, after which there is no verdict */
    return is_good;
}

int64_t inversion_got_at_ns(const struct inversion *scenario)
{
    uint64_t since = clock_ticks(scenario->clock) - atomic_load(&scenario->got);
    return run_at_ns(scenario->run, clock_monotonic_ns()) - clock_ns(scenario->clock, since);
}

void inversion_close(struct inversion *scenario)
{
    atomic_store(&scenario->is_over, 1);
    for (int i = 0; i < scenario->started; i++)
        open_gate(scenario, i);
    for (int i = 0; i < scenario->started; i++) {
        rt_thread_join(&scenario->parties[i].rt_thread);
        sem_destroy(&scenario->parties[i].gate);
    }
    scenario->started = 0;
    sem_destroy(&scenario->ended);
    for (int i = 0; i < scenario->setup.links; i++)
        lock_close(&scenario->locks[i]);
}

bool inversion_was_avoided(struct inversion *scenario)
{
    int ended = order_log_place(&scenario->log, "high", "ended");
    int ran = order_log_place(&scenario->log, "medium", "ran");
    return ended >= 0 && ran > ended &&
           order_log_place(&scenario->log, "watchdog", "freed low") < 0;
}

const char *inversion_promise(const struct inversion_setup *setup)
{
    if (setup->high_gives_up)
        return "low locked, high asked, high blocked, low ran, medium made ready, high gave up, "
               "medium ran, "
               "low went on, low let go";
    if (setup->kind == LOCK_KIND_PROTECT && setup->links > 1)
        return "low locked, low ran, medium made ready, low let go, high asked, high got it, "
               "high ended, medium ran, third locked, second locked";
    if (setup->kind == LOCK_KIND_PROTECT)
        return "low locked, low ran, medium made ready, low let go, high asked, high got it, "
               "high ended, medium ran";
    if (setup->links > 1)
        return "low locked, second locked, third locked, high asked, high blocked, low ran, medium "
               "made ready, "
               "low let go, high got it, high ended, medium ran";
    return "low locked, high asked, high blocked, low ran, medium made ready, low let go, high got "
           "it, "
           "high ended, medium ran";
}

void inversion_verdict(struct inversion *scenario, struct run *run, const char *name)
{
    char seen[ARENA_TEXT_BYTES / 2];
    if (!scenario->has_never_waited) {
        order_log_verdict(&scenario->log, run->arena, name, inversion_promise(&scenario->setup));
        return;
    }
    order_log_render(&scenario->log, seen, sizeof seen);
    arena_event(run->arena, "not_seen", -1,
                DATA(data_text("verdict", name), data_text("reason", "not_waited"),
                     data_text("order", seen)),
                "%s: no verdict, because high did not wait for the lock in %d rounds: %s", name,
                INVERSION_NOT_WAITED_MOST + 1, seen);
}

/* ---- MUT-B-INV and MUT-P-INV ---- */

enum { SAMPLES = 100, ROUNDS = 5 };

struct own {
    int tried_count;
    struct inversion scenario;
};

static int prepare(struct run *run)
{
    return inversion_prepare(run, sizeof(struct own));
}

static int judge(struct run *run)
{
    return lock_kind_require_any(run, ((struct own *)run->own)->tried_count);
}

/* ---- MUT-B-INV ---- */

static const struct param_spec b_params[] = {
    {"primitives", PARAM_NAME, true,
     "none,inherit,protect,semaphore,robust,robust-inherit,spin,rwlock,condition", 0, 0,
     lock_kind_names, "the primitive that the low thread holds and the high thread requests",
     "primitive"},
    {"medium_ns", PARAM_NS, false, "10ms", 0, INT64_C(500000000), NULL,
     "CPU time that medium "
     "uses"},
    {0},
};

enum { INVERTED, ENDED_BY_WATCHDOG, DELAY };

#define EITHER                                                                                     \
    {                                                                                              \
        .most = 1                                                                                  \
    }

static const struct series_spec b_series[] = {
    {"inverted", "count", "primitive",
     "1: medium ran before high had got the primitive and finished; 0: it did not; one value per "
     "round",
     NULL, NULL, RECORD_SHAPE_COUNT, EITHER},
    {"ended_by_watchdog", "count", "primitive",
     "1: the round locked up and the watchdog ended it; 0: it ended by itself; one value per round",
     NULL, NULL, RECORD_SHAPE_COUNT, EITHER},
    {"delay", "ns", "primitive", "low holds the primitive", "high has it", .may_be_empty = true},
    {0},
};

static const struct verdict_spec b_verdicts[] = {
    {"not_vulnerable", "the medium thread does not run before the high thread has finished; only "
                       "for kinds where POSIX promises this"},
    {0},
};

static void b_record_round(struct run *run, bool is_in_time)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    int64_t at_ns = inversion_got_at_ns(scenario);
    bool is_inverted = order_log_place(&scenario->log, "medium", "ran") <
                       order_log_place(&scenario->log, "high", "ended");
    record_value(run_record(run, INVERTED), is_inverted ? 1 : 0, at_ns);
    record_value(run_record(run, ENDED_BY_WATCHDOG), is_in_time ? 0 : 1, at_ns);
    if (is_in_time && HS_HAS_UNNAMED_SEMAPHORES)
        run_take(run, DELAY, atomic_load(&scenario->locked), atomic_load(&scenario->got));
}

static void b_report(struct run *run, bool is_avoided)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    const char *lock = lock_kind_names[scenario->setup.kind];
    char name[ARENA_NAME_BYTES], seen[ARENA_TEXT_BYTES / 2];
    if (lock_kind_is_promised(scenario->setup.kind)) {
        snprintf(name, sizeof name, "not_vulnerable/%s", lock);
        inversion_verdict(scenario, run, name);
        return;
    }
    order_log_render(&scenario->log, seen, sizeof seen);
    bool locks_up = order_log_place(&scenario->log, "watchdog", "freed low") >= 0;
    arena_event(run->arena, is_avoided ? "not_vulnerable" : "vulnerable", -1,
                DATA(data_text("lock", lock), data_bool("is_vulnerable", !is_avoided),
                     data_bool("locks_up", locks_up), data_text("order", seen)),
                "%s: %s%s: %s", lock, is_avoided ? "not vulnerable" : "vulnerable",
                locks_up ? ": it locks up, the watchdog ended it" : "", seen);
}

static int b_measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum lock_kind kind = (enum lock_kind)variant_number(run, "primitives");
    struct inversion_setup setup = {
        .kind = kind, .links = 1, .burn_ns = run_number(run, "medium_ns"), .is_logged = true};
    if (!lock_kind_is_here(run, kind))
        return 0;
    if (inversion_begin(&own->scenario, run, &setup) != 0)
        return -1;
    own->tried_count++;
    if (!HS_HAS_UNNAMED_SEMAPHORES)
        arena_event_once(run->arena, "delay_unsupported",
                         DATA(data_text("reason", LACKS_UNNAMED_SEMAPHORES)), "no delay: %s",
                         LACKS_UNNAMED_SEMAPHORES);
    bool is_avoided = inversion_rounds(&own->scenario, run, ROUNDS, b_record_round);
    inversion_close(&own->scenario);
    if (!run_should_stop())
        b_report(run, is_avoided);
    return 0;
}

const struct test mut_b_inv = {
    .id = "MUT-B-INV",
    .title = "Priority inversion by primitive",
    .source = "[G] Garre et al. 2014",
    .params = b_params,
    .series = b_series,
    .verdicts = b_verdicts,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .setup_ns = INT64_C(1500000000),
    .sample_ns = 130000,
    .sample_param = "medium_ns",
    .sample_percent = 130,
    .extra_samples = ROUNDS,
    .prepare = prepare,
    .measure_variant = b_measure_variant,
    .judge = judge,
};

/* ---- MUT-P-INV ---- */

static const struct param_spec p_params[] = {
    {"protocols", PARAM_NAME, true, "none,inherit,protect,semaphore", 0, 0, lock_kind_delay_names,
     "protocols of the mutex, and the semaphore", "protocol"},
    {"medium_ns", PARAM_NS, false, "10ms", 0, INT64_C(500000000), NULL,
     "CPU time that medium "
     "uses"},
    {0},
};

static const struct series_spec p_series[] = {
    {"delay", "ns", "protocol", "low holds the resource", "high has it"},
    {0},
};

static int p_take_round(struct run *run)
{
    struct own *own = run->own;
    struct inversion *scenario = &own->scenario;
    inversion_warm_up(scenario); /* after a rest; without what medium burns */
    bool is_in_time = inversion_round(scenario);
    if (!is_in_time || !inversion_took_place(scenario)) {
        burst_next(run); /* reports throttling */
        return inversion_refuse(scenario, run, is_in_time, "MUT-B-INV");
    }
    run_take(run, 0, atomic_load(&scenario->locked), atomic_load(&scenario->got));
    return 0;
}

static int p_measure_variant(struct run *run)
{
    struct own *own = run->own;
    enum lock_kind kind = (enum lock_kind)variant_number(run, "protocols");
    struct inversion_setup setup = {
        .kind = kind, .links = 1, .burn_ns = run_number(run, "medium_ns")};
    if (!lock_kind_is_here(run, kind))
        return 0;
    if (inversion_begin(&own->scenario, run, &setup) != 0)
        return -1;
    own->tried_count++;
    int result = variant_sample(run, 0, 1, p_take_round);
    inversion_close(&own->scenario);
    return result;
}

const struct test mut_p_inv = {
    .id = "MUT-P-INV",
    .title = "Delay by priority inversion (sync test 3)",
    .source = "[O] Obenland 2000, synchronization test 3",
    .params = p_params,
    .series = p_series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU | TEST_NEEDS_UNNAMED_SEMAPHORES,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(100000000),
    .sample_ns = 130000,
    .sample_param = "medium_ns",
    .sample_percent = 130,
    .prepare = prepare,
    .measure_variant = p_measure_variant,
    .judge = judge,
};

#include "base/posix_source.h"

#include "family/mutex/inversion.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE_NS INT64_C(5000000) /* of a high that gives up */
#define KEEPING_NS INT64_C(50000000) /* low keeps the lock no longer than this for it */

enum { WARM_UP = 8, LOGGED_WARM_UP = 1 }; /* rounds before those that count */

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

/* Yielding, since a boosted low is of high's priority, and an equal does not preempt it: the
 * end of high's patience would go unseen. Without the boost nobody is its equal. */
static void keep_until_high_gave_up(struct inversion *scenario)
{
    int64_t until_ns = clock_monotonic_ns() + KEEPING_NS;
    while (!atomic_load_explicit(&scenario->has_given_up, memory_order_relaxed) &&
           clock_monotonic_ns() < until_ns)
        sched_yield();
    note(scenario, "low", "went on");
}

/* That low runs again is the proof: high, above it, has asked and has not got past. */
static void note_blocked(struct inversion *scenario)
{
    bool is_waiting = atomic_load(&scenario->asked) != 0 && atomic_load(&scenario->got) == 0;
    if (is_waiting && scenario->setup.kind != PRIMITIVE_SPIN) /* where high spins, low is freed */
        note(scenario, "high", "blocked");
}

static void play_low(struct inversion *scenario)
{
    struct primitive *lock = &scenario->locks[0];
    primitive_take(lock, true);
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
    primitive_let_go(lock);
}

static void play_owner(struct inversion *scenario, int place)
{
    static const char *const names[INVERSION_LINKS] = {"low", "second", "third"};
    primitive_take(&scenario->locks[place], true);
    note(scenario, names[place], "locked");
    primitive_take(&scenario->locks[place - 1], false);
    primitive_let_go(&scenario->locks[place - 1]);
    primitive_let_go(&scenario->locks[place]);
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

static void ask_for_a_while(struct inversion *scenario, struct primitive *lock)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until = clock_ns_timespec(clock_timespec_ns(&until) + PATIENCE_NS);
    if (primitive_take_until(lock, &until) == 0) {
        stamp(scenario, &scenario->got, false);
        note(scenario, "high", "got it");
        primitive_let_go(lock);
        return;
    }
    note(scenario, "high", "gave up");
    atomic_store(&scenario->has_given_up, 1);
}

static void play_high(struct inversion *scenario)
{
    struct primitive *lock = &scenario->locks[scenario->setup.links - 1];
    note(scenario, "high", "asked");
    stamp(scenario, &scenario->asked, true);
    if (scenario->setup.high_gives_up) {
        ask_for_a_while(scenario, lock);
        return;
    }
    primitive_take(lock, false);
    stamp(scenario, &scenario->got, false);
    note(scenario, "high", "got it");
    primitive_let_go(lock);
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
    struct actor_setup setup = run->setup;
    setup.priority = scenario->low_priority + place;
    party->scenario = scenario;
    party->place = place;
    sem_init(&party->gate, 0, 0);
    int error = actor_start(&party->actor, &setup, play_rounds, party);
    if (error) {
        sem_destroy(&party->gate);
        return error;
    }
    actor_go(&party->actor);
    scenario->started++;
    return 0;
}

static int open_locks(struct inversion *scenario, int ceiling)
{
    for (int i = 0; i < scenario->setup.links; i++) {
        int error = primitive_open(&scenario->locks[i], scenario->setup.kind, ceiling);
        if (!error)
            continue;
        while (i > 0)
            primitive_close(&scenario->locks[--i]);
        return error;
    }
    return 0;
}

/* Waits for the end of one part. CLOCK_REALTIME is what sem_timedwait knows; a clock that
 * was set forward does not shorten the limit. */
static bool wait_for_part(struct inversion *scenario, int64_t limit_ns)
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

static void set_low_priority(struct inversion *scenario, int priority)
{
    struct sched_param parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.sched_priority = priority;
    pthread_setschedparam(scenario->parties[0].actor.thread, scenario->policy, &parameters);
}

static void clear_stamps(struct inversion *scenario)
{
    _Atomic uint64_t *const stamps[] = {&scenario->locked, &scenario->asked, &scenario->ran,
                                        &scenario->letting_go, &scenario->got};
    for (size_t i = 0; i < sizeof stamps / sizeof stamps[0]; i++)
        atomic_store_explicit(stamps[i], 0, memory_order_relaxed);
}

bool inversion_round(struct inversion *scenario)
{
    bool is_in_time = true;
    int parts = scenario->setup.links + 2;
    int64_t limit_ns = INVERSION_LIMIT_NS + scenario->setup.burn_ns;
    order_log_clear(&scenario->log, scenario->clock);
    atomic_store(&scenario->has_given_up, 0);
    clear_stamps(scenario);
    open_gate(scenario, 0);
    for (int done = 0; done < parts; done++)
        while (!wait_for_part(scenario, limit_ns)) {
            if (is_in_time)
                note(scenario, "watchdog", "freed low");
            is_in_time = false;
            set_low_priority(scenario, scenario->top_priority);
        }
    if (!is_in_time)
        set_low_priority(scenario, scenario->low_priority);
    return is_in_time;
}

static void warm_up(struct inversion *scenario)
{
    struct inversion_setup kept = scenario->setup;
    scenario->setup.burn_ns = 0;
    scenario->setup.high_gives_up = false;
    int rounds = kept.is_logged ? LOGGED_WARM_UP : WARM_UP;
    for (int i = 0; i < rounds && !run_should_stop() && inversion_round(scenario); i++)
        ;
    scenario->setup = kept;
}

int inversion_open(struct inversion *scenario, const struct run *run,
                   const struct inversion_setup *setup)
{
    memset(scenario, 0, sizeof *scenario);
    scenario->clock = &run->clock;
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

/* Whether the stamps were all taken, each not before the one in front of it. */
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
    bool is_ceiling = scenario->setup.kind == PRIMITIVE_PROTECT;
    return are_in_order(is_ceiling ? ceiling : waiting, sizeof waiting / sizeof waiting[0]);
}

int inversion_refuse(const struct inversion *scenario, struct run *run, bool is_in_time,
                     const char *test)
{
    const char *name = primitive_names[scenario->setup.kind];
    const char *what = !is_in_time ? "a round did not end and the watchdog ended it"
                       : scenario->setup.kind == PRIMITIVE_PROTECT
                           ? "high asked for the lock while low had it, in spite of the ceiling"
                           : "high did not ask for the lock while low had it, so nobody waited";
    char remedy[STATUS_TEXT_BYTES];
    snprintf(remedy, sizeof remedy, "see what %s says", test);
    arena_event(run->arena, "not_the_case", -1, "%s: %s; the value is left out", name, what);
    return outcome_set(&run->outcome, STATUS_FAILED, remedy, "%s: %s", name, what);
}

/* Exactly as promised, so that an order in which nobody had to wait proves nothing. */
static bool was_good(struct inversion *scenario)
{
    return primitive_is_promised(scenario->setup.kind)
               ? order_log_is(&scenario->log, inversion_promise(&scenario->setup))
               : inversion_was_avoided(scenario);
}

bool inversion_rounds(struct inversion *scenario, struct pace *pace, int most,
                      void (*each)(struct run *run, int64_t now_ns, bool is_in_time))
{
    bool is_good = true, is_over = false;
    int again = 0;
    for (int round = 0; round < most && !is_over && !run_should_stop(); round++) {
        int64_t now_ns = pace_next(pace);
        bool is_in_time = inversion_round(scenario);
        bool is_round_good = was_good(scenario);
        if (!is_round_good && again < most && pace_was_disturbed(pace)) {
            again++;
            round--;
            continue;
        }
        if (each)
            each(pace->run, now_ns, is_in_time);
        is_good = is_good && is_round_good;
        is_over = !is_in_time || (!is_round_good && primitive_is_promised(scenario->setup.kind));
    }
    pace_next(pace); /* a cut leaves no verdict */
    return is_good;
}

void inversion_close(struct inversion *scenario)
{
    atomic_store(&scenario->is_over, 1);
    for (int i = 0; i < scenario->started; i++)
        open_gate(scenario, i);
    for (int i = 0; i < scenario->started; i++) {
        actor_join(&scenario->parties[i].actor);
        sem_destroy(&scenario->parties[i].gate);
    }
    scenario->started = 0;
    sem_destroy(&scenario->ended);
    for (int i = 0; i < scenario->setup.links; i++)
        primitive_close(&scenario->locks[i]);
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
    if (setup->kind == PRIMITIVE_PROTECT && setup->links > 1)
        return "low locked, low ran, medium made ready, low let go, high asked, high got it, "
               "high ended, medium ran, third locked, second locked";
    if (setup->kind == PRIMITIVE_PROTECT)
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

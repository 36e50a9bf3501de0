/* SEM-P-RTP: round trip between two parties, "sync test 2" (Obenland 2000).
 *
 * What: two parties, threads or processes that share memory. The first signals `there` and waits on
 *   `back`, the second waits on `there` and signals `back`. On one CPU that is two signals, two
 *   waits that block, two context switches: context_switch = round trip / 2 - mean of a signal and
 *   a wait without a switch (series signal_wait, 20000 values right before each variant, as
 *   SEM-P-SIG takes them). On two CPUs (cross_cpu_round_trip) it is two wake-ups of another CPU.
 * Begin, end: the first party before its signal and after its wait, by fenced reads of the counter,
 *   on its CPU.
 * Threads: the measuring thread is the first party; both at the run's priority. The second is bound
 *   to the same CPU, or to the lowest other one. With `mutex` each has a mutex, of the default
 *   protocol, and a condition variable. The first 64 values and those after a rest are left out.
 * Wrong if: the second party did not answer exactly once: the test fails (event not_handed_over).
 *   Kinds whose uncontended pair stays in user space have two system calls in context_switch. With
 *   round robin a party can lose the CPU while it has a mutex. Across two CPUs a value has the
 *   interrupts that they send each other and their exits from idle states, and it is short where a
 *   party is signalled before it has blocked: no switch is derived from it.
 */
#include "base/posix_source.h"

#include "family/semaphore/ping_pong.h"

#include "run/shield_run.h"
#include "run/variant.h"

enum { ROUND_TRIP, CONTEXT_SWITCH, SIGNAL_WAIT, CROSS_CPU_ROUND_TRIP };
enum placement { ONE_CPU, TWO_CPUS };
enum { SAMPLES = 50000, SIGNAL_SAMPLES = 20000, BURST = 64 };

static const char *const placement_names[] = {"one-cpu", "two-cpus", NULL};

static const struct param_spec params[] = {
    SEMAPHORE_AND_MUTEX_PARAM("kinds of semaphore, and a mutex with a condition variable"),
    SEMAPHORE_SCOPE_PARAM("between two threads, between two processes"),
    {"placements", PARAM_NAME, true, "one-cpu", 0, 0, placement_names,
     "both parties on one CPU, or each on a CPU of its own", "placement"},
    {0},
};

#define OF_ONE_CPU .only = "placement=one-cpu"

static const struct series_spec series[] = {
    {"round_trip", "ns", "kind,scope", "first party before it signals the second on the same CPU",
     "first party after its wait for the answer", OF_ONE_CPU},
    {"context_switch", "ns", "kind,scope",
     "round trip / 2 - mean of signal and wait in one thread (signal_wait); for kinds that enter "
     "the kernel only when somebody waits it includes two system calls",
     NULL, "round_trip / 2 - mean(signal_wait)", .range = {RECORD_NO_LEAST, 0}, OF_ONE_CPU},
    {"signal_wait", "ns", "kind,scope", "before the signal (post)",
     "after the wait of the same thread, which never blocks", OF_ONE_CPU},
    {"cross_cpu_round_trip", "ns", "kind,scope,placement",
     "first party before it signals the second on another CPU",
     "first party after its wait for the answer", .only = "placement=two-cpus"},
    {0},
};

/* ---- the CPU of the second party ---- */

/* -1: there is none but that of the run. */
static int other_cpu(const struct run *run)
{
    return run->setup.cpu < 0 ? -1 : shield_run_other_cpu(run);
}

static bool wants(const struct run *run, enum placement placement)
{
    const struct param_value *listed = run_param(run, "placements");
    for (int i = 0; i < listed->count; i++)
        if (listed->number[i] == placement)
            return true;
    return false;
}

static int refuse_two_cpus(const struct run *run, struct outcome *outcome)
{
    if (run->setup.cpu < 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED, NULL,
                           "two-cpus: this port cannot bind a thread to a CPU");
    return outcome_set(outcome, STATUS_UNSUPPORTED,
                       "give the test a second CPU (taskset, --cpu-config shared)",
                       "two-cpus: the test has only CPU %d", run->setup.cpu);
}

static int check(struct run *run)
{
    int other = other_cpu(run);
    if (!wants(run, TWO_CPUS))
        return 0;
    if (other < 0)
        return wants(run, ONE_CPU) ? 0 : refuse_two_cpus(run, &run->outcome);
    cpus_add(&run->uses_cpu, other);
    return 0;
}

static bool has_variant(const struct run *run, struct variant *variant)
{
    bool is_across = variant->number[variant_place(run, "placements")] == TWO_CPUS;
    return peer_has_variant(run, variant) && (!is_across || other_cpu(run) >= 0);
}

static void report_second_cpu(struct run *run)
{
    struct outcome none = {0};
    int other = other_cpu(run);
    if (!wants(run, TWO_CPUS))
        return;
    if (other >= 0) {
        arena_event(run->arena, "second_cpu", -1, DATA(data_integer("cpu", other)),
                    "two-cpus: the first party is on CPU %d, the second on CPU %d", run->setup.cpu,
                    other);
        return;
    }
    refuse_two_cpus(run, &none);
    arena_event(run->arena, "placement_unsupported", -1,
                DATA(data_text("placement", placement_names[TWO_CPUS]),
                     data_text("reason", none.reason),
                     none.remedy[0] ? data_text("remedy", none.remedy) : data_none()),
                "%s", none.reason);
}

static int prepare(struct run *run)
{
    if (ping_pong_prepare(run) != 0)
        return -1;
    report_second_cpu(run);
    return 0;
}

/* ---- the second party ---- */

/* A locked add would be in each round trip, and is not needed: only this party writes answer_count,
 * and the measuring thread, the only reader, reads it before its signal and after its wait, so the
 * semaphores order the two. */
static void count_answer(struct ping_pong_table *table)
{
    uint64_t count = atomic_load_explicit(&table->answer_count, memory_order_relaxed);
    atomic_store_explicit(&table->answer_count, count + 1, memory_order_relaxed);
}

SEMAPHORE_INLINE void answer(void *argument, enum semaphore_kind kind)
{
    struct ping_pong_table *table = argument;
    for (;;) {
        semaphore_wait_of(&table->there, kind);
        if (ping_pong_is_over(table))
            return;
        count_answer(table);
        semaphore_signal_of(&table->back, kind);
    }
}

/* ---- signal and wait in one thread ---- */

#define TAKE_SIGNAL_WAIT(word, kind)                                                               \
    static int take_signal_wait_##word(struct run *run)                                            \
    {                                                                                              \
        return signal_wait_take(run, &((struct ping_pong *)run->own)->table->there, kind,          \
                                SIGNAL_WAIT);                                                      \
    }
SEMAPHORE_EACH(TAKE_SIGNAL_WAIT)
TAKE_SIGNAL_WAIT(mutex, SEMAPHORE_MUTEX)
static int (*const signal_waits[])(struct run *run) = {
    SEMAPHORE_TABLE(take_signal_wait), [SEMAPHORE_MUTEX] = take_signal_wait_mutex};

/* Takes SIGNAL_SAMPLES values, whatever the run's samples and duration are. */
static int sample_signal_wait(struct run *run)
{
    struct ping_pong *ping_pong = run->own;
    struct semaphore *semaphore = &ping_pong->table->there;
    struct run_budget budget = {SIGNAL_SAMPLES, INT64_MAX};
    burst_begin(run, 0);
    int result =
        variant_sample_within(run, SIGNAL_WAIT, BURST, &budget, signal_waits[semaphore->kind]);
    return result == 0 ? semaphore_check(run, semaphore) : result;
}

/* On a semaphore of the kind that SEM-P-SIG uses: for `mutex`, one without a condition variable. */
static int measure_signal_wait(struct run *run)
{
    struct ping_pong *ping_pong = run->own;
    struct semaphore *semaphore = &ping_pong->table->there;
    int error =
        semaphore_open(semaphore, semaphore_kind_of(run), peer_scope_of(run) == PEER_PROCESS,
                       &ping_pong->ipc_cleanup.places[0]);
    if (error)
        return outcome_set_errno(&run->outcome, error, variant_text(run, "kinds"), NULL);
    int result = sample_signal_wait(run);
    semaphore_close(semaphore);
    const struct record *record = run->records[SIGNAL_WAIT];
    if (record->count > 0)
        ping_pong->signal_wait_ns = (int64_t)(record_mean(record) + 0.5);
    return result;
}

/* ---- the round trip ---- */

/* Fails unless the second party answered exactly once. */
static __attribute__((noinline)) int keep_round_trip(struct run *run, uint64_t answers,
                                                     uint64_t begin, uint64_t end)
{
    const struct ping_pong *ping_pong = run->own;
    if (atomic_load_explicit(&ping_pong->table->answer_count, memory_order_relaxed) != answers + 1)
        return ping_pong_refuse(run, "the second party did not answer exactly once");
    int64_t ns = clock_ns(&run->clock, end - begin);
    if (variant_number(run, "placements") == TWO_CPUS) {
        run_record_value(run, CROSS_CPU_ROUND_TRIP, ns, end);
        return 0;
    }
    run_record_value(run, ROUND_TRIP, ns, end);
    run_record_value(run, CONTEXT_SWITCH, ns / 2 - ping_pong->signal_wait_ns, end);
    return 0;
}

SEMAPHORE_INLINE int take(struct run *run, enum semaphore_kind kind)
{
    struct ping_pong_table *table = ((struct ping_pong *)run->own)->table;
    uint64_t answers = atomic_load_explicit(&table->answer_count, memory_order_relaxed);
    uint64_t begin = clock_begin(&run->clock);
    semaphore_signal_of(&table->there, kind);
    semaphore_wait_of(&table->back, kind);
    uint64_t end = clock_end(&run->clock);
    return keep_round_trip(run, answers, begin, end);
}

PING_PONG_KINDS

static int measure_variant(struct run *run)
{
    static const struct ping_pong_body on_one = {ROUND_TRIP, BURST, measure_signal_wait, takes,
                                                 answers};
    static const struct ping_pong_body across = {CROSS_CPU_ROUND_TRIP, BURST, NULL, takes, answers};
    bool is_across = variant_number(run, "placements") == TWO_CPUS;
    ((struct ping_pong *)run->own)->second_cpu = is_across ? other_cpu(run) : run->setup.cpu;
    return ping_pong_measure(run, is_across ? &across : &on_one);
}

const struct test sem_p_rtp = {
    .id = "SEM-P-RTP",
    .title = "Semaphore round trip between two threads or processes (sync test 2)",
    .source = "[O] Obenland 2000, synchronization test 2",
    .params = params,
    .series = series,
    .needs = TEST_NEEDS_REALTIME | TEST_NEEDS_ONE_CPU,
    .default_samples = SAMPLES,
    .setup_ns = INT64_C(500000000),
    .sample_ns = 8000,
    .warm_up_samples = PING_PONG_WARM_UP,
    .check = check,
    .has_variant = has_variant,
    .prepare = prepare,
    .measure = variants_measure,
    .measure_variant = measure_variant,
    .judge = semaphore_require_any,
    .finish = ping_pong_finish,
};

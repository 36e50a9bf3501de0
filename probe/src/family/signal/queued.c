#include "base/posix_source.h"

#include "family/signal/queued.h"

#include "base/options.h"
#include "port/limits.h"
#include "port/port.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STEP_NS = 100000, QUIET_STEPS = 2000 /* 0.2 s in which nothing comes */, COMMANDS = 256 };

const char *const queued_receiver_names[] = {"handler", "sigwaitinfo", NULL};

int queued_check(struct run *run)
{
    if (HS_HAS_SIGQUEUE)
        return 0;
    return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                       "this system has no queued signals (sigqueue, sigwaitinfo)");
}

/* The upper half of a 64-bit value has the bits of the lower one inverted. */
static uintptr_t whole(uint32_t value)
{
    return (uintptr_t)((uint64_t)~value << 32 | value);
}

#if HS_HAS_SIGQUEUE
int queued_send(pid_t to, int number, uint32_t value)
{
    union sigval carried;
    uintptr_t bits = whole(value);
    memcpy(&carried.sival_ptr, &bits, sizeof bits);
    return sigqueue(to, number, carried) == 0 ? 0 : errno;
}

int queued_wait(const sigset_t *wanted, siginfo_t *info, const struct timespec *timeout)
{
    int number;
    do
        number = timeout ? sigtimedwait(wanted, info, timeout) : sigwaitinfo(wanted, info);
    while (number < 0 && errno == EINTR);
    return number;
}
#else
int queued_send(pid_t to, int number, uint32_t value)
{
    (void)to, (void)number, (void)value;
    return ENOSYS;
}

int queued_wait(const sigset_t *wanted, siginfo_t *info, const struct timespec *timeout)
{
    (void)wanted, (void)info, (void)timeout;
    errno = ENOSYS;
    return -1;
}
#endif

bool queued_value(const siginfo_t *info, uint32_t *value)
{
    uintptr_t carried = (uintptr_t)info->si_value.sival_ptr;
    *value = (uint32_t)carried;
    return carried == whole(*value);
}

int queued_not_sent(struct run *run, int error)
{
    const char *limit = port_hint(PORT_HINT_SIGNALS_COMMAND);
    char command[STATUS_COMMAND_BYTES] = "";
    if (limit[0])
        snprintf(command, sizeof command, "%s 100000", limit);
    const struct remedy raise = {port_hint(PORT_HINT_QUEUED_SIGNALS), command};
    if (error != EAGAIN)
        return outcome_set_errno(&run->outcome, error, "sigqueue", NULL);
    return outcome_set_remedy(&run->outcome, STATUS_DENIED, raise,
                              "sigqueue: the limit on queued signals is reached");
}

/* ---- the receiver ---- */

static void nap(void)
{
    static const struct timespec step = {0, STEP_NS};
    nanosleep(&step, NULL);
}

static void fill_set(const struct queue_table *table, sigset_t *set)
{
    sigemptyset(set);
    for (int i = 0; i < table->number_count; i++)
        sigaddset(set, table->first + i);
}

void queue_table_open(struct queue_table *table, pid_t sender)
{
    int count = SIGRTMAX - SIGRTMIN + 1;
    table->sender = sender;
    table->standard = SIGUSR1;
    table->first = SIGRTMIN;
    table->number_count = count < QUEUE_NUMBERS ? count : QUEUE_NUMBERS;
    table->limit_before = -1;
}

/* ---- the receiver: what comes ---- */

/* The order within a number is judged by the places that values name: a lost one leaves a gap, a
 * swapped one comes after a later one. */
static void check_place(struct queue_table *table, int number, uint64_t place)
{
    if (place < table->next_place[number])
        table->findings.not_fifo_count++;
    else
        table->next_place[number] = place + 1;
}

static void check(struct queue_table *table, const siginfo_t *info)
{
    struct queue_findings *findings = &table->findings;
    uint32_t value;
    int number = info->si_signo - table->first;
    bool is_whole = queued_value(info, &value);
    uint64_t place = value & ((UINT32_C(1) << QUEUE_PLACE_BITS) - 1);
    findings->received_count++;
    if (number < table->latest_number)
        findings->lower_later_count++;
    table->latest_number = number;
    if (!is_whole || info->si_code != SI_QUEUE || !signal_is_from(info, table->sender) ||
        value >> QUEUE_PLACE_BITS != (uint32_t)number || place >= table->sent[number])
        findings->wrong_count++;
    else
        check_place(table, number, place);
}

/* Signals of other processes are none of the test's. */
static bool is_ours(const struct queue_table *table, const siginfo_t *info)
{
    return signal_is_from(info, table->sender) && info->si_signo >= table->first &&
           info->si_signo < table->first + table->number_count;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    struct queue_table *table = signal_state();
    (void)context;
    if (number == table->standard) {
        table->findings.standard_count++;
        return;
    }
    if (!is_ours(table, info))
        return;
    if (atomic_load_explicit(&table->is_blocking, memory_order_relaxed))
        table->findings.early_count++;
    check(table, info);
}

int queue_actions_set(struct queue_table *table, struct signal_actions *actions)
{
    int error = signal_actions_set(actions, table->standard, on_signal, table);
    for (int i = 0; i < table->number_count && !error; i++)
        error = signal_actions_set(actions, table->first + i, on_signal, table);
    return error;
}

/* ---- the receiver: commands ---- */

static int block(struct queue_table *table)
{
    sigset_t set;
    fill_set(table, &set);
    sigaddset(&set, table->standard);
    memset(&table->findings, 0, sizeof table->findings);
    memset(table->next_place, 0, sizeof table->next_place);
    table->latest_number = 0;
    atomic_store(&table->is_blocking, true);
    return pthread_sigmask(SIG_BLOCK, &set, NULL);
}

/* After a nap: whatever is delivered in spite of the mask has come by then. */
static int look(struct queue_table *table)
{
    sigset_t pending;
    nap();
    if (sigpending(&pending) != 0)
        return errno;
    for (int i = 0; i < table->number_count; i++)
        if (sigismember(&pending, table->first + i) == 1)
            table->findings.seen_count++;
    return 0;
}

static uint64_t sent_count(const struct queue_table *table)
{
    uint64_t count = 0;
    for (int i = 0; i < table->number_count; i++)
        count += table->sent[i];
    return count;
}

/* Until all has come, or nothing comes any more. The standard signal is unblocked with the rest. */
static int take_by_handler(struct queue_table *table)
{
    sigset_t set;
    int quiet_count = 0;
    fill_set(table, &set);
    sigaddset(&set, table->standard);
    int error = pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    volatile const uint64_t *received = &table->findings.received_count;
    while (!error && *received < sent_count(table) && quiet_count < QUIET_STEPS) {
        uint64_t before = *received;
        nap();
        quiet_count = *received == before ? quiet_count + 1 : 0;
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return error;
}

/* All that was accepted is pending: a wait that finds nothing ends it. */
static int take_by_waiting(struct queue_table *table)
{
    static const struct timespec at_once = {0, 0};
    sigset_t set;
    siginfo_t info;
    fill_set(table, &set);
    while (queued_wait(&set, &info, &at_once) > 0)
        if (is_ours(table, &info))
            check(table, &info);
    return errno == EAGAIN ? 0 : errno;
}

static int take(struct queue_table *table)
{
    atomic_store(&table->is_blocking, false);
    return table->receiver == QUEUED_HANDLER ? take_by_handler(table) : take_by_waiting(table);
}

/* Who may not raise the hard limit gets that one. */
static int limit(struct queue_table *table)
{
    int64_t soft = -1, hard = -1, again;
    int error = port_limit_signal_queue(table->limit, &soft, &hard);
    if (error == EPERM) {
        table->limit = hard;
        error = port_limit_signal_queue(hard, &again, &again);
    }
    if (!error && table->limit_before < 0) {
        table->limit_before = soft;
        table->hard_before = hard;
    }
    return error;
}

static int carry_out(struct queue_table *table, int command)
{
    switch (command) {
    case QUEUE_BLOCK:
        return block(table);
    case QUEUE_LOOK:
        return look(table);
    case QUEUE_TAKE:
        return take(table);
    case QUEUE_LIMIT:
        return limit(table);
    default:
        if (table->limit_before >= 0)
            port_restore_signal_queue(table->limit_before, table->hard_before);
        table->limit_before = -1;
        return 0;
    }
}

void queue_receiver_run(void *argument)
{
    struct queue_table *table = argument;
    unsigned asked = 0;
    while (asked % COMMANDS != QUEUE_END) {
        while (atomic_load(&table->asked) == asked)
            nap();
        asked = atomic_load(&table->asked);
        atomic_store(&table->error, carry_out(table, (int)(asked % COMMANDS)));
        atomic_store(&table->done, asked);
    }
}

int queue_ask(struct queue_table *table, enum queue_command command)
{
    unsigned asked = (atomic_load(&table->asked) / COMMANDS + 1) * COMMANDS + command;
    atomic_store(&table->asked, asked);
    while (atomic_load(&table->done) != asked) {
        nap();
        if (run_should_stop() && command != QUEUE_END)
            return ECANCELED;
    }
    return atomic_load(&table->error);
}

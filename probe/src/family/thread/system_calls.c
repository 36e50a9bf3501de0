#include "base/posix_source.h"

#include "base/random.h"
#include "family/thread/scenario.h"
#include "family/thread/system_calls.h"
#include "work/kernel_operations.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the party ---- */

#define MAPPED_BYTES ((size_t)1 << 20)

static void step(struct call_party *party)
{
    atomic_fetch_add(&party->step_count, 1);
}

static int copy(struct call_party *party)
{
    return kernel_transfer(party->pipe[1], party->pipe[0], party->buffer, sizeof party->buffer);
}

static int map(struct call_party *party)
{
    return kernel_map(MAPPED_BYTES, party->page_bytes);
}

/* Two steps at once: the party stays inside. */
static int be_child(void *argument)
{
    struct call_party *party = argument;
    atomic_fetch_add(&party->step_count, 2);
    return 0;
}

static int make_child(struct call_party *party)
{
    return kernel_in_child(be_child, party);
}

static int scan(struct call_party *party)
{
    (void)party;
    return kernel_scan("/etc");
}

static int wait_for_byte(struct call_party *party)
{
    unsigned char byte;
    ssize_t got;
    while ((got = read(party->pipe[0], &byte, 1)) < 0 && errno == EINTR)
        ;
    return got == 1 ? 0 : errno;
}

const struct call_kind call_kinds[CALL_KINDS] = {
    {"copy", "write and read of 16 KB through a pipe", false, copy},
    {"map", "mmap, page faults, munmap", false, map},
    {"fork", "fork, exit and wait", false, make_child},
    {"scan", "a scan of a folder", false, scan},
    {"wait", "a read that blocks and is woken", true, wait_for_byte},
};

/* A copy that does not fit into the pipe is an error, and no wait for ever. */
static void choose_blocking(const struct call_party *party)
{
    for (int i = 0; i < 2 && !call_kinds[party->kind].is_woken; i++)
        fcntl(party->pipe[i], F_SETFL, O_NONBLOCK);
}

int call_party_open(struct call_party *party, int kind)
{
    party->kind = kind;
    party->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (pipe(party->pipe) != 0)
        return errno;
    for (int i = 0; i < 2; i++)
        fcntl(party->pipe[i], F_SETFD, FD_CLOEXEC);
    choose_blocking(party);
    return 0;
}

void call_party_close(struct call_party *party)
{
    close(party->pipe[0]);
    close(party->pipe[1]);
}

void call_party_work(void *argument)
{
    struct call_party *party = argument;
    int error = 0;
    while (error == 0 && !atomic_load(&party->is_over)) {
        step(party);
        error = call_kinds[party->kind].act(party);
        step(party);
    }
    atomic_store(&party->error, error);
}

void call_party_wake(struct call_party *party)
{
    while (write(party->pipe[1], "w", 1) < 0 && errno == EINTR)
        ;
}

void call_party_end(struct call_party *party)
{
    atomic_store(&party->is_over, true);
    if (call_kinds[party->kind].is_woken)
        call_party_wake(party);
}

bool call_party_is_inside(struct call_party *party)
{
    return atomic_load(&party->step_count) % 2 == 1;
}

enum { CALL_ROUNDS = 200 };

#define LEAST_AHEAD_NS INT64_C(50000)
#define MORE_AHEAD_NS 1000000 /* random part */
#define KEEP_NS INT64_C(50000)

/* ---- the real-time thread ---- */

static struct call_progress progress_of(const struct system_calls *calls)
{
    struct call_progress progress = {.step_count = atomic_load(&calls->party->step_count)};
    struct timespec used;
    if (calls->has_clock && clock_gettime(calls->clock, &used) == 0)
        progress.cpu_ns = clock_timespec_ns(&used);
    progress.at_ns = clock_monotonic_ns();
    return progress;
}

static void be_preferred(void *argument)
{
    struct system_calls *calls = argument;
    for (;;) {
        thread_wait(&calls->wake);
        if (atomic_load(&calls->is_over))
            return;
        calls->first = progress_of(calls);
        thread_spin(KEEP_NS);
        calls->last = progress_of(calls);
        sem_post(&calls->done);
    }
}

/* ---- a round, by the measuring thread ---- */

/* Its wake-up interrupts the party at a random place of its call. */
static void sleep_a_while(struct system_calls *calls)
{
    int64_t more_ns = random_below(&calls->random, MORE_AHEAD_NS);
    struct timespec ahead = clock_ns_timespec(LEAST_AHEAD_NS + more_ns);
    nanosleep(&ahead, NULL);
}

/* How long the party went on between making the other one ready and its block; 0: not at all. */
static int64_t went_on_ns(const struct system_calls *calls)
{
    const struct call_progress *before = &calls->before, *last = &calls->last;
    int64_t cpu_ns = last->cpu_ns - before->cpu_ns;
    if (cpu_ns > 0)
        return cpu_ns;
    return last->step_count != before->step_count ? last->at_ns - before->at_ns : 0;
}

/* A round in which throttling may have cut in proves nothing. */
static void judge_round(struct system_calls *calls, bool is_inside)
{
    int cut_before = calls->cpu_loss.cut_count;
    int64_t delay_ns = calls->first.at_ns - calls->before.at_ns, ns = went_on_ns(calls);
    cpu_loss_note_pause(&calls->cpu_loss, calls->run, delay_ns, "the real-time thread");
    if (cpu_loss_is_doubtful(&calls->cpu_loss, cut_before))
        return;
    calls->inside_count += is_inside;
    calls->delayed_count += is_inside && ns > 0;
    if (is_inside && ns > calls->longest_ns)
        calls->longest_ns = ns;
}

static void play_round(struct system_calls *calls)
{
    rt_budget_rest(&calls->run->rt_budget);
    cpu_loss_begin(&calls->cpu_loss);
    sleep_a_while(calls);
    bool is_inside = call_party_is_inside(calls->party);
    calls->before = progress_of(calls);
    if (call_kinds[calls->party->kind].is_woken)
        call_party_wake(calls->party);
    sem_post(&calls->wake);
    thread_wait(&calls->done);
    judge_round(calls, is_inside);
}

/* ---- a kind ---- */

static void report_kind(const struct system_calls *calls)
{
    const struct call_kind *kind = &call_kinds[calls->party->kind];
    int error = atomic_load(&calls->party->error);
    char name[ARENA_NAME_BYTES];
    snprintf(name, sizeof name, "system_calls/%s", kind->name);
    if (error)
        arena_event(calls->run->arena, "not_seen", -1,
                    DATA(data_text("verdict", name), data_text("reason", "call_failed"),
                         data_text("call", kind->name), data_text("error", strerror(error))),
                    "%s: no verdict: %s failed: %s", name, kind->title, strerror(error));
    else if (calls->inside_count == 0)
        arena_event(calls->run->arena, "not_seen", -1,
                    DATA(data_text("verdict", name), data_text("reason", "never_inside"),
                         data_text("call", kind->name),
                         data_text("scope", peer_scope_names[calls->peer.scope])),
                    "%s: no verdict, because the time-shared %s was never inside: %s", name,
                    peer_scope_names[calls->peer.scope], kind->title);
    else
        arena_verdict(calls->run->arena, calls->delayed_count == 0, calls->inside_count, name,
                      "%llu times a real-time thread became ready while a time-shared %s was "
                      "inside (%s); %llu times that continued before the thread had run and "
                      "blocked, for up to %lld us",
                      (unsigned long long)calls->inside_count, peer_scope_names[calls->peer.scope],
                      kind->title, (unsigned long long)calls->delayed_count,
                      (long long)(calls->longest_ns / 1000));
}

static void play_rounds(struct system_calls *calls)
{
    calls->inside_count = calls->delayed_count = 0;
    calls->longest_ns = 0;
    for (int i = 0; i < CALL_ROUNDS && atomic_load(&calls->party->error) == 0; i++) {
        if (run_should_stop())
            return;
        play_round(calls);
    }
}

static int start_party(struct system_calls *calls)
{
    static const struct ipc_cleanup no_cleanup = {.has_processes = true};
    struct run *run = calls->run;
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), run->setup.cpu};
    enum peer_scope scope = calls->is_shared ? PEER_PROCESS : PEER_THREAD;
    int error =
        peer_start(&calls->peer, run, &no_cleanup, scope, &setup, call_party_work, calls->party);
    if (error)
        return peer_not_started(run, error, "time-shared process", NULL);
    calls->has_clock =
        scope == PEER_PROCESS && clock_getcpuclockid(calls->peer.process, &calls->clock) == 0;
    return 0;
}

static int try_kind(struct system_calls *calls, int kind)
{
    struct run *run = calls->run;
    memset(calls->party, 0, sizeof *calls->party);
    int error = call_party_open(calls->party, kind);
    if (error)
        return outcome_set_errno(&run->outcome, error, "a pipe", NULL);
    int result = start_party(calls);
    if (result == 0) {
        play_rounds(calls);
        call_party_end(calls->party);
        peer_join(&calls->peer);
    }
    call_party_close(calls->party);
    if (result == 0 && !run_should_stop())
        report_kind(calls);
    return result;
}

/* ---- all kinds ---- */

static int try_kinds(struct system_calls *calls)
{
    struct rt_thread_setup setup = thread_setup(calls->run, calls->run->setup.policy, 1);
    int error = rt_thread_start(&calls->preferred, &setup, be_preferred, calls);
    if (error)
        return outcome_set_errno(&calls->run->outcome, error, "a thread", NULL);
    rt_thread_go(&calls->preferred);
    int result = 0;
    for (int i = 0; i < CALL_KINDS && result == 0 && !run_should_stop(); i++)
        result = try_kind(calls, i);
    atomic_store(&calls->is_over, true);
    sem_post(&calls->wake);
    rt_thread_join(&calls->preferred);
    return result;
}

/* Without processes or memory that they share the party is a thread. */
static int make_party(struct system_calls *calls)
{
    calls->party = port_has_processes() ? port_shared_memory(sizeof *calls->party) : NULL;
    calls->is_shared = calls->party != NULL;
    if (!calls->party)
        calls->party = calloc(1, sizeof *calls->party);
    return calls->party
               ? 0
               : outcome_set_errno(&calls->run->outcome, ENOMEM, "a time-shared thread", NULL);
}

static void free_party(struct system_calls *calls)
{
    if (calls->is_shared)
        munmap(calls->party, sizeof *calls->party);
    else
        free(calls->party);
}

int system_calls_try(struct system_calls *calls)
{
    struct run *run = calls->run;
    if (make_party(calls) != 0)
        return -1;
    random_start(&calls->random, run->seed);
    sem_init(&calls->wake, 0, 0);
    sem_init(&calls->done, 0, 0);
    cpu_loss_open(&calls->cpu_loss, run);
    int result = try_kinds(calls);
    free_party(calls);
    return result;
}

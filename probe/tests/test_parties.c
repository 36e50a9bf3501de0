/* Others that a test needs: a thread or process for round trips, and one that calls. */
#include "base/posix_source.h"

#include "family/semaphore/kind.h"
#include "family/shared/ipc_cleanup.h"
#include "family/shared/peer.h"
#include "family/thread/system_calls.h"
#include "run/supervise.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A peer thread or process: what it shares, how its end is noticed, and that nothing stays behind
 * when it is killed. */

struct table {
    atomic_int value, is_other_process;
    atomic_long first;
};

static const struct rt_thread_setup plain = {SCHED_OTHER, 0, -1};

static struct run run;
static struct ipc_cleanup ipc_cleanup;
static struct peer peer;

static bool set_up(void)
{
    memset(&run, 0, sizeof run);
    run.setup = plain;
    return CHECK_SAME(ipc_cleanup_open(&ipc_cleanup, &run, true), 0);
}

#define PEER_TEST(what) TEST_IN(set_up(), ipc_cleanup_close(&ipc_cleanup), what)

static void change(void *argument)
{
    struct table *table = argument;
    atomic_store(&table->is_other_process, getpid() != atomic_load(&table->first));
    atomic_store(&table->value, 42);
}

PEER_TEST(threads_and_processes_share_memory)
{
    for (int scope = PEER_THREAD; scope <= PEER_PROCESS; scope++) {
        struct table *table = peer_memory(sizeof *table, &ipc_cleanup.places[0]);
        if (!CHECK(table != NULL))
            return;
        atomic_store(&table->first, getpid());
        CHECK_SAME(
            peer_start(&peer, &run, &ipc_cleanup, (enum peer_scope)scope, &plain, change, table),
            0);
        CHECK_SAME(peer_join(&peer), 0);
        CHECK_SAME(atomic_load(&table->value), 42);
        CHECK_SAME(atomic_load(&table->is_other_process), scope == PEER_PROCESS);
        peer_memory_free(table, sizeof *table);
    }
}

static void end_badly(void *argument)
{
    (void)argument;
    raise(SIGKILL);
}

PEER_TEST(a_process_that_dies_is_noticed)
{
    struct rt_thread_setup wrong = {SCHED_FIFO, 1000, -1};
    CHECK_SAME(peer_start(&peer, &run, &ipc_cleanup, PEER_PROCESS, &plain, end_badly, NULL), 0);
    CHECK_SAME(peer_join(&peer), ECHILD);
    CHECK_SAME(peer_start(&peer, &run, &ipc_cleanup, PEER_PROCESS, &wrong, change, NULL), EINVAL);
}

static int begin_well(void *argument)
{
    change(argument);
    return 0;
}

static int begin_badly(void *argument)
{
    (void)argument;
    return EAGAIN;
}

static void rest(void *argument)
{
    (void)argument;
    for (;;)
        pause();
}

/* What a process does before it is said to be started has been done by then. */
static bool is_pending(int number)
{
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, number) == 1;
}

/* The supervisor, which sleeps, is woken by the signal: for a process that has ended before anybody
 * asked for it there is another one; not for one that returned. */
TEST(the_supervisor_hears_of_an_end_before)
{
    sigset_t child, before;
    memset(&run, 0, sizeof run);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    for (int status = 0; status <= 1; status++) {
        siginfo_t end;
        pid_t process = fork();
        if (process == 0)
            _exit(status);
        CHECK_SAME(waitid(P_PID, (id_t)process, &end, WEXITED | WNOWAIT), 0);
        int number;
        while (is_pending(SIGCHLD))
            sigwait(&child, &number);
        supervise_process(&run, process, "second party");
        CHECK_SAME(is_pending(SIGCHLD), status != 0);
        supervise_process(&run, 0, NULL);
        waitpid(process, NULL, 0);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}

PEER_TEST(a_process_that_begins)
{
    struct table *table = peer_memory(sizeof *table, &ipc_cleanup.places[0]);
    if (!CHECK(table != NULL))
        return;
    CHECK_SAME(peer_start_process(&peer, &run, &ipc_cleanup, &plain, begin_badly, rest, table),
               EAGAIN);
    CHECK_SAME(peer_start_process(&peer, &run, &ipc_cleanup, &plain, begin_well, rest, table), 0);
    CHECK_SAME(atomic_load(&table->value), 42);
    CHECK(!peer_is_gone(&peer));
    kill(peer.process, SIGKILL);
    while (!peer_is_gone(&peer))
        sched_yield();
    CHECK_SAME(peer_join(&peer), ECHILD);
    peer_memory_free(table, sizeof *table);
}

static bool name_is_there(const char *name)
{
    system_sem_t *semaphore = sem_open(name, 0);
    if (semaphore == (void *)SEM_FAILED)
        return false;
    sem_close(semaphore);
    return true;
}

/* Dies with a named semaphore and a set in its places. */
static void leave_and_die(const struct ipc_cleanup *theirs)
{
    struct semaphore named, set;
    semaphore_make(&named, SEMAPHORE_NAMED, false, &theirs->places[0]);
    semaphore_make(&set, SEMAPHORE_SYSV, false, &theirs->places[1]);
    raise(SIGKILL);
}

/* In a child, whose places this process learns through shared memory. */
PEER_TEST(the_guard_removes_what_a_killed_process_left)
{
    static const struct timespec while_it_removes = {.tv_nsec = 10000000};
    struct ipc_cleanup *theirs = peer_memory(sizeof *theirs, &ipc_cleanup.places[0]);
    if (!CHECK(theirs != NULL))
        return;
    pid_t child = fork();
    if (child == 0) {
        close(ipc_cleanup.guard.pipe);
        if (ipc_cleanup_open(theirs, &run, true) == 0)
            leave_and_die(theirs);
        _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    while (name_is_there(theirs->places[0].name) || semget(theirs->places[1].key, 0, 0) >= 0)
        nanosleep(&while_it_removes, NULL);
    peer_memory_free(theirs, sizeof *theirs);
}

PEER_TEST(places_are_free_and_differ)
{
    for (int i = 0; i < IPC_CLEANUP_PLACES; i++) {
        CHECK(!name_is_there(ipc_cleanup.places[i].name));
        CHECK(semget(ipc_cleanup.places[i].key, 0, 0) < 0 && errno == ENOENT);
        for (int j = 0; j < i; j++)
            CHECK(ipc_cleanup.places[i].key != ipc_cleanup.places[j].key);
    }
}

/* ---- The party of THR-B-PRI that is inside system calls: each kind, and its end ---- */

enum { STEPS = 20 };

static void *work(void *party)
{
    call_party_work(party);
    return NULL;
}

static int kind_of(const char *name)
{
    int kind = 0;
    while (strcmp(call_kinds[kind].name, name) != 0)
        kind++;
    return kind;
}

static struct call_party party;
static pthread_t thread;

static void begin(int kind)
{
    memset(&party, 0, sizeof party);
    CHECK_SAME(call_party_open(&party, kind), 0);
    CHECK_SAME(pthread_create(&thread, NULL, work, &party), 0);
}

static void end(void)
{
    call_party_end(&party);
    pthread_join(thread, NULL);
    CHECK_SAME(atomic_load(&party.error), 0);
    CHECK(!call_party_is_inside(&party));
    call_party_close(&party);
}

TEST(every_kind_goes_on_until_it_is_told)
{
    for (int kind = 0; kind < CALL_KINDS; kind++) {
        begin(kind);
        while (atomic_load(&party.step_count) < STEPS && atomic_load(&party.error) == 0) {
            if (call_kinds[kind].is_woken)
                call_party_wake(&party);
            sched_yield();
        }
        end();
    }
}

/* It must not go on by itself: a thread that it does not delay proves something only then. */
TEST(the_one_that_waits_is_inside_until_it_is_woken)
{
    begin(kind_of("wait"));
    while (!call_party_is_inside(&party))
        sched_yield();
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    CHECK_SAME(atomic_load(&party.step_count), 1);
    end();
    CHECK_SAME(atomic_load(&party.step_count), 2);
}

/* And does not block for ever. */
TEST(a_copy_that_does_not_fit_is_an_error)
{
    memset(&party, 0, sizeof party);
    CHECK_SAME(call_party_open(&party, kind_of("copy")), 0);
    while (write(party.pipe[1], "x", 1) == 1)
        ;
    call_party_work(&party);
    CHECK_SAME(atomic_load(&party.error), EAGAIN);
    call_party_close(&party);
}

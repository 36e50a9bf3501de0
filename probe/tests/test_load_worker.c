/* A worker has ordinary scheduling and signals, whatever process it was forked from. */
#include "base/posix_source.h"

#include "load/element.h"
#include "load/supervisor.h"
#include "port/port.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLICY = COUNTER_OWN, NICE, BLOCKED, IGNORED, CORE };

static struct load_map *map;

static void clear_map(void)
{
    size_t bytes = sizeof *map + sizeof map->slots[0];
    if (!map && !(map = port_shared_memory(bytes)))
        abort();
    memset(map, 0, bytes);
}

static bool refuses_policies, has_no_idle_class;

WRAP_IF(has_no_idle_class, ENOTSUP, int, port_run_when_idle, (void), ());
WRAP_IF(refuses_policies, EPERM, int, pthread_setschedparam,
        (pthread_t thread, int policy, const struct sched_param *wanted), (thread, policy, wanted));

/* What it finds itself to be. */
static void work(struct worker *worker)
{
    sigset_t blocked;
    struct sigaction action;
    struct rlimit core = {1, 1};
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigaction(SIGTERM, NULL, &action);
    getrlimit(RLIMIT_CORE, &core);
    worker_set(worker, POLICY, (uint64_t)sched_getscheduler(0));
    worker_set(worker, NICE, (uint64_t)(20 + getpriority(PRIO_PROCESS, 0)));
    worker_set(worker, BLOCKED, sigismember(&blocked, SIGTERM) == 1 ? 1 : 0);
    worker_set(worker, IGNORED, action.sa_handler == SIG_IGN ? 1 : 0);
    worker_set(worker, CORE, core.rlim_cur);
    worker_works(worker);
}

static const struct load_element usual = {.name = "test", .kind = LOAD_COUNT, .work = work};

/* The same after it has stepped back. */
static void work_behind(struct worker *worker)
{
    worker_step_back(worker);
    work(worker);
}

static const struct load_element behind = {.name = "test", .kind = LOAD_COUNT, .work = work_behind};

/* Forks a worker from a process with this policy and niceness. False: that process may not have
 * them. */
static bool fork_worker(const struct load_element *element, int policy, int nice_value)
{
    int gate[2], status = -1;
    struct sched_param priority = {.sched_priority = policy == SCHED_OTHER ? 0 : 1};
    clear_map();
    if (!CHECK_SAME(pipe(gate), 0))
        return false;
    close(gate[1]);
    pid_t supervisor = fork();
    if (supervisor == 0) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, NULL);
        signal(SIGTERM, SIG_IGN);
        if (setpriority(PRIO_PROCESS, 0, nice_value) != 0 ||
            sched_setscheduler(0, policy, &priority) != 0)
            _exit(2);
        struct worker worker = {.element = element,
                                .map = map,
                                .slot = &map->slots[0],
                                .cpu = -1,
                                .supervisor = getpid()};
        pid_t child = fork();
        if (child == 0)
            worker_be(&worker, gate[0]);
        _exit(waitpid(child, NULL, 0) == child ? 0 : 1);
    }
    close(gate[0]);
    waitpid(supervisor, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The same; the worker works, without that policy and niceness. */
static bool be(const struct load_element *element, int policy, int nice_value)
{
    bool is_forked = fork_worker(element, policy, nice_value);
    if (!is_forked)
        tap_skip("no right to that priority or niceness");
    return is_forked && CHECK_SAME(atomic_load(&map->slots[0].state), WORKER_WORKS);
}

static int64_t found(int counter)
{
    return (int64_t)atomic_load(&map->slots[0].counters[counter]);
}

TEST(it_is_ordinary)
{
    static const struct {
        int policy, nice;
    } from[] = {{SCHED_OTHER, 0}, {SCHED_OTHER, 5}, {SCHED_FIFO, 0}, {SCHED_RR, 0}};
    for (int i = 0; i < 4; i++) {
        if (!be(&usual, from[i].policy, from[i].nice))
            continue;
        CHECK_SAME(found(POLICY), SCHED_OTHER);
        CHECK_SAME(found(BLOCKED), 0);
        CHECK_SAME(found(IGNORED), 0);
        CHECK_SAME(found(CORE), 0);
        if (geteuid() == 0 || from[i].nice == 0)
            CHECK_SAME(found(NICE) - 20, 0);
        else
            CHECK_HOLDS(load_slot_note(&map->slots[0]), "could not be set to nice 0");
    }
}

/* A load of real-time priority would compete with the test. */
TEST(it_is_refused_where_it_would_stay_real_time)
{
    if (!tap_is_wrapped())
        return;
    refuses_policies = true;
    CHECK(be(&usual, SCHED_OTHER, 0)); /* nothing to drop */
    bool has_right = fork_worker(&usual, SCHED_FIFO, 0);
    refuses_policies = false;
    if (!has_right) {
        tap_skip("no right to a real-time priority");
        return;
    }
    CHECK_SAME(atomic_load(&map->slots[0].state), WORKER_REFUSED);
    const char *note = load_slot_note(&map->slots[0]);
    CHECK_HOLDS(note ? note : "", "the real-time priority of the probe could not");
}

TEST(behind_all_others_it_has_the_idle_class)
{
    if (!be(&behind, SCHED_OTHER, 0))
        return;
    int told = atomic_load(&map->slots[0].behind);
    if (told == BEHIND_NICE) {
        tap_skip("this system has no such class");
        return;
    }
    CHECK_SAME(told, BEHIND_IDLE);
    CHECK(found(POLICY) != SCHED_OTHER);
}

TEST(without_an_idle_class_it_is_lowest)
{
    if (!tap_is_wrapped())
        return;
    has_no_idle_class = true;
    CHECK(be(&behind, SCHED_OTHER, 0));
    has_no_idle_class = false;
    CHECK_SAME(found(POLICY), SCHED_OTHER);
    CHECK_SAME(found(NICE) - 20, 19);
    CHECK_SAME(atomic_load(&map->slots[0].behind), BEHIND_NICE);
}

/* Whoever is killed in the middle of one has told the one before. */
TEST(a_note_does_not_touch_the_one_before)
{
    clear_map();
    struct worker worker = {.map = map, .slot = &map->slots[0]};
    CHECK(!load_slot_note(worker.slot));
    worker_note(&worker, "first");
    const char *before = load_slot_note(worker.slot);
    worker_note(&worker, "second of %d", 3);
    CHECK_TEXT(before, "first");
    CHECK_TEXT(load_slot_note(worker.slot), "second of 3");
    worker_note(&worker, "third");
    CHECK_TEXT(load_slot_note(worker.slot), "third");
}

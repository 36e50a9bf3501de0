/* A load from start to end, from this process: each element counts, and nothing is left behind. */
#include "running_load.h"

#include "load/element.h"
#include "run/life_cycle.h"
#include "work/job.h"
#include "work/scratch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#define JOBS_FAIL "HARDSTONE_TEST_JOBS_FAIL" /* set where jobs are to end at once */

TEST_IN(start("cpu+memory@cpu"), load_free(&load), a_process_of_the_whole_load_is_not_bound_to_one)
{
    if (load.setup.cpu_count > 0) {
        CHECK_SAME(load.map->slots[0].cpu, -1);
        CHECK_SAME(load.map->slots[1].cpu, cpus_first(&load.setup.cpus));
    }
}

static void measure_rounds(int64_t least)
{
    load_begin(&load);
    do {
        pass_ms(100);
        load_end(&load);
    } while (reached(0).counters[COUNTER_ROUNDS] < (double)least);
    end();
}

/* A process keeps at most LOAD_JOBS_EACH of them. */
HOST_TEST_IN(start("build=20"), load_free(&load), so_many_jobs_are_at_once)
{
    CHECK_SAME(load.map->slot_count, 20 / LOAD_JOBS_EACH);
    CHECK_SAME(load.map->process_count, 20 + 20 / LOAD_JOBS_EACH);
    measure_rounds(40);
    CHECK_SAME(reached(0).asked, 20);
    CHECK(reached(0).reached > 0 && reached(0).reached <= 20);
    CHECK_SAME(is_told("load_short", "build reached"), reached(0).reached < 16);
}

/* Jobs that end at once, with an error: their process rests before it starts others. */
HOST_TEST(ended_jobs_are_not_under_way)
{
    setenv(JOBS_FAIL, "1", 1);
    bool is_started = start("build=20");
    unsetenv(JOBS_FAIL);
    if (!is_started)
        return;
    load_begin(&load);
    do {
        pass_ms(10);
        load_end(&load);
    } while (reached(0).reached >= 20);
    end();
    CHECK(strstr(text_of("load_limited"), "a job failed") != NULL);
    load_free(&load);
}

/* A job computes for longer than it takes to start it. */
HOST_TEST_IN(start("build"), load_free(&load), the_time_of_jobs_is_cpu_time)
{
    measure_rounds(20);
    uint64_t jobs_ns = load.end.samples[0].counters[COUNTER_CHILDREN] -
                       load.begin.samples[0].counters[COUNTER_CHILDREN];
    CHECK(jobs_ns > 0);
    CHECK((uint64_t)reached(0).counters[COUNTER_CPU_NS] > jobs_ns);
}

TEST_IN(start("cpu+storm=2"), load_free(&load), a_killed_worker_is_told)
{
    load_begin(&load);
    kill((pid_t)atomic_load(&load.map->slots[1].process), SIGKILL);
    for (load_end(&load);
         atomic_load(&load.map->slots[1].state) != WORKER_ENDED || reached(1).reached < 1;
         load_end(&load))
        pass_ms(5);
    end();
    CHECK(is_told("load_ended_early", "storm: 1 of 2 processes ended before the load was stopped "
                                      "(killed by signal 9)"));
    CHECK(is_told("load_short", "storm reached 1 of 2"));
    CHECK_SAME(reached(1).reached, 1);
}

/* It worked within the window, and is gone at its end; nobody is left to note that, and no folder
 * stays. */
TEST_IN(start("storm=2+kernel"), load_free(&load), a_load_without_supervisors_does_not_count)
{
    char scratch[SCRATCH_BYTES];
    siginfo_t ended;
    memcpy(scratch, load.map->scratch.own, sizeof scratch);
    CHECK_SAME(access(scratch, F_OK), 0);
    load_begin(&load);
    pass_ms(100);
    kill_supervisors();
    for (int i = 0; i < 3; i++)
        while (kill((pid_t)atomic_load(&load.map->slots[i].process), 0) == 0)
            pass_ms(2);
    CHECK_SAME(waitid(P_PID, (id_t)load.guard, &ended, WEXITED | WNOWAIT), 0);
    end();
    CHECK(access(scratch, F_OK) != 0);
    CHECK_SAME(reached(0).reached, 0);
    CHECK(is_told("load_short", "storm reached 0 of 2"));
    CHECK_HOLDS(text_of("load_ended_early"), "the guard process of the load was killed");
}

/* A program of the name stress-ng that tries what stress-ng can: 0 when it got it. */
static int act_as_stress_ng(void)
{
    struct sched_param low = {.sched_priority = 1};
    struct rlimit wide = {RLIM_INFINITY, RLIM_INFINITY}, files;
    bool is_real_time = sched_setscheduler(0, SCHED_FIFO, &low) == 0;
    (void)setrlimit(RLIMIT_RTPRIO, &wide); /* root may raise it: that must not help */
    is_real_time = is_real_time || sched_setscheduler(0, SCHED_FIFO, &low) == 0;
    if (is_real_time || getrlimit(RLIMIT_FSIZE, &files) != 0 ||
        files.rlim_cur > (rlim_t)INT64_C(1) << 30)
        return 0;
    for (;;)
        pause();
}

TEST(stress_ng_is_never_real_time)
{
    char folder[] = "/tmp/test-load-XXXXXX", link[64], path[4096], program[LOAD_PATH_BYTES];
    if (!CHECK(mkdtemp(folder) != NULL) || !CHECK(realpath(tap_program, path) != NULL))
        return;
    const char *before = getenv("PATH");
    char *kept = strdup(before ? before : "");
    if (!kept)
        abort();
    snprintf(program, sizeof program, "%.500s", path);
    snprintf(link, sizeof link, "%s/stress-ng", folder);
    CHECK_SAME(symlink(program, link), 0);
    snprintf(path, sizeof path, "%s:%.3000s", folder, kept);
    setenv("PATH", path, 1);
    if (start("stress-ng:--act")) {
        pass_ms(300);
        load_begin(&load);
        end();
        CHECK(!is_told("load_ended_early", "stress-ng: "));
        load_free(&load);
    }
    setenv("PATH", kept, 1);
    free(kept);
    unlink(link);
    rmdir(folder);
}

/* A folder of a load as it would be called; with a lock in it, or none. */
static void make_left(char *path, size_t bytes, const char *place, pid_t process, bool is_locked)
{
    char lock[640];
    snprintf(path, bytes, "%s/hardstone-load-%ld-0badcafe", place, (long)process);
    snprintf(lock, sizeof lock, "%s/lock", path);
    CHECK_SAME(mkdir(path, 0700), 0);
    if (!is_locked)
        return;
    int file = open(lock, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    CHECK(file >= 0);
    close(file);
}

static pid_t ended_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    waitpid(child, NULL, 0);
    return child;
}

static pid_t hold_lock(const char *folder)
{
    int ready[2];
    char lock[640], done = 1;
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    snprintf(lock, sizeof lock, "%s/lock", folder);
    if (!CHECK_SAME(pipe(ready), 0))
        return -1;
    pid_t holder = fork();
    if (holder == 0) {
        (void)port_kill_with_parent(getppid());
        if (fcntl(open(lock, O_RDWR), F_SETLK, &whole) == 0 && write(ready[1], &done, 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    CHECK_SAME(read(ready[0], &done, 1), 1);
    close(ready[0]);
    return holder;
}

TEST(what_was_left_is_swept)
{
    enum { LEFT, HELD, LIVING, BEING_MADE, NEVER_LOCKED, IN_THE_FUTURE, FOLDERS };
    static const struct utimbuf long_ago = {0, 0}, far_ahead = {INT32_MAX, INT32_MAX};
    struct utimbuf soon;
    char place[] = "/tmp/test-load-XXXXXX", paths[FOLDERS][96], lock[640];
    if (!CHECK(mkdtemp(place) != NULL))
        return;
    for (int i = 0; i < FOLDERS; i++)
        make_left(paths[i], sizeof paths[i], place, i == LIVING ? getpid() : ended_process(),
                  i < BEING_MADE);
    CHECK_SAME(utime(paths[NEVER_LOCKED], &long_ago), 0);
    CHECK_SAME(utime(paths[IN_THE_FUTURE], &far_ahead), 0);
    pid_t holder = hold_lock(paths[HELD]);
    soon.actime = soon.modtime = time(NULL) + 59; /* a busy host has twice the time */
    CHECK_SAME(utime(paths[BEING_MADE], &soon), 0);
    setenv("TMPDIR", place, 1);
    if (start("cpu"))
        load_free(&load);
    unsetenv("TMPDIR");
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    for (int i = 0; i < FOLDERS; i++) {
        CHECK_SAME(access(paths[i], F_OK) == 0, i == HELD || i == LIVING || i == BEING_MADE);
        snprintf(lock, sizeof lock, "%s/lock", paths[i]);
        unlink(lock);
        rmdir(paths[i]);
    }
    CHECK_SAME(rmdir(place), 0);
}

/* So a sweep of another container, where this process id means nothing, leaves the folder alone. */
TEST(a_folder_is_locked_while_it_is_used)
{
    char place[] = "/tmp/test-load-XXXXXX", lock[SCRATCH_BYTES + 16];
    struct flock held = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct scratch scratch;
    int status = 0;
    if (!CHECK(mkdtemp(place) != NULL))
        return;
    CHECK_SAME(scratch_choose_in(&scratch, place, true, 1), 0);
    CHECK_SAME(scratch_make(&scratch), 0);
    snprintf(lock, sizeof lock, "%s/lock", scratch.own);
    pid_t asker = fork(); /* one's own lock is not told */
    if (asker == 0)
        _exit(fcntl(open(lock, O_RDWR), F_GETLK, &held) == 0 && held.l_type == F_WRLCK &&
                      held.l_pid == getppid()
                  ? 0
                  : 1);
    CHECK_SAME(waitpid(asker, &status, 0), asker);
    CHECK_SAME(status, 0);
    snprintf(lock, sizeof lock, "%s/lock.new", scratch.own);
    CHECK_SAME(access(lock, F_OK), -1);
    scratch_remove(&scratch);
    CHECK_SAME(rmdir(place), 0);
}

TEST(patience_has_an_end)
{
    struct load_setup setup = {.spec = &spec, .cpu_count = 1};
    char error[LOAD_ERROR_BYTES];
    CHECK(load_patience_ns(240) > load_patience_ns(10));
    CHECK_SAME(load_patience_ns(5000), INT64_C(60000000000));
    CHECK_SAME(load_spec_parse("cpu+storm=5000", &spec, error, sizeof error), 0);
    CHECK_SAME(load_processes(&setup), 5001);
}

static void stop_the_first(void)
{
    while (atomic_load(&load.map->slots[0].process) == 0)
        pass_ms(1);
    signal_slot(0, SIGSTOP);
}

/* Long before the patience is over. */
HOST_TEST_IN(launch("cpu+storm=2", LIMIT_NS, 200000000), load_free(&load),
             a_start_that_stalls_is_given_up)
{
    stop_the_first();
    int64_t begun_ns = now_ns();
    CHECK(!load_settle(&load, NULL));
    CHECK(now_ns() - begun_ns < load_patience_ns(2));
    load_unsettled_events(&load, tell, NULL);
    CHECK_TEXT(told.texts[0], "not all processes of the load work: cpu 0 of 1");
    for (int i = 0; i < told.count; i++)
        CHECK_TEXT(told.names[i], "load_not_settled");
    CHECK(told.count < 2 || strstr(told.texts[1], ": storm ")); /* it may have begun meanwhile */
}

HOST_TEST_IN(launch("storm=120", LIMIT_NS, LIMIT_NS), load_free(&load), one_of_hundreds_may_be_late)
{
    stop_the_first();
    CHECK(load_settle(&load, NULL));
    CHECK(atomic_load(&load.map->slots[0].state) < WORKER_WORKS);
}

TEST_IN(start("cpu+storm=1"), load_free(&load), a_storm_is_lowest_and_others_are_not)
{
    for (int i = 0; i < 2; i++) {
        pid_t process = (pid_t)atomic_load(&load.map->slots[i].process);
        bool is_idle = atomic_load(&load.map->slots[i].behind) == BEHIND_IDLE;
        CHECK_SAME(sched_getscheduler(process) == SCHED_OTHER, !is_idle);
        CHECK_SAME(getpriority(PRIO_PROCESS, (id_t)process), i == 1 && !is_idle ? 19 : 0);
        CHECK(i == 1 || !is_idle);
    }
    CHECK(strcmp(reached(1).how, "SCHED_IDLE") == 0 || strcmp(reached(1).how, "nice 19") == 0);
}

/* On one CPU, so what is seen by CPU is all that is seen. */
HOST_TEST_IN(start("cpu+interrupt=1000/s"), load_free(&load), each_knows_what_the_kernel_saw)
{
    load_begin(&load);
    pass_ms(200);
    end();
    if (load.setup.cpu_count == 1 && load.begin.timer_interrupts >= 0)
        CHECK(load.end.samples[1].seen > load.begin.samples[1].seen);
    CHECK_SAME(load.begin.samples[1].seen, load.begin.timer_interrupts);
    CHECK_SAME(load.end.samples[1].seen, load.end.timer_interrupts);
    CHECK_SAME(load.end.samples[0].seen, -1);
}

/* It looks some fifty times a second, so at the end it has not counted all. Others may keep it
 * from its CPU for longer than is waited: then again. */
HOST_TEST(interrupts_before_the_end_are_waited_for)
{
    for (bool is_whole = false; !is_whole;) {
        if (!start("interrupt=2000/s"))
            return;
        load_begin(&load);
        pass_ms(110); /* half a look later than those of the warm-up */
        load_end(&load);
        load_stop(&load);
        is_whole = has_all(2000);
        load_free(&load);
    }
}

TEST_IN(launch("storm=2", 300000000, LIMIT_NS), load_free(&load), a_load_ends_at_its_limit)
{
    (void)load_settle(&load, NULL);
    CHECK_SAME(waitpid(load.guard, NULL, 0), load.guard); /* without an order */
}

TEST(no_load_is_nothing)
{
    struct outcome outcome = {0};
    struct load_setup setup = {.spec = &spec, .called_as = tap_program};
    spec = LOAD_SPEC_NONE;
    CHECK_SAME(load_start(&load, &setup, &outcome), 0);
    CHECK(load_settle(&load, NULL));
    load_begin(&load);
    end();
    CHECK_SAME(told.count, 0);
    load_free(&load);
}

TEST(where_it_runs)
{
    struct load_setup all = {0}, only = {0}, off = {0};
    struct outcome outcome = {0};
    int count = port_allowed_cpus(&all.cpus);
    if (count < 0) {
        tap_skip("CPUs cannot be told apart here");
        return;
    }
    int first = cpus_first(&all.cpus);
    CHECK_SAME(load_run_place(&all, LOAD_EVERYWHERE, first, &outcome), 0);
    CHECK_SAME(all.cpu_count, count);
    CHECK_SAME(load_run_place(&only, LOAD_ON_MEASURED, first, &outcome), 0);
    CHECK_SAME(only.cpu_count, 1);
    int answer = load_run_place(&off, LOAD_OFF_MEASURED, first, &outcome);
    CHECK_SAME(answer, count > 1 ? 0 : -1);
    CHECK_SAME(outcome.status, count > 1 ? STATUS_MEASURED : STATUS_UNSUPPORTED);
    CHECK_SAME(off.cpu_count, count - 1);
    for (int cpu = 0; cpu < PORT_CPUS; cpu++) {
        CHECK_SAME(cpus_has(&only.cpus, cpu), cpu == first);
        CHECK_SAME(cpus_has(&off.cpus, cpu), cpus_has(&all.cpus, cpu) && cpu != first);
    }
}

TEST(no_descriptor_stays_open)
{
    int before = tap_open_files();
    for (int i = 0; i < 3 && start("cpu"); i++)
        load_free(&load);
    CHECK_SAME(tap_open_files(), before);
}

int main(int argc, char *argv[])
{
    if (getenv(JOBS_FAIL))
        return EXIT_FAILURE;
    if (argc == 3 && strcmp(argv[1], JOB_COMMAND) == 0)
        return job_main(argv[2]);
    tap_program = argv[0];
    if (argc == 2 && strcmp(argv[1], "--act") == 0)
        return act_as_stress_ng();
    return tap_run();
}

/* ---- processes that are stopped (SIGSTOP), or wait for a CPU: what is counted and reported, and
 * that the load still ends ---- */

HOST_TEST_IN(start("storm=3"), load_free(&load), a_stopped_storm_does_not_count)
{
    signal_slot(0, SIGSTOP);
    signal_slot(2, SIGSTOP);
    load.is_measured = false;
    do { /* each must run to be stopped */
        load_begin(&load);
        pass_ms(50);
        load_end(&load);
    } while (reached(0).reached != 1);
    end();
    CHECK_HOLDS(text_of("load_short"), "storm reached 1 of 3");
}

static void wait_for_stop(int slot, bool is_stopped)
{
    while ((atomic_load(&load.map->slots[slot].stopped_ns) < 0) != is_stopped)
        pass_ms(1);
}

/* It is told that search was stopped for as long as the window says: that time. */
static int64_t told_stop_ns(void)
{
    char text[96];
    int64_t stopped_ns = load.end.samples[0].stopped_ns - load.begin.samples[0].stopped_ns;
    snprintf(text, sizeof text, "search: 1 of 1 processes were stopped for up to %.3g s of",
             (double)stopped_ns / 1e9);
    CHECK(is_told("load_short", text));
    return stopped_ns;
}

HOST_TEST_IN(start("search+storm=2"), load_free(&load), a_stop_in_between_is_told)
{
    pass_ms(50);
    load_begin(&load);
    signal_slot(0, SIGSTOP);
    wait_for_stop(0, true);
    pass_ms(300);
    signal_slot(0, SIGCONT);
    wait_for_stop(0, false);
    end();
    CHECK(told_stop_ns() <= load.end.at_ns - load.begin.at_ns);
    CHECK_SAME(*text_of("load_ended_early"), 0); /* a stop is no end */
    CHECK(reached(0).processes == 1 && reached(1).processes == 2);
    CHECK_SAME(load.end.samples[1].stopped_ns, 0);
}

/* It is stopped at both ends of the window, and never noted as going on. */
TEST_IN(start("search"), load_free(&load), one_that_stays_stopped_is_told)
{
    signal_slot(0, SIGSTOP);
    wait_for_stop(0, true);
    load_begin(&load);
    pass_ms(100);
    end();
    CHECK(is_told("load_short", "search completed no round"));
    CHECK(told_stop_ns() >= 100000000);
}

/* Stopped at both ends of the window and all between: its timers shoot nevertheless. Where it is
 * stopped for longer than they are armed ahead, some are not there: then again. */
HOST_TEST(what_fired_beside_a_stopped_worker_counts)
{
    int64_t stopped_ns = INT64_MAX;
    bool is_whole = false;
    for (int i = 0; stopped_ns > 900000000 || !is_whole; i++) {
        if (i > 0)
            load_free(&load);
        if (!start("interrupt=500/s"))
            return;
        pass_ms(50 * i); /* it must have armed all */
        int64_t begun_ns = now_ns();
        signal_slot(0, SIGSTOP);
        wait_for_stop(0, true);
        pass_ms(50);
        load_begin(&load);
        pass_ms(400);
        load_end(&load);
        pass_ms(50);
        signal_slot(0, SIGCONT);
        stopped_ns = now_ns() - begun_ns;
        while (atomic_load(&load.map->slots[0].counted_ns) < load.end.at_ns)
            pass_ms(10); /* load_stop waits for less than others may keep the worker from its CPU */
        load_stop(&load);
        is_whole = has_all(500);
    }
    load_events(&load, tell, NULL);
    CHECK(!is_told("load_short", "interrupt reached"));
    load_free(&load);
}

/* Stops a process again and again, until this process ends it, or has died. */
static pid_t stop_always(pid_t process)
{
    pid_t parent = getpid(), stopper = fork();
    for (; stopper == 0 && getppid() == parent; pass_ms(1))
        kill(process, SIGSTOP);
    if (stopper == 0)
        _exit(0);
    return stopper;
}

/* Whatever is stopped, the end comes, and long before the limit of the load. */
static void check_it_ends(bool is_in_time)
{
    pid_t worker = (pid_t)atomic_load(&load.map->slots[0].process);
    int64_t limit_ns = load.setup.limit_ns;
    load_stop(&load);
    CHECK(!is_in_time || atomic_load(&load.map->supervisor_ended_ns) == 0); /* none was replaced */
    CHECK(now_ns() < limit_ns - LIMIT_NS / 2);
    while (kill(worker, 0) == 0)
        pass_ms(10);
}

static void end_stopped_loads(bool is_in_time)
{
    enum { GUARD, GUARD_ALWAYS, SUPERVISOR, SUPERVISOR_WITHOUT_GUARD, CASES };
    for (int what = 0; what < CASES && start("storm=1"); what++) {
        pid_t stopper = what == GUARD_ALWAYS ? stop_always(load.guard) : -1;
        if (what == GUARD)
            kill(load.guard, SIGSTOP);
        if (what >= SUPERVISOR)
            kill(supervisor_of_load(), SIGSTOP);
        if (what == SUPERVISOR_WITHOUT_GUARD)
            kill(load.guard, SIGKILL);
        check_it_ends(is_in_time);
        if (stopper > 0) {
            kill(stopper, SIGKILL);
            waitpid(stopper, NULL, 0);
        }
        load_free(&load);
    }
}

TEST(a_load_of_stopped_processes_ends)
{
    end_stopped_loads(false);
}

HOST_TEST(a_load_of_stopped_processes_ends_in_time)
{
    end_stopped_loads(true);
}

/* Both want the one CPU. test_load_duty has what a duty cycle makes of such waits. */
TEST(waiting_for_a_cpu_is_counted)
{
    struct cpus allowed;
    int64_t begun_ns = now_ns(), before_ns = port_run_delay_ns();
    if (before_ns < 0 || port_allowed_cpus(&allowed) < 1) {
        tap_skip("the time spent waiting for a CPU is not known here");
        return;
    }
    CHECK_SAME(port_pin_self(cpus_first(&allowed)), 0);
    pid_t other = fork();
    if (other == 0)
        (void)port_kill_with_parent(getppid());
    while (other == 0)
        ;
    while (port_run_delay_ns() < before_ns + 1000000)
        ;
    int64_t waited_ns = port_run_delay_ns() - before_ns; /* read before the clock is */
    CHECK(waited_ns < now_ns() - begun_ns);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
}

/* Policy, priority and CPU of real-time threads, as the threads themselves read them. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "port/port.h"
#include "tap.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct rt_thread_setup normal = {SCHED_OTHER, 0, -1};

/* What a thread finds out about itself. */
struct self {
    int policy, priority, cpu;
    bool has_open_signal;
};

static void look_at_self(void *argument)
{
    struct self *self = argument;
    struct sched_param parameters;
    sigset_t mask;
    pthread_getschedparam(pthread_self(), &self->policy, &parameters);
    self->priority = parameters.sched_priority;
    self->cpu = port_current_cpu();
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    static const int numbers[] = {SIGINT,  SIGTERM, SIGHUP,  SIGALRM,  SIGUSR1,
                                  SIGPIPE, SIGCHLD, SIGQUIT, SIGVTALRM};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        self->has_open_signal = self->has_open_signal || !sigismember(&mask, numbers[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        self->has_open_signal = self->has_open_signal || !sigismember(&mask, number);
}

static bool run_once(const struct rt_thread_setup *setup, struct self *self)
{
    struct rt_thread rt_thread;
    memset(self, 0, sizeof *self);
    int error = rt_thread_start(&rt_thread, setup, look_at_self, self);
    if (error)
        return false;
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    return true;
}

static bool may_realtime(void)
{
    bool may = rt_thread_try(&(struct rt_thread_setup){SCHED_FIFO, 20, -1}) == 0;
    if (!may)
        tap_skip("no right to SCHED_FIFO here");
    return may;
}

TEST_IN(may_realtime(), (void)0, policy_and_priority)
{
    static const int policies[] = {SCHED_FIFO, SCHED_RR};
    struct self self;
    for (int i = 0; i < 2; i++)
        for (int priority = sched_get_priority_min(policies[i]);
             priority <= sched_get_priority_max(policies[i]); priority += 7) {
            struct rt_thread_setup setup = {policies[i], priority, -1};
            CHECK(run_once(&setup, &self));
            CHECK_SAME(self.policy, policies[i]);
            CHECK_SAME(self.priority, priority);
        }
}

TEST(normal_threads)
{
    struct self self;
    CHECK(run_once(&normal, &self));
    CHECK_SAME(self.policy, SCHED_OTHER);
    CHECK_SAME(self.priority, 0);
    CHECK(!self.has_open_signal);
}

TEST(every_cpu)
{
    struct cpus allowed;
    if (port_allowed_cpus(&allowed) < 1) {
        tap_skip("CPUs cannot be chosen on this port");
        return;
    }
    for (int cpu = cpus_first(&allowed); cpu >= 0; cpu = cpus_next(&allowed, cpu)) {
        struct rt_thread_setup setup = {SCHED_OTHER, 0, cpu};
        struct self self;
        CHECK(run_once(&setup, &self));
        CHECK_SAME(self.cpu, cpu);
    }
}

TEST(impossible_cpus)
{
    struct cpus allowed;
    static const int cpus[] = {PORT_CPUS - 1, PORT_CPUS, 4095, 65535, 1 << 30};
    bool can_choose = port_allowed_cpus(&allowed) >= 0;
    for (size_t i = 0; i < sizeof cpus / sizeof cpus[0]; i++) {
        struct rt_thread_setup setup = {SCHED_OTHER, 0, cpus[i]};
        if (!cpus_has(&allowed, cpus[i]))
            CHECK_SAME(rt_thread_try(&setup), can_choose ? EINVAL : ENOTSUP);
    }
}

static void without_right(void)
{
    struct rlimit none = {0, 0};
    struct rt_thread_setup fifo = {SCHED_FIFO, 1, -1};
#ifdef RLIMIT_RTPRIO
    setrlimit(RLIMIT_RTPRIO, &none);
#endif
    (void)none;
    if (geteuid() == 0 && setuid(65534) != 0)
        _exit(3);
    int error = rt_thread_try(&fifo);
    _exit(error != EPERM ? 1 : rt_thread_try(&normal) != 0 ? 2 : 0);
}

TEST(no_right)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        without_right();
    waitpid(child, &status, 0);
    CHECK_SAME(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 0);
}

/* ---- the gate ---- */

static atomic_int passed;

static void pass(void *argument)
{
    atomic_store((atomic_int *)argument, atomic_fetch_add(&passed, 1) + 1);
}

TEST(gates_open_one_by_one)
{
    enum { RT_THREADS = 5 };
    struct rt_thread rt_threads[RT_THREADS];
    atomic_int places[RT_THREADS];
    static const int order[RT_THREADS] = {3, 0, 4, 2, 1};
    atomic_store(&passed, 0);
    for (int i = 0; i < RT_THREADS; i++) {
        atomic_init(&places[i], 0);
        CHECK_SAME(rt_thread_start(&rt_threads[i], &normal, pass, &places[i]), 0);
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    CHECK_SAME(atomic_load(&passed), 0);
    for (int i = 0; i < RT_THREADS; i++) {
        rt_thread_go(&rt_threads[order[i]]);
        rt_thread_join(&rt_threads[order[i]]);
        CHECK_SAME(atomic_load(&places[order[i]]), i + 1);
        CHECK_SAME(atomic_load(&passed), i + 1);
    }
}

TEST(no_body_ends_at_the_gate)
{
    struct rt_thread rt_thread;
    atomic_int place;
    atomic_init(&place, 0);
    CHECK_SAME(rt_thread_start(&rt_thread, &normal, pass, &place), 0);
    rt_thread.body = NULL;
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    CHECK_SAME(atomic_load(&place), 0);
}

TEST(many_in_turn)
{
    struct rt_thread_setup wrong = {SCHED_OTHER, 0, 4095};
    for (int i = 0; i < 500; i++) {
        CHECK_SAME(rt_thread_try(&normal), 0);
        CHECK(rt_thread_try(&wrong) != 0);
    }
}

TEST_IN(may_realtime(), (void)0, set_self)
{
    int policy;
    struct sched_param parameters;
    CHECK_SAME(rt_thread_set_self(SCHED_FIFO, 3), 0);
    pthread_getschedparam(pthread_self(), &policy, &parameters);
    CHECK_SAME(policy, SCHED_FIFO);
    CHECK_SAME(parameters.sched_priority, 3);
    CHECK_SAME(rt_thread_set_self(SCHED_FIFO, 100), EINVAL);
    CHECK_SAME(rt_thread_set_self(SCHED_OTHER, 0), 0);
}

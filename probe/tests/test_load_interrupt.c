/* The interrupt load counts only timers that were delivered, and only those due within the
 * measurement. The linker wraps the C library's calls (--wrap). */
#include "base/posix_source.h"

#include "base/clock.h"
#include "load/element.h"
#include "load/spec.h"
#include "tap.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DELIVERED = COUNTER_OWN, MISSED };
enum { MOST_TIMERS = 4096 };

#define SPAN_NS INT64_C(300000000)

static struct load_map map;
static struct load_slot slot;
static struct {
    int64_t first_ns; /* the first is due */
    int calls, refused;
    int each;         /* every so many is refused; 0: none */
    bool is_dead;     /* taken, and never armed */
    int64_t until_ns; /* the load ends when all before is counted; 0: it does not */
    bool is_to_work;  /* the load does not end before it has worked */
} arms;
static struct {
    timer_t list[MOST_TIMERS];
    int count, most; /* so many are made; 0: all */
    long signals;    /* as sysconf tells; 0: as it is */
} timers;

WRAP(int, timer_settime, timer_t timer, int flags, const struct itimerspec *when,
     struct itimerspec *before)
{
    if (arms.calls++ == 0)
        arms.first_ns = clock_timespec_ns(&when->it_value);
    if (arms.until_ns > 0 && atomic_load(&slot.counted_ns) >= arms.until_ns)
        atomic_store(&map.stop, 1);
    if (arms.each > 0 && arms.calls % arms.each == 0) {
        arms.refused++;
        return tap_fail(EINVAL);
    }
    return arms.is_dead ? 0 : __real_timer_settime(timer, flags, when, before);
}

WRAP(int, timer_create, clockid_t clock, struct sigevent *event, timer_t *timer)
{
    if (timers.count == (timers.most > 0 ? timers.most : MOST_TIMERS))
        return tap_fail(EAGAIN);
    int answer = __real_timer_create(clock, event, timer);
    if (answer == 0)
        timers.list[timers.count++] = *timer;
    return answer;
}

WRAP_IF(name == _SC_SIGQUEUE_MAX && timers.signals > 0, timers.signals, long, sysconf, (int name),
        (name));

static uint64_t counted(int counter)
{
    return atomic_load(&slot.counters[counter]);
}

/* A worker has the time to begin, one that is to work the time for that, and a timer that is dead
 * the time to be missed, also where others have the CPU. */
static void on_alarm(int number)
{
    (void)number;
    bool is_soon = arms.first_ns == 0 ||
                   (arms.is_to_work && atomic_load(&slot.state) != WORKER_WORKS) ||
                   (arms.is_dead && clock_monotonic_ns() < arms.first_ns + SPAN_NS);
    if (is_soon) {
        struct itimerval again = {{0, 0}, {0, 100000}};
        setitimer(ITIMER_REAL, &again, NULL);
        return;
    }
    if (atomic_load(&map.window_begin_ns) != WINDOW_MOVES) {
        atomic_store(&map.stop, 1);
        return;
    }
    arms.until_ns = arms.first_ns + SPAN_NS;
    atomic_store(&map.window_begin_ns, 1);
}

static void stop_after(long ms)
{
    struct sigaction action;
    struct itimerval span = {{0, 0}, {ms / 1000, ms % 1000 * 1000}};
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &span, NULL);
}

/* A measurement that began long ago; none refused. */
static bool begin(void)
{
    memset(&arms, 0, sizeof arms);
    memset(&timers, 0, sizeof timers);
    memset(&slot, 0, sizeof slot);
    atomic_store(&map.stop, 0);
    atomic_store(&map.window_begin_ns, 1);
    atomic_store(&map.window_end_ns, 0);
    atomic_store(&slot.state, WORKER_READY);
    return tap_is_wrapped();
}

/* A worker ends instead. */
static void clean_up(struct worker *worker)
{
    static const struct timespec at_once = {0, 0};
    sigset_t set;
    for (int i = 0; i < timers.count; i++)
        timer_delete(timers.list[i]);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    while (sigtimedwait(&set, NULL, &at_once) > 0)
        ;
    free(worker->own);
}

static void run(int64_t per_s, int peers, long ms)
{
    struct load_degree degree = {.number = per_s};
    struct worker worker = {.element = &load_interrupt,
                            .degree = &degree,
                            .map = &map,
                            .slot = &slot,
                            .places = 1,
                            .peers = peers,
                            .supervisor = getppid()};
    if (!CHECK_SAME(load_interrupt.prepare(&worker), 0))
        return;
    stop_after(ms);
    load_interrupt.work(&worker);
    clean_up(&worker);
}

#define INTERRUPT_TEST(what) TEST_IN(begin(), (void)0, what)
#define INTERRUPT_HOST_TEST(what) HOST_TEST_IN(begin(), (void)0, what)

TEST(what_is_delivered_counts)
{
    static const struct {
        const char *name;
        int each;
        bool is_dead, is_to_work;
    } rows[] = {
        {"all are delivered", 0, false, true},
        {"all are due, and none comes", 0, true, false},
        {"a third is refused", 3, false, true},
        {"all are refused: it never works, and rests", 1, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && begin(); i++) {
        int64_t begun_ns = clock_monotonic_ns();
        tap_row(rows[i].name);
        arms.each = rows[i].each;
        arms.is_dead = rows[i].is_dead;
        arms.is_to_work = rows[i].is_to_work;
        run(1000, 1, 300);
        CHECK_SAME(counted(DELIVERED) > 0, rows[i].is_to_work);
        CHECK((int)counted(DELIVERED) <= arms.calls - arms.refused);
        CHECK((int)counted(MISSED) >= arms.refused);
        CHECK_HOLDS(load_slot_note(&slot) ? load_slot_note(&slot) : "",
                    rows[i].each ? "a timer could not be armed" : "");
        CHECK_SAME(load_slot_note(&slot) != NULL, rows[i].each > 0);
        CHECK_SAME(atomic_load(&slot.state), rows[i].is_to_work ? WORKER_WORKS : WORKER_READY);
        if (rows[i].is_dead) /* it still waits for them */
            CHECK(atomic_load(&slot.counted_ns) < clock_monotonic_ns() - 200000000);
        if (rows[i].each == 1)
            CHECK(clock_monotonic_ns() - begun_ns >= (arms.calls - 1) * INT64_C(20000000));
    }
}

/* All for the first place, which is armed: only the timer itself may free it. */
INTERRUPT_TEST(signals_of_others_do_not_count)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    pid_t sender = fork();
    for (int i = 0; sender == 0 && i < 100; i++) {
        sigqueue(getppid(), SIGRTMIN, (union sigval){.sival_int = 0});
        (void)clock_sleep_until(clock_monotonic_ns() + 2000000);
    }
    if (sender == 0)
        _exit(0);
    arms.is_dead = true;
    run(2000, 1, 300);
    waitpid(sender, NULL, 0);
    CHECK_SAME(counted(DELIVERED), 0);
    CHECK_SAME(atomic_load(&slot.state), WORKER_READY);
}

/* Where others have the CPU for so long that not all of the window was armed: then again. */
INTERRUPT_HOST_TEST(only_the_window_counts)
{
    for (bool is_whole = false; !is_whole;) {
        int64_t now_ns = clock_monotonic_ns();
        begin();
        atomic_store(&map.window_begin_ns, now_ns + 200000000);
        atomic_store(&map.window_end_ns, now_ns + 400000000);
        arms.until_ns = now_ns + 400000000;
        run(1000, 1, 20000);
        is_whole = arms.first_ns < now_ns + 200000000 && counted(MISSED) == 0;
    }
    CHECK_SAME(counted(DELIVERED), 200);
    begin();
    atomic_store(&map.window_begin_ns, 0);
    arms.is_to_work = true;
    run(1000, 1, 100);
    CHECK_SAME(counted(DELIVERED), 0);
    CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS); /* but it works */
}

/* Nothing is judged while the bound moves, and nothing is lost. It moves for a third of the span,
 * and is set in on_alarm. */
INTERRUPT_HOST_TEST(a_window_that_moves_is_waited_for)
{
    atomic_store(&map.window_begin_ns, WINDOW_MOVES);
    run(1000, 1, 100);
    CHECK((int64_t)counted(DELIVERED) >= SPAN_NS / 1000000);
}

/* It is armed for more than a second, as far as there are timers, and signals: half of them, shared
 * by all processes of the load. */
INTERRUPT_TEST(timers_of_a_load)
{
    static const struct {
        int most, peers;
        long signals;
        int count; /* of timers */
        const char *notes[2];
    } rows[] = {{0, 1, 100000, 1208, {NULL}},
                {20, 1, 100000, 20, {"20 of 1208 timers", "armed 0.02 s ahead"}},
                {0, 4, 1000, 125, {"125 of 1208 timers"}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin();
        timers.most = rows[i].most;
        timers.signals = rows[i].signals;
        arms.is_to_work = true;
        run(1000, rows[i].peers, 50);
        CHECK_SAME(timers.count, rows[i].count);
        CHECK(counted(DELIVERED) > 0); /* with few timers it goes on */
        CHECK(arms.calls >= timers.count);
        for (int j = 0; j < 2 && rows[i].notes[j]; j++)
            CHECK_HOLDS(load_slot_note(&slot), rows[i].notes[j]);
    }
}

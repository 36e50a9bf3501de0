/* First touch: memory is touched by the thread that uses it, on its CPU. The port is a fake. */
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "child_run.h"
#include "fake_port.h"
#include "run/run.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OWN_BYTES = 12345, LOG_BYTES = 400, BELOW_BYTES = 32 * 1024, UNKNOWN = -1 };

static struct {
    char log[LOG_BYTES];
    bool has_no_memory;
    int is_below_touched;   /* when the thread was bound */
    int is_touched_at_work; /* half as far below, when its body ran */
} seen;

static void add(const char *word)
{
    size_t used = strlen(seen.log);
    snprintf(seen.log + used, sizeof seen.log - used, "%s%s", used ? ", " : "", word);
}

static void on_visit(int cpu)
{
    char word[32];
    snprintf(word, sizeof word, "on CPU %d", cpu);
    add(cpu >= 0 ? word : "back");
}

/* Whether the page `bytes` under this frame is there. */
static int is_touched(uintptr_t bytes)
{
    int answer = UNKNOWN;
#ifdef __linux__
    unsigned char is_there = 0;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t below = ((uintptr_t)&is_there - bytes) / page * page;
    int error = mincore((void *)below, page, &is_there); /* NOLINT: an address of the stack */
    answer = error == 0 ? is_there & 1 : UNKNOWN;
#endif
    return answer;
}

static void on_pin(void)
{
    seen.is_below_touched = is_touched(BELOW_BYTES);
}

static void at_work(void *argument)
{
    (void)argument;
    seen.is_touched_at_work = is_touched(BELOW_BYTES / 2);
}

/* ---- what is called on that CPU ---- */

WRAP(struct arena *, arena_create, const struct arena_plan *plan, const char *backing,
     struct outcome *outcome)
{
    add("records");
    if (!seen.has_no_memory)
        return __real_arena_create(plan, backing, outcome);
    outcome_set(outcome, STATUS_DENIED, NULL, "no memory");
    return NULL;
}

WRAP(int, rt_thread_start, struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
     void (*body)(void *), void *argument)
{
    add("thread");
    return __real_rt_thread_start(rt_thread, setup, body, argument);
}

WRAP(int, mlockall, int flags)
{
    add("lock");
    return __real_mlockall(flags);
}

WRAP(void *, calloc, size_t count, size_t bytes)
{
    if (bytes == OWN_BYTES)
        add("own");
    return __real_calloc(count, bytes);
}

static int prepare(struct run *run)
{
    return run_own(run, OWN_BYTES) ? 0 : -1;
}

static int measure(struct run *run)
{
    arena_verdict(run->arena, true, 1, "ran", "it ran");
    return 0;
}

static const struct test own = {.id = "OWN",
                                .title = "has memory of its own",
                                .setup_ns = 1000000,
                                .prepare = prepare,
                                .measure = measure};

static void reset(void)
{
    memset(&seen, 0, sizeof seen);
    seen.is_below_touched = UNKNOWN;
    fake_port = (struct fake_port){.cpu_count = 1, .on_visit = on_visit};
}

/* Its exit code. */
static int run(char *const words[], void (*change)(struct request *))
{
    int nowhere = open("/dev/null", O_WRONLY);
    int code = run_here(words, change, nowhere);
    close(nowhere);
    return code;
}

static int run_own_test(void)
{
    child_test = &own;
    return run((char *const[]){"hardstone-probe", "run", "SEM-P-SIG", "--clock", "monotonic",
                               "--policy", "other", NULL},
               take_child_test);
}

TEST(stack)
{
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), 0};
    reset();
    fake_port.on_pin = on_pin;
    struct rt_thread rt_thread;
    CHECK_SAME(rt_thread_start(&rt_thread, &setup, at_work, NULL), 0);
    rt_thread_go(&rt_thread);
    rt_thread_join(&rt_thread);
    if (seen.is_below_touched == UNKNOWN) {
        tap_skip("this system does not tell which pages are there");
        return;
    }
    CHECK_SAME(seen.is_below_touched, 0);
    CHECK_SAME(seen.is_touched_at_work, 1);
}

WRAP_TEST(memory_of_a_run)
{
    static const struct {
        const char *name;
        int cpu_count, pin_back_error;
        bool has_no_memory;
        int code;
        const char *log;
    } rows[] = {
        {"on its CPU", 1, 0, false, 0,
         "on CPU 0, records, back, on CPU 0, lock, back, on CPU 0, own, back, on CPU 0, thread, "
         "back"},
        {"back after an error", 1, 0, true, 5, "on CPU 0, records, back"},
        {"it cannot go back", 1, EINVAL, false, 3, NULL},
        {"CPUs that cannot be chosen", -1, 0, false, 0, "records, lock, own, thread"},
    };
    foreach (row, rows, row->name) {
        reset();
        fake_port.cpu_count = row->cpu_count;
        fake_port.pin_back_error = row->pin_back_error;
        seen.has_no_memory = row->has_no_memory;
        CHECK_SAME(run_own_test(), row->code);
        if (row->log)
            CHECK_TEXT(seen.log, row->log);
    }
}

/* Whoever maps a stack that is locked touches it. */
WRAP_TEST(stacks_of_other_cpus)
{
    reset();
    fake_port.cpu_count = 3;
    CHECK_SAME(run((char *const[]){"hardstone-probe", "run", "TMR-P-LAT", "--clock", "monotonic",
                                   "--policy", "other", "--cpu", "0", "--samples", "3", "-p",
                                   "cpus=1,2", NULL},
                   NULL),
               0);
    CHECK_HOLDS(seen.log, "on CPU 1, thread, back, on CPU 2, thread, back");
}

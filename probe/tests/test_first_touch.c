/* First touch: memory is touched by the thread that uses it, on its CPU. The port is a fake. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE
#endif
#include "base/posix_source.h"

#include "base/rt_thread.h"
#include "command/args.h"
#include "fake_port.h"
#include "run/life_cycle.h"
#include "run/run.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

struct arena *__real_arena_create(const struct arena_plan *plan, const char *backing,
                                  struct outcome *outcome);
struct arena *__wrap_arena_create(const struct arena_plan *plan, const char *backing,
                                  struct outcome *outcome);
int __real_rt_thread_start(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                           void (*body)(void *), void *argument);
int __wrap_rt_thread_start(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                           void (*body)(void *), void *argument);
int __real_mlockall(int flags);
int __wrap_mlockall(int flags);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

#ifdef WRAPPED
struct arena *__wrap_arena_create(const struct arena_plan *plan, const char *backing,
                                  struct outcome *outcome)
{
    add("records");
    if (!seen.has_no_memory)
        return __real_arena_create(plan, backing, outcome);
    outcome_set(outcome, STATUS_DENIED, NULL, "no memory");
    return NULL;
}

int __wrap_rt_thread_start(struct rt_thread *rt_thread, const struct rt_thread_setup *setup,
                           void (*body)(void *), void *argument)
{
    add("thread");
    return __real_rt_thread_start(rt_thread, setup, body, argument);
}

int __wrap_mlockall(int flags)
{
    add("lock");
    return __real_mlockall(flags);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    if (bytes == OWN_BYTES)
        add("own");
    return __real_calloc(count, bytes);
}
#endif

/* ---- runs ---- */

static int prepare(struct run *run)
{
    return run_own(run, OWN_BYTES) ? 0 : -1;
}

static int measure(struct run *run)
{
    (void)run;
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

/* The exit code of a run by this process. `test`: in place of the one in the words; NULL: that one.
 */
static int run_words(int count, char *const words[], const struct test *test)
{
    static struct request request;
    char error[ARGS_ERROR_BYTES];
    if (args_parse(count, words, &request, error, sizeof error) != 0)
        abort();
    request.json = true;
    request.test = test ? test : request.test;
    fflush(stdout);
    int output = dup(STDOUT_FILENO), nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDOUT_FILENO);
    int code = run_test(&request);
    dup2(output, STDOUT_FILENO);
    close(output);
    close(nothing);
    return code;
}

static int run_here(void)
{
    char *words[] = {"hardstone-probe", "run",      "SEM-P-SIG", "--clock",
                     "monotonic",       "--policy", "other"};
    return run_words(sizeof words / sizeof words[0], words, &own);
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

TEST(memory_of_a_run)
{
    reset();
    if (!tap_is_wrapped())
        return;
    CHECK_SAME(run_here(), 0);
    CHECK_TEXT(seen.log,
               "on CPU 0, records, back, on CPU 0, lock, back, on CPU 0, own, back, on CPU 0, "
               "thread, back");
}

TEST(it_goes_back_after_an_error)
{
    reset();
    if (!tap_is_wrapped())
        return;
    seen.has_no_memory = true;
    CHECK_SAME(run_here(), 5);
    CHECK_TEXT(seen.log, "on CPU 0, records, back");
}

TEST(it_cannot_go_back)
{
    reset();
    fake_port.pin_back_error = EINVAL;
    CHECK_SAME(run_here(), 3);
}

TEST(cpus_that_cannot_be_chosen)
{
    reset();
    if (!tap_is_wrapped())
        return;
    fake_port.cpu_count = -1;
    CHECK_SAME(run_here(), 0);
    CHECK_TEXT(seen.log, "records, lock, own, thread");
}

/* Whoever maps a stack that is locked touches it. */
TEST(stacks_of_other_cpus)
{
    char *words[] = {"hardstone-probe", "run",   "TMR-P-LAT", "--clock",   "monotonic", "--policy",
                     "other",           "--cpu", "0",         "--samples", "3",         "-p",
                     "cpus=1,2"};
    reset();
    if (!tap_is_wrapped())
        return;
    fake_port.cpu_count = 3;
    CHECK_SAME(run_words(sizeof words / sizeof words[0], words, NULL), 0);
    CHECK_HOLDS(seen.log, "on CPU 1, thread, back, on CPU 2, thread, back");
}

/* The whole program, again and again in one process, as on a system that has only one: a command
 * leaves nothing behind, neither in memory nor in the process, that the next one would meet. */
#include "base/posix_source.h"

#include "base/options.h"
#include "tap.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

int hardstone_main(int argc, char *argv[]); /* src/main.c */

enum { WORDS = 16, MOST_SIGNALS = 65, PATH_BYTES = 512 };

/* ---- blocks of the heap that nobody has freed ---- */

static atomic_int blocks;

static void *one_more(void *memory)
{
    atomic_fetch_add(&blocks, memory ? 1 : 0);
    return memory;
}

WRAP_IF(true, one_more(__real_malloc(bytes)), void *, malloc, (size_t bytes), (bytes));
WRAP_IF(true, one_more(__real_calloc(count, bytes)), void *, calloc, (size_t count, size_t bytes),
        (count, bytes));
WRAP_IF(true, one_more(__real_strdup(text)), char *, strdup, (const char *text), (text));

WRAP(void *, realloc, void *memory, size_t bytes)
{
    void *after = __real_realloc(memory, bytes);
    return memory ? after : one_more(after);
}

WRAP(int, posix_memalign, void **memory, size_t alignment, size_t bytes)
{
    int error = __real_posix_memalign(memory, alignment, bytes);
    one_more(error ? NULL : *memory);
    return error;
}

WRAP(void, free, void *memory)
{
    atomic_fetch_sub(&blocks, memory ? 1 : 0);
    __real_free(memory);
}

/* ---- threads that nobody has joined: of the probe, not those of the C library ---- */

static atomic_int threads;

WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
     void *(*body)(void *), void *argument)
{
    int error = __real_pthread_create(thread, attributes, body, argument);
    atomic_fetch_add(&threads, error == 0 ? 1 : 0);
    return error;
}

WRAP(int, pthread_join, pthread_t thread, void **result)
{
    int error = __real_pthread_join(thread, result);
    atomic_fetch_sub(&threads, error == 0 ? 1 : 0);
    return error;
}

/* ---- what a command may change of the process ---- */

struct state {
    void *handlers[MOST_SIGNALS];
    sigset_t blocked, pending;
    unsigned alarm_s;
    long timer_us;
    int files, threads, blocks, policy;
    struct sched_param sched;
    cpu_set_t cpus;
    mode_t mask;
    char folder[PATH_BYTES];
};

static void look(struct state *state)
{
    struct itimerval timer;
    memset(state, 0, sizeof *state);
    for (int number = 1; number < MOST_SIGNALS; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) == 0)
            memcpy(&state->handlers[number], &action.sa_handler, sizeof action.sa_handler);
    }
    pthread_sigmask(SIG_BLOCK, NULL, &state->blocked);
    sigpending(&state->pending);
    getitimer(ITIMER_REAL, &timer); /* alarm's too */
    state->timer_us = timer.it_value.tv_sec * 1000000L + timer.it_value.tv_usec;
    state->files = tap_open_files();
    state->threads = atomic_load(&threads);
    state->blocks = atomic_load(&blocks);
    pthread_getschedparam(pthread_self(), &state->policy, &state->sched);
    sched_getaffinity(0, sizeof state->cpus, &state->cpus);
    state->mask = umask(0);
    umask(state->mask);
    if (!getcwd(state->folder, sizeof state->folder))
        abort();
}

static void check_same(const struct state *before, const struct state *after)
{
    for (int number = 1; number < MOST_SIGNALS; number++) {
        CHECK(after->handlers[number] == before->handlers[number]);
        CHECK_SAME(sigismember(&after->blocked, number), sigismember(&before->blocked, number));
        CHECK_SAME(sigismember(&after->pending, number), sigismember(&before->pending, number));
    }
    CHECK_SAME(after->timer_us, before->timer_us);
    CHECK_SAME(after->files, before->files);
    CHECK_SAME(after->threads, before->threads);
    CHECK_SAME(after->blocks, before->blocks);
    CHECK_SAME(after->policy, before->policy);
    CHECK_SAME(after->sched.sched_priority, before->sched.sched_priority);
    CHECK(CPU_EQUAL(&after->cpus, &before->cpus));
    CHECK_SAME(after->mask, before->mask);
    CHECK_TEXT(after->folder, before->folder);
}

/* ---- commands ---- */

/* Handlers of the process, which a command must give back. */
static void on_user_signal(int number)
{
    (void)number;
}

/* The exit code of the command `line`, whose words are separated by one space. `bytes`: length of
 * what it writes to standard output. */
static int command(const char *line, long *bytes)
{
    char text[PATH_BYTES], *words[WORDS], *rest = NULL;
    int count = 0;
    snprintf(text, sizeof text, "hardstone-probe %s", line);
    for (char *word = strtok_r(text, " ", &rest); word && count < WORDS - 1;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    words[count] = NULL;
    FILE *file = tmpfile();
    if (!file)
        abort();
    fflush(stdout);
    int own = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    int code = hardstone_main(count, words);
    dup2(own, STDOUT_FILENO);
    close(own);
    *bytes = (long)lseek(fileno(file), 0, SEEK_END);
    fclose(file);
    return code;
}

/* Twice, with the same code and, unless its figures have other lengths each time, as much output.
 */
static void check_command(const char *line, int code, bool is_fixed)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    struct state before, after;
    long first = 0, second = 0;
    tap_row(line);
    for (int i = 0; i < 4; i++)
        signal(numbers[i], on_user_signal);
    look(&before);
    CHECK_SAME(command(line, &first), code);
    look(&after);
    check_same(&before, &after);
    CHECK_SAME(command(line, &second), code);
    look(&after);
    check_same(&before, &after);
    if (is_fixed)
        CHECK_SAME(second, first);
}

TEST(commands)
{
    check_command("list --json", 0, true);
    check_command("list --text", 0, true);
    check_command("facts --json", 0, false);
    check_command("selftest --json", 0, false); /* late threads are told */
    check_command("run NO-SUCH-TEST", 2, true);
    check_command("dump NO-SUCH-FILE", 2, true);
}

TEST(console)
{
    int input = dup(STDIN_FILENO), nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO);
    check_command("console abcd 26781754 list --json", 0, true);
    dup2(input, STDIN_FILENO);
    close(nothing);
    close(input);
}

/* No right to real-time priorities is needed. */
TEST(tests)
{
    static const char *const tests[] = {"SEM-P-SIG", "TMR-P-LAT", "FIO-B-ASY", "POS-B-INV"};
    char line[PATH_BYTES];
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        snprintf(line, sizeof line,
                 "run %s --json --policy other --clock monotonic --samples 2 --deadline-ns %s "
                 "--dir %s",
                 tests[i], "86400000000000", tap_folder());
        check_command(line, 0, false);
    }
}

TEST(load)
{
    if (HS_LOAD)
        check_command("load cpu=1ms/100ms --json -D 100ms", 0, false);
    else
        tap_skip("this build has no load");
}

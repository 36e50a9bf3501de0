#include "base/posix_source.h"

#include "family/kernel/busy_process.h"

#include "port/port.h"
#include "run/supervise.h"
#include "work/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { FIGURES_STEP_NS = 1000000, FIGURES_STEPS = 1000 };
enum { MOST_FAILURES = 3 /* in a row */, SPINS = 1000, PERCENT = 100 };

const char *const operation_names[] = {"none",     "fork",   "exec", "exit",  "copy", "file", "map",
                                       "terminal", "socket", "pipe", "fsync", "scan", "all",  NULL};
_Static_assert(sizeof operation_names / sizeof operation_names[0] == OPERATIONS + 1,
               "a name for each operation");

/* ---- in the process ---- */

static int64_t timeval_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * CLOCK_NS_PER_S + (int64_t)time.tv_usec * 1000;
}

/* CPU time of the process and of its children that have ended. */
static void add_usage(int who, int64_t *cpu_ns, int64_t *system_ns)
{
    struct rusage usage;
    if (getrusage(who, &usage) != 0)
        return;
    *system_ns += timeval_ns(usage.ru_stime);
    *cpu_ns += timeval_ns(usage.ru_stime) + timeval_ns(usage.ru_utime);
}

static void read_usage(int64_t *cpu_ns, int64_t *system_ns)
{
    *cpu_ns = *system_ns = 0;
    add_usage(RUSAGE_SELF, cpu_ns, system_ns);
    add_usage(RUSAGE_CHILDREN, cpu_ns, system_ns);
}

static bool has_to_do(const struct busy_table *table, int class)
{
    bool is_of_it =
        table->operation == OPERATION_ALL || (int)table->operation == OPERATION_FIRST_CLASS + class;
    return is_of_it && !table->classes[class].is_given_up;
}

static int64_t children_user_ns(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_CHILDREN, &usage) == 0 ? timeval_ns(usage.ru_utime) : 0;
}

static int act(struct busy_table *table, int class)
{
    const struct kernel_class *what = &kernel_classes[class];
    if (!what->has_kernel_child)
        return what->act(&table->space);
    int64_t before_ns = children_user_ns();
    int error = what->act(&table->space);
    table->moved_ns += children_user_ns() - before_ns;
    return error;
}

/* The first failure in a row that long is the last one. */
static void do_class(struct busy_table *table, int class, int most_failures)
{
    struct busy_class *own = &table->classes[class];
    int error = act(table, class);
    if (!error) {
        own->failures_in_a_row = 0;
        atomic_fetch_add_explicit(&table->operations_count, 1, memory_order_relaxed);
        return;
    }
    own->error = error;
    own->failed_count++;
    own->is_given_up = ++own->failures_in_a_row >= most_failures;
}

static void spin(struct busy_table *table)
{
    for (volatile int i = 0; i < SPINS; i++)
        ;
    atomic_fetch_add_explicit(&table->operations_count, 1, memory_order_relaxed);
}

/* Whether there is still something to do. */
static bool do_round(struct busy_table *table, int most_failures)
{
    bool is_left = table->operation == OPERATION_NONE;
    if (is_left)
        spin(table);
    for (int i = 0; i < KERNEL_CLASSES && !atomic_load(&table->is_over); i++) {
        if (has_to_do(table, i))
            do_class(table, i, most_failures);
        is_left = is_left || has_to_do(table, i);
    }
    return is_left || atomic_load(&table->is_over);
}

static void clean_up(struct busy_table *table)
{
    kernel_space_close(&table->space);
    scratch_remove(&table->scratch);
}

/* What an ordinary process has: memory that is not locked. What cannot be done once is given up. */
static int begin(void *argument)
{
    struct busy_table *table = argument;
    struct scratch scratch = table->scratch;
    munlockall();
    if (scratch_make(&scratch) != 0)
        scratch.own[0] = '\0';
    int error = kernel_space_open(&table->space, &scratch, table->program);
    if (error)
        return error;
    bool is_left = do_round(table, 1);
    atomic_store(&table->has_given_up, !is_left);
    atomic_store(&table->operations_count, 0);
    if (!is_left)
        clean_up(table);
    return is_left ? 0 : ECANCELED;
}

struct begin_figures {
    int64_t at_ns, cpu_ns, system_ns, waited_ns;
};

static struct begin_figures read_figures(const struct busy_table *table)
{
    struct begin_figures figures = {.at_ns = clock_monotonic_ns(),
                                    .waited_ns = port_run_delay_ns()};
    read_usage(&figures.cpu_ns, &figures.system_ns);
    figures.system_ns += table->moved_ns;
    return figures;
}

static void put_figures(struct busy_table *table, const struct begin_figures *begin)
{
    struct begin_figures end = read_figures(table);
    if (atomic_load(&table->has_figures))
        return;
    table->elapsed_ns = end.at_ns - begin->at_ns;
    table->cpu_ns = end.cpu_ns - begin->cpu_ns;
    table->system_ns = end.system_ns - begin->system_ns;
    table->waited_ns = begin->waited_ns < 0 ? -1 : end.waited_ns - begin->waited_ns;
    table->counted_operations = atomic_load(&table->operations_count);
    atomic_store(&table->has_figures, true);
}

static void operate(void *argument)
{
    struct busy_table *table = argument;
    struct begin_figures begin = read_figures(table);
    while (!atomic_load_explicit(&table->is_over, memory_order_relaxed)) {
        if (!do_round(table, MOST_FAILURES)) {
            atomic_store(&table->has_given_up, true);
            break;
        }
        if (atomic_load_explicit(&table->wants_figures, memory_order_relaxed) &&
            !atomic_load(&table->has_figures))
            put_figures(table, &begin);
    }
    put_figures(table, &begin);
    clean_up(table);
}

/* ---- in the probe ---- */

int busy_process_open(struct busy_process *busy, struct run *run)
{
    busy->run = run;
    struct scratch scratch = {.folder = ""};
    if (scratch_choose(&scratch, true, run->seed ^ (uint64_t)clock_monotonic_ns()) == 0)
        scratch_sweep(&scratch);
    if (ipc_cleanup_open_with(&busy->cleanup, run, &scratch) != 0)
        return -1;
    if (!busy->cleanup.has_processes)
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system cannot start a second process (fork)");
    busy->table = peer_memory(sizeof *busy->table, &busy->cleanup.places[0]);
    if (!busy->table)
        return outcome_set_errno(&run->outcome, errno, "memory for both processes",
                                 port_hint(PORT_HINT_SHARED_MEMORY));
    if (!peer_memory_is_shared(busy->table))
        return outcome_set(&run->outcome, STATUS_UNSUPPORTED, NULL,
                           "this system has no shared memory (shm_open)");
    struct busy_table *table = busy->table;
    table->scratch = scratch;
    if (job_find_program(run->called_as, table->program, sizeof table->program) != 0)
        snprintf(table->program, sizeof table->program, "%s", run->called_as);
    return 0;
}

/* The scratch folder is left where the process was killed. */
void busy_process_close(struct busy_process *busy)
{
    if (busy->table)
        scratch_remove(&busy->cleanup.scratch);
    peer_memory_free(busy->table, sizeof *busy->table);
    busy->table = NULL;
    ipc_cleanup_close(&busy->cleanup);
}

static void clear(struct busy_table *table, enum operation operation)
{
    table->operation = operation;
    atomic_store(&table->is_over, false);
    atomic_store(&table->has_given_up, false);
    atomic_store(&table->operations_count, 0);
    table->moved_ns = 0;
    atomic_store(&table->wants_figures, false);
    atomic_store(&table->has_figures, false);
    memset(table->classes, 0, sizeof table->classes);
    table->cpu_ns = table->system_ns = table->elapsed_ns = table->waited_ns = -1;
}

int busy_process_start(struct busy_process *busy, enum operation operation)
{
    struct run *run = busy->run;
    struct rt_thread_setup setup = {SCHED_OTHER, rt_thread_ordinary_priority(), run->setup.cpu};
    clear(busy->table, operation);
    int error =
        peer_start_process(&busy->peer, run, &busy->cleanup, &setup, begin, operate, busy->table);
    if (error && atomic_load(&busy->table->has_given_up))
        return 1;
    if (error)
        return peer_not_started(run, error, "process that performs the operations", NULL);
    supervise_process(run, busy->peer.process, "process that performs the operations");
    busy->has_cpu_clock = clock_getcpuclockid(busy->peer.process, &busy->cpu_clock) == 0;
    busy->seen_cpu_ns = 0;
    busy->seen_count = 0;
    return 0;
}

static int64_t cpu_ns_of(const struct busy_process *busy)
{
    struct timespec time = {0};
    if (busy->has_cpu_clock && clock_gettime(busy->cpu_clock, &time) == 0)
        return (int64_t)time.tv_sec * CLOCK_NS_PER_S + time.tv_nsec;
    return 0;
}

bool busy_process_was_at_work(struct busy_process *busy)
{
    uint64_t count = atomic_load_explicit(&busy->table->operations_count, memory_order_relaxed);
    int64_t cpu_ns = cpu_ns_of(busy);
    bool is_so = count != busy->seen_count || cpu_ns != busy->seen_cpu_ns;
    busy->seen_count = count;
    busy->seen_cpu_ns = cpu_ns;
    return is_so;
}

bool busy_process_has_given_up(const struct busy_process *busy)
{
    return atomic_load_explicit(&busy->table->has_given_up, memory_order_relaxed);
}

void busy_process_take_figures(struct busy_process *busy)
{
    struct timespec while_ns = clock_ns_timespec(FIGURES_STEP_NS);
    atomic_store(&busy->table->wants_figures, true);
    for (int i = 0; i < FIGURES_STEPS && !atomic_load(&busy->table->has_figures); i++)
        nanosleep(&while_ns, NULL);
}

int busy_process_stop(struct busy_process *busy)
{
    supervise_process(busy->run, 0, NULL);
    atomic_store(&busy->table->is_over, true);
    if (peer_join(&busy->peer) == 0)
        return 0;
    return supervise_ended_early(busy->run, "process that performs the operations");
}

static void report_class(const struct busy_process *busy, int class)
{
    const struct busy_table *table = busy->table;
    const struct busy_class *own = &table->classes[class];
    const char *name = operation_names[table->operation], *what = kernel_classes[class].name;
    arena_event(busy->run->arena, "operation_failed", -1,
                DATA(data_text("operation", name), data_text("class", what),
                     data_text("error", strerror(own->error)),
                     data_integer("failed_count", (int64_t)own->failed_count),
                     data_bool("given_up", own->is_given_up)),
                "%s: %s failed (%llu of its tries): %s%s", name, kernel_classes[class].title,
                (unsigned long long)own->failed_count, strerror(own->error),
                own->is_given_up ? "; it was no longer tried" : "");
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part * (double)PERCENT / (double)whole : 0;
}

void busy_process_report(const struct busy_process *busy, uint64_t value_count,
                         uint64_t still_count)
{
    const struct busy_table *table = busy->table;
    const char *name = operation_names[table->operation];
    uint64_t count = table->counted_operations;
    for (int i = 0; i < KERNEL_CLASSES; i++)
        if (table->classes[i].error)
            report_class(busy, i);
    if (!atomic_load(&table->has_figures))
        return;
    arena_event(
        busy->run->arena, "operation_ran", -1,
        DATA(data_text("operation", name), data_integer("operations_count", (int64_t)count),
             data_integer("cpu_ns", table->cpu_ns), data_integer("system_ns", table->system_ns),
             data_integer("elapsed_ns", table->elapsed_ns),
             table->waited_ns >= 0 ? data_integer("waited_ns", table->waited_ns) : data_none(),
             data_integer("value_count", (int64_t)value_count),
             data_integer("still_count", (int64_t)still_count)),
        "%s: %llu operations in %lld ms, in which the process had the CPU for %.0f %% and was "
        "in the kernel for %.0f %%; it did not run before %llu of %llu values",
        name, (unsigned long long)count, (long long)(table->elapsed_ns / 1000000),
        percent(table->cpu_ns, table->elapsed_ns), percent(table->system_ns, table->elapsed_ns),
        (unsigned long long)still_count, (unsigned long long)value_count);
}

/* Reads the kernel's counters once a second while a test measures, so that a reader can tell why a
 * value was late: those of the measured CPUs, of the threads that measure and of their control
 * group. The seconds in which a worst value lies are kept (record/tables.h).
 *
 * The supervisor does it, bound to CPUs that nothing measures on; where the whole probe moves to
 * reserved CPUs, a process that stays outside (shield_run.h). Where all CPUs measure, the
 * supervisor stays asleep: a look would disturb. Threads and group are then read at begin and end
 * only.
 *
 * A look reads three or four small files of each thread, /proc/stat, /proc/interrupts and cpu.stat:
 * 150 us with one thread and 30 us more with each (x86-64, two CPUs). The test has nothing of it
 * but the lock on its signals that the kernel takes for a moment to read `stat`. */
#ifndef HS_RUN_WATCH_H
#define HS_RUN_WATCH_H

#include "base/cpus.h"
#include "base/options.h"
#include "record/arena.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* A CPU that a test does not have any more. Times: CLOCK_MONOTONIC. */
struct cpu_taken {
    bool is_found;
    bool is_offline; /* seen by who looks */
    int cpu;
    int64_t sure_ns;  /* latest look at which the test had it; 0: none */
    int64_t found_ns; /* 0: not while it measured */
};

/* Which threads have to stay on the CPU that they are bound to: all, those that start in the
 * measurement (the measuring thread visits their CPUs to start them), or none (they change it
 * themselves). */
enum watch_held { WATCH_HOLDS_ALL, WATCH_HOLDS_LATER, WATCH_HOLDS_NONE };

enum { WATCH_THREADS = HS_WATCH_THREADS };

struct counter_watch_setup {
    struct arena *arena;
    struct cpus measured;        /* empty: not known */
    pid_t process;               /* that measures; 0: this one */
    const _Atomic pid_t *second; /* another process of the test; 0: none */
    enum watch_held held;
    const atomic_int *left;     /* other than 0: a thread found itself off its CPU */
    const _Atomic pid_t *waits; /* a thread of the process that is not the test's; NULL: none */
    enum cpu_config config;     /* of the run of this process; the default where it is another's */
    const char *group; /* that limits the CPU time of the process, "": none; NULL: of this one */
};

/* Over all measured CPUs; -1: not known. */
struct counter_totals {
    int64_t run_delay_ns, migrations, throttled, throttled_ns;
};

struct counter_watch;

/* To be called by who will look, before the measurement: memory, and the CPUs that the
 * caller is bound to until counter_watch_close. What prevents looks is told as an event. NULL: no
 * memory for it, which is told too. */
struct counter_watch *counter_watch_open(const struct counter_watch_setup *setup);

/* Tells that nobody looks each second, and why. */
void counter_watch_report_none(struct arena *arena, const char *reason);

/* At the begin of the measurement: reads what to compare with. */
void counter_watch_begin(struct counter_watch *watch);

/* Whether looks are made each second. If not, any thread may call begin, look_at_threads and end.
 */
bool counter_watch_has_looks(const struct counter_watch *watch);

/* When the next look is due, CLOCK_MONOTONIC; INT64_MAX: never. */
int64_t counter_watch_due_ns(const struct counter_watch *watch);

/* One look; ends an interval and begins the next. */
void counter_watch_look(struct counter_watch *watch);

/* Reads the threads only: some are about to end. */
void counter_watch_look_at_threads(struct counter_watch *watch);

/* What the looks have found until now: a measured CPU that went offline, or that a bound thread was
 * moved off. `watch` may be NULL. */
struct cpu_taken counter_watch_taken(const struct counter_watch *watch);

/* Makes the arena what it was at the last look that found each thread at its place
 * (record/recovery.h): a thread was moved after it. False: there was none, or nothing was
 * measured until then. After counter_watch_end. `watch` may be NULL. */
bool counter_watch_go_back(const struct counter_watch *watch);

/* The last look, at the end of the measurement, while its threads are there. */
void counter_watch_end(struct counter_watch *watch, struct counter_totals *totals);

/* Restores the CPUs of the caller. NULL does nothing. */
void counter_watch_close(struct counter_watch *watch);

#endif

/* Runs a load on one CPU from the test's process, and collects its events. */
#ifndef HS_RUNNING_LOAD_H
#define HS_RUNNING_LOAD_H

#include "base/posix_source.h"

#include "load/load.h"
#include "load/report.h"
#include "load/spec.h"
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

enum { EVENTS = 16 };

#define LIMIT_NS INT64_C(7200000000000) /* more than any test may take */

struct told {
    int count;
    char names[EVENTS][40], texts[EVENTS][400];
};

static struct load load;
static struct load_spec spec;
static struct told told;

static inline void tell(void *context, const char *name, int64_t at_ns, const struct datum *data,
                        const char *text)
{
    (void)context, (void)at_ns, (void)data;
    if (told.count == EVENTS)
        return;
    snprintf(told.names[told.count], sizeof told.names[0], "%s", name);
    snprintf(told.texts[told.count++], sizeof told.texts[0], "%s", text);
}

static inline const char *text_of(const char *name)
{
    for (int i = 0; i < told.count; i++)
        if (strcmp(told.names[i], name) == 0)
            return told.texts[i];
    return "";
}

static inline bool is_told(const char *name, const char *part)
{
    for (int i = 0; i < told.count; i++)
        if (strcmp(told.names[i], name) == 0 && strstr(told.texts[i], part))
            return true;
    return false;
}

static inline int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Starts `text` on one CPU: one process per element. */
static inline bool launch(const char *text, int64_t limit_ns, int64_t stall_ns)
{
    char error[LOAD_ERROR_BYTES];
    struct outcome outcome = {0};
    struct load_setup setup = {.spec = &spec,
                               .called_as = tap_program,
                               .limit_ns = now_ns() + limit_ns,
                               .stall_ns = stall_ns,
                               .cpu_count = 1};
    struct cpus allowed;
    if (port_allowed_cpus(&allowed) < 0)
        setup.cpu_count = -1;
    cpus_add(&setup.cpus, cpus_first(&allowed));
    memset(&told, 0, sizeof told);
    return CHECK_SAME(load_spec_parse(text, &spec, error, sizeof error), 0) &&
           CHECK_SAME(load_start(&load, &setup, &outcome), 0);
}

/* The patience of a load is too short for a busy machine: then again. */
static inline bool start(const char *text)
{
    bool is_started = launch(text, LIMIT_NS, LIMIT_NS);
    while (is_started && !load_settle(&load, NULL))
        ;
    return is_started;
}

static inline void pass_ms(long ms)
{
    struct timespec span = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&span, NULL);
}

static inline void end(void)
{
    load_end(&load);
    load_stop(&load);
    load_events(&load, tell, NULL);
    CHECK_SAME(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_SAME(errno, ECHILD);
}

static inline struct load_reached reached(int index)
{
    struct load_reached answer;
    load_reached(&load, index, &answer);
    return answer;
}

static inline void signal_slot(int slot, int number)
{
    kill((pid_t)atomic_load(&load.map->slots[slot].process), number);
}

static inline pid_t supervisor_of_load(void)
{
    while (atomic_load(&load.map->supervisor) == 0)
        pass_ms(2);
    return (pid_t)atomic_load(&load.map->supervisor);
}

/* Both: the guard is stopped first, so that it does not end the load in its own order. */
static inline void kill_supervisors(void)
{
    kill(load.guard, SIGSTOP);
    kill(supervisor_of_load(), SIGKILL);
    kill(load.guard, SIGKILL);
}

static inline uint64_t counter_of(int slot, int counter)
{
    return atomic_load(&load.map->slots[slot].counters[counter]);
}

static inline bool has_all(int64_t per_s)
{
    int64_t least = (load.end.at_ns - load.begin.at_ns) * per_s / 1000000000;
    int64_t delivered = (int64_t)reached(0).counters[COUNTER_OWN];
    return delivered == least || delivered == least + 1;
}

#endif

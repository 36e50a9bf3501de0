/* An element of load: one constant descriptor in element/NAME.c, listed in elements.c. */
#ifndef HS_LOAD_ELEMENT_H
#define HS_LOAD_ELEMENT_H

#include "base/options.h"
#include "base/posix_source.h"

#include "load/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOAD_DEGREE_BYTES = HS_LOAD ? 192 : 1,
    LOAD_HOST_BYTES = HS_LOAD ? 128 : 1,
    LOAD_PORT_BYTES = 8,
    LOAD_PATH_BYTES = 512,
    LOAD_OPTIONS_BYTES = HS_LOAD ? 512 : 1,
};

enum load_degree_kind {
    LOAD_SHARE,      /* BUSY/PERIOD: busy_ns of work in every period_ns */
    LOAD_RATE,       /* N/s */
    LOAD_COUNT,      /* N processes */
    LOAD_JOBS,       /* keeps N jobs running */
    LOAD_GROUPS,     /* N groups of processes: one of the load, and LOAD_GROUP_MEMBERS others */
    LOAD_CONTINUOUS, /* no degree: works all the time; reported in rounds */
    LOAD_EXTERNAL_STRESSOR, /* the options of another program */
};

/* A host that packets are sent to; no host: the loopback interface. */
struct load_address {
    char host[LOAD_HOST_BYTES], port[LOAD_PORT_BYTES];
};

struct load_degree {
    int64_t busy_ns, period_ns; /* LOAD_SHARE */
    int64_t number;             /* LOAD_RATE, LOAD_COUNT, LOAD_JOBS, LOAD_GROUPS */
    bool is_each_cpus;          /* holds for each CPU of the load; else for all of it */
    struct load_address to;
};

/* One process of the load, as its element sees it. */
struct worker {
    const struct load_element *element;
    const struct load_degree *degree;
    const char *options; /* LOAD_EXTERNAL_STRESSOR */
    struct load_map *map;
    struct load_slot *slot;
    int cpu;             /* bound to this CPU; -1: may run on all CPUs of the load */
    int place, places;   /* index of this process in the load, and their number */
    int jobs;            /* LOAD_JOBS: number of jobs that this process keeps running */
    int peers;           /* processes of this element; they share its limits */
    int supervisor;      /* process id of the parent */
    uint64_t random;     /* state of worker_random */
    const char *program; /* path of the probe, for `load-job` */
    void *own;           /* the element's own data */
    bool is_idle; /* LOAD_SHARE: set by a piece of work that had nothing to do. The piece is not
                     counted, and the process sleeps for the rest of the period */
};

struct load_element {
    const char *name;
    const char *title; /* one line for people */
    enum load_degree_kind kind;
    const char *default_degree; /* as text; NULL: takes no degree */
    /* Names of the slot's counters, in the order of map.h; NULL: not used. */
    const char *counters[LOAD_COUNTERS];
    bool needs_names;    /* makes named files, in the scratch folder */
    bool takes_host;     /* LOAD_RATE: N/s@HOST:PORT */
    bool judged_by_wall; /* LOAD_SHARE: busy is time within the work, not CPU time */
    /* Called once before the load begins. Returns 0, or an errno value; worker_note may say
     * more than strerror. NULL: nothing to prepare. */
    int (*prepare)(struct worker *worker);
    /* LOAD_SHARE: does one piece of work, well below 1 ms if possible.
     * Others: work until worker_should_stop. */
    void (*work)(struct worker *worker);
};

/* For the loops of an element: true when the load ends or the supervisor is gone. */
bool worker_should_stop(const struct worker *worker);

/* Sets WORKER_WORKS. Call it after the first piece of work. Later calls do nothing. */
void worker_works(struct worker *worker);

/* Makes the process run only when a CPU has nothing else to do (SCHED_IDLE), else at nice 19. */
void worker_step_back(struct worker *worker);

/* Stores a note about this process for the event load_limited; replaces an earlier note. */
void worker_note(struct worker *worker, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Pseudo-random numbers (splitmix64): the same sequence for the same seed. */
uint64_t worker_random(struct worker *worker);

static inline void worker_count(struct worker *worker, int counter, uint64_t more)
{
    atomic_fetch_add_explicit(&worker->slot->counters[counter], more, memory_order_relaxed);
}

static inline void worker_set(struct worker *worker, int counter, uint64_t value)
{
    atomic_store_explicit(&worker->slot->counters[counter], value, memory_order_relaxed);
}

/* CPU time of this process, and of its children that ended, ns; 0: not known. */
int64_t worker_cpu_ns(void);
int64_t worker_children_cpu_ns(void);

#endif

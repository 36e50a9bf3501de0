/* What an element of load is: one constant descriptor in ELEMENT.c, listed in elements.c. */
#ifndef HS_LOAD_ELEMENT_H
#define HS_LOAD_ELEMENT_H

#include "base/posix_source.h"

#include "load/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOAD_DEGREE_BYTES = 32,
    LOAD_PATH_BYTES = 512,
    LOAD_OPTIONS_BYTES = 512,
};

enum load_degree_kind {
    LOAD_SHARE,      /* BUSY/PERIOD: busy_ns of work in every period_ns */
    LOAD_RATE,       /* N/s */
    LOAD_COUNT,      /* N processes in total */
    LOAD_CONTINUOUS, /* none: as much as it gets; counted in rounds */
    LOAD_FOREIGN,    /* the options of another program */
};

struct load_degree {
    int64_t busy_ns, period_ns; /* LOAD_SHARE */
    int64_t number;             /* LOAD_RATE, LOAD_COUNT */
};

/* One process of load, as its element sees it. */
struct loader {
    const struct load_element *element;
    const struct load_degree *degree;
    const char *options; /* LOAD_FOREIGN */
    struct load_map *map;
    struct load_slot *slot;
    int cpu;             /* where it is bound; -1: nowhere */
    int place, places;   /* of this process among all of the load */
    int peers;           /* processes of this element; limits are divided by it */
    int keeper;          /* process id of the parent */
    uint64_t random;     /* state of loader_random */
    const char *program; /* runs `load-job` */
    void *own;           /* the element's */
    bool is_idle; /* LOAD_SHARE: set by a piece of work that could do nothing: it does not count,
                   * and the rest of the period is slept */
};

struct load_element {
    const char *name;
    const char *title; /* what it does, for people */
    enum load_degree_kind kind;
    const char *default_degree; /* as text; NULL: takes none */
    /* The names of the slot's counters, in their order (map.h); NULL: not used. */
    const char *counters[LOAD_COUNTERS];
    bool is_lowest;      /* runs at the lowest priority */
    bool needs_names;    /* makes files with names: in the scratch folder */
    bool judged_by_wall; /* LOAD_SHARE: busy is time within the work, not CPU time */
    /* Once, before the load begins. 0, or an errno value after loader_note. */
    int (*prepare)(struct loader *loader);
    /* LOAD_SHARE: a piece of work, well below a millisecond where that is possible.
     * Others: works until loader_should_stop. */
    void (*work)(struct loader *loader);
};

/* For loops of an element: the load ends, or the keeper is gone. */
bool loader_should_stop(const struct loader *loader);

/* Says that the load works: after the first piece of work. */
void loader_works(struct loader *loader);

/* What a reader must know about this process; the last one stays. */
void loader_note(struct loader *loader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Numbers that look random, the same in each run with the same seed. */
uint64_t loader_random(struct loader *loader);

static inline void loader_count(struct loader *loader, int counter, uint64_t more)
{
    atomic_fetch_add_explicit(&loader->slot->counters[counter], more, memory_order_relaxed);
}

static inline void loader_set(struct loader *loader, int counter, uint64_t value)
{
    atomic_store_explicit(&loader->slot->counters[counter], value, memory_order_relaxed);
}

/* CPU time of this process, and of its children that ended; ns. */
int64_t loader_cpu_ns(void);
int64_t loader_children_cpu_ns(void);

#endif

/* What all processes of a load share: one block of memory without pointers to itself and
 * without name. Each loader writes its own slot and nobody waits for anybody. */
#ifndef HS_LOAD_MAP_H
#define HS_LOAD_MAP_H

#include "port/port.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { LOAD_COUNTERS = 16, LOAD_NOTE_BYTES = 160, LOAD_SCRATCH_BYTES = 256 };

/* The first counters are the same in all elements. */
enum {
    COUNTER_BUSY_NS,  /* time within the work */
    COUNTER_CPU_NS,   /* CPU time of the process: also read from outside, by the reporter */
    COUNTER_CHILDREN, /* CPU time of its children that ended */
    COUNTER_ROUNDS,   /* pieces of work, or what an element counts */
    COUNTER_OWN,      /* from here on an element's own */
};

enum load_state {
    LOADER_NEW,
    LOADER_READY,   /* prepared; waits for the start */
    LOADER_WORKS,   /* has done its first piece */
    LOADER_REFUSED, /* could not be made ready: see the note */
    LOADER_ENDED,   /* ended although nobody asked */
};

struct load_slot {
    alignas(64) atomic_int state;
    atomic_int process; /* 0: none (yet) */
    atomic_int status;  /* as of waitpid, when it ended */
    int term, cpu;
    _Atomic int64_t ended_ns; /* CLOCK_MONOTONIC */
    /* So long it was stopped (SIGSTOP). While it is, less the moment since when, and so below 0:
     * one number, which a reader always sees whole. */
    _Atomic int64_t stopped_ns;
    /* All that was due before is counted, CLOCK_MONOTONIC; 0: the element counts at once. */
    _Atomic int64_t counted_ns;
    _Atomic uint64_t counters[LOAD_COUNTERS];
    atomic_int whole_note; /* 0: none; else 1 + the place of the latest */
    char notes[2][LOAD_NOTE_BYTES];
};

/* The latest note, or NULL: a kill in the middle of one leaves that before it. */
static inline const char *load_slot_note(const struct load_slot *slot)
{
    int place = atomic_load(&slot->whole_note);
    return place > 0 ? slot->notes[place - 1] : NULL;
}

#define WINDOW_MOVES INT64_C(-1)

struct load_map {
    atomic_int stop; /* the load ends */
    /* The measurement, CLOCK_MONOTONIC, for elements that count later than it happened. 0: has
     * not begun, not ended; WINDOW_MOVES: is being set, so wait before you judge. */
    _Atomic int64_t window_begin_ns, window_end_ns;
    _Atomic int64_t keeper_ended_ns;  /* the keeper was killed; 0: not */
    _Atomic int64_t guard_ended_ns;   /* the guard was killed; 0: not */
    atomic_int fork_error;            /* errno of the first process that could not be made */
    char folder[LOAD_SCRATCH_BYTES];  /* where files are made */
    char scratch[LOAD_SCRATCH_BYTES]; /* a folder of this load alone; empty: none is needed */
    bool has_cpus, cpus[PORT_CPUS];   /* the load's: of processes that are not bound to one */
    _Atomic uint64_t device;          /* that holds the files of disk: st_dev; 0: not known */
    atomic_int keeper;                /* its process id; 0: none (yet) */
    int slot_count;
    struct load_slot slots[];
};

#endif

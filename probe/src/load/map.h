/* Shared memory of all processes of a load: one anonymous block without pointers into itself. Each
 * worker counts in its own slot. There are no locks: shared words are atomic. */
#ifndef HS_LOAD_MAP_H
#define HS_LOAD_MAP_H

#include "port/port.h"
#include "work/scratch.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { LOAD_COUNTERS = 16, LOAD_NOTE_BYTES = 160 };

/* The first counters mean the same in all elements. */
enum {
    COUNTER_BUSY_NS,  /* time within the work */
    COUNTER_CPU_NS,   /* CPU time of the process; load_snapshot_take also reads its clock */
    COUNTER_CHILDREN, /* CPU time of its children that ended, ns */
    COUNTER_ROUNDS,   /* pieces of work, or rounds as the element defines them */
    COUNTER_OWN,      /* first counter of the element itself */
};

enum load_state {
    WORKER_NEW,
    WORKER_READY,   /* prepared; waits for the start */
    WORKER_WORKS,   /* has done its first piece of work */
    WORKER_REFUSED, /* could not be started or prepared; the note, if any, says why */
    WORKER_ENDED,   /* ended before the load was stopped */
};

/* How a process of storm yields to other processes. */
enum load_behind {
    BEHIND_NONE,
    BEHIND_IDLE, /* runs only when a CPU is free: SCHED_IDLE */
    BEHIND_NICE, /* nice 19 */
};

/* Address of the host of the element network, found before the load starts. */
struct load_peer {
    struct sockaddr_storage address;
    socklen_t bytes;
};

struct load_slot {
    alignas(64) atomic_int state;
    atomic_int process;       /* 0: none (yet) */
    atomic_int status;        /* of waitpid, when it has ended */
    atomic_int behind;        /* enum load_behind */
    int term, cpu;            /* cpu -1: may run on all CPUs of the load */
    int jobs;                 /* LOAD_JOBS: number of jobs that it keeps running */
    _Atomic int64_t ended_ns; /* CLOCK_MONOTONIC */
    /* Total time stopped (SIGSTOP). While stopped: that total minus the time of the stop, so it is
     * negative. One atomic word, so that a reader never sees half a change. */
    _Atomic int64_t stopped_ns;
    /* All events due before this time are counted, CLOCK_MONOTONIC; 0: counts without delay. */
    _Atomic int64_t counted_ns;
    _Atomic uint64_t counters[LOAD_COUNTERS];
    atomic_int whole_note; /* 0: none; else 1 + index of the latest complete note */
    char notes[2][LOAD_NOTE_BYTES];
};

/* The latest complete note, or NULL. A worker killed while it writes keeps its previous note. */
static inline const char *load_slot_note(const struct load_slot *slot)
{
    int place = atomic_load(&slot->whole_note);
    return place > 0 ? slot->notes[place - 1] : NULL;
}

#define WINDOW_MOVES INT64_C(-1)

struct load_map {
    atomic_int stop; /* the load ends */
    /* Begin and end of the measurement, CLOCK_MONOTONIC, for elements that count late. 0: not
     * begun, not ended. WINDOW_MOVES: being set; readers wait for the value. */
    _Atomic int64_t window_begin_ns, window_end_ns;
    _Atomic int64_t
        supervisor_ended_ns;        /* time at which the guard took over from it; 0: it did not */
    _Atomic int64_t guard_ended_ns; /* time at which the guard was found killed; 0: it was not */
    atomic_int fork_error;          /* errno of the first failed pipe, fork or scratch folder */
    struct scratch scratch;
    bool has_cpus;
    struct cpus cpus;        /* affinity of processes that are not bound to one CPU */
    _Atomic uint64_t device; /* st_dev of the files of disk; 0: not known */
    atomic_int supervisor;   /* process id; 0: none (yet) */
    struct load_peer peer;   /* bytes 0: none */
    int process_count;       /* including jobs */
    int slot_count;
    struct load_slot slots[];
};

#endif

/* An element of load: one constant descriptor in element/NAME.c, listed in spec.c. Below it are the
 * memory that all processes of a load share, and what the loops of elements are made of. */
#ifndef HS_LOAD_ELEMENT_H
#define HS_LOAD_ELEMENT_H

#include "base/posix_source.h"

#include "base/clock.h"
#include "base/options.h"
#include "base/random.h"
#include "port/port.h"
#include "work/scratch.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* ---- limits of a degree, and of a whole load ---- */

#define LOAD_LEAST_BUSY_NS INT64_C(100000)
#define LOAD_LEAST_PERIOD_NS INT64_C(1000000)
#define LOAD_MOST_PERIOD_NS INT64_C(10000000000)

enum { LOAD_MOST_PER_S = 100000, LOAD_MOST_PROCESSES = 5000, LOAD_MOST_PROCESSES_IN_ALL = 12000 };

/* Jobs that one process of a load keeps running. Few, because starting and reaping them takes as
 * much CPU time as one of the jobs gets. */
enum { LOAD_JOBS_EACH = 2 };

/* Processes of a group, besides the one that starts them; the number of groups. */
enum { LOAD_GROUP_MEMBERS = 40, LOAD_MOST_GROUPS = 250 };

/* ---- memory that the processes share ----
 *
 * One anonymous block without pointers into itself. Each worker counts in its own slot. There are
 * no locks: shared words are atomic. */

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

/* Counters of elements that are read by number elsewhere (report.c). */
enum {
    /* build: number of running jobs of its process, from the call of fork until they are reaped; it
     * also decreases */
    BUILD_AT_ONCE = COUNTER_OWN + 1,

    DISK_WRITES = COUNTER_OWN,
    DISK_WRITTEN_BYTES,
    DISK_FAILED,

    KERNEL_FIRST_CLASS = COUNTER_OWN, /* kernel: the others follow, one for each class */

    MESSAGES_BY_SOCKET = COUNTER_OWN, /* messages: what the members of a group received */
    MESSAGES_BY_PIPE,
    MESSAGES_BYTES,
    MESSAGES_FAILED, /* groups that could not be started, or broke */
    /* 1 while all members of the group exist and none is stopped, else 0; it also decreases */
    MESSAGES_WHOLE,

    NETWORK_PACKETS = COUNTER_OWN,
    NETWORK_SENT_BYTES,
    NETWORK_FAILED,
};

/* disk: size of one write. Each write reaches the device before the next begins, so the count of a
 * process is at most one block behind the device's. */
enum { DISK_BLOCK_BYTES = 65536 };

/* ---- elements and their processes ---- */

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
    bool has_device; /* /dev/uioN, whose N is uio_number */
    int uio_number;
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
    /* Names of the slot's counters, in the order of their numbers above; NULL: not used. */
    const char *counters[LOAD_COUNTERS];
    bool needs_names;    /* makes named files, in the scratch folder */
    bool takes_host;     /* LOAD_RATE: N/s@HOST:PORT */
    bool takes_device;   /* LOAD_RATE: N/s@/dev/uioN */
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

static inline uint64_t worker_random(struct worker *worker)
{
    return random_bits(&worker->random);
}

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

/* ---- the duty cycle: busy_ns of work in every period_ns; the periods lie on a fixed grid ---- */

/* Runs element->work piece by piece until the load ends. In each period it works until busy_ns are
 * used or the period ends. Unused time is lost. Time used beyond busy_ns is subtracted from the
 * following periods. Time used is CPU time of this process or, if the element is judged_by_wall (it
 * waits for a device), time within the work. Updates COUNTER_BUSY_NS, COUNTER_CPU_NS and
 * COUNTER_ROUNDS. */
void duty_keep(struct worker *worker);

/* ---- events at a fixed rate, on a fixed grid ---- */

struct rate {
    int64_t second_ns;   /* when the current second of the grid began */
    int64_t per_s, done; /* number of this second's per_s events that are past */
};

/* Starts the grid at `now_ns`; per_s is at least 1. */
void rate_start(struct rate *rate, int64_t per_s, int64_t now_ns);

/* When the next event is due. */
static inline int64_t rate_next_ns(const struct rate *rate)
{
    return rate->second_ns + (rate->done + 1) * 1000000000 / rate->per_s;
}

/* Advances to the next event. */
static inline void rate_step(struct rate *rate)
{
    if (++rate->done < rate->per_s)
        return;
    rate->done = 0;
    rate->second_ns += 1000000000;
}

/* Skips the events that are late by more than `most_ns`; returns their number. */
int64_t rate_skip(struct rate *rate, int64_t now_ns, int64_t most_ns);

/* ---- pieces of Whetstone, the work of RSP-P-FIX, for the elements cpu and storm ---- */

/* Allocates worker->own and measures how many turns make a piece of about 0.1 ms. 0, or ENOMEM. */
int whetstone_prepare(struct worker *worker);
/* Does one piece. */
void whetstone_piece(struct worker *worker);

#endif

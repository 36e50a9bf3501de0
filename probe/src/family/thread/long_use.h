/* Scenarios for THR-B-PRI: a real-time thread that uses much CPU time, with a lower real-time
 * thread and a time-shared one (SCHED_OTHER) beside it, all on the run's CPU. */
#ifndef HS_FAMILY_THREAD_LONG_USE_H
#define HS_FAMILY_THREAD_LONG_USE_H

#include "family/thread/system_threads.h"
#include "record/order_log.h"
#include "run/run.h"

enum { LONG_USERS = 3 };

enum long_use_scene { SCENE_LONG_USE, SCENE_TIME_SHARED };

struct long_use {
    struct run *run;
    struct cpu_loss cpu_loss;
    struct system_threads system;
    struct order_log log;
    enum long_use_scene scene;
    int64_t spin_ns; /* CPU time of one long use */
    int started_count;
    struct rt_thread rt_threads[LONG_USERS];
    sem_t starts[LONG_USERS];
    sem_t wake, done;
    atomic_bool is_over;
    atomic_uint_fast64_t served;
    uint64_t wake_count, delayed_count;
    int64_t longest_delay_ns;
};

/* Gives the verdicts long_use and system_processes, tried `rounds` times, and time_shared. `use` is
 * zeroed but for `run`, and system_threads_open was called for its `system`. 0, or -1 with the
 * outcome if the threads could not be started. */
int long_use_try(struct long_use *use, int rounds);

#endif

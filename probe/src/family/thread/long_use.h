/* A real-time thread that uses the CPU for long, a lower real-time one, and a time-shared
 * one beside it. For THR-B-PRI. */
#ifndef HS_THREAD_LONG_USE_H
#define HS_THREAD_LONG_USE_H

#include "realtime/cpu_loss.h"
#include "record/order_log.h"

enum { LONG_USERS = 3 };

enum long_use_scene { SCENE_LONG_USE, SCENE_TIME_SHARED };

struct long_use {
    struct run *run;
    struct occupancy occupancy;
    struct order_log log;
    enum long_use_scene scene;
    int64_t spin_ns; /* how long is long */
    int started_count;
    struct actor actors[LONG_USERS];
    sem_t starts[LONG_USERS];
    sem_t wake, done;
    atomic_bool is_over;
    atomic_uint_fast64_t served;
    uint64_t wake_count, delayed_count;
    int64_t longest_delay_ns;
};

/* Verdicts long_use, tried `rounds` times, and time_shared. 0, or -1 with the outcome. */
int long_use_try(struct long_use *use, int rounds);

/* What one round takes, with its rest. */
#define LONG_USE_ROUND_NS INT64_C(1000000000)

#endif

/* A flood as its processes and the one that watches them share it. */
#ifndef HS_WORK_SHARED_FLOOD_H
#define HS_WORK_SHARED_FLOOD_H

#include "base/posix_source.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum flood_kind { FLOOD_PACKETS, FLOOD_DISK, FLOOD_TIMERS, FLOODS };

enum { FLOOD_DESCRIPTORS = 128, FLOOD_HELPERS = 16, FLOOD_REASON_BYTES = 160 };

/* Shared by the flooding process, its helpers and the one that watches them; zeroed before. */
struct flood {
    enum flood_kind kind;              /* set by the one that watches */
    atomic_bool is_on, is_over;        /* the same */
    atomic_bool is_flooding;           /* the process has followed is_on */
    atomic_uint_fast64_t turns;        /* of its loop */
    atomic_uint_fast64_t done_count;   /* packets received, reads completed, expiries */
    atomic_uint_fast64_t failed_count; /* calls that failed */
    char reason[FLOOD_REASON_BYTES];   /* why flood_prepare failed */
    int descriptors[FLOOD_DESCRIPTORS];
    int descriptor_count;
    pid_t helpers[FLOOD_HELPERS];
    int helper_count;
};

#endif

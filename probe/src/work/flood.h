/* Floods: work whose interrupts the kernel serves for an ordinary process.
 *
 *   packets  UDP over the loopback interface, sent and received by the process itself
 *   disk     direct reads of an anonymous file, many at once, one by each of its helpers
 *   timers   many timers (timerfd) that expire together
 *
 * The process never sleeps: it floods while `is_on` is set, and spins otherwise, so that its CPU is
 * never idle. It asks for no priority: whoever starts it has made it an ordinary one, bound to its
 * CPU. Its helpers inherit both and die with it.
 *
 * Where the interrupts are served is the kernel's choice. Packets over loopback are processed by a
 * softirq on the CPU of their sender, within its send, unless RPS of `lo` names other CPUs; a disk
 * interrupts the CPU that its driver has chosen. Compare with port_softirqs and port_environment.
 */
#ifndef HS_WORK_FLOOD_H
#define HS_WORK_FLOOD_H

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

/* "packets", "disk", "timers", NULL. */
extern const char *const flood_names[FLOODS + 1];

/* For the flooding process: opens what the flood needs and tries it once. 0, or an errno value with
 * flood->reason; then nothing is open. */
int flood_prepare(struct flood *flood);

/* For the flooding process: floods and spins until is_over is set, then closes all and waits for
 * the helpers. */
void flood_run(struct flood *flood);

/* What an event of the flood is: "packets received", "reads completed", "timers expired". */
const char *flood_unit(enum flood_kind kind);

#endif

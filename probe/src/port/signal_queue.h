/* The limit on queued signals. linux/signal_queue.c; posix/signal_queue.c knows the limit only. */
#ifndef HS_PORT_SIGNAL_QUEUE_H
#define HS_PORT_SIGNAL_QUEUE_H

#include <stdint.h>

/* How many signals may be queued to this process (-1: not known; INT64_MAX: no limit), and how many
 * of those that count for that limit are queued now, to whatever process (-1: not known). */
struct port_signal_queue {
    int64_t limit, used;
};
void port_signal_queue(struct port_signal_queue *queue);

/* Sets the limit of this process; beyond its hard limit that needs a privilege, and raises it too.
 * Stores the limits as they were. 0, or an errno value (EPERM; ENOTSUP: the system has no such
 * call). */
int port_limit_signal_queue(int64_t limit, int64_t *soft_before, int64_t *hard_before);
void port_restore_signal_queue(int64_t soft, int64_t hard);

/* The number of the signal that tells of a failing power supply; -1: the system has none. */
int port_power_signal(void);

#endif

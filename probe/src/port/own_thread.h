/* The calling thread's own scheduling and counts, as far as a system has more than POSIX.
 *
 * linux/own_thread.c; posix/own_thread.c answers ENOTSUP and false. */
#ifndef HS_PORT_OWN_THREAD_H
#define HS_PORT_OWN_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Schedules the calling thread by deadline (Linux: SCHED_DEADLINE): it may run for `runtime_ns` of
 * each `period_ns`, which is its deadline too. 0, or an errno value: EBUSY (admission: the CPUs
 * have not that much left), EPERM (no right, or the thread may not use all CPUs of its domain),
 * EINVAL (outside the limits of the system), ENOTSUP or ENOSYS (there is no such policy). */
int port_deadline_self(int64_t runtime_ns, int64_t period_ns);

/* Context switches of the calling thread since its begin: voluntary (it waited) and involuntary
 * (it was preempted). False: the system does not count them for each thread. */
bool port_own_switches(int64_t *voluntary, int64_t *involuntary);

#endif

/* CPU affinity of any thread. The only place that has the kernel's own form of a set: its size is
 * the kernel's, not that of cpu_set_t, which ends at CPU 1023. */
#ifndef HS_PORT_LINUX_CPUS_H
#define HS_PORT_LINUX_CPUS_H

#include "base/cpus.h"

#include <sys/types.h>

/* Stores the CPUs that the thread `id` (0: the caller) may use, as far as they are below PORT_CPUS.
 * 0, or an errno value (ESRCH: there is no such thread). */
int linux_affinity_get(pid_t id, struct cpus *cpus);

/* Sets them. 0, or an errno value (EINVAL: none of them is online and in the thread's cpuset). */
int linux_affinity_set(pid_t id, const struct cpus *cpus);

/* Sets what the thread has already, whatever its size: tells whether the caller may. 0, or an errno
 * value. */
int linux_affinity_set_again(pid_t id);

#endif

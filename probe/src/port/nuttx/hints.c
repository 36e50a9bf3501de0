/* What helps on NuttX: mostly an option of its configuration. */
#include "base/posix_source.h"

#include "port/port.h"

const char *port_hint(enum port_hint hint)
{
    switch (hint) {
    case PORT_HINT_SHARED_MEMORY:
        return "configure CONFIG_FS_SHMFS";
    case PORT_HINT_SEMAPHORE_RIGHT:
        return "configure CONFIG_FS_NAMED_SEMAPHORES, or choose other kinds (-p kinds=...)";
    case PORT_HINT_OWN_FILES:
        return "end other tasks (ps), or raise CONFIG_NFILE_DESCRIPTORS_PER_BLOCK";
    case PORT_HINT_MEMORY:
        return "end other tasks (ps, free)";
    case PORT_HINT_THREADS:
        return "end other tasks (ps, free), or configure smaller stacks "
               "(CONFIG_HARDSTONE_THREAD_STACKSIZE, CONFIG_HARDSTONE_SMALL_STACKSIZE)";
    case PORT_HINT_QUEUED_SIGNALS:
        return "free some memory (free, ps): each signal that waits takes some";
    case PORT_HINT_SIGNALS_COMMAND:
        return "";
    case PORT_HINT_SIGNALS_LIMIT:
        return "the limit on queued signals";
    case PORT_HINT_SIGNALS_RIGHT:
        return "is fixed in NuttX's sources";
    case PORT_HINT_OPEN_FILES:
        return "end other tasks (ps)";
    case PORT_HINT_SPACE:
        return "free some memory (free, ps)";
    case PORT_HINT_READ_ONLY:
        return "it is mounted read-only: name another folder (--dir), such as one that was "
               "mounted with: mount -t tmpfs /tmp";
    case PORT_HINT_MESSAGE_BYTES:
    case PORT_HINT_SYSV_BYTES:
        return "raise CONFIG_MQ_MAXMSGSIZE, or choose smaller messages";
    case PORT_HINT_QUEUE_MESSAGES:
        return "raise CONFIG_PREALLOC_MQ_MSGS, or ask MSG-P-THR for fewer (-p depth=...)";
    case PORT_HINT_QUEUE_FILES:
        return "end other tasks (ps), or raise CONFIG_NFILE_DESCRIPTORS_PER_BLOCK";
    case PORT_HINT_QUEUES:
    case PORT_HINT_SYSV_QUEUES:
        return "free some memory (free, ps)";
    case PORT_HINT_QUEUES_LIMIT:
        return "the number of queues";
    case PORT_HINT_DEPTH_LIMIT:
        return "messages of a queue";
    case PORT_HINT_SLICES:
        return "shorten the slices (CONFIG_RR_INTERVAL)";
    case PORT_HINT_SLICES_LOST:
        return "end what takes the CPU from the test (ps), or shorten the slices "
               "(CONFIG_RR_INTERVAL)";
    case PORT_HINT_SOCKET_BUFFER:
        return "raise the buffer of a socket (CONFIG_DEV_FIFO_SIZE)";
    case PORT_HINT_DEADLINE_BUDGET:
    case PORT_HINT_DEADLINE_PERIOD:
        return "choose another policy";
    case PORT_HINT_LIFT_BUDGET:
        return "ps";
    case PORT_HINT_BUDGET_FILE:
    case PORT_HINT_IDLE_DEVICE:
        return "";
    case PORT_HINT_INTERRUPT_CPU:
        return "see which CPU serves them";
    case PORT_HINT_SHIELD_RIGHT:
        return "measure without reserving a CPU";
    case PORT_HINT_ONLINE:
        return "name CPUs that the configuration has (CONFIG_SMP_NCPUS)";
    case PORT_HINT_ONLINE_UNKNOWN:
        return "NuttX does not report which CPUs are online";
    }
    return "";
}

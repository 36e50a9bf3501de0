/* What helps on any POSIX system. */
#include "port/port.h"

const char *port_hint(enum port_hint hint)
{
    switch (hint) {
    case PORT_HINT_SHARED_MEMORY:
        return "make shared memory writable";
    case PORT_HINT_SEMAPHORE_RIGHT:
        return "grant what it needs, or choose other kinds (-p kinds=...)";
    case PORT_HINT_OWN_FILES:
        return "raise the limit on open files (ulimit -n)";
    case PORT_HINT_MEMORY:
        return "raise the limits on memory (ulimit -v, ulimit -l), or free some";
    case PORT_HINT_THREADS:
        return "raise the limits on threads and memory (ulimit -u, ulimit -l, ulimit -v)";
    case PORT_HINT_QUEUED_SIGNALS:
        return "raise the limit on queued signals";
    case PORT_HINT_SIGNALS_COMMAND:
        return "ulimit -i";
    case PORT_HINT_SIGNALS_LIMIT:
        return "the limit on queued signals";
    case PORT_HINT_SIGNALS_RIGHT:
        return "may be raised only by the administrator";
    case PORT_HINT_OPEN_FILES:
        return "raise the system's limit on open files";
    case PORT_HINT_SPACE:
        return "free some shared memory, or System V semaphores (ipcs -s lists the existing ones)";
    case PORT_HINT_READ_ONLY:
        return "it is mounted read-only: mount it writable, or name another folder (--dir)";
    case PORT_HINT_MESSAGE_BYTES:
        return "raise the limit on the length of a message";
    case PORT_HINT_QUEUE_MESSAGES:
        return "raise the limit on messages of a queue, or ask MSG-P-THR for fewer (-p depth=...)";
    case PORT_HINT_QUEUE_FILES:
        return "raise the memory of message queues (ulimit -q) or the open files (ulimit -n)";
    case PORT_HINT_QUEUES:
        return "raise the limit on queues, or remove some";
    case PORT_HINT_QUEUES_LIMIT:
        return "the number of queues";
    case PORT_HINT_DEPTH_LIMIT:
        return "messages of a queue";
    case PORT_HINT_SLICES:
        return "shorten the slices, or lift the limit on real-time threads";
    case PORT_HINT_SLICES_LOST:
        return "end what takes the CPU from the test; if slices are long, shorten them, or lift "
               "the limit on real-time threads";
    case PORT_HINT_SYSV_BYTES:
        return "raise the limit on the length of a message";
    case PORT_HINT_SYSV_QUEUES:
        return "raise the limit on queues, or remove some (ipcs -q)";
    case PORT_HINT_SOCKET_BUFFER:
        return "raise the buffer of a socket";
    case PORT_HINT_DEADLINE_BUDGET:
        return "end other threads under SCHED_DEADLINE, or allow real-time threads more of the CPU";
    case PORT_HINT_DEADLINE_PERIOD:
        return "choose a longer period";
    case PORT_HINT_LIFT_BUDGET:
        return "hardstone doctor";
    case PORT_HINT_BUDGET_FILE:
        return "";
    case PORT_HINT_INTERRUPT_CPU:
        return "see which CPU serves them";
    case PORT_HINT_SHIELD_RIGHT:
        return "run it as root";
    case PORT_HINT_ONLINE:
        return "make it readable";
    case PORT_HINT_ONLINE_UNKNOWN:
        return "the system does not report which CPUs are online";
    case PORT_HINT_IDLE_DEVICE:
        return "";
    }
    return "";
}

/* What helps on any POSIX system. */
#include "port/port.h"

const char *port_hint(enum port_hint hint)
{
    static const char *const hints[PORT_HINTS] = {
        [PORT_HINT_SHARED_MEMORY] = "see that shared memory can be written",
        [PORT_HINT_SEMAPHORE_RIGHT] = "grant what it needs, or choose other kinds (-p kinds=...)",
        [PORT_HINT_OPEN_FILES] = "raise the system's limit on open files",
        [PORT_HINT_SPACE] = "make room: in shared memory, or for System V semaphores (ipcs -s "
                            "lists the existing ones)",
        [PORT_HINT_READ_ONLY] =
            "it is mounted read-only: mount it writable, or name another folder (--dir)",
        [PORT_HINT_MESSAGE_BYTES] = "raise the length of a message",
        [PORT_HINT_QUEUE_MESSAGES] =
            "raise the messages of a queue, or ask MSG-P-THR for less (-p depth=...)",
        [PORT_HINT_QUEUES] = "raise the number of queues, or remove some",
        [PORT_HINT_SYSV_BYTES] = "raise the length of a message",
        [PORT_HINT_SYSV_QUEUES] = "raise the number of queues, or remove some (ipcs -q)",
        [PORT_HINT_SOCKET_BUFFER] = "raise the buffer of a socket",
        [PORT_HINT_DEADLINE_BUDGET] =
            "end other threads under SCHED_DEADLINE, or allow real-time threads more of the CPU",
        [PORT_HINT_DEADLINE_PERIOD] = "choose a longer period",
        [PORT_HINT_LIFT_BUDGET] = "hardstone doctor",
        [PORT_HINT_BUDGET_FILE] = "",
        [PORT_HINT_INTERRUPT_CPU] = "see which CPU serves them",
        [PORT_HINT_SHIELD_RIGHT] = "run it as root",
        [PORT_HINT_ONLINE] = "make it readable",
        [PORT_HINT_ONLINE_UNKNOWN] = "the system does not tell which CPUs are online",
        [PORT_HINT_IDLE_DEVICE] = "no device",
    };
    return hints[hint];
}

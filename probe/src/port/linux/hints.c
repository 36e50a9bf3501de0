/* What helps on Linux: its paths and settings. */
#include "port/port.h"

const char *port_hint(enum port_hint hint)
{
    static const char *const hints[PORT_HINTS] = {
        [PORT_HINT_SHARED_MEMORY] = "see that shared memory can be written (/dev/shm on Linux)",
        [PORT_HINT_SEMAPHORE_RIGHT] = "grant what it needs (write access to /dev/shm on Linux), or "
                                      "choose other kinds (-p kinds=...)",
        [PORT_HINT_OPEN_FILES] =
            "raise the system's limit on open files (Linux: sysctl fs.file-max)",
        [PORT_HINT_SPACE] = "make room: in shared memory (/dev/shm on Linux), or for System V "
                            "semaphores (sysctl kernel.sem; ipcs -s lists the existing ones)",
        [PORT_HINT_READ_ONLY] = "it is mounted read-only: mount it writable (shared memory is "
                                "/dev/shm on Linux: mount -o remount,rw /dev/shm; of a container "
                                "--tmpfs /dev/shm), or name another folder (--dir)",
        [PORT_HINT_MESSAGE_BYTES] =
            "raise the length of a message (Linux: sysctl fs.mqueue.msgsize_max)",
        [PORT_HINT_QUEUE_MESSAGES] = "raise the messages of a queue (Linux: sysctl "
                                     "fs.mqueue.msg_max), or ask MSG-P-THR for less (-p depth=...)",
        [PORT_HINT_QUEUES] = "raise the number of queues (Linux: sysctl fs.mqueue.queues_max), or "
                             "remove some (/dev/mqueue)",
        [PORT_HINT_SYSV_BYTES] =
            "raise the length of a message (Linux: sysctl kernel.msgmax and kernel.msgmnb)",
        [PORT_HINT_SYSV_QUEUES] =
            "raise the number of queues (Linux: sysctl kernel.msgmni), or remove some (ipcs -q)",
        [PORT_HINT_SOCKET_BUFFER] =
            "raise the buffer of a socket (Linux: sysctl net.core.wmem_default)",
        [PORT_HINT_DEADLINE_BUDGET] = "end other threads under SCHED_DEADLINE, or allow real-time "
                                      "threads more of the CPU (sysctl kernel.sched_rt_runtime_us)",
        [PORT_HINT_DEADLINE_PERIOD] =
            "choose a longer period (sysctl kernel.sched_deadline_period_min_us)",
        [PORT_HINT_LIFT_BUDGET] = "sudo sysctl kernel.sched_rt_runtime_us=-1",
        [PORT_HINT_BUDGET_FILE] = "cpu.rt_runtime_us",
        [PORT_HINT_INTERRUPT_CPU] = "see /proc/interrupts for the CPU that serves them",
        [PORT_HINT_SHIELD_RIGHT] = "run it as root (sudo); in a container make /proc/sys, "
                                   "/proc/irq, /sys and the control groups writable",
        [PORT_HINT_ONLINE] = "make it readable (Linux: mount -t sysfs sysfs /sys)",
        [PORT_HINT_ONLINE_UNKNOWN] = "the system does not tell which CPUs are online (Linux: "
                                     "/sys/devices/system/cpu/online cannot be read)",
        [PORT_HINT_IDLE_DEVICE] = "/dev/cpu_dma_latency",
    };
    return hints[hint];
}

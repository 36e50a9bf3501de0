/* What helps on Linux: its paths and settings. */
#include "port/port.h"

const char *port_hint(enum port_hint hint)
{
    switch (hint) {
    case PORT_HINT_SHARED_MEMORY:
        return "make shared memory writable (/dev/shm on Linux)";
    case PORT_HINT_SEMAPHORE_RIGHT:
        return "grant what it needs (write access to /dev/shm on Linux), or "
               "choose other kinds (-p kinds=...)";
    case PORT_HINT_OWN_FILES:
        return "raise the limit on open files (ulimit -n)";
    case PORT_HINT_MEMORY:
        return "raise the limits on memory (ulimit -v, ulimit -l), or free some";
    case PORT_HINT_THREADS:
        return "raise the limits on threads and memory (ulimit -u, ulimit -l, ulimit -v; pids.max "
               "of the "
               "control group)";
    case PORT_HINT_QUEUED_SIGNALS:
        return "raise the limit on queued signals";
    case PORT_HINT_SIGNALS_COMMAND:
        return "ulimit -i";
    case PORT_HINT_SIGNALS_LIMIT:
        return "the limit on queued signals (RLIMIT_SIGPENDING)";
    case PORT_HINT_SIGNALS_RIGHT:
        return "may be raised only with CAP_SYS_RESOURCE";
    case PORT_HINT_OPEN_FILES:
        return "raise the system's limit on open files (Linux: sysctl fs.file-max)";
    case PORT_HINT_SPACE:
        return "free some shared memory (/dev/shm on Linux), or System V semaphores (sysctl "
               "kernel.sem; ipcs -s lists the existing ones)";
    case PORT_HINT_READ_ONLY:
        return "it is mounted read-only: mount it writable (shared memory is "
               "/dev/shm on Linux: mount -o remount,rw /dev/shm; of a container "
               "--tmpfs /dev/shm), or name another folder (--dir)";
    case PORT_HINT_MESSAGE_BYTES:
        return "raise the limit on the length of a message (Linux: sysctl fs.mqueue.msgsize_max)";
    case PORT_HINT_QUEUE_MESSAGES:
        return "raise the limit on messages of a queue (Linux: sysctl fs.mqueue.msg_max), or ask "
               "MSG-P-THR for fewer (-p depth=...)";
    case PORT_HINT_QUEUE_FILES:
        return "raise the memory of message queues (ulimit -q) or the open files (ulimit -n)";
    case PORT_HINT_QUEUES:
        return "raise the limit on queues (Linux: sysctl fs.mqueue.queues_max), or remove some "
               "(/dev/mqueue)";
    case PORT_HINT_QUEUES_LIMIT:
        return "the number of queues (fs.mqueue.queues_max)";
    case PORT_HINT_DEPTH_LIMIT:
        return "messages of a queue (fs.mqueue.msg_max)";
    case PORT_HINT_SLICES:
        return "shorten the slices (Linux: kernel.sched_rr_timeslice_ms), or lift the limit on "
               "real-time threads";
    case PORT_HINT_SLICES_LOST:
        return "end what takes the CPU from the test; if slices are long, shorten them (Linux: "
               "kernel.sched_rr_timeslice_ms), or lift the limit on real-time threads";
    case PORT_HINT_SYSV_BYTES:
        return "raise the limit on the length of a message (Linux: sysctl kernel.msgmax and "
               "kernel.msgmnb)";
    case PORT_HINT_SYSV_QUEUES:
        return "raise the limit on queues (Linux: sysctl kernel.msgmni), or remove some (ipcs -q)";
    case PORT_HINT_SOCKET_BUFFER:
        return "raise the buffer of a socket (Linux: sysctl net.core.wmem_default)";
    case PORT_HINT_DEADLINE_BUDGET:
        return "end other threads under SCHED_DEADLINE, or allow real-time "
               "threads more of the CPU (sysctl kernel.sched_rt_runtime_us)";
    case PORT_HINT_DEADLINE_PERIOD:
        return "choose a longer period (sysctl kernel.sched_deadline_period_min_us)";
    case PORT_HINT_LIFT_BUDGET:
        return "sudo sysctl kernel.sched_rt_runtime_us=-1";
    case PORT_HINT_BUDGET_FILE:
        return "cpu.rt_runtime_us";
    case PORT_HINT_INTERRUPT_CPU:
        return "see /proc/interrupts for the CPU that serves them";
    case PORT_HINT_SHIELD_RIGHT:
        return "run it as root (sudo); in a container make /proc/sys, "
               "/proc/irq, /sys and the control groups writable";
    case PORT_HINT_ONLINE:
        return "make it readable (Linux: mount -t sysfs sysfs /sys)";
    case PORT_HINT_ONLINE_UNKNOWN:
        return "the system does not report which CPUs are online (Linux: "
               "/sys/devices/system/cpu/online cannot be read)";
    case PORT_HINT_IDLE_DEVICE:
        return "/dev/cpu_dma_latency";
    }
    return "";
}

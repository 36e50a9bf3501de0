/* What this configuration of NuttX has (base/options.h), included before every file of the probe.
 * The macros of its headers do not tell: unistd.h announces options that the configuration left
 * out, and leaves out some that it has. */
#ifndef HS_PORT_NUTTX_OPTIONS_H
#define HS_PORT_NUTTX_OPTIONS_H

#include <nuttx/config.h>

/* ---- choices of the build (Kconfig) ---- */

#define HS_LOAD 0
#define HS_SHIELD 0
#define HS_AGENT 0
#define HS_CPUS CONFIG_HARDSTONE_CPUS
#define HS_THREADS CONFIG_HARDSTONE_THREADS
#define HS_WATCH_THREADS CONFIG_HARDSTONE_WATCH_THREADS
#define HS_WATCH_COUNTS CONFIG_HARDSTONE_WATCH_COUNTS
#define HS_RECORD_SUB_BITS CONFIG_HARDSTONE_RECORD_BITS
#define HS_RECORD_WORST CONFIG_HARDSTONE_WORST_VALUES
#define HS_ARENA_EVENTS CONFIG_HARDSTONE_EVENTS
#define HS_ARENA_VERDICTS CONFIG_HARDSTONE_VERDICTS
#define HS_ARENA_ROWS CONFIG_HARDSTONE_ROWS
#define HS_ARENA_KEPT_BYTES CONFIG_HARDSTONE_KEPT_BYTES
#define HS_ARENA_KEPT_ALL_BYTES CONFIG_HARDSTONE_KEPT_ALL_BYTES
#define HS_ARENA_INTERVALS 1 /* no counters of the kernel to keep, */
#define HS_ARENA_TRACES 1    /* and no trace */
#define HS_ARENA_TRACE_LINES 1
#define HS_STACK_BYTES CONFIG_HARDSTONE_THREAD_STACKSIZE
#define HS_SMALL_STACK_BYTES CONFIG_HARDSTONE_SMALL_STACKSIZE

/* mq_open with a longer message fails, and leaves a name behind whose next use ends the system. */
#ifdef CONFIG_MQ_MAXMSGSIZE
#define HS_QUEUE_BYTES CONFIG_MQ_MAXMSGSIZE
#endif

/* ---- POSIX ---- */

/* Without an address space for each process a forked child would work on its parent's memory. */
#define HS_HAS_FORK 0
#define HS_HAS_JOB_CONTROL 0
#define HS_HAS_PROCESS_SHARED 1
#define HS_HAS_SYSV_SEMAPHORES 0
#define HS_HAS_TRACE 0
#define HS_HAS_TYPED_MEMORY 0
#define HS_HAS_MEMORY_PROTECTION 1 /* it links, and fails */
#define HS_HAS_MEMLOCK_RANGE 1
#define HS_HAS_SYNCHRONIZED_FILES 1
#define HS_HAS_FILE_ALLOCATION 1
#define HS_HAS_MEMORY_FREE_SPACE 0 /* tmpfs grows */
#define HS_HAS_ADVISORY_INFO 0     /* no posix_fadvise */
#define HS_HAS_BARRIERS 1
#define HS_HAS_READER_WRITER_LOCKS 1
#define HS_HAS_CLOCK_SELECTION 1
#define HS_HAS_STACK_ATTRIBUTES 1
#define HS_HAS_PROCESS_SCHEDULING 1
#define HS_HAS_MAPPED_FILES 1
#define HS_HAS_TIMEOUTS 1
#define HS_HAS_CPU_CLOCKS 1
#define HS_HAS_RUNNING_CPU_CLOCKS 0 /* clock_gettime leaves out the time since the last switch */
#define HS_HAS_SIGQUEUE 1
#define HS_HAS_READY_SIGNAL 0
#define HS_HAS_QUEUED_BYTES 1
#define HS_HAS_ENDED_WHEN_JOINED 0 /* it posts the joiner's semaphore, and goes on to its end */
#define HS_HAS_SELECT 1
#define HS_HAS_SETSCHEDPRIO 1
#define HS_HAS_SIGNAL_SENDER 0 /* si_pid names the thread, not its process */

#ifdef CONFIG_ARCH_SETJMP_H
#define HS_HAS_JUMPS 1
#else
#define HS_HAS_JUMPS 0
#endif
#if defined(CONFIG_FS_SHMFS)
#define HS_HAS_SHARED_MEMORY 1
#else
#define HS_HAS_SHARED_MEMORY 0
#endif
#ifdef CONFIG_FS_NAMED_SEMAPHORES
#define HS_HAS_NAMED_SEMAPHORES 1
#else
#define HS_HAS_NAMED_SEMAPHORES 0
#endif
#define HS_HAS_CALLS_IN_SPIN_LOCK 1
#ifdef CONFIG_PTHREAD_SPINLOCKS
#define HS_HAS_SPIN_LOCKS 1
#else
#define HS_HAS_SPIN_LOCKS 0
#endif
#ifdef CONFIG_PTHREAD_MUTEX_UNSAFE
#define HS_HAS_ROBUST_MUTEXES 0
#else
#define HS_HAS_ROBUST_MUTEXES 1
#endif
#ifdef CONFIG_PRIORITY_INHERITANCE
#define HS_HAS_PRIO_INHERIT 1
#else
#define HS_HAS_PRIO_INHERIT 0
#endif
#ifdef CONFIG_PRIORITY_PROTECT
#define HS_HAS_PRIO_PROTECT 1
#else
#define HS_HAS_PRIO_PROTECT 0
#endif
#ifdef CONFIG_DISABLE_MQUEUE
#define HS_HAS_MESSAGE_QUEUES 0
#else
#define HS_HAS_MESSAGE_QUEUES 1
#endif
#ifdef CONFIG_DISABLE_MQUEUE_SYSV
#define HS_HAS_SYSV_MESSAGES 0
#else
#define HS_HAS_SYSV_MESSAGES 1
#endif
#ifdef CONFIG_FS_AIO
#define HS_HAS_AIO 1
#else
#define HS_HAS_AIO 0
#endif
#ifdef CONFIG_PSEUDOTERM
#define HS_HAS_TERMINALS 1
#else
#define HS_HAS_TERMINALS 0
#endif
#ifdef CONFIG_SERIAL_TERMIOS
#define HS_HAS_OUTPUT_DRAIN 1
#else
#define HS_HAS_OUTPUT_DRAIN 0
#endif
#ifdef CONFIG_PIPES
#define HS_HAS_FIFO 1
#else
#define HS_HAS_FIFO 0
#endif
#ifdef CONFIG_PSEUDOFS_SOFTLINKS
#define HS_HAS_SYMBOLIC_LINKS 1
#else
#define HS_HAS_SYMBOLIC_LINKS 0
#endif
#ifdef CONFIG_SCHED_SPORADIC
#define HS_HAS_SPORADIC_SERVER 1
#else
#define HS_HAS_SPORADIC_SERVER 0
#endif
/* Its timers stay, whatever the thread's policy is then, and fire for a thread that is no more. */
#define HS_HAS_SPORADIC_END 0
#if defined(CONFIG_LIBC_EXECFUNCS) || defined(CONFIG_BUILTIN)
#define HS_HAS_SPAWN 1
#else
#define HS_HAS_SPAWN 0
#endif
#ifdef CONFIG_LIBC_REGEX
#define HS_HAS_REGEXP 1
#else
#define HS_HAS_REGEXP 0
#endif
#ifdef CONFIG_NET
#define HS_HAS_SOCKETS 1
#else
#define HS_HAS_SOCKETS 0
#endif
#ifdef CONFIG_DISABLE_POSIX_TIMERS
#define HS_HAS_TIMERS 0
#else
#define HS_HAS_TIMERS 1
#endif

#endif

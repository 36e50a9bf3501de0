/* What the build decides: choices for small systems, and what POSIX of the system is there.
 *
 * Choices: Meson sets them from its options; without Meson, pass -DNAME=VALUE to the compiler. All
 * defaults are here. */
#ifndef HS_BASE_OPTIONS_H
#define HS_BASE_OPTIONS_H

#include "base/posix_source.h"

#include <pthread.h>
#include <unistd.h>

/* ---- features ---- */

/* 0 leaves a feature out: requests for it are refused with a reason. The build then omits load/
 * (HS_LOAD), or shield/ (HS_SHIELD). */
#ifndef HS_LOAD
#define HS_LOAD 1
#endif
#ifndef HS_SHIELD
#define HS_SHIELD 1
#endif
/* 0: without agent/, which starts other processes. */
#ifndef HS_AGENT
#define HS_AGENT 1
#endif

/* ---- counts ---- */

/* Number of CPUs supported, numbered from 0; a CPU set takes one bit for each. */
#ifndef HS_CPUS
#define HS_CPUS 8192
#endif

/* Threads of a test whose run delay is known; with more, a pause of the system and a slow wake-up
 * look the same. 32 bytes each, twice. */
#ifndef HS_THREADS
#define HS_THREADS 600
#endif

/* Threads of a test whose counters are read each second, 112 bytes each, and counts of interrupts
 * (lines times measured CPUs) that are remembered for it, 12 bytes each. */
#ifndef HS_WATCH_THREADS
#define HS_WATCH_THREADS 128
#endif
#ifndef HS_WATCH_COUNTS
#define HS_WATCH_COUNTS 16384
#endif

/* Values of a parameter that is a list, 8 bytes each for every parameter (run/test.h). */
#ifndef HS_PARAM_VALUES
#define HS_PARAM_VALUES 16
#endif

/* ---- records (record/record.h) ---- */

/* Resolution of a histogram: a bucket is at most 2^-HS_RECORD_SUB_BITS of its value wide. 10 bits
 * take 221 KB a record, 5 bits 8.5 KB. */
#ifndef HS_RECORD_SUB_BITS
#define HS_RECORD_SUB_BITS 10
#endif
/* Worst values of a series, 24 bytes each. */
#ifndef HS_RECORD_WORST
#define HS_RECORD_WORST 32
#endif

/* ---- memory of a run (record/arena.h) ---- */

/* Events and verdicts of a run, and the text of each. */
#ifndef HS_ARENA_EVENTS
#define HS_ARENA_EVENTS 48
#endif
#ifndef HS_ARENA_VERDICTS
#define HS_ARENA_VERDICTS 64
#endif
#ifndef HS_ARENA_TEXT_BYTES
#define HS_ARENA_TEXT_BYTES 400
#endif
/* Packed data of an event (base/data.h). */
#ifndef HS_ARENA_DATA_BYTES
#define HS_ARENA_DATA_BYTES 640
#endif
/* Header line of the stream, and the conditions of its result line: one buffer each. */
#ifndef HS_ARENA_JSON_BYTES
#define HS_ARENA_JSON_BYTES 4096
#endif
/* Seconds whose counters of the kernel are kept because a worst value lies in them, of one CPU
 * each, 200 bytes. */
#ifndef HS_ARENA_INTERVALS
#define HS_ARENA_INTERVALS 128
#endif
/* Excerpts of the kernel's trace, around the largest values, and the lines of each, 128 bytes. */
#ifndef HS_ARENA_TRACES
#define HS_ARENA_TRACES 4
#endif
#ifndef HS_ARENA_TRACE_LINES
#define HS_ARENA_TRACE_LINES 48
#endif
/* Rows of all tables of whole numbers that a test keeps at most, 48 bytes each; 0: no test keeps
 * tables. */
#ifndef HS_ARENA_ROWS
#define HS_ARENA_ROWS (1 << 16)
#endif
/* Compact form of a series that shares its record, beside its maxima: at least; and what all series
 * have together, if that is more. */
#ifndef HS_ARENA_KEPT_BYTES
#define HS_ARENA_KEPT_BYTES 8192
#endif
#ifndef HS_ARENA_KEPT_ALL_BYTES
#define HS_ARENA_KEPT_ALL_BYTES (512 * 1024)
#endif

/* ---- buffers and stacks ---- */

/* Buffer of standard output. */
#ifndef HS_EMIT_BYTES
#define HS_EMIT_BYTES 4096
#endif

/* Stacks of threads (base/rt_thread.h): of the measuring thread and of those with large frames, and
 * of waiters and second parties. On x86-64 with glibc, linked dynamically, the measuring thread of
 * a semaphore test uses 13 KiB, its waiters and second parties 8 KiB; both hold the 4 KiB of the C
 * library. */
#ifndef HS_STACK_BYTES
#define HS_STACK_BYTES (96 * 1024)
#endif
#ifndef HS_SMALL_STACK_BYTES
#define HS_SMALL_STACK_BYTES (32 * 1024)
#endif

#if HS_CPUS < 1
#error "HS_CPUS: at least 1"
#endif
#if HS_THREADS < 2
#error "HS_THREADS: at least 2, the supervisor and the measuring thread"
#endif
#if HS_PARAM_VALUES < 13
#error "HS_PARAM_VALUES: at least 13, the longest default of a test"
#endif
#if HS_RECORD_SUB_BITS < 1 || HS_RECORD_SUB_BITS > 10
#error "HS_RECORD_SUB_BITS: 1 to 10"
#endif
#if HS_ARENA_DATA_BYTES < 16
#error "HS_ARENA_DATA_BYTES: at least 16"
#endif
#if HS_RECORD_WORST < 1 || HS_ARENA_EVENTS < 1 || HS_ARENA_VERDICTS < 1 || HS_ARENA_INTERVALS < 1
#error "HS_RECORD_WORST, HS_ARENA_EVENTS, HS_ARENA_VERDICTS, HS_ARENA_INTERVALS: at least 1"
#endif
#if HS_ARENA_TRACES < 1 || HS_ARENA_TRACE_LINES < 1
#error "HS_ARENA_TRACES, HS_ARENA_TRACE_LINES: at least 1"
#endif
#if HS_ARENA_ROWS < 0 || HS_ARENA_ROWS > (1 << 18)
#error "HS_ARENA_ROWS: 0 to 262144"
#endif
#if HS_WATCH_THREADS < 1 || HS_WATCH_COUNTS < 1
#error "HS_WATCH_THREADS, HS_WATCH_COUNTS: at least 1"
#endif

/* Longest message of a POSIX queue that is asked of the system; 0: it says itself what is too long.
 */
#ifndef HS_QUEUE_BYTES
#define HS_QUEUE_BYTES 0
#endif

/* ---- POSIX features that a small system may lack: each macro is 1 or 0 ----
 *
 * Calls that POSIX requires and some systems lack all the same (clock_nanosleep, timer_create,
 * mlockall, pselect, sem_init) are in posix_source.h.
 *
 * Meson tests each one by linking a program (probe/meson.build). Without Meson, the macros of
 * the standard headers decide; if either is wrong for a library, pass -DHS_HAS_...=1 or =0 to
 * the compiler (Meson: in c_args). 1 means that the calls link: they may still fail with ENOSYS or
 * ENOTSUP. */

/* fork, waitpid and waitid. Systems without an MMU lack them. */
#ifndef HS_HAS_FORK
#define HS_HAS_FORK 1
#endif

/* shm_open, shm_unlink, and mmap of such objects. */
#ifndef HS_HAS_SHARED_MEMORY
#if !defined(_POSIX_SHARED_MEMORY_OBJECTS) || _POSIX_SHARED_MEMORY_OBJECTS + 0 < 0
#define HS_HAS_SHARED_MEMORY 0
#else
#define HS_HAS_SHARED_MEMORY 1
#endif
#endif

/* sem_open, sem_close and sem_unlink: required by POSIX, so no macro announces them. */
#ifndef HS_HAS_NAMED_SEMAPHORES
#define HS_HAS_NAMED_SEMAPHORES 1
#endif

/* semget, semctl and semop. */
#ifndef HS_HAS_SYSV_SEMAPHORES
#if defined(__has_include)
#if __has_include(<sys/sem.h>)
#define HS_HAS_SYSV_SEMAPHORES 1
#else
#define HS_HAS_SYSV_SEMAPHORES 0
#endif
#elif defined(_XOPEN_VERSION)
#define HS_HAS_SYSV_SEMAPHORES 1
#else
#define HS_HAS_SYSV_SEMAPHORES 0
#endif
#endif

/* pthread_spin_init and related calls. */
#ifndef HS_HAS_SPIN_LOCKS
#if defined(_POSIX_SPIN_LOCKS) && _POSIX_SPIN_LOCKS + 0 >= 0
#define HS_HAS_SPIN_LOCKS 1
#else
#define HS_HAS_SPIN_LOCKS 0
#endif
#endif

/* pthread_mutexattr_setrobust; required since POSIX.1-2008. */
#ifndef HS_HAS_ROBUST_MUTEXES
#if defined(_POSIX_VERSION) && _POSIX_VERSION >= 200809L
#define HS_HAS_ROBUST_MUTEXES 1
#else
#define HS_HAS_ROBUST_MUTEXES 0
#endif
#endif

/* pthread_mutexattr_setpshared and pthread_condattr_setpshared. */
#ifndef HS_HAS_PROCESS_SHARED
#if defined(_POSIX_THREAD_PROCESS_SHARED) && _POSIX_THREAD_PROCESS_SHARED + 0 >= 0
#define HS_HAS_PROCESS_SHARED 1
#else
#define HS_HAS_PROCESS_SHARED 0
#endif
#endif

/* pthread_mutexattr_setprotocol; musl has it without the macro in unistd.h. */
#ifndef HS_HAS_PRIO_INHERIT
#if defined(PTHREAD_PRIO_INHERIT) ||                                                               \
    (defined(_POSIX_THREAD_PRIO_INHERIT) && _POSIX_THREAD_PRIO_INHERIT + 0 >= 0)
#define HS_HAS_PRIO_INHERIT 1
#else
#define HS_HAS_PRIO_INHERIT 0
#endif
#endif

/* PTHREAD_PRIO_PROTECT and pthread_mutexattr_setprioceiling. musl has the constant but not the
 * function; other systems have both but not the macro. */
#ifndef HS_HAS_PRIO_PROTECT
#if defined(_POSIX_THREAD_PRIO_PROTECT) && _POSIX_THREAD_PRIO_PROTECT + 0 >= 0
#define HS_HAS_PRIO_PROTECT 1
#else
#define HS_HAS_PRIO_PROTECT 0
#endif
#endif

/* mq_open and the other calls of mqueue.h. */
#ifndef HS_HAS_MESSAGE_QUEUES
#if defined(_POSIX_MESSAGE_PASSING) && _POSIX_MESSAGE_PASSING + 0 > 0
#define HS_HAS_MESSAGE_QUEUES 1
#else
#define HS_HAS_MESSAGE_QUEUES 0
#endif
#endif

/* msgget, msgctl, msgsnd and msgrcv. */
#ifndef HS_HAS_SYSV_MESSAGES
#if defined(__has_include)
#if __has_include(<sys/msg.h>)
#define HS_HAS_SYSV_MESSAGES 1
#else
#define HS_HAS_SYSV_MESSAGES 0
#endif
#elif defined(_XOPEN_VERSION)
#define HS_HAS_SYSV_MESSAGES 1
#else
#define HS_HAS_SYSV_MESSAGES 0
#endif
#endif

/* sigqueue, sigwaitinfo and sigtimedwait. */
#ifndef HS_HAS_SIGQUEUE
#if !defined(_POSIX_REALTIME_SIGNALS) || _POSIX_REALTIME_SIGNALS + 0 < 0
#define HS_HAS_SIGQUEUE 0
#else
#define HS_HAS_SIGQUEUE 1
#endif
#endif

/* O_ASYNC and SIGIO, of BSD; no macro announces them. */
#ifndef HS_HAS_READY_SIGNAL
#define HS_HAS_READY_SIGNAL 0
#endif

/* ioctl with FIONREAD, of BSD. */
#ifndef HS_HAS_QUEUED_BYTES
#define HS_HAS_QUEUED_BYTES 0
#endif

/* aio_read and the other calls of aio.h. */
#ifndef HS_HAS_AIO
#if defined(_POSIX_ASYNCHRONOUS_IO) && _POSIX_ASYNCHRONOUS_IO + 0 >= 0
#define HS_HAS_AIO 1
#else
#define HS_HAS_AIO 0
#endif
#endif

/* posix_fallocate: advisory information. */
#ifndef HS_HAS_FILE_ALLOCATION
#if defined(_POSIX_ADVISORY_INFO) && _POSIX_ADVISORY_INFO + 0 > 0
#define HS_HAS_FILE_ALLOCATION 1
#else
#define HS_HAS_FILE_ALLOCATION 0
#endif
#endif

/* O_DSYNC, O_SYNC and fdatasync: synchronised input and output. */
#ifndef HS_HAS_SYNCHRONIZED_FILES
#if defined(_POSIX_SYNCHRONIZED_IO) && _POSIX_SYNCHRONIZED_IO + 0 > 0
#define HS_HAS_SYNCHRONIZED_FILES 1
#else
#define HS_HAS_SYNCHRONIZED_FILES 0
#endif
#endif

/* setpgid, and waitpid with WUNTRACED. */
#ifndef HS_HAS_JOB_CONTROL
#if defined(_POSIX_JOB_CONTROL) && _POSIX_JOB_CONTROL + 0 > 0
#define HS_HAS_JOB_CONTROL 1
#else
#define HS_HAS_JOB_CONTROL 0
#endif
#endif

/* posix_openpt and the calls of termios.h. */
#ifndef HS_HAS_TERMINALS
#if defined(__has_include)
#if __has_include(<termios.h>)
#define HS_HAS_TERMINALS 1
#else
#define HS_HAS_TERMINALS 0
#endif
#else
#define HS_HAS_TERMINALS 0
#endif
#endif

/* tcdrain, which waits until what was written to a serial line has left. */
#ifndef HS_HAS_OUTPUT_DRAIN
#if defined(__has_include)
#if __has_include(<termios.h>)
#define HS_HAS_OUTPUT_DRAIN 1
#else
#define HS_HAS_OUTPUT_DRAIN 0
#endif
#else
#define HS_HAS_OUTPUT_DRAIN 0
#endif
#endif

/* si_pid of siginfo_t: required by POSIX. */
#ifndef HS_HAS_SIGNAL_SENDER
#define HS_HAS_SIGNAL_SENDER 1
#endif

/* Whether fstatvfs tells how much a file system of memory can still take. 0: its free space is what
 * it happens to hold, and it grows with the heap. */
#ifndef HS_HAS_MEMORY_FREE_SPACE
#define HS_HAS_MEMORY_FREE_SPACE 1
#endif

/* mkfifo: required by POSIX, so no macro announces it. */
#ifndef HS_HAS_FIFO
#define HS_HAS_FIFO 1
#endif

/* symlink and readlink: required by POSIX. */
#ifndef HS_HAS_SYMBOLIC_LINKS
#define HS_HAS_SYMBOLIC_LINKS 1
#endif

/* sched_setscheduler and related calls. */
#ifndef HS_HAS_PROCESS_SCHEDULING
#if defined(_POSIX_PRIORITY_SCHEDULING) && _POSIX_PRIORITY_SCHEDULING + 0 > 0
#define HS_HAS_PROCESS_SCHEDULING 1
#else
#define HS_HAS_PROCESS_SCHEDULING 0
#endif
#endif

/* SCHED_SPORADIC and its parameters. */
#ifndef HS_HAS_SPORADIC_SERVER
#if defined(_POSIX_SPORADIC_SERVER) && _POSIX_SPORADIC_SERVER + 0 > 0
#define HS_HAS_SPORADIC_SERVER 1
#else
#define HS_HAS_SPORADIC_SERVER 0
#endif
#endif

/* mmap of files, and msync. */
#ifndef HS_HAS_MAPPED_FILES
#if defined(_POSIX_MAPPED_FILES) && _POSIX_MAPPED_FILES + 0 > 0
#define HS_HAS_MAPPED_FILES 1
#else
#define HS_HAS_MAPPED_FILES 0
#endif
#endif

/* mlock and munlock. */
#ifndef HS_HAS_MEMLOCK_RANGE
#if defined(_POSIX_MEMLOCK_RANGE) && _POSIX_MEMLOCK_RANGE + 0 > 0
#define HS_HAS_MEMLOCK_RANGE 1
#else
#define HS_HAS_MEMLOCK_RANGE 0
#endif
#endif

/* mprotect. */
#ifndef HS_HAS_MEMORY_PROTECTION
#if defined(_POSIX_MEMORY_PROTECTION) && _POSIX_MEMORY_PROTECTION + 0 > 0
#define HS_HAS_MEMORY_PROTECTION 1
#else
#define HS_HAS_MEMORY_PROTECTION 0
#endif
#endif

/* pthread_attr_setstack and pthread_attr_setguardsize. */
#ifndef HS_HAS_STACK_ATTRIBUTES
#if defined(_POSIX_THREAD_ATTR_STACKADDR) && _POSIX_THREAD_ATTR_STACKADDR + 0 > 0
#define HS_HAS_STACK_ATTRIBUTES 1
#else
#define HS_HAS_STACK_ATTRIBUTES 0
#endif
#endif

/* posix_spawn and waitpid. */
#ifndef HS_HAS_SPAWN
#if defined(_POSIX_SPAWN) && _POSIX_SPAWN + 0 > 0
#define HS_HAS_SPAWN 1
#else
#define HS_HAS_SPAWN 0
#endif
#endif

/* clock_getcpuclockid, pthread_getcpuclockid, and the clocks of CPU time. */
#ifndef HS_HAS_CPU_CLOCKS
#if defined(_POSIX_THREAD_CPUTIME) && _POSIX_THREAD_CPUTIME + 0 > 0
#define HS_HAS_CPU_CLOCKS 1
#else
#define HS_HAS_CPU_CLOCKS 0
#endif
#endif

/* Clocks of CPU time go on while the thread runs, not only when it is switched off. Where they do
 * not, lost CPU time cannot be told from used. */
#ifndef HS_HAS_RUNNING_CPU_CLOCKS
#define HS_HAS_RUNNING_CPU_CLOCKS 1
#endif

/* pthread_mutex_timedlock and sem_timedwait. */
#ifndef HS_HAS_TIMEOUTS
#if defined(_POSIX_TIMEOUTS) && _POSIX_TIMEOUTS + 0 > 0
#define HS_HAS_TIMEOUTS 1
#else
#define HS_HAS_TIMEOUTS 0
#endif
#endif

/* posix_fadvise, posix_fallocate, posix_madvise and posix_memalign. */
#ifndef HS_HAS_ADVISORY_INFO
#if defined(_POSIX_ADVISORY_INFO) && _POSIX_ADVISORY_INFO + 0 > 0
#define HS_HAS_ADVISORY_INFO 1
#else
#define HS_HAS_ADVISORY_INFO 0
#endif
#endif

/* posix_typed_mem_open. */
#ifndef HS_HAS_TYPED_MEMORY
#if defined(_POSIX_TYPED_MEMORY_OBJECTS) && _POSIX_TYPED_MEMORY_OBJECTS + 0 > 0
#define HS_HAS_TYPED_MEMORY 1
#else
#define HS_HAS_TYPED_MEMORY 0
#endif
#endif

/* pthread_barrier_wait and related calls. */
#ifndef HS_HAS_BARRIERS
#if defined(_POSIX_BARRIERS) && _POSIX_BARRIERS + 0 > 0
#define HS_HAS_BARRIERS 1
#else
#define HS_HAS_BARRIERS 0
#endif
#endif

/* pthread_rwlock_rdlock and related calls. */
#ifndef HS_HAS_READER_WRITER_LOCKS
#if defined(_POSIX_READER_WRITER_LOCKS) && _POSIX_READER_WRITER_LOCKS + 0 > 0
#define HS_HAS_READER_WRITER_LOCKS 1
#else
#define HS_HAS_READER_WRITER_LOCKS 0
#endif
#endif

/* pthread_condattr_setclock and clock_nanosleep. */
#ifndef HS_HAS_CLOCK_SELECTION
#if defined(_POSIX_CLOCK_SELECTION) && _POSIX_CLOCK_SELECTION + 0 > 0
#define HS_HAS_CLOCK_SELECTION 1
#else
#define HS_HAS_CLOCK_SELECTION 0
#endif
#endif

/* posix_trace_create and related calls. */
#ifndef HS_HAS_TRACE
#if defined(_POSIX_TRACE) && _POSIX_TRACE + 0 > 0
#define HS_HAS_TRACE 1
#else
#define HS_HAS_TRACE 0
#endif
#endif

/* socket and socketpair. */
#ifndef HS_HAS_SOCKETS
#if defined(__has_include)
#if __has_include(<sys/socket.h>)
#define HS_HAS_SOCKETS 1
#else
#define HS_HAS_SOCKETS 0
#endif
#else
#define HS_HAS_SOCKETS 0
#endif
#endif

/* Whether a thread no longer uses its stack when pthread_join returns, as POSIX promises. */
#ifndef HS_HAS_ENDED_WHEN_JOINED
#define HS_HAS_ENDED_WHEN_JOINED 1
#endif

/* Whether a thread that was under SCHED_SPORADIC may end, as POSIX promises. */
#ifndef HS_HAS_SPORADIC_END
#define HS_HAS_SPORADIC_END 1
#endif

/* Whether a thread that holds a spin lock may call the system. */
#ifndef HS_HAS_CALLS_IN_SPIN_LOCK
#define HS_HAS_CALLS_IN_SPIN_LOCK 1
#endif

/* setjmp, longjmp and what restores the mask of signals. */
#ifndef HS_HAS_JUMPS
#if defined(__has_include)
#if __has_include(<setjmp.h>)
#define HS_HAS_JUMPS 1
#else
#define HS_HAS_JUMPS 0
#endif
#else
#define HS_HAS_JUMPS 1
#endif
#endif

/* regcomp and regexec. */
#ifndef HS_HAS_REGEXP
#if defined(__has_include)
#if __has_include(<regex.h>)
#define HS_HAS_REGEXP 1
#else
#define HS_HAS_REGEXP 0
#endif
#else
#define HS_HAS_REGEXP 0
#endif
#endif

#endif

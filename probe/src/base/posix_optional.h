/* POSIX features that a small system may lack: each macro is 1 or 0.
 *
 * Meson tests each one by linking a program (probe/meson.build). Without Meson, the macros of
 * the standard headers decide; if they are wrong for a library, pass -DHS_HAS_...=1 or =0 to
 * the compiler. 1 means that the calls link: they may still fail with ENOSYS or ENOTSUP. */
#ifndef HS_BASE_POSIX_OPTIONAL_H
#define HS_BASE_POSIX_OPTIONAL_H

#include "base/posix_source.h"

#include <pthread.h>
#include <unistd.h>

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

/* posix_openpt and related calls, and termios. */
#ifndef HS_HAS_TERMINALS
#if defined(_XOPEN_VERSION)
#define HS_HAS_TERMINALS 1
#else
#define HS_HAS_TERMINALS 0
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

/* aio_read and related calls. */
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

#endif

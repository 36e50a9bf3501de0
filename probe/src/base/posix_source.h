/* Feature test macros: POSIX.1-2008 with XSI. Every file includes this header first.
 *
 * Of the calls below a system may lack one, though POSIX requires it (base/options.h has those
 * that are optional). Every file then gets what stands for it. */
#ifndef HS_BASE_POSIX_SOURCE_H
#define HS_BASE_POSIX_SOURCE_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif
/* 64 bits for sizes of files and for times, where a C library of 32 bits has both. */
#ifndef _FILE_OFFSET_BITS
#define _FILE_OFFSET_BITS 64
#endif
#ifndef _TIME_BITS
#define _TIME_BITS 64
#endif

/* clock_nanosleep until a moment. */
#ifndef HS_HAS_CLOCK_NANOSLEEP
#define HS_HAS_CLOCK_NANOSLEEP 1
#endif
#define LACKS_CLOCK_NANOSLEEP "this system cannot sleep until a moment (clock_nanosleep)"

/* timer_create and related calls. */
#ifndef HS_HAS_TIMERS
#define HS_HAS_TIMERS 1
#endif

/* mlockall and munlockall. */
#ifndef HS_HAS_MLOCKALL
#define HS_HAS_MLOCKALL 1
#endif

#ifndef HS_HAS_PSELECT
#define HS_HAS_PSELECT 1
#endif

/* select, on which what stands for pselect rests. */
#ifndef HS_HAS_SELECT
#define HS_HAS_SELECT 1
#endif

/* sem_init and sem_destroy: semaphores in memory of the caller. */
#ifndef HS_HAS_UNNAMED_SEMAPHORES
#define HS_HAS_UNNAMED_SEMAPHORES 1
#endif
#define LACKS_UNNAMED_SEMAPHORES "this system has no unnamed semaphores (sem_init)"

/* pthread_setschedprio. */
#ifndef HS_HAS_SETSCHEDPRIO
#define HS_HAS_SETSCHEDPRIO 1
#endif

#if !HS_HAS_CLOCK_NANOSLEEP || !HS_HAS_TIMERS || !HS_HAS_MLOCKALL || !HS_HAS_PSELECT ||            \
    !HS_HAS_UNNAMED_SEMAPHORES || !HS_HAS_SETSCHEDPRIO
#include "base/posix_missing.h"
#endif

#endif

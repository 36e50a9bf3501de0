/* Feature test macros: POSIX.1-2008 with XSI. Every file includes this header first. */
#ifndef HS_BASE_POSIX_SOURCE_H
#define HS_BASE_POSIX_SOURCE_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#endif

/* Included first by every file: the standard that the core is written to. */
#ifndef HS_POSIX_SOURCE_H
#define HS_POSIX_SOURCE_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700
#endif

#endif

/* The C library, which is part of what a test measures. */
#ifndef HS_BASE_LIBC_H
#define HS_BASE_LIBC_H

#include "base/posix_source.h"

#include <stddef.h>
#include <stdio.h>

/* musl has no macro of its own: its headers define what they have declared (bits/alltypes.h). Only
 * the build may know its version. */
#if defined(__DEFINED_size_t) && !defined(__GLIBC__)
#define LIBC_IS_MUSL 1
#ifdef HS_LIBC_VERSION
#define LIBC_NAME "musl " HS_LIBC_VERSION
#else
#define LIBC_NAME "musl"
#endif
#elif defined(__GLIBC__)
#define LIBC_IS_MUSL 0
#define LIBC_NAME "glibc"
#else
#define LIBC_IS_MUSL 0
#define LIBC_NAME "unknown"
#endif

/* The reason of a test or of a variant whose calls the library does not have (base/options.h). */
#define LIBC_LACKS "unsupported by this libc (" LIBC_NAME ")"

#endif

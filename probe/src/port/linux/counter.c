/* Whether the counter of the processor is a clock: what the processor and the kernel say. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/port.h"

#include "port/linux/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- the counter ---- */

static bool has_flag(const char *flags, const char *flag)
{
    size_t length = strlen(flag);
    for (const char *at = strstr(flags, flag); at; at = strstr(at + 1, flag))
        if ((at[length] == ' ' || at[length] == '\0') && at != flags && at[-1] == ' ')
            return true;
    return false;
}

/* An unreadable file says nothing about the counter: report the error instead. */
static bool tell_unread(const char *path, char *reason, size_t reason_bytes)
{
    snprintf(reason, reason_bytes, "%s could not be read: %s", path, strerror(errno));
    return false;
}

bool port_counter_is_trusted(char *reason, size_t reason_bytes)
{
#if defined(__x86_64__) || defined(__i386__)
    static const char source[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char text[8192];
    bool is_found = linux_cpuinfo("flags", text, sizeof text);
    if (!is_found && errno != 0)
        return tell_unread(linux_cpuinfo_path, reason, reason_bytes);
    if (!is_found || !has_flag(text, "constant_tsc") || !has_flag(text, "nonstop_tsc")) {
        snprintf(reason, reason_bytes,
                 "the processor does not claim a TSC of one rate that never stops "
                 "(constant_tsc, nonstop_tsc)");
        return false;
    }
    if (!has_flag(text, "sse2")) { /* lfence */
        snprintf(reason, reason_bytes,
                 "the processor has no instruction that orders reads of the TSC (sse2)");
        return false;
    }
    is_found = linux_read(source, text, sizeof text);
    if (!is_found && errno != 0)
        return tell_unread(source, reason, reason_bytes);
    if (!is_found || strcmp(text, "tsc") != 0) {
        snprintf(reason, reason_bytes, "the kernel does not use the TSC as its clock source");
        return false;
    }
#else
    (void)has_flag, (void)tell_unread, (void)reason, (void)reason_bytes;
#endif
    return true;
}

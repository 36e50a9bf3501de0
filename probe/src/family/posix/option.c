/* The options of 1003.1a (the base), 1003.1b (real-time), 1003.1c (threads), 1003.1d and 1003.1j
 * (further real-time), after table 1 of Obenland 2000, and those of 1003.1q (tracing) and of the
 * joint revision of 2001 that the profiles of 1003.13 need. Units of the base have no macro; what
 * they are is in 1003.13-2003. */
#include "base/posix_source.h"

#include "family/posix/option.h"

#include "base/options.h"
#include "family/posix/calls.h"
#include "family/posix/sysconf_names.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the table ---- */

/* The value of a macro as a text; its name, if it is not defined. */
#define TEXT(words) #words
#define HEADER(macro) TEXT(macro)

/* clang-format off */
#define OPTION(part, key, UPPER) {part, #key, HEADER(_POSIX_##UPPER), SC_##UPPER, false, call_##key}
#define PATH(part, key, UPPER) {part, #key, HEADER(_POSIX_##UPPER), PC_##UPPER, true, call_##key}
#define UNIT(part, key) {part, #key, NULL, NO_NAME, false, call_##key}

const struct posix_option posix_options[] = {
    OPTION("1003.1a", job_control, JOB_CONTROL),
    OPTION("1003.1a", saved_ids, SAVED_IDS),
    PATH("1003.1a", chown_restricted, CHOWN_RESTRICTED),
    PATH("1003.1a", no_trunc, NO_TRUNC),
    PATH("1003.1a", vdisable, VDISABLE),
    UNIT("1003.1a", single_process),
    UNIT("1003.1a", multi_process),
    UNIT("1003.1a", signals),
    UNIT("1003.1a", c_lang_jump),
    UNIT("1003.1a", signal_jump),
    UNIT("1003.1a", c_lang_support),
    UNIT("1003.1a", c_lang_math),
    UNIT("1003.1a", device_io),
    UNIT("1003.1a", device_specific),
    UNIT("1003.1a", fd_mgmt),
    UNIT("1003.1a", file_system),
    UNIT("1003.1a", file_attributes),
    UNIT("1003.1a", fifo),
    UNIT("1003.1a", pipe),
    UNIT("1003.1a", user_groups),

    OPTION("1003.1b", timers, TIMERS),
    OPTION("1003.1b", priority_scheduling, PRIORITY_SCHEDULING),
    OPTION("1003.1b", realtime_signals, REALTIME_SIGNALS),
    OPTION("1003.1b", semaphores, SEMAPHORES),
    OPTION("1003.1b", message_passing, MESSAGE_PASSING),
    OPTION("1003.1b", shared_memory_objects, SHARED_MEMORY_OBJECTS),
    OPTION("1003.1b", memlock, MEMLOCK),
    OPTION("1003.1b", memlock_range, MEMLOCK_RANGE),
    OPTION("1003.1b", memory_protection, MEMORY_PROTECTION),
    OPTION("1003.1b", synchronized_io, SYNCHRONIZED_IO),
    OPTION("1003.1b", asynchronous_io, ASYNCHRONOUS_IO),
    OPTION("1003.1b", prioritized_io, PRIORITIZED_IO),
    OPTION("1003.1b", fsync, FSYNC),
    OPTION("1003.1b", mapped_files, MAPPED_FILES),

    OPTION("1003.1c", threads, THREADS),
    OPTION("1003.1c", thread_safe_functions, THREAD_SAFE_FUNCTIONS),
    OPTION("1003.1c", thread_attr_stackaddr, THREAD_ATTR_STACKADDR),
    OPTION("1003.1c", thread_attr_stacksize, THREAD_ATTR_STACKSIZE),
    OPTION("1003.1c", thread_priority_scheduling, THREAD_PRIORITY_SCHEDULING),
    OPTION("1003.1c", thread_prio_inherit, THREAD_PRIO_INHERIT),
    OPTION("1003.1c", thread_prio_protect, THREAD_PRIO_PROTECT),
    OPTION("1003.1c", thread_process_shared, THREAD_PROCESS_SHARED),
    UNIT("1003.1c", mutexes),
    UNIT("1003.1c", condition_variables),
    UNIT("1003.1c", file_locking),

    OPTION("1003.1d", spawn, SPAWN),
    OPTION("1003.1d", sporadic_server, SPORADIC_SERVER),
    OPTION("1003.1d", thread_sporadic_server, THREAD_SPORADIC_SERVER),
    OPTION("1003.1d", cputime, CPUTIME),
    OPTION("1003.1d", thread_cputime, THREAD_CPUTIME),
    OPTION("1003.1d", timeouts, TIMEOUTS),
    OPTION("1003.1d", advisory_info, ADVISORY_INFO),

    OPTION("1003.1j", typed_memory_objects, TYPED_MEMORY_OBJECTS),
    OPTION("1003.1j", barriers, BARRIERS),
    OPTION("1003.1j", reader_writer_locks, READER_WRITER_LOCKS),
    OPTION("1003.1j", spin_locks, SPIN_LOCKS),
    OPTION("1003.1j", monotonic_clock, MONOTONIC_CLOCK),
    OPTION("1003.1j", clock_selection, CLOCK_SELECTION),

    OPTION("1003.1q", trace, TRACE),
    OPTION("1003.1q", trace_event_filter, TRACE_EVENT_FILTER),
    OPTION("1003.1q", trace_log, TRACE_LOG),

    OPTION("1003.1-2001", raw_sockets, RAW_SOCKETS),
    OPTION("1003.1-2001", regexp, REGEXP),
    OPTION("1003.1-2001", shell, SHELL),
    UNIT("1003.1-2001", networking),
    UNIT("1003.1-2001", event_mgmt),
    UNIT("1003.1-2001", symbolic_links),
    UNIT("1003.1-2001", xsi_threads_ext),
    {0},
};
/* clang-format on */

bool posix_call_needs_process(posix_call call)
{
    static const posix_call alone[] = {
        call_saved_ids,
        call_chown_restricted,
        call_user_groups,
        call_memlock,
        call_priority_scheduling,
#if HS_HAS_SPORADIC_SERVER
        call_sporadic_server,
#endif
    };
    for (size_t i = 0; i < sizeof alone / sizeof alone[0]; i++)
        if (alone[i] == call)
            return true;
    return false;
}

int option_count(void)
{
    int count = 0;
    while (posix_options[count].key)
        count++;
    return count;
}

int option_place(const char *key)
{
    for (int i = 0; posix_options[i].key; i++)
        if (strcmp(posix_options[i].key, key) == 0)
            return i;
    return -1;
}

/* The text is the macro's value: a number, perhaps in parentheses, a character, or nothing, which
 * POSIX.1-1990 allowed; or the name of the macro, where there is none. */
struct saying option_header(const struct posix_option *option)
{
    const char *text = option->header;
    if (!text || text[0] == '_')
        return (struct saying){.kind = SAYING_NONE};
    text += strspn(text, "( ");
    return (struct saying){.kind = SAYING_NUMBER, .number = strtol(text, NULL, 0)};
}

struct saying option_sysconf(const struct posix_option *option, const char *folder)
{
    if (option->name == NO_NAME)
        return (struct saying){.kind = SAYING_UNKNOWN};
    errno = 0;
    long number = option->is_path ? pathconf(folder, option->name) : sysconf(option->name);
    if (number != -1)
        return (struct saying){.kind = SAYING_NUMBER, .number = number};
    return (struct saying){.kind = errno == 0 ? SAYING_NONE : SAYING_UNKNOWN};
}

const char *saying_text(struct saying saying, char text[SAYING_BYTES])
{
    if (saying.kind == SAYING_NUMBER)
        snprintf(text, SAYING_BYTES, "%ld", saying.number);
    else
        snprintf(text, SAYING_BYTES, "%s", saying.kind == SAYING_NONE ? "none" : "unknown");
    return text;
}

bool option_is_claimed(const struct posix_option *option, struct saying header,
                       struct saying sysconf)
{
    long least = option->is_path ? 0 : 1;
    return (header.kind == SAYING_NUMBER && header.number > 0) ||
           (sysconf.kind == SAYING_NUMBER && sysconf.number >= least);
}

/* ---- profiles ---- */

static const char *const minimal[] = {"c_lang_jump",
                                      "c_lang_support",
                                      "device_io",
                                      "file_locking",
                                      "signals",
                                      "single_process",
                                      "threads",
                                      "mutexes",
                                      "condition_variables",
                                      "xsi_threads_ext",
                                      "clock_selection",
                                      "fsync",
                                      "memlock",
                                      "memlock_range",
                                      "monotonic_clock",
                                      "no_trunc",
                                      "realtime_signals",
                                      "semaphores",
                                      "shared_memory_objects",
                                      "synchronized_io",
                                      "thread_attr_stackaddr",
                                      "thread_attr_stacksize",
                                      "thread_cputime",
                                      "thread_prio_inherit",
                                      "thread_prio_protect",
                                      "thread_priority_scheduling",
                                      "thread_safe_functions",
                                      "thread_sporadic_server",
                                      "timeouts",
                                      "timers",
                                      NULL};

static const char *const controller[] = {"c_lang_math",        "fd_mgmt",         "file_system",
                                         "mapped_files",       "message_passing", "trace",
                                         "trace_event_filter", "trace_log",       NULL};

static const char *const dedicated[] = {"multi_process",
                                        "networking",
                                        "pipe",
                                        "signal_jump",
                                        "event_mgmt",
                                        "asynchronous_io",
                                        "cputime",
                                        "memory_protection",
                                        "prioritized_io",
                                        "priority_scheduling",
                                        "raw_sockets",
                                        "spawn",
                                        "sporadic_server",
                                        "thread_process_shared",
                                        NULL};

static const char *const multi_purpose[] = {
    "job_control", "saved_ids",           "chown_restricted",
    "vdisable",    "device_specific",     "file_attributes",
    "fifo",        "user_groups",         "regexp",
    "shell",       "reader_writer_locks", "symbolic_links",
    NULL};

const struct posix_profile posix_profiles[PROFILE_COUNT] = {
    {"PSE51", minimal}, {"PSE52", controller}, {"PSE53", dedicated}, {"PSE54", multi_purpose}};

/* As many keys as fit, then "...". */
static void append(char *text, size_t bytes, const char *key)
{
    size_t used = strlen(text), needed = strlen(key) + 2;
    if (used >= 3 && strcmp(text + used - 3, "...") == 0)
        return;
    if (used + needed + 5 > bytes)
        snprintf(text + used, bytes - used, ",...");
    else
        snprintf(text + used, bytes - used, "%s%s", used ? "," : "", key);
}

static void add(struct profile_answer *decided, const char *key, const struct answer *answer,
                bool is_own)
{
    if (answer && answer->result == CALL_WORKS)
        return;
    decided->missing_count++;
    if (!answer || answer->result == CALL_DENIED || answer->result == CALL_UNTRIED)
        decided->denied_count++;
    append(decided->missing, sizeof decided->missing, key);
    if (!is_own)
        return;
    decided->next_missing_count++;
    append(decided->next_missing, sizeof decided->next_missing, key);
}

struct profile_answer profile_decide(int profile, const struct answer *answers)
{
    struct profile_answer decided = {.missing_count = 0};
    for (int i = 0; i <= profile; i++)
        for (const char *const *key = posix_profiles[i].adds; *key; key++) {
            int place = option_place(*key);
            add(&decided, *key, place < 0 ? NULL : &answers[place], i == profile);
        }
    decided.is_satisfied = decided.missing_count == 0;
    return decided;
}

/* The lists are those of IEEE 1003.13-2003, minimal (PSE51), controller (PSE52), dedicated (PSE53)
 * and multi-purpose (PSE54) system, as public documents of Zephyr quote the first three. PSE54 is a
 * whole POSIX.1 system: the options and units of the base that the others leave out. 1003.13 also
 * asks PSE54 for the utilities of POSIX.2, which a program that measures does not look for. */
#include "base/posix_source.h"

#include "family/posix/profiles.h"

#include "family/posix/option.h"

#include <stdio.h>
#include <string.h>

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

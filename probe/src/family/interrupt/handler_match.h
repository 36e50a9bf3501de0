/* Which handler belongs to which interrupt. Knows no tracing: it is given the kernel's stamps of
 * entry and exit on one CPU, in their order. */
#ifndef HS_FAMILY_INTERRUPT_HANDLER_MATCH_H
#define HS_FAMILY_INTERRUPT_HANDLER_MATCH_H

#include <stdbool.h>
#include <stdint.h>

enum { HANDLER_LOG = 1024 };

/* CLOCK_MONOTONIC. */
struct handled {
    int64_t entry_ns, exit_ns;
};

/* A zeroed log is empty. */
struct handler_log {
    uint32_t count;
    bool is_inside;
    int64_t entry_ns, latest_ns;         /* of the handler that has not ended; the latest event */
    int64_t lost_from_ns, lost_until_ns; /* between these events may be missing; both 0: none */
    struct handled of[HANDLER_LOG];
};

/* `single`: one handler lies between the two moments. The others have none for certain:
 * `none` lies there, `several` do, events were `lost` there. */
enum handler_fate { HANDLER_SINGLE, HANDLER_NONE, HANDLER_SEVERAL, HANDLER_LOST, HANDLER_FATES };

/* Empties the log, but for a handler that has not ended. */
void handler_log_clear(struct handler_log *log);

void handler_log_entry(struct handler_log *log, int64_t at_ns);
void handler_log_exit(struct handler_log *log, int64_t at_ns);

/* Events between the latest one and `at_ns` were lost. */
void handler_log_lost(struct handler_log *log, int64_t at_ns);

/* The handler that began and ended from `from_ns` to `until_ns`; stores a single one. */
enum handler_fate handler_log_find(const struct handler_log *log, int64_t from_ns, int64_t until_ns,
                                   struct handled *handled);

#endif

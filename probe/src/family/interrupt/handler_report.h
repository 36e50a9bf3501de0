/* Events about the handlers of interrupts. */
#ifndef HS_FAMILY_INTERRUPT_HANDLER_REPORT_H
#define HS_FAMILY_INTERRUPT_HANDLER_REPORT_H

#include "family/interrupt/handler_match.h"
#include "run/run.h"

/* What was seen of the handlers of one source. */
struct handler_seen {
    uint64_t of[HANDLER_FATES]; /* interrupts by the fate of their handler */
    uint64_t reversed_count;    /* stamps in the wrong order within their error */
    int64_t error_ns;           /* of a conversion between the stamps: the largest */
};

/* `source`: its name. */
void handler_tell_not_seen(struct run *run, const char *source, const struct outcome *outcome);
void handler_tell_seen(struct run *run, const char *source, const struct handler_seen *seen);
void handler_tell_stopped(struct run *run, const char *source);
void handler_tell_not_read(struct run *run, const char *source, int error);
void handler_tell_left(struct run *run, const char *source, const char *path, int error);

#endif

/* Events about the handlers of interrupts. */
#ifndef HS_FAMILY_INTERRUPT_HANDLER_REPORT_H
#define HS_FAMILY_INTERRUPT_HANDLER_REPORT_H

#include "family/interrupt/handler_sight.h"

void handler_tell_not_seen(struct run *run, int64_t source, const struct outcome *outcome);
void handler_tell_seen(const struct handler_sight *sight);
void handler_tell_stopped(const struct handler_sight *sight);
void handler_tell_not_read(const struct handler_sight *sight);
void handler_tell_left(const struct handler_sight *sight, const char *path, int error);

#endif

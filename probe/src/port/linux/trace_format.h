/* The text of events/SYSTEM/NAME/format: where an event has its fields. */
#ifndef HS_PORT_LINUX_TRACE_FORMAT_H
#define HS_PORT_LINUX_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_field {
    size_t offset, bytes; /* no bytes: no such field */
    bool is_signed;
};

/* Number by which events of this kind are known in the ring. */
bool trace_format_id(const char *text, unsigned *id);

/* Place of the field `name`; the last line that has it. False: none. */
bool trace_format_field(const char *text, const char *name, struct trace_field *field);

/* Number in a field of 1, 2, 4 or 8 bytes. False: it is not inside the event. */
bool trace_field_number(const struct trace_field *field, const uint8_t *event, size_t bytes,
                        int64_t *number);

#endif

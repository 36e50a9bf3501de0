/* Pages of the kernel's trace ring, as per_cpu/cpuN/trace_pipe_raw gives them.
 *
 * A page is a header (its layout is in events/header_page), then events one behind the other: a
 * word of 5 bits type or length and 27 bits time since the one before, then the data
 * (events/header_event). Every length is checked against the page: nothing outside it is read. */
#ifndef HS_PORT_LINUX_TRACE_PAGE_H
#define HS_PORT_LINUX_TRACE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TRACE_PAGE_MOST_BYTES = 1 << 20 };

struct trace_layout {
    size_t time_at, commit_at, commit_bytes, data_at, page_bytes;
};

/* Reads the text of events/header_page. False: it is none, or describes what no kernel has. */
bool trace_layout_parse(const char *text, struct trace_layout *layout);

struct trace_page {
    const uint8_t *bytes;
    size_t at, end;
    int64_t time_ns, first_ns; /* of the latest event; of the page */
    bool has_lost;             /* events before this page were overwritten */
    uint64_t lost_count;       /* how many; 0: not known */
    bool is_damaged;           /* what follows cannot be read */
};

struct trace_entry {
    int64_t at_ns;
    const uint8_t *data;
    size_t bytes;
};

/* Begins with a page of which `count` bytes were read. False: it is shorter than its header. */
bool trace_page_open(struct trace_page *page, const struct trace_layout *layout,
                     const uint8_t *bytes, size_t count);

/* The next event; false after the last, or where the page is damaged (is_damaged). */
bool trace_page_next(struct trace_page *page, struct trace_entry *entry);

/* ---- the text of events/SYSTEM/NAME/format: where an event has its fields ---- */

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

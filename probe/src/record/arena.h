/* All that a test collects, in one block of memory that holds no pointers: sized
 * first, allocated once, touched, locked with the process. It may be a mapped file
 * (--backing): then whatever was recorded outlives a kill of the probe, and
 * `hardstone-probe dump` sends it as the stream that the probe could not send.
 */
#ifndef HS_ARENA_H
#define HS_ARENA_H

#include "base/status.h"
#include "record/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ARENA_SERIES = 96,
    ARENA_LABELS = 4,
    ARENA_EVENTS = 48,
    ARENA_VERDICTS = 64,
    ARENA_NAME_BYTES = 40,
    ARENA_TEXT_BYTES = 400,
    ARENA_JSON_BYTES = 4096,
};

struct arena_label {
    char key[ARENA_NAME_BYTES];
    char text[ARENA_NAME_BYTES]; /* empty: `number` is the value */
    int64_t number;
};

struct arena_series {
    char name[ARENA_NAME_BYTES];
    char unit[ARENA_NAME_BYTES];
    char derived[2 * ARENA_NAME_BYTES]; /* formula; empty when timed */
    struct arena_label labels[ARENA_LABELS];
    uint32_t label_count;
    uint64_t record_offset;
};

struct arena_event {
    char name[ARENA_NAME_BYTES];
    char text[ARENA_TEXT_BYTES];
    int64_t at_ns; /* since the start of the measurement; -1: outside it */
};

struct arena_verdict {
    char name[ARENA_NAME_BYTES];
    char evidence[ARENA_TEXT_BYTES];
    bool pass;
};

struct arena {
    char magic[8];
    uint64_t bytes;
    uint64_t version;                       /* of this layout, from the sizes of its parts */
    uint64_t is_mapped;                     /* from a file, not from the heap */
    int64_t duration_ns;                    /* expected; sizes the records */
    char header_json[ARENA_JSON_BYTES];     /* the stream's first line, ready to send */
    char conditions_json[ARENA_JSON_BYTES]; /* of the result line */
    int64_t started_ns, ended_ns;           /* CLOCK_MONOTONIC around the measurement; 0: not yet */
    uint32_t series_count, verdict_count;
    _Atomic uint32_t event_count; /* may exceed ARENA_EVENTS: what did not fit is told */
    struct arena_series series[ARENA_SERIES];
    struct arena_event events[ARENA_EVENTS];
    struct arena_verdict verdicts[ARENA_VERDICTS];
};

/* What will be allocated; filled by a test's `size` step. */
struct arena_plan {
    int64_t duration_ns;
    uint32_t series_count;
    struct arena_series series[ARENA_SERIES];
};

/* Adds a series; `unit` is "ns", "count" or "bytes_per_s". Returns its index, or -1
 * when there are more than ARENA_SERIES. */
int arena_plan_series(struct arena_plan *plan, const char *name, const char *unit);
void arena_plan_label_text(struct arena_plan *plan, int series, const char *key, const char *text);
void arena_plan_label_number(struct arena_plan *plan, int series, const char *key, int64_t number);
void arena_plan_derived(struct arena_plan *plan, int series, const char *formula);

/* Allocates and touches the arena, in `backing` if not NULL (created, mode 0600; an
 * existing file or link is refused). NULL with `outcome` set when there is no memory
 * or the file cannot be made. */
struct arena *arena_create(const struct arena_plan *plan, const char *backing,
                           struct outcome *outcome);

/* Reads an arena that a probe left behind, or still records into: its records are settled, and what
 * that did is an event. NULL when the file cannot be read, is not one, is cut short, or was written
 * by another version; then `reason` says which. */
struct arena *arena_open(const char *path, char *reason, size_t reason_bytes);

void arena_free(struct arena *arena);

struct record *arena_record(struct arena *arena, int series);
const struct record *arena_record_view(const struct arena *arena, uint32_t series);

/* Notes something that a reader must know. Safe from any thread of the probe. */
void arena_event(struct arena *arena, const char *name, int64_t at_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a verdict; more than ARENA_VERDICTS are told as an event. */
void arena_verdict(struct arena *arena, bool pass, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif

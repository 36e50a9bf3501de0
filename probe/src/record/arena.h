/* All that a test collects, in one block of memory without pointers: sized first, allocated once,
 * touched, locked with the process. It may be a mapped file (--backing): what was recorded then
 * outlives a kill of the probe, and `hardstone-probe dump` sends it as the stream that the probe
 * could not send.
 *
 * The parts, in the order in which a copy reads them:
 *   head      texts, events, verdicts
 *   series    one description each; their number is the test's
 *   events    more of them, where a test has some for each of many CPUs
 *   slots     records for new values; series that are measured one after another share a slot
 *   kept      compact form of the series that no longer have a slot (kept.h)
 *   tables    for a test that keeps them (tables.h): gaps of a loop with the windows in which it
 *             ran; whole numbers in rows and columns
 * A build for a small system sets the sizes with HS_ARENA_... (base/options.h).
 */
#ifndef HS_RECORD_ARENA_H
#define HS_RECORD_ARENA_H

#include "base/data.h"
#include "base/options.h"
#include "base/status.h"
#include "record/record.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Processes share the arena: a lock that stands for an atomic access of 64 bits would be each one's
 * own. */
_Static_assert(!HS_HAS_FORK || ATOMIC_LLONG_LOCK_FREE == 2,
               "this processor has no atomic access of 64 bits (on ARM: ARMv7)");

enum {
    ARENA_LABELS = 4,
    ARENA_EVENTS = HS_ARENA_EVENTS,
    ARENA_VERDICTS = HS_ARENA_VERDICTS,
    ARENA_CALIBRATED = 8,
    ARENA_INTERVALS = HS_ARENA_INTERVALS,
    ARENA_STOPS = RECORD_WORST, /* the last ones */
    ARENA_TRACES = HS_ARENA_TRACES,
    ARENA_TRACE_LINES = HS_ARENA_TRACE_LINES,
    ARENA_TRACE_BYTES = 128,
    ARENA_NAME_BYTES = 40,
    ARENA_TEXT_BYTES = HS_ARENA_TEXT_BYTES,
    ARENA_DATA_BYTES = HS_ARENA_DATA_BYTES,
    ARENA_JSON_BYTES = HS_ARENA_JSON_BYTES,
    ARENA_KEPT_BYTES = HS_ARENA_KEPT_BYTES,         /* at least, for a series beside its maxima */
    ARENA_KEPT_ALL_BYTES = HS_ARENA_KEPT_ALL_BYTES, /* of all series, if that is more */
    ARENA_MAXIMA = 1 << 20,      /* of all series; the toolkit reads up to six times as many */
    ARENA_SLOT_MAXIMA = 3 << 15, /* of all slots, 768 KiB: they are locked */
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
    uint32_t
        late_label; /* place + 1 of a label whose number is not known before measuring; 0: none */
    uint32_t slot;
    struct record_shape shape;
    struct record_range range;
    uint64_t kept_offset; /* of its latest compact form; 0: it still has its slot */
};

struct arena_event {
    char name[ARENA_NAME_BYTES];
    char text[ARENA_TEXT_BYTES];
    char data[ARENA_DATA_BYTES]; /* packed (base/data.h) */
    int64_t at_ns;               /* since the start of the measurement; -1: outside it */
};

struct arena_verdict {
    char name[ARENA_NAME_BYTES];
    char evidence[ARENA_TEXT_BYTES];
    bool pass;
};

/* A parameter of the test with the value that its calibration found, or was given. */
struct arena_calibrated {
    char param[ARENA_NAME_BYTES];
    int64_t value;
};

enum arena_counter {
    ARENA_STEAL_NS,
    ARENA_INTERRUPTS,
    ARENA_TIMER_INTERRUPTS,
    ARENA_BUSIEST,
    ARENA_RUN_DELAY_NS,
    ARENA_MINOR_FAULTS,
    ARENA_MAJOR_FAULTS,
    ARENA_MIGRATIONS,
    ARENA_INVOLUNTARY,
    ARENA_THROTTLED,
    ARENA_THROTTLED_NS,
    ARENA_HEAT,
    ARENA_HEAT_NS,
    ARENA_COUNTERS,
};

/* What the kernel counted for one CPU between two looks (record/tables.h). Seqlock style: an
 * entry whose two counters of changes differ is torn. */
struct arena_interval {
    _Atomic uint64_t done;
    int64_t at_ns, span_ns; /* at_ns: CLOCK_MONOTONIC */
    int32_t cpu;
    uint32_t is_used, is_whole;       /* is_whole: over the whole measurement */
    uint32_t rank, held_rank;         /* of the writer: see tables.c */
    int64_t counters[ARENA_COUNTERS]; /* -1: not known */
    char busiest[ARENA_NAME_BYTES];   /* the interrupt of ARENA_BUSIEST */
    _Atomic uint64_t begun;
};

/* What the kernel's ring of events held around a large value (record/tables.h). Seqlock style,
 * as an interval. */
struct arena_trace {
    _Atomic uint64_t done;
    int64_t value_ns, at_ns; /* at_ns: since the start of the measurement */
    int32_t cpu;             /* -1: not known */
    uint32_t line_count;     /* 0: not in use */
    char lines[ARENA_TRACE_LINES][ARENA_TRACE_BYTES];
    _Atomic uint64_t begun;
};

/* Tables are heads, each with entries (record/tables.h): windows with gaps, and rows. */
enum table_kind { TABLE_GAPS, TABLE_ROWS, TABLE_KINDS };

struct table_room {
    uint32_t heads, entries; /* entries: of all heads; 0: there are none */
};

struct arena_tables {
    struct table_room room;
    _Atomic uint32_t count; /* those that are whole */
    uint32_t entry_count;   /* of all of them */
};

/* A stop of the process (record/arena.h). */
struct arena_stop {
    _Atomic int64_t ended_ns; /* CLOCK_MONOTONIC */
    _Atomic int64_t least_ns; /* its longest value less the longest other one; 0: not known */
};

struct arena {
    char magic[8];
    uint64_t bytes;
    uint64_t version;                       /* of this layout, from the sizes of its parts */
    uint32_t is_mapped;                     /* from a file, not from the heap */
    uint32_t more_events;                   /* places beyond ARENA_EVENTS, behind the series */
    int64_t duration_ns;                    /* arena_room_ns of the plan; sizes the records */
    char header_json[ARENA_JSON_BYTES];     /* the stream's first line, ready to send */
    char conditions_json[ARENA_JSON_BYTES]; /* of the result line */
    /* CLOCK_MONOTONIC at begin and end of the measurement; 0: not yet */
    _Atomic int64_t started_ns;
    int64_t ended_ns;
    int64_t started_uptime_ns; /* port_uptime_ns at its begin; 0: not yet */
    uint32_t series_count, slot_count, verdict_count;
    _Atomic uint32_t
        event_count; /* may exceed arena_event_room: the stream reports how many did not fit */
    struct arena_event events[ARENA_EVENTS];
    struct arena_verdict verdicts[ARENA_VERDICTS];
    _Atomic uint32_t calibrated_count; /* counts only entries that are whole */
    struct arena_calibrated calibrated[ARENA_CALIBRATED];
    _Atomic uint64_t stop_count; /* may exceed ARENA_STOPS */
    struct arena_stop stops[ARENA_STOPS];
    _Atomic uint32_t stops_mixed; /* series in which values of a stop are left */
    uint32_t interval_lost;       /* intervals with a worst value that found no room */
    uint32_t table_lost;          /* tables of rows that found no room */
    uint32_t kept_count;          /* series that have an entry between kept_begin and kept_end */
    struct arena_interval intervals[ARENA_INTERVALS];
    struct arena_trace traces[ARENA_TRACES];
    struct record_shape slot_shape; /* the largest of all series */
    uint64_t kept_begin;            /* of all entries */
    _Atomic uint64_t kept_end;      /* where the next one begins; those before it are whole */
    struct arena_tables tables[TABLE_KINDS];
    struct arena_series series[];
};

/* What will be allocated; filled before the arena is made, freed by arena_plan_free. */
struct arena_plan {
    int64_t duration_ns;
    uint32_t more_events; /* places for events, where a test has some for each of many CPUs */
    struct table_room tables[TABLE_KINDS];
    uint32_t series_count, series_room, slot_count;
    struct arena_series *series;
};

/* Adds a series with a slot of its own; `unit` is "ns", "count" or "bytes_per_s", `shape` NULL for
 * the default. Returns its index, or -1 where there is no memory. */
int arena_plan_series(struct arena_plan *plan, const char *name, const char *unit,
                      const struct record_shape *shape);
/* For the series `series`; does nothing if that is -1. */
void arena_plan_label_text(struct arena_plan *plan, int series, const char *key, const char *text);
void arena_plan_label_number(struct arena_plan *plan, int series, const char *key, int64_t number);
/* A label whose number is only known when the series is measured (arena_label); until then the
 * series is one of those that a test may need, and is not sent. */
void arena_plan_late_label(struct arena_plan *plan, int series, const char *key);
void arena_plan_derived(struct arena_plan *plan, int series, const char *formula);
void arena_plan_range(struct arena_plan *plan, int series, const struct record_range *range);

/* The series added last shares the slot of the earlier `series`: it is measured after it. */
void arena_plan_share(struct arena_plan *plan, int series);

/* Duration for which each record has a place per second: that of the plan, or less where all series
 * together would have more than ARENA_MAXIMA, or all slots more than ARENA_SLOT_MAXIMA. The maxima
 * have a longer interval then. */
int64_t arena_room_ns(const struct arena_plan *plan);

void arena_plan_free(struct arena_plan *plan);

/* Allocates the arena and touches all of it, in `backing` if not NULL: a file that is created, mode
 * 0600 (an existing file or link is refused), or with "memory:" before its path one that exists and
 * is large enough, such as the memory of a device. NULL with `outcome` set when there is no memory
 * or the file cannot be made. */
struct arena *arena_create(const struct arena_plan *plan, const char *backing,
                           struct outcome *outcome);

/* Reads an arena that a probe left behind, or still records into: its records are recovered
 * (recovery.h), and an event tells what that did. NULL when the file cannot be read, is not one, is
 * cut short, or was written by another version; then `reason` says which. Damage among the finished
 * series is an event: those behind it are empty. */
struct arena *arena_open(const char *path, char *reason, size_t reason_bytes);

void arena_free(struct arena *arena);

/* Makes the records whole that were copied, or left, while values came (recovery.h), and finds the
 * series in compact form: what was left of it is an event. */
void arena_recover(struct arena *arena);

/* Gives a series its late label: a number other than 0, before its first value. */
void arena_label(struct arena *arena, int series, int64_t number);

/* Whether the series has all its labels, and their number. */
bool arena_is_named(const struct arena *arena, uint32_t series);
uint32_t arena_named_count(const struct arena *arena);

/* The record into which values of the series go. Where another series has the slot, that one is
 * kept in compact form and the slot is moved: it takes some 100 us, so call it before the first
 * value is timed, and from one thread at a time. A series that was kept before goes on in the
 * record that its compact form gives.
 *
 * Each series finds room for one compact form. Where that is short its histogram is coarser, or its
 * maxima have a longer interval; the event `series_coarser` tells so. A series that leaves its slot
 * once more takes room that the others leave; where there is none it stays what it was when it left
 * first, and the event `series_not_kept` tells how many values are lost. */
struct record *arena_record(struct arena *arena, int series);

/* Completes what records do a few steps at a time (record_settle), and takes out the values of
 * stops. Call it when nothing records any more, before they are read. */
void arena_settle(struct arena *arena);

/* Tells as events when the process was stopped (stops_add), once. After arena_settle. */
void arena_report_stops(struct arena *arena);

/* What the series holds, for reading: its slot, or its compact form in `scratch`, which has
 * arena_scratch_bytes. An empty record where nothing was recorded. */
const struct record *arena_read(const struct arena *arena, uint32_t series, struct record *scratch);
size_t arena_scratch_bytes(const struct arena *arena);

/* Number of values of the series; whether any series has one. */
uint64_t arena_count(const struct arena *arena, uint32_t series);
bool arena_has_values(const struct arena *arena);

/* Adds an event: something that a reader must know. `data` has each name, figure and choice that
 * the text speaks of, for programs, and as `command` what a person may type, which the text leaves
 * out. Safe from any thread of the probe. */
void arena_event(struct arena *arena, const char *name, int64_t at_ns, const struct datum *data,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Places for events, and the event in one of them. */
uint32_t arena_event_room(const struct arena *arena);
const struct arena_event *arena_event_at(const struct arena *arena, uint32_t place);

/* The same, unless an event of this name with the same text is there. From one thread only. */
void arena_event_once(struct arena *arena, const char *name, const struct datum *data,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Adds a verdict that rests on `observed_count` tries, values, readings or rounds; 1 for a scenario
 * that was carried out. Nothing observed is no verdict, whatever `pass`: it becomes the event
 * `not_seen`. More than ARENA_VERDICTS are told as an event. */
void arena_verdict(struct arena *arena, bool pass, uint64_t observed_count, const char *name,
                   const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Takes back each verdict that failed, and tells it as the event `not_seen`, if the process was
 * stopped: what did not come in time may be the fault of the stop. What passed, passed in spite of
 * it. */
void arena_withhold_failures(struct arena *arena);

/* Notes the value that parameter `param` has after calibration. At most ARENA_CALIBRATED of them,
 * from one thread at a time. */
void arena_calibrated(struct arena *arena, const char *param, int64_t value);

/* ---- stops: when the whole process was stopped (SIGSTOP, Ctrl-Z, a debugger, the
 * freezer of a control group) and went on, and what of a record that concerns: a value that was
 * under way then says how long somebody stopped the program, and nothing about the system.
 *
 * What is known of a stop is the moment at which it ended. No value ends while the process is
 * stopped, so that is enough: the values of a stop are those under way at its end. They are taken
 * out of the worst values of a record, where a value that matters is. */

/* Notes that the process goes on. From one thread only. */
void stops_add(struct arena *arena, int64_t monotonic_ns);

/* Forgets all of them: they were before the measurement. */
void stops_forget(struct arena *arena);

/* Whether a value of `value_ns` that ended `at_ns` after the start was under way when the process
 * went on. Only the last ARENA_STOPS stops are known. From any thread. */
bool stops_touch(const struct arena *arena, int64_t value_ns, int64_t at_ns);

/* Whether a stop ended at or after this time, CLOCK_MONOTONIC. From any thread. */
bool stops_since(const struct arena *arena, int64_t monotonic_ns);

/* Takes the values of stops out of a record of the arena. To be called as record_settle. Where all
 * of `worst` is of stops, more of them may be left: arena_report_stops tells it. */
void stops_take_out(struct arena *arena, struct record *record);

#endif

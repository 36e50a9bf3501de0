/* Where interrupts come from: another CPU (ipi), the CPU's own timer, an external device that UIO
 * serves. Each is a variant of a test and its label `source`: figures of different sources are
 * never mixed.
 *
 * Two ways to raise one, by source:
 *   sent elsewhere   a thread on another CPU calls `send`. Where window_ns is 0 that returns when
 *                    the interrupt was served; else the interrupt comes later, and the thread calls
 *                    `settle` when nobody spins on the CPU under test any more
 *   armed in advance the interrupted thread itself calls `arm` for a moment ahead, and `settle`
 *                    when the interrupt was served */
#ifndef HS_FAMILY_INTERRUPT_SOURCES_H
#define HS_FAMILY_INTERRUPT_SOURCES_H

#include "family/interrupt/handler_trace.h"
#include "port/device.h"
#include "run/run.h"

enum interrupt_source_id { INTERRUPT_IPI, INTERRUPT_TIMER, INTERRUPT_EXTERNAL, INTERRUPT_SOURCES };

/* One source in use. A zeroed one is closed. */
struct interrupt_line {
    const struct interrupt_source *source; /* NULL: closed */
    int timer;                             /* descriptor */
    struct port_uio uio;
};

struct interrupt_source {
    const char *name;
    bool is_sent_elsewhere;
    bool can_be_sent_here;    /* by a thread on the CPU under test, which is interrupted then */
    int64_t window_ns;        /* after `send`: in which the interrupt is expected */
    uint32_t most_in_a_burst; /* 0: no limit */

    /* Whether the source can be had for this run, as far as that is seen without opening it: 0, or
     * -1 with `outcome`. */
    int (*look)(const struct run *run, struct outcome *outcome);

    /* 0, or -1 with `outcome` and the line closed. */
    int (*open)(struct interrupt_line *line, const struct run *run, struct outcome *outcome);

    /* Sent elsewhere: 0, or an errno value. */
    int (*send)(const struct interrupt_line *line);

    /* Armed in advance: `at_ns` is on CLOCK_MONOTONIC. 0, or an errno value. */
    int (*arm)(const struct interrupt_line *line, int64_t at_ns);

    /* After an interrupt, blocks until the system has done all that belongs to it, so that the next
     * one can come; NULL: nothing. 0, or an errno value (ETIMEDOUT: it has not come). */
    int (*settle)(const struct interrupt_line *line);

    void (*close)(struct interrupt_line *line);
};

extern const char *const interrupt_source_names[]; /* choices of the parameter `source` */
extern const struct interrupt_source interrupt_ipi, interrupt_timer, interrupt_external;

const struct interrupt_source *interrupt_source(int64_t id);

/* Whether a run asks for the source: `external` counts only where a device is named. */
bool interrupt_source_is_wanted(const struct run *run, int64_t id);

/* Whether the source is sent from the CPU under test: there is no other one, and the test is one
 * that wakes a thread, whose low-priority thread can send while that one is blocked. */
bool interrupt_source_is_sent_here(const struct run *run, int64_t id);

/* The source's own look, and for one that is sent elsewhere whether there is another CPU. 0, or -1
 * with `outcome`. */
int interrupt_source_look(const struct run *run, int64_t id, struct outcome *outcome);

/* The bound of the skew between the run's CPU and `cpu`, in ticks; 0 where one clock serves all
 * CPUs. */
uint64_t interrupt_skew_ticks(const struct run *run, int cpu);

/* In `check`: adds the sender's CPU to those that the run uses, where a wanted source is sent from
 * there. 0, or -1 with the outcome: none of the wanted sources can be had. */
int interrupt_sources_check(struct run *run);

/* Event: the source is not measured, and why. */
void interrupt_source_report_missing(struct run *run, int64_t id, const struct outcome *outcome);

/* Event for each source that the run lists and that cannot be had, `external` without a device
 * included. */
void interrupt_sources_report_missing(struct run *run);

/* The sources of a run, open, each with the trace of its handler where that is wanted, and the
 * kernel's own count of its interrupts. */
struct interrupt_sources {
    struct run *run;
    enum handler_role role;
    bool is_open;           /* at least one source is */
    struct outcome refusal; /* of the last one that is not */
    struct interrupt_line lines[INTERRUPT_SOURCES];
    struct handler_trace traces[INTERRUPT_SOURCES];
    int64_t counted[INTERRUPT_SOURCES]; /* by the kernel, before the measurement; -1: not told */
    uint64_t sent[INTERRUPT_SOURCES];   /* while the CPU was watched, those of warm-up too */
};

/* In `prepare`: opens those that can be had. 0, or -1 with the outcome: there is none. */
int interrupt_sources_open(struct interrupt_sources *sources, struct run *run,
                           enum handler_role role);

/* In `judge`: event for each source with what was sent and what the kernel has counted since.
 * Fails a result without any value, and one of which the kernel has counted fewer than were sent:
 * its values are those of something else. 0, or -1 with the outcome. */
int interrupt_sources_judge(struct interrupt_sources *sources);

/* In `finish`; `sources` may be zeroed. */
void interrupt_sources_close(struct interrupt_sources *sources);

/* has_variant of tests with the parameters below: `external` is none without a device. */
bool interrupt_source_has_variant(const struct run *run, struct variant *variant);

/* clang-format off */
#define INTERRUPT_SOURCE_PARAMS \
    {"source", PARAM_NAME, true, "ipi,timer,external", 0, 0, interrupt_source_names, \
     "ipi: from another CPU; timer: the CPU's own; external: the UIO device named by `uio`", \
     "source"}, \
    {"uio", PARAM_COUNT, false, "-1", PORT_UIO_NOT_GIVEN, PORT_UIO_MOST_NUMBER, NULL, \
     "number N of the device " PORT_UIO_PATH "N for source=external; -1: none", NULL}, \
    {"raise_bytes", PARAM_BYTES, false, "-1", PORT_UIO_NOT_GIVEN, UINT32_MAX, NULL, \
     "offset of the 32-bit register that raises the device's interrupt; -1: that of a known " \
     "device", NULL}, \
    {"raise_value", PARAM_COUNT, false, "1", 0, UINT32_MAX, NULL, "the value written there", NULL}, \
    {"acknowledge_bytes", PARAM_BYTES, false, "-1", PORT_UIO_NOT_GIVEN, UINT32_MAX, NULL, \
     "offset of the 32-bit register that acknowledges the interrupt; -1: none", NULL}, \
    {"acknowledge_value", PARAM_COUNT, false, "1", 0, UINT32_MAX, NULL, "the value written there", \
     NULL}
/* clang-format on */

#endif

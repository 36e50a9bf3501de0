/* A device as source of interrupts on a made-up machine, and the kernel's own counters held against
 * what was sent. */
#include "base/posix_source.h"

#include "command/args.h"
#include "fake_port.h"
#include "family/interrupt/sources.h"
#include "made_up_device.h"
#include "made_up_run.h"
#include "run/variant.h"
#include "tap.h"

#include <unistd.h>

enum { SENT = 1000, TICKS = 50 };

static struct {
    bool tells_nothing;
    int64_t calls, reschedules, ticks, device;
} counters;

/* ---- in the place of the port's ---- */

static void tell(void (*take)(void *context, const struct port_interrupt_line *line), void *context,
                 const char *name, int64_t count)
{
    const struct port_interrupt_line line = {
        .name = name, .counts = &count, .is_timer = strncmp(name, "LOC", 3) == 0};
    take(context, &line);
}

WRAP(bool, port_interrupt_lines, const struct cpus *cpus,
     void (*take)(void *context, const struct port_interrupt_line *line), void *context)
{
    CHECK_SAME(cpus_count(cpus), 1);
    if (counters.tells_nothing)
        return false;
    tell(take, context, "1: other", 7);
    tell(take, context, "11: uio_pci_generic", counters.device);
    tell(take, context, "111: another", 1000000);
    tell(take, context, "LOC: Local timer interrupts", counters.ticks);
    tell(take, context, "RES: Rescheduling interrupts", counters.reschedules);
    tell(take, context, "CAL: Function call interrupts", counters.calls);
    return true;
}

static int arm(int64_t start_ns)
{
    return 0;
}

static struct interrupt_sources sources;
static struct interrupt_line line;
static struct outcome outcome;

static void begin(const char *id, const char *source)
{
    char error[ARGS_ERROR_BYTES], from[40];
    snprintf(from, sizeof from, "source=%s", source);
    char *words[] = {"hardstone-probe", "run", (char *)id, "-p", from, "-p", "uio=0"};
    device_begin();
    memset(&counters, 0, sizeof counters);
    memset(&fake_port, 0, sizeof fake_port);
    memset(&sources, 0, sizeof sources);
    memset(&line, 0, sizeof line);
    memset(&outcome, 0, sizeof outcome);
    fake_port.cpu_count = 2;
    fake_port.on_arm = arm;
    CHECK_SAME(args_parse(sizeof words / sizeof words[0], words, &request, error, sizeof error), 0);
    run_init(&run, &request);
    run.setup.cpu = device.cpu = 1;
}

#define DEVICE_TEST(what, ...) TEST_IN((begin(__VA_ARGS__), true), device_end(), what)

DEVICE_TEST(opens, "IRQ-P-LAT", "external")
{
    CHECK_SAME(interrupt_external.open(&line, &run, &outcome), 0);
    CHECK(line.source == &interrupt_external);
    CHECK_SAME(device.raised, 2);  /* on trial */
    CHECK_SAME(device.enabled, 2); /* after each */
    interrupt_external.close(&line);
    CHECK_SAME(device.closed, 1);
    CHECK(line.source == NULL);
}

DEVICE_TEST(other_cpu, "IRQ-P-LAT", "external")
{
    device.cpu = 0;
    CHECK_SAME(interrupt_external.open(&line, &run, &outcome), -1);
    CHECK_SAME(outcome.status, STATUS_UNSUPPORTED);
    CHECK_TEXT(outcome.reason,
               "CPU 0 serves the interrupt of /dev/uio0, and the test measures CPU 1");
    CHECK_TEXT(outcome.command, "send 11 to CPU 1");
    CHECK_SAME(device.closed, 1);
}

/* The register is not the one that raises the interrupt. */
DEVICE_TEST(deaf, "IRQ-P-LAT", "external")
{
    char byte;
    CHECK_SAME(read(device.ends[0], &byte, 1), 1);
    CHECK_SAME(interrupt_external.open(&line, &run, &outcome), -1);
    CHECK_SAME(outcome.status, STATUS_FAILED);
    CHECK_HOLDS(outcome.reason, "waiting for an interrupt of the device");
    CHECK_SAME(device.closed, 1);
}

DEVICE_TEST(missing, "IRQ-P-TLT", "external")
{
    device.is_missing = true;
    CHECK_SAME(run.test->check(&run), -1);
    CHECK_SAME(run.outcome.status, STATUS_UNSUPPORTED);
    CHECK_HOLDS(run.outcome.reason, "external: UIO device 0 does not exist");
}

/* ---- the kernel's counters ---- */

static void count(const char *id, const char *source, enum handler_role role)
{
    begin(id, source);
    CHECK_SAME(run.test->check(&run), 0);
    CHECK_SAME(variant_declare(&run), 0);
    run_make_arena();
    CHECK_SAME(interrupt_sources_open(&sources, &run, role), 0);
    record_value(arena_record(run.arena, 0), 1, 1);
}

static void finish(void)
{
    interrupt_sources_close(&sources);
    run_free();
    device_end();
}

/* Where fewer are counted, gaps of something else were taken for interrupts that went to another
 * CPU. */
WRAP_TEST(counted)
{
    static const struct {
        const char *id, *name;
        int source;
        int64_t device, ticks, counted;
        enum status status;
    } rows[] = {
        {"IRQ-P-LAT", "external", INTERRUPT_EXTERNAL, SENT, 0, SENT, STATUS_MEASURED},
        {"IRQ-P-DLT", "timer", INTERRUPT_TIMER, 0, SENT + TICKS, SENT + TICKS, STATUS_MEASURED},
        {"IRQ-P-LAT", "external", INTERRUPT_EXTERNAL, SENT / 2, 0, SENT / 2, STATUS_FAILED},
        {"IRQ-P-DLT", "timer", INTERRUPT_TIMER, 0, TICKS, TICKS, STATUS_FAILED},
    };
    foreach (row, rows, NULL) {
        char text[80];
        count(row->id, row->name, HANDLER_OF_INTERRUPT);
        counters.device = row->device;
        counters.ticks = row->ticks;
        sources.sent[row->source] = SENT;
        interrupt_sources_judge(&sources);
        CHECK_SAME(run.outcome.status, row->status);
        CHECK_HOLDS(run.outcome.reason,
                    row->status == STATUS_FAILED ? "the figures are about something else" : "");
        const struct arena_event *last = &run.arena->events[run.arena->event_count - 1];
        CHECK_TEXT(last->name, "interrupts_counted");
        CHECK_HOLDS(last->text, "1000 interrupts were sent to CPU 1, warm-up included; the kernel");
        snprintf(text, sizeof text, "has counted %lld of", (long long)row->counted);
        CHECK_HOLDS(last->text, text);
        finish();
    }
}

WRAP_TEST(nothing_told)
{
    count("IRQ-P-LAT", "timer", HANDLER_OF_INTERRUPT);
    counters.tells_nothing = true;
    sources.sent[INTERRUPT_TIMER] = SENT;
    CHECK_SAME(interrupt_sources_judge(&sources), 0);
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK_SAME(run.arena->event_count, 0);
    finish();
}

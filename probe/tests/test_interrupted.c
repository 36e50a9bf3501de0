/* IRQ-P-LAT and IRQ-P-DLT on a made-up machine: each reading of the clock takes TURN_NS, the
 * timer's interrupt comes when it is told to and takes what it is told to, and a made-up kernel
 * stamps its handler. So every figure is known. */
#include "base/posix_source.h"

#include "fake_run.h"
#include "family/interrupt/sources.h"
#include "made_up_tracing.h"
#include "run/run.h"

enum { SAMPLES = 500, FEW = 3, EVENTS = 4096, ALWAYS = 0, WITH_HANDLER };

#define TURN_NS INT64_C(100)
#define LATE_NS INT64_C(1500)    /* from the expiry to the interrupt */
#define SERVICE_NS INT64_C(8000) /* from the reading before it to the one after it */
#define ENTRY_NS INT64_C(700)    /* from the reading before it to the handler */
#define EXIT_NS INT64_C(900)     /* from the handler to the reading after it */
#define COVER_NS INT64_C(30000)  /* before the expiry, of an interruption that covers it */
#define TAKEN_NS INT64_C(50000000)

static struct {
    int64_t now_ns, armed_ns, taken_ns;
    int64_t late_ns;
    int arm_error;
    int covered_from; /* the interrupts from this one on come in another interruption; 0: none */
    int takes_cpu;    /* at this interrupt the thread loses the CPU for TAKEN_NS; 0: at none */
    bool has_expired, comes_not;
    int count; /* interrupts */
} machine;

static struct {
    bool lacks_all, is_locked_down;
    int unhandled_from;     /* interrupts that are something else's; 0: none */
    int off_after, lost_at; /* interrupts; 0: never */
    int read_error;
    struct port_tracing_event events[EVENTS];
    int event_count;
} kernel;

/* ---- the machine ---- */

static void stamp(int64_t at_ns, int kind)
{
    if (traced.is_on && !traced.is_switched_off && kernel.event_count < EVENTS)
        kernel.events[kernel.event_count++] =
            (struct port_tracing_event){.at_ns = at_ns, .kind = kind};
}

/* `before_ns`: the last reading before it. */
static void interrupt(int64_t before_ns)
{
    machine.count++;
    traced.is_switched_off = kernel.off_after > 0 && machine.count > kernel.off_after;
    machine.armed_ns = 0;
    machine.has_expired = true;
    machine.now_ns = before_ns + SERVICE_NS;
    if (machine.count == machine.takes_cpu) {
        machine.now_ns += TAKEN_NS;
        machine.taken_ns += TAKEN_NS;
    }
    if (traced.is_on && machine.count == kernel.lost_at) {
        stamp(machine.now_ns, PORT_TRACING_LOST);
        return;
    }
    if (kernel.unhandled_from > 0 && machine.count >= kernel.unhandled_from)
        return;
    stamp(before_ns + ENTRY_NS, 0);
    stamp(machine.now_ns - EXIT_NS, 1);
}

static bool is_covered(void)
{
    return machine.covered_from > 0 && machine.count + 1 >= machine.covered_from;
}

static void pass(void)
{
    int64_t before_ns = machine.now_ns;
    int64_t late_ns = is_covered() ? -COVER_NS : machine.late_ns;
    machine.now_ns += TURN_NS;
    if (machine.armed_ns == 0 || machine.comes_not || machine.now_ns < machine.armed_ns + late_ns)
        return;
    bool covers = is_covered();
    interrupt(before_ns);
    if (covers)
        machine.now_ns += COVER_NS;
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    bool is_cpu_time = id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID;
    if (!is_cpu_time)
        pass();
    *time = clock_ns_timespec(machine.now_ns - (is_cpu_time ? machine.taken_ns : 0));
    return 0;
}

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    machine.now_ns += clock_timespec_ns(wanted);
    return 0;
}

static int arm(int64_t start_ns)
{
    errno = machine.arm_error;
    if (machine.arm_error)
        return -1;
    machine.has_expired = false;
    machine.armed_ns = start_ns;
    return 0;
}

static int64_t wait_for_expiry(void)
{
    if (machine.armed_ns > 0 && machine.armed_ns <= machine.now_ns)
        machine.has_expired = true; /* armed for the past: nobody watches */
    machine.armed_ns = 0;
    return machine.has_expired;
}

/* ---- tracing, in the place of the port's ---- */

int port_tracing_look(const struct port_tracing_wish *wish, struct outcome *outcome)
{
    if (kernel.is_locked_down)
        return outcome_set(outcome, STATUS_DENIED, "boot without lockdown",
                           "the kernel is locked down");
    return kernel.lacks_all
               ? outcome_set_remedy(outcome, STATUS_UNSUPPORTED,
                                    (struct remedy){"mount it", "mount -t tracefs"}, "no tracefs")
               : 0;
}

ANSWERS(int, port_tracing_filter, (struct port_tracing * tracing, int kind, const char *expression),
        0);

int port_tracing_stop(struct port_tracing *tracing)
{
    traced.is_on = false;
    return 0;
}

int port_tracing_read(struct port_tracing *tracing, int cpu, port_tracing_visit visit,
                      void *context)
{
    CHECK_SAME(cpu, 0);
    CHECK(cpus_has(&traced.cpus, 0) && cpus_count(&traced.cpus) == 1);
    for (int i = 0; i < kernel.event_count && !kernel.read_error; i++)
        visit(&kernel.events[i], context);
    kernel.event_count = 0;
    errno = kernel.read_error;
    return kernel.read_error ? -1 : 0;
}

DOES_NOTHING(port_tracing_symbols,
             (const int64_t *offsets, int count, char names[][PORT_SYMBOL_BYTES]));

/* ---- a run ---- */

static void reset(void)
{
    memset(&machine, 0, sizeof machine);
    memset(&kernel, 0, sizeof kernel);
    memset(&traced, 0, sizeof traced);
    memset(&fake_port, 0, sizeof fake_port);
    fake_port.cpu_count = 1;
    fake_port.on_arm = arm;
    fake_port.on_timer_wait = wait_for_expiry;
    machine.now_ns = 1000 * CLOCK_NS_PER_S;
    machine.late_ns = LATE_NS;
    stop_reset();
}

static void parse(char *id, const char *source, const char *handler)
{
    char from[40], seen[40];
    snprintf(from, sizeof from, "source=%s", source);
    snprintf(seen, sizeof seen, "handler=%s", handler);
    fake_run_parse((char *const[]){id, "--clock", "monotonic", "-p", from, "-p", seen, NULL},
                   SAMPLES);
}

/* As far as `prepare`; false: it ended before. */
static bool start(char *id, const char *source, const char *handler)
{
    parse(id, source, handler);
    return run.test->check(&run) == 0 && fake_run_prepare();
}

static void end(void)
{
    run.test->finish(&run);
    CHECK_SAME(traced.close_count, traced.open_count);
    fake_run_end();
}

static void expect_refusal(enum status status, const char *reason)
{
    CHECK_SAME(run.test->check(&run), -1);
    CHECK_SAME(run.outcome.status, status);
    CHECK_HOLDS(run.outcome.reason, reason);
}

static void measure(char *id, const char *handler)
{
    if (!CHECK(start(id, "timer", handler)))
        return;
    CHECK_SAME(run.test->measure(&run), 0);
    if (run.outcome.status == STATUS_MEASURED)
        run.test->judge(&run);
}

static void expect_values(int series, int64_t count, int64_t least_ns, int64_t most_ns)
{
    const struct record *record = arena_record(run.arena, series);
    CHECK_SAME(record->count, count);
    CHECK_SAME(record->min >= least_ns, true);
    CHECK_SAME(record->max <= most_ns, true);
}

/* ---- without sight of the handler ---- */

#define MACHINE_TEST(what) TEST_IN((reset(), true), end(), what)

MACHINE_TEST(delivery)
{
    measure("IRQ-P-LAT", "none");
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK_SAME(run.arena->series_count, 1);
    expect_values(ALWAYS, SAMPLES, LATE_NS - TURN_NS, LATE_NS);
    expect_event(
        "interrupts_accounted",
        "timer: of 500 interrupts sent 500 were seen, 0 came while another interruption "
        "had the CPU (the longest from its send to the end of both: 0 ns), 0 are ambiguous "
        "(the longest was over after 0 ns), 0 were not seen, 0 not watched");
    CHECK_SAME(traced.open_count, 0);
}

/* A hypervisor leaves the guest before the expiry. */
MACHINE_TEST(early)
{
    machine.late_ns = -2000;
    measure("IRQ-P-LAT", "none");
    expect_values(ALWAYS, SAMPLES, 0, 0);
    expect_event("interrupts_accounted", "of 500 interrupts sent 500 were seen");
    expect_event("interrupts_accounted", "; 500 came early, by up to 2100 ns, and count as 0");
}

static void measure_late(int64_t late_ns)
{
    reset();
    machine.late_ns = late_ns;
    CHECK(start("IRQ-P-LAT", "timer", "none"));
    run.samples = FEW;
    run.test->measure(&run);
}

/* It is waited for 10 ms, and has its value; later ones are not seen. */
TEST(late)
{
    measure_late(9000000);
    expect_values(ALWAYS, FEW, 9000000 - TURN_NS, 9000000);
    end();
    measure_late(11000000);
    CHECK_SAME(arena_record(run.arena, ALWAYS)->count, 0);
    expect_event("interrupts_accounted", "0 were seen, 0 came");
    end();
}

MACHINE_TEST(in_other)
{
    machine.covered_from = 300;
    measure("IRQ-P-LAT", "none");
    CHECK(arena_record(run.arena, ALWAYS)->count < 300);
    expect_values(ALWAYS, (int64_t)arena_record(run.arena, ALWAYS)->count, LATE_NS - TURN_NS,
                  LATE_NS);
    expect_event("interrupts_accounted", "came while another interruption had the CPU (the longest "
                                         "from its send to the end of both: 79");
    expect_event("interrupts_unseen", "given up, no interrupt of 20 bursts was seen on CPU 0");
}

MACHINE_TEST(never_comes)
{
    machine.comes_not = true;
    measure("IRQ-P-LAT", "none");
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "no interrupt was seen");
    expect_event("interrupts_accounted", "0 were seen, 0 came");
    expect_event("interrupts_unseen", "given up");
}

MACHINE_TEST(refused)
{
    CHECK(start("IRQ-P-LAT", "timer", "none"));
    machine.arm_error = EINVAL;
    run.test->measure(&run);
    expect_event("interrupts_accounted", "of 0 interrupts sent 0 were seen");
    CHECK_SAME(arena_record(run.arena, ALWAYS)->count, 0);
}

/* What throttling looks like: the result does not blame the kernel for it. */
MACHINE_TEST(loses_the_cpu)
{
    machine.takes_cpu = 200;
    measure("IRQ-P-DLT", "none");
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    CHECK_HOLDS(run.outcome.reason, "the test did not get the CPU");
    expect_event("throttled", "the thread on the CPU under test was ready and did not run");
}

/* ---- with it ---- */

MACHINE_TEST(latency)
{
    measure("IRQ-P-LAT", "tracepoints");
    CHECK_SAME(run.arena->series_count, 2);
    expect_values(WITH_HANDLER, SAMPLES, ENTRY_NS, ENTRY_NS);
    expect_event("handler_seen", "timer: the handler of 500 of 500 interrupts was seen");
}

/* Latency, handler and dispatch are the service. */
MACHINE_TEST(dispatch_and_split)
{
    measure("IRQ-P-DLT", "auto");
    expect_values(ALWAYS, SAMPLES, SERVICE_NS, SERVICE_NS);
    expect_values(WITH_HANDLER, SAMPLES, EXIT_NS, EXIT_NS);
    expect_event("interrupts_split", "service 8000 ns, of which latency 700 ns, the handler 6400 "
                                     "ns, dispatch 900 ns");
}

/* A gap in which the kernel has handled nothing is not the interrupt. */
MACHINE_TEST(unhandled)
{
    kernel.unhandled_from = 300;
    measure("IRQ-P-LAT", "tracepoints");
    int64_t count = (int64_t)arena_record(run.arena, ALWAYS)->count;
    CHECK(count > 0 && count < 300);
    CHECK_SAME(arena_record(run.arena, WITH_HANDLER)->count, count);
    expect_event("interrupts_accounted", "0 are ambiguous");
    expect_event("interrupts_unseen", "given up");
}

TEST(no_tracefs)
{
    reset();
    kernel.lacks_all = true;
    measure("IRQ-P-LAT", "auto");
    CHECK_SAME(run.outcome.status, STATUS_MEASURED);
    CHECK_SAME(run.arena->series_count, 1);
    expect_values(ALWAYS, SAMPLES, LATE_NS - TURN_NS, LATE_NS);
    expect_event("handler_not_seen", "timer: the interrupt's handler cannot be observed: no "
                                     "tracefs; mount it");
    end();
    reset();
    kernel.lacks_all = true;
    CHECK(!start("IRQ-P-LAT", "timer", "tracepoints"));
    CHECK_SAME(run.outcome.status, STATUS_UNSUPPORTED);
    CHECK_TEXT(run.outcome.reason, "the handler: no tracefs");
    CHECK_TEXT(run.outcome.command, "mount -t tracefs");
}

TEST(locked_down)
{
    reset();
    kernel.is_locked_down = true;
    CHECK(!start("IRQ-P-DLT", "timer", "tracepoints"));
    CHECK_SAME(run.outcome.status, STATUS_DENIED);
    CHECK_HOLDS(run.outcome.reason, "locked down");
}

TEST(refused_start)
{
    reset();
    traced.start_error = EPERM;
    measure("IRQ-P-LAT", "auto");
    expect_values(ALWAYS, SAMPLES, LATE_NS - TURN_NS, LATE_NS);
    CHECK_SAME(arena_record(run.arena, WITH_HANDLER)->count, 0);
    expect_event("handler_not_seen", "does not start");
    end();
    reset();
    traced.start_error = EPERM;
    CHECK(start("IRQ-P-LAT", "timer", "tracepoints"));
    CHECK_SAME(run.test->measure(&run), -1);
    CHECK_SAME(run.outcome.status, STATUS_FAILED);
    end();
}

/* Somebody switches tracing_on off: it is said, and not switched on again. */
MACHINE_TEST(switched_off)
{
    kernel.off_after = 250;
    measure("IRQ-P-LAT", "tracepoints");
    CHECK_SAME(arena_record(run.arena, ALWAYS)->count, SAMPLES);
    CHECK(arena_record(run.arena, WITH_HANDLER)->count < 250);
    CHECK(arena_record(run.arena, WITH_HANDLER)->count > 0);
    expect_event("handler_stopped", "timer: another program switched the instance's tracing_on "
                                    "off");
    CHECK_SAME(traced.start_count, 1);
}

MACHINE_TEST(lost_events)
{
    kernel.lost_at = 200;
    measure("IRQ-P-LAT", "tracepoints");
    CHECK_SAME(arena_record(run.arena, WITH_HANDLER)->count, SAMPLES - 2);
    expect_event("handler_seen", "498 of 500 interrupts was seen (not found 0, several 0, events "
                                 "lost 2)"); /* that one, and the one that the gap may reach */
}

MACHINE_TEST(not_read)
{
    kernel.read_error = EIO;
    measure("IRQ-P-LAT", "tracepoints");
    CHECK_SAME(arena_record(run.arena, ALWAYS)->count, SAMPLES);
    CHECK_SAME(arena_record(run.arena, WITH_HANDLER)->count, 0);
    expect_event("handler_not_read", "the kernel's events could not be read");
}

MACHINE_TEST(not_removed)
{
    traced.close_error = EBUSY;
    measure("IRQ-P-LAT", "tracepoints");
    run.test->finish(&run);
    expect_event("handler_not_removed", "/instances/mine could not be removed");
}

/* ---- sources that cannot be had ---- */

TEST(no_second_cpu)
{
    reset();
    measure("IRQ-P-LAT", "none");
    end();
    reset();
    CHECK(start("IRQ-P-LAT", "ipi,timer", "none"));
    expect_event("source_missing", "interrupts of source ipi are not measured: it is sent from "
                                   "another CPU, and the test has only one");
    end();
    reset();
    parse("IRQ-P-LAT", "ipi", "none");
    expect_refusal(STATUS_UNSUPPORTED, "ipi: it is sent from another CPU");
}

static void expect_no_ipi(int error, enum status status, const char *reason)
{
    reset();
    fake_port.cpu_count = 2;
    fake_port.interrupt_error = error;
    parse("IRQ-P-LAT", "ipi", "none");
    expect_refusal(status, reason);
    CHECK_HOLDS(run.outcome.remedy, "CONFIG_MEMBARRIER");
}

TEST(no_membarrier)
{
    expect_no_ipi(EPERM, STATUS_DENIED, "ipi: membarrier");
    expect_no_ipi(ENOSYS, STATUS_UNSUPPORTED, "ipi: membarrier");
    expect_no_ipi(ENOTSUP, STATUS_UNSUPPORTED, "ipi: membarrier");
}

TEST(no_device_named)
{
    reset();
    CHECK(start("IRQ-P-DLT", "timer,external", "none"));
    CHECK_SAME(variant_count(&run), 1);
    expect_event("source_missing", "interrupts of source external are not measured: no device is "
                                   "named; name one that only this test uses: -p uio=N");
    end();
    reset();
    parse("IRQ-P-DLT", "external", "none");
    expect_refusal(STATUS_SKIPPED, "external: no device is named");
}

TEST(no_source_on_this_port)
{
    reset();
    fake_port.on_arm = NULL;
    parse("IRQ-P-TLT", "ipi,timer,external", "none");
    expect_refusal(STATUS_UNSUPPORTED, "ipi: ");
    CHECK_HOLDS(run.outcome.reason, "; timer: ");
}

/* The interrupt load with a device: what its driver counts is what it reached, whether the load
 * raises the interrupt or only serves it. The device is made up: it stands in the place of the
 * port's. */
#include "running_load.h"

#include "port/device.h"

#include <unistd.h>

/* A port that is made up answers whatever it is asked. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { DELIVERED = COUNTER_OWN, MISSED };

/* Of each process its own. */
static struct {
    bool is_missing, is_not_raised, is_silent;
    int wait_error, enable_error;
    uint32_t count, each; /* interrupts since the driver took it; more with each */
    uint32_t value;       /* of the register that raises */
    int ends[2];          /* of a pipe: readable where it has interrupted */
    int opened, closed, enabled, raised, stop_at; /* the worker stops when it is enabled so often */
} device;

static struct load_map map;
static struct load_slot slot;

/* ---- in the place of the port's ---- */

int port_uio_open_to_serve(int number, struct port_uio *uio, struct outcome *outcome)
{
    if (device.is_missing)
        return outcome_set_remedy(outcome, STATUS_UNSUPPORTED,
                                  (struct remedy){"load its driver", "modprobe made_up"},
                                  "UIO device %d does not exist", number);
    memset(uio, 0, sizeof *uio);
    uio->number = number;
    uio->is_open = true;
    uio->file = device.ends[0];
    uio->raise = device.is_not_raised ? NULL : &device.value;
    uio->raise_value = 1;
    uio->first_count = device.count;
    snprintf(uio->name, sizeof uio->name, "made_up");
    device.opened++;
    return 0;
}

int port_uio_open(int number, const struct port_uio_registers *registers, struct port_uio *uio,
                  struct outcome *outcome)
{
    return port_uio_open_to_serve(number, uio, outcome);
}

int port_uio_enable(const struct port_uio *uio)
{
    if (++device.enabled == device.stop_at)
        atomic_store(&map.stop, 1);
    device.raised += (int)device.value;
    device.value = 0;
    return device.enable_error;
}

int port_uio_wait(const struct port_uio *uio, uint32_t *count)
{
    device.count += device.each;
    *count = device.wait_error ? 12345 : device.count;
    return device.wait_error;
}

int port_uio_cpu(const struct port_uio *uio)
{
    return -1;
}

void port_uio_route_command(const struct port_uio *uio, int cpu, char *command, size_t bytes)
{
}

int port_uio_handler_priority(const struct port_uio *uio)
{
    return -1;
}

void port_uio_close(struct port_uio *uio)
{
    device.closed += uio->is_open ? 1 : 0;
    uio->is_open = false;
}

/* ---- one worker ---- */

static bool begin(void)
{
    memset(&device, 0, sizeof device);
    device.each = 1;
    device.stop_at = 20;
    if (pipe(device.ends) != 0 || write(device.ends[1], "1", 1) != 1)
        abort();
    memset(&map, 0, sizeof map);
    memset(&slot, 0, sizeof slot);
    atomic_store(&slot.state, WORKER_READY);
    return true;
}

static void take_away(void)
{
    close(device.ends[0]);
    close(device.ends[1]);
}

static int work(void)
{
    struct load_degree degree = {.number = 1000, .has_device = true, .uio_number = 3};
    struct worker worker = {.element = &load_interrupt,
                            .degree = &degree,
                            .map = &map,
                            .slot = &slot,
                            .places = 1,
                            .peers = 1,
                            .supervisor = getppid()};
    int error = load_interrupt.prepare(&worker);
    if (error == 0)
        load_interrupt.work(&worker);
    free(worker.own);
    return error;
}

static int counted(int counter)
{
    return (int)atomic_load(&slot.counters[counter]);
}

#define DEVICE_TEST(what) TEST_IN(begin(), take_away(), what)

DEVICE_TEST(each_interrupt_that_is_raised_is_served_and_counts)
{
    int64_t begun_ns = clock_monotonic_ns();
    CHECK_SAME(work(), 0);
    CHECK_SAME(counted(DELIVERED), 20);
    CHECK_SAME(device.raised, 20);
    CHECK_SAME(device.enabled, 20); /* the line is let through again after each */
    CHECK(!load_slot_note(&slot));
    CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS);
    CHECK_SAME(atomic_load(&slot.counted_ns), 0); /* at once */
    CHECK(device.opened == 1 && device.closed == 1);
    CHECK(clock_monotonic_ns() - begun_ns >= 20000000); /* 1000 in a second, and no faster */
}

/* The driver has counted them: some came as one, or somebody else raised them. Its count wraps. */
DEVICE_TEST(what_the_driver_counts_is_what_came)
{
    device.each = 7;
    device.count = UINT32_MAX - 20;
    CHECK_SAME(work(), 0);
    CHECK_SAME(counted(DELIVERED), 140);
    CHECK_SAME(device.raised, 20);
}

DEVICE_TEST(what_does_not_come_does_not_count)
{
    char byte;
    CHECK_SAME(read(device.ends[0], &byte, 1), 1);
    device.stop_at = 3;
    CHECK_SAME(work(), 0);
    CHECK_SAME(counted(DELIVERED), 0);
    CHECK_SAME(device.raised, 3);
    CHECK(counted(MISSED) >= 3 + 2 * 30); /* and what was due while it waited */
    CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS);
}

DEVICE_TEST(a_read_that_fails_counts_nothing)
{
    device.wait_error = EIO;
    CHECK_SAME(work(), 0);
    CHECK_SAME(counted(DELIVERED), 0);
    CHECK(counted(MISSED) >= 20);
}

DEVICE_TEST(a_line_that_cannot_be_enabled_is_told)
{
    device.enable_error = ENODEV;
    CHECK_SAME(work(), 0);
    CHECK_HOLDS(load_slot_note(&slot), "/dev/uio3: its interrupt could not be enabled");
}

DEVICE_TEST(one_that_nothing_raises_is_served)
{
    device.is_not_raised = true;
    CHECK_SAME(work(), 0);
    CHECK_SAME(counted(DELIVERED), 20);
    CHECK_SAME(counted(MISSED), 0);
    CHECK_SAME(device.raised, 0);
    CHECK_SAME(device.enabled, 20);
    CHECK_HOLDS(load_slot_note(&slot), "/dev/uio3 (made_up): it is not known how to raise");
}

/* One that has gone is always readable, and every read fails: no loop without a rest. */
DEVICE_TEST(one_that_has_gone_takes_no_cpu)
{
    int64_t begun_ns = clock_monotonic_ns();
    device.is_not_raised = true;
    device.wait_error = EIO;
    device.stop_at = 4;
    CHECK_SAME(work(), 0);
    CHECK_SAME(counted(DELIVERED), 0);
    CHECK(clock_monotonic_ns() - begun_ns >= 3 * 20000000);
}

DEVICE_TEST(one_that_is_not_there_is_refused)
{
    struct outcome outcome = {0};
    char error[LOAD_ERROR_BYTES];
    device.is_missing = true;
    CHECK_SAME(work(), ENODEV);
    CHECK_TEXT(load_slot_note(&slot), "UIO device 3 does not exist");
    CHECK_SAME(load_spec_parse("cpu+interrupt=5/s@/dev/uio3", &spec, error, sizeof error), 0);
    CHECK_SAME(load_check(&spec, &outcome), -1);
    CHECK_SAME(outcome.status, STATUS_UNSUPPORTED);
    CHECK_TEXT(outcome.reason, "UIO device 3 does not exist");
    CHECK_TEXT(outcome.command, "modprobe made_up");
    device.is_missing = false;
    CHECK_SAME(load_check(&spec, &outcome), 0);
    CHECK(device.opened == 1 && device.closed == 1); /* a look leaves nothing open */
}

/* ---- a whole load ---- */

/* The timer interrupts of the kernel say nothing of a device. */
DEVICE_TEST(its_report_names_the_device)
{
    device.stop_at = 0;
    if (!start("interrupt=200/s@/dev/uio3"))
        return;
    load_begin(&load);
    while (counter_of(0, DELIVERED) < 10)
        pass_ms(2);
    pass_ms(20);
    end();
    struct load_reached one = reached(0);
    CHECK_TEXT(one.how, "device /dev/uio3");
    CHECK_SAME(one.seen[0], -1);
    CHECK(one.reached > 0 && one.asked == 200);
    CHECK_TEXT(text_of("load_unseen"), "");
    load_free(&load);
}

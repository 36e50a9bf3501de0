/* The interrupt load with a device: what its driver counts is what it reached, whether the load
 * raises the interrupt or only serves it. The device is made up: it stands in the place of the
 * port's. */
#include "made_up_device.h"
#include "running_load.h"

#include "port/device.h"

#include <unistd.h>

enum { DELIVERED = COUNTER_OWN, MISSED };

static int stop_at; /* the worker stops when it is enabled so often */
static struct load_map map;
static struct load_slot slot;

/* ---- one worker ---- */

static void stop_in_time(void)
{
    if (device.enabled == stop_at)
        atomic_store(&map.stop, 1);
}

static bool begin(void)
{
    device_begin();
    device.on_enable = stop_in_time;
    device.cpu = -1;
    stop_at = 20;
    memset(&map, 0, sizeof map);
    memset(&slot, 0, sizeof slot);
    atomic_store(&slot.state, WORKER_READY);
    return true;
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

#define DEVICE_TEST(what) TEST_IN(begin(), device_end(), what)

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

TEST(what_a_device_does_is_what_counts)
{
    static const struct {
        const char *name;
        uint32_t each, count;
        int wait_error, enable_error;
        bool is_not_raised, is_silent;
        int stop_at, delivered, least_missed, raised;
        const char *note;
        int least_ms;
    } rows[] = {
        /* some came as one, or somebody else raised them; the count of the driver wraps */
        {"what the driver counts is what came", 7, UINT32_MAX - 20, 0, 0, false, false, 20, 140, 0,
         20},
        {"what does not come, nor what was due while it waited", 1, 0, 0, 0, false, true, 3, 0,
         3 + 2 * 30, 3},
        {"a read that fails", 1, 0, EIO, 0, false, false, 20, 0, 20, 20},
        {"a line that cannot be enabled", 1, 0, 0, ENODEV, false, false, 20, 20, 0, 20,
         "/dev/uio3: its interrupt could not be enabled"},
        {"one that nothing raises is served", 1, 0, 0, 0, true, false, 20, 20, 0, 0,
         "/dev/uio3 (made_up): it is not known how to raise"},
        /* it is always readable, and every read fails: no loop without a rest */
        {"one that has gone takes no CPU", 1, 0, EIO, 0, true, false, 4, 0, 0, 0, NULL, 3 * 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char byte;
        int64_t begun_ns = clock_monotonic_ns();
        tap_row(rows[i].name);
        begin();
        device.each = rows[i].each;
        device.count = rows[i].count;
        device.wait_error = rows[i].wait_error;
        device.enable_error = rows[i].enable_error;
        device.is_not_raised = rows[i].is_not_raised;
        stop_at = rows[i].stop_at;
        if (rows[i].is_silent)
            CHECK_SAME(read(device.ends[0], &byte, 1), 1);
        CHECK_SAME(work(), 0);
        CHECK_SAME(counted(DELIVERED), rows[i].delivered);
        CHECK(counted(MISSED) >= rows[i].least_missed);
        CHECK(!rows[i].is_not_raised || counted(MISSED) == 0);
        CHECK_SAME(device.raised, rows[i].raised);
        CHECK_SAME(device.enabled, rows[i].stop_at);
        CHECK_SAME(atomic_load(&slot.state), WORKER_WORKS);
        if (rows[i].note)
            CHECK_HOLDS(load_slot_note(&slot), rows[i].note);
        CHECK(clock_monotonic_ns() - begun_ns >= rows[i].least_ms * INT64_C(1000000));
        device_end();
    }
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
    stop_at = 0;
    if (!start("interrupt=200/s@/dev/uio3"))
        return;
    load_begin(&load);
    uint64_t before = counter_of(0, DELIVERED);
    while (counter_of(0, DELIVERED) < before + 10)
        pass_ms(2);
    end();
    struct load_reached one = reached(0);
    CHECK_TEXT(one.how, "device /dev/uio3");
    CHECK_SAME(one.seen[0], -1);
    CHECK(one.reached > 0 && one.asked == 200);
    CHECK_TEXT(text_of("load_unseen"), "");
    load_free(&load);
}

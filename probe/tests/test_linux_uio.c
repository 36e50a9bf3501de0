/* UIO devices of Linux, on made-up machines. */
#include "base/posix_source.h"

#include "made_up_uio.h"
#include "port/uio.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { COMMAND_HIGH = 5, RAISE = 0x60, ACK = 0x64 };

static uint32_t register_at(size_t offset)
{
    unsigned char bytes[UIO_REGISTERS_BYTES];
    uint32_t value;
    fetch(UIO_REGISTERS, bytes, sizeof bytes);
    memcpy(&value, bytes + offset, sizeof value);
    return value;
}

/* Bytes of the registers that were changed. */
static int changed_bytes(void)
{
    unsigned char bytes[UIO_REGISTERS_BYTES];
    int count = 0;
    fetch(UIO_REGISTERS, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        count += bytes[i] != UIO_REGISTERS_FILL;
    return count;
}

static unsigned char command_high(void)
{
    unsigned char bytes[UIO_CONFIG_BYTES];
    fetch(UIO_CONFIG, bytes, sizeof bytes);
    return bytes[COMMAND_HIGH];
}

static int open_files(void)
{
    int count = 0;
    for (int file = 0; file < 64; file++)
        count += fcntl(file, F_GETFD) >= 0;
    return count;
}

/* Opening device `number` is refused with this, and leaves nothing open and nothing written. */
static void refused(int number, const struct port_uio_registers *registers, enum status status,
                    const char *reason, const char *remedy)
{
    struct port_uio uio;
    struct outcome outcome = {0};
    int files = open_files();
    CHECK_SAME(port_uio_open(number, registers, &uio, &outcome), -1);
    CHECK_SAME(outcome.status, status);
    CHECK_HOLDS(outcome.reason, reason);
    CHECK_HOLDS(outcome.remedy, remedy);
    CHECK(!uio.is_open && !uio.memory);
    CHECK_SAME(open_files(), files);
    port_uio_close(&uio);
}

static void opened(const struct port_uio_registers *registers, struct port_uio *uio)
{
    struct outcome outcome = {0};
    if (!CHECK_SAME(port_uio_open(0, registers, uio, &outcome), 0))
        printf("# %s\n", outcome.reason);
}

static void test_edu_is_known(void)
{
    struct port_uio uio;
    make_up();
    int files = open_files();
    opened(NULL, &uio);
    CHECK_TEXT(uio.name, "uio_pci_generic");
    CHECK_SAME(uio.vendor, 0x1234);
    CHECK_SAME(uio.device, 0x11e8);
    CHECK_SAME(uio.irq, 11);
    CHECK_SAME(uio.first_count, 41);
    CHECK_SAME(register_at(ACK), 1); /* what an ended program left raised */
    CHECK_SAME(changed_bytes(), 4);  /* and nothing is raised */
    port_uio_raise(&uio);
    CHECK_SAME(register_at(RAISE), 1);
    CHECK_SAME(changed_bytes(), 8);
    port_uio_close(&uio);
    CHECK(!uio.is_open);
    CHECK_SAME(open_files(), files);
    port_uio_close(&uio);
    take_away();
}

static void test_a_device_is_closed_with_its_interrupt_taken_back(void)
{
    struct port_uio uio;
    make_up();
    struct port_uio_registers registers = {RAISE, 7, ACK, 9};
    opened(&registers, &uio);
    port_uio_raise(&uio);
    CHECK_SAME(register_at(RAISE), 7);
    *uio.acknowledge = 0;
    port_uio_close(&uio);
    CHECK_SAME(register_at(ACK), 9);
    take_away();
}

static void test_only_the_bit_that_blocks_the_line_is_cleared(void)
{
    unsigned char before[UIO_CONFIG_BYTES], after[UIO_CONFIG_BYTES];
    struct port_uio uio;
    make_up();
    opened(NULL, &uio);
    CHECK_SAME(command_high(), 0xfb);
    fill(UIO_CONFIG, UIO_CONFIG_BYTES, 0x0c); /* as after an interrupt */
    fetch(UIO_CONFIG, before, sizeof before);
    CHECK_SAME(port_uio_enable(&uio), 0);
    fetch(UIO_CONFIG, after, sizeof after);
    CHECK_SAME(after[COMMAND_HIGH], 0x08);
    after[COMMAND_HIGH] = before[COMMAND_HIGH];
    CHECK(memcmp(before, after, sizeof after) == 0);
    put(UIO_CONFIG, ""); /* the device has gone */
    CHECK_SAME(port_uio_enable(&uio), EIO);
    port_uio_close(&uio);
    take_away();
}

static void test_a_driver_that_enables_is_asked(void)
{
    struct port_uio uio;
    make_up();
    machine.write_error = 0;
    opened(NULL, &uio);
    CHECK(uio.has_irqcontrol);
    CHECK_SAME(machine.writes, 1);
    CHECK_SAME(machine.written, 1);
    CHECK_SAME(port_uio_enable(&uio), 0);
    CHECK_SAME(machine.writes, 2);
    CHECK_SAME(command_high(), 0xff);
    machine.write_error = ENODEV;
    CHECK_SAME(port_uio_enable(&uio), ENODEV);
    port_uio_close(&uio);
    take_away();
}

static void test_a_driver_without_a_switch_leaves_the_line_on(void)
{
    struct port_uio uio;
    make_up();
    put(UIO_FOLDER "/name", "own_driver\n");
    opened(NULL, &uio);
    CHECK(!uio.has_irqcontrol);
    CHECK_SAME(uio.config_file, -1);
    CHECK_SAME(port_uio_enable(&uio), 0);
    CHECK_SAME(command_high(), 0xff);
    port_uio_close(&uio);
    take_away();
}

static void test_waiting_gives_the_count(void)
{
    struct port_uio uio;
    uint32_t count = 0;
    make_up();
    opened(NULL, &uio);
    machine.count = 44; /* three, of which two are seen as one */
    CHECK_SAME(port_uio_wait(&uio, &count), 0);
    CHECK_SAME(count - uio.first_count, 3);
    machine.read_error = EINTR;
    CHECK_SAME(port_uio_wait(&uio, &count), EINTR);
    machine.read_error = 0;
    machine.read_bytes = 2;
    CHECK_SAME(port_uio_wait(&uio, &count), EIO);
    port_uio_close(&uio);
    take_away();
}

static void test_what_is_not_there(void)
{
    make_up();
    refused(1, NULL, STATUS_UNSUPPORTED, "there is no UIO device 1", "uio0");
    refused(-1, NULL, STATUS_UNSUPPORTED, "there is no UIO device -1", "uio0");
    refused(1000000, NULL, STATUS_UNSUPPORTED, "there is no UIO device", "uio0");
    take_away();
    memset(&machine, 0, sizeof machine);
    snprintf(machine.root, sizeof machine.root, "/nothing/here");
    struct port_uio uio;
    struct outcome outcome = {0};
    CHECK_SAME(port_uio_open(0, NULL, &uio, &outcome), -1);
    CHECK_TEXT(outcome.reason, "there is no UIO device");
    CHECK_TEXT(outcome.command, "modprobe uio_pci_generic");
}

static void test_a_device_that_is_not_known_needs_its_registers(void)
{
    struct port_uio_registers none = {PORT_UIO_NOT_GIVEN, 1, PORT_UIO_NOT_GIVEN, 1};
    struct port_uio_registers given = {0x10, 5, PORT_UIO_NOT_GIVEN, 1};
    struct port_uio uio;
    make_up();
    put(UIO_FOLDER "/device/vendor", "0x8086\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "uio0 (uio_pci_generic, PCI 8086:11e8)",
            "offset and value of the register");
    refused(0, &none, STATUS_UNSUPPORTED, "how its interrupt is raised is not known", "manual");
    CHECK_SAME(changed_bytes(), 0);
    opened(&given, &uio);
    port_uio_acknowledge(&uio); /* it has no such register */
    CHECK_SAME(changed_bytes(), 0);
    port_uio_raise(&uio);
    CHECK_SAME(register_at(0x10), 5);
    CHECK_SAME(changed_bytes(), 4);
    port_uio_close(&uio);
    take_away();
}

static void test_no_register_outside_of_the_device(void)
{
    static const int64_t offsets[] = {0x1000, 0xffe, -4, 2, INT64_MAX - 3};
    make_up();
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct port_uio_registers raise = {offsets[i], 1, ACK, 1};
        struct port_uio_registers acknowledge = {RAISE, 1, offsets[i], 1};
        refused(0, &raise, STATUS_UNSUPPORTED, "is no register", "multiple of 4");
        refused(0, &acknowledge, STATUS_UNSUPPORTED, "of 4096 bytes", "multiple of 4");
    }
    CHECK_SAME(changed_bytes(), 0);
    CHECK_SAME(command_high(), 0xff);
    take_away();
}

static void test_a_small_bar_lies_within_its_page(void)
{
    struct port_uio_registers registers = {0xfc, 3, PORT_UIO_NOT_GIVEN, 0};
    struct port_uio uio;
    make_up();
    put(UIO_FOLDER "/device/resource", "0xfea00800 0xfea008ff 0x40200\n");
    opened(&registers, &uio);
    port_uio_raise(&uio);
    CHECK_SAME(register_at(0x8fc), 3);
    CHECK_SAME(changed_bytes(), 4);
    port_uio_close(&uio);
    registers.raise_offset = 0x100; /* of the device beside it */
    refused(0, &registers, STATUS_UNSUPPORTED, "of 256 bytes", "");
    take_away();
}

static void test_what_has_no_memory(void)
{
    make_up();
    put(UIO_FOLDER "/device/resource", "0xc000 0xc0ff 0x40101\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "BAR 0 is a range of I/O ports", "registers in memory");
    put(UIO_FOLDER "/device/resource", "0x0 0x0 0x0\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "BAR 0 is empty", "registers in memory");
    put(UIO_FOLDER "/device/resource", "hello\n");
    refused(0, NULL, STATUS_FAILED, "cannot read its resources", "");
    put(UIO_FOLDER "/device/resource", UIO_MEMORY_LINE);
    machine.map_error = EINVAL;
    refused(0, NULL, STATUS_UNSUPPORTED, "does not map its registers", "use a kernel");
    machine.map_error = 0;
    unlink(below(UIO_FOLDER "/device/vendor"));
    struct port_uio_registers given = {RAISE, 1, PORT_UIO_NOT_GIVEN, 0};
    refused(0, &given, STATUS_UNSUPPORTED, "its driver offers no memory", "registers in memory");
    take_away();
}

static void test_a_device_that_is_not_on_pci(void)
{
    struct port_uio_registers given = {8, 6, 12, 1};
    struct port_uio uio;
    make_up();
    unlink(below(UIO_FOLDER "/device/vendor"));
    unlink(below(UIO_FOLDER "/device/irq"));
    put(UIO_FOLDER "/name", "board\n");
    put(UIO_FOLDER "/maps/map0/size", "0x20\n");
    put(UIO_FOLDER "/maps/map0/offset", "0x40\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "uio0 (board, no PCI device)", "register");
    opened(&given, &uio);
    CHECK_SAME((unsigned char *)uio.raise - (unsigned char *)uio.memory, 0x48);
    port_uio_raise(&uio);
    CHECK_SAME(*uio.raise, 6);
    CHECK_SAME(uio.irq, -1);
    CHECK_SAME(port_uio_cpu(&uio), -1);
    port_uio_close(&uio);
    CHECK_SAME(changed_bytes(), 0);
    given.raise_offset = 0x20;
    refused(0, &given, STATUS_UNSUPPORTED, "of 32 bytes", "");
    take_away();
}

static void test_refusals(void)
{
    static const char *const paths[] = {"/dev/uio0", "/device/resource0", "/device/config"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        make_up();
        machine.refused = paths[i];
        machine.error = EACCES;
        refused(0, NULL, STATUS_DENIED, "uio0: cannot", "run it as root");
        put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
        refused(0, NULL, STATUS_DENIED, "the kernel is locked down", "without lockdown");
        put("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
        refused(0, NULL, STATUS_DENIED, "uio0: cannot", "run it as root");
        machine.error = ENODEV;
        refused(0, NULL, STATUS_FAILED, "uio0: cannot", "");
        take_away();
    }
    make_up();
    machine.write_error = EIO;
    refused(0, NULL, STATUS_UNSUPPORTED, "it has no interrupt line", "take a device");
    machine.write_error = ENODEV;
    refused(0, NULL, STATUS_FAILED, "cannot enable its interrupt", "");
    take_away();
}

static void test_a_file_that_is_another_device_is_not_touched(void)
{
    make_up();
    put(UIO_FOLDER "/dev", "244:0\n");
    refused(0, NULL, STATUS_FAILED, "/dev/uio0 is not the device with the number 244:0", "");
    unlink(below("/dev/uio0"));
    refused(0, NULL, STATUS_UNSUPPORTED, "there is no file /dev/uio0", "devtmpfs");
    put("/dev/uio0", "a file\n");
    refused(0, NULL, STATUS_FAILED, "/dev/uio0 is not the device", "");
    CHECK_SAME(changed_bytes(), 0);
    CHECK_SAME(machine.writes, 0);
    CHECK_SAME(command_high(), 0xff);
    take_away();
}

static void test_the_cpu_that_serves(void)
{
    struct port_uio uio;
    make_up();
    opened(NULL, &uio);
    CHECK_SAME(port_uio_cpu(&uio), -1);
    put("/proc/irq/11/effective_affinity_list", "1\n");
    CHECK_SAME(port_uio_cpu(&uio), 1);
    put("/proc/irq/11/effective_affinity_list", "0-1\n");
    CHECK_SAME(port_uio_cpu(&uio), -1);
    port_uio_close(&uio);
    take_away();
}

/* The begin of a line of /proc/PID/stat up to rt_priority, as Linux writes it. */
#define STAT_OF(name, priority)                                                                    \
    "66 (" name                                                                                    \
    ") S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -51 0 1 0 71 0 0 18446744073709551615 0 0 "            \
    "0 0 0 0 0 2147483647 0 0 0 0 17 1 " priority " 1 0 0 0\n"

static void test_the_thread_that_serves(void)
{
    struct port_uio uio;
    make_up();
    opened(NULL, &uio);
    put("/proc/65/comm", "irq/11-uio_pci\n");
    put("/proc/65/stat", STAT_OF("irq/11-uio_pci", "77"));
    CHECK_SAME(port_uio_handler_priority(&uio), -1);
    put("/proc/66/comm", "irq/11-uio_pci_\n"); /* the kernel cuts names */
    put("/proc/66/stat", STAT_OF("irq/11-uio) _", "50"));
    CHECK_SAME(port_uio_handler_priority(&uio), 50);
    put("/proc/66/comm", "irq/11-uio_pci_generic\n");
    CHECK_SAME(port_uio_handler_priority(&uio), 50);
    put("/proc/66/stat", "66 (irq/11-uio_pci_) S 2 0\n");
    CHECK_SAME(port_uio_handler_priority(&uio), -1);
    uio.irq = -1;
    CHECK_SAME(port_uio_handler_priority(&uio), -1);
    port_uio_close(&uio);
    take_away();
}

TAP_MAIN({"edu is known", test_edu_is_known},
         {"a device is closed with its interrupt taken back",
          test_a_device_is_closed_with_its_interrupt_taken_back},
         {"only the bit that blocks the line is cleared",
          test_only_the_bit_that_blocks_the_line_is_cleared},
         {"a driver that enables is asked", test_a_driver_that_enables_is_asked},
         {"a driver without a switch leaves the line on",
          test_a_driver_without_a_switch_leaves_the_line_on},
         {"waiting gives the count", test_waiting_gives_the_count},
         {"what is not there", test_what_is_not_there},
         {"a device that is not known needs its registers",
          test_a_device_that_is_not_known_needs_its_registers},
         {"no register outside of the device", test_no_register_outside_of_the_device},
         {"a small BAR lies within its page", test_a_small_bar_lies_within_its_page},
         {"what has no memory", test_what_has_no_memory},
         {"a device that is not on PCI", test_a_device_that_is_not_on_pci},
         {"refusals", test_refusals},
         {"a file that is another device is not touched",
          test_a_file_that_is_another_device_is_not_touched},
         {"the CPU that serves", test_the_cpu_that_serves},
         {"the thread that serves", test_the_thread_that_serves})

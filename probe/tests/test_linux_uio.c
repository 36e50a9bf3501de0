/* UIO devices of Linux, on a made-up machine with QEMU's edu as /dev/uio0, which /dev/zero stands
 * for; files stand for its registers and its config space. */
#include "base/posix_source.h"

#include "linux_machine.h"
#include "port/device.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the machine: what it says, and what is refused, the test chooses ---- */

#define UIO "/sys/class/uio/uio0"
#define UIO_REGISTERS UIO "/device/resource0"
#define UIO_CONFIG UIO "/device/config"
#define UIO_MEMORY_LINE "0x00000000fea00000 0x00000000fea00fff 0x0000000000040200\n"
#define LOCKDOWN "/sys/kernel/security/lockdown"

enum { UIO_REGISTERS_BYTES = 8192, UIO_REGISTERS_FILL = 0xaa, UIO_CONFIG_BYTES = 64 };

static struct {
    const char *refused; /* end of the path whose open fails with `error` */
    int error;
    int map_error;
    int write_error; /* of irqcontrol; 0: the driver has it */
    int writes;
    int32_t written;
    int read_error;
    ssize_t read_bytes;
    uint32_t count; /* what a read gives */
} machine;

static bool is_refused(const char *path)
{
    size_t length = strlen(path), tail = machine.refused ? strlen(machine.refused) : length + 1;
    return length >= tail && strcmp(path + length - tail, machine.refused) == 0;
}

static void *map_failed(void)
{
    errno = machine.map_error;
    return MAP_FAILED;
}

WRAP_IF_LARGE(is_refused(path), tap_fail(machine.error), int, open,
              (const char *path, int flags, ...), (path, flags, 0600));
WRAP_IF_LARGE(machine.map_error, map_failed(), void *, mmap,
              (void *at, size_t bytes, int may, int flags, int file, off_t offset),
              (at, bytes, may, flags, file, offset));

static bool is_device(int file)
{
    struct stat state, zero;
    return fstat(file, &state) == 0 && stat("/dev/zero", &zero) == 0 && S_ISCHR(state.st_mode) &&
           state.st_rdev == zero.st_rdev;
}

WRAP(ssize_t, write, int file, const void *bytes, size_t count)
{
    if (!is_device(file))
        return __real_write(file, bytes, count);
    machine.writes++;
    if (count == sizeof machine.written)
        memcpy(&machine.written, bytes, count);
    return machine.write_error ? tap_fail(machine.write_error) : (ssize_t)count;
}

WRAP(ssize_t, read, int file, void *bytes, size_t count)
{
    if (!is_device(file))
        return __real_read(file, bytes, count);
    CHECK_SAME(count, sizeof machine.count);
    memcpy(bytes, &machine.count, sizeof machine.count);
    return machine.read_error ? tap_fail(machine.read_error) : machine.read_bytes;
}

static void fill(const char *path, size_t bytes, int value)
{
    machine_put(path, "");
    FILE *file = fopen(machine_path(path), "w");
    for (size_t i = 0; file && i < bytes; i++)
        fputc(value, file);
    if (CHECK(file != NULL))
        fclose(file);
}

static void fetch(const char *path, unsigned char *bytes, size_t count)
{
    FILE *file = fopen(machine_path(path), "r");
    memset(bytes, 0xee, count);
    if (CHECK(file != NULL)) {
        CHECK_SAME(fread(bytes, 1, count, file), count);
        fclose(file);
    }
}

/* QEMU's edu, as uio_pci_generic shows it. */
static bool make_up(void)
{
    memset(&machine, 0, sizeof machine);
    machine.write_error = ENOSYS;
    machine.read_bytes = sizeof machine.count;
    machine_open();
    machine_put(UIO "/name", "uio_pci_generic\n");
    machine_put(UIO "/dev", "1:5\n"); /* of /dev/zero */
    machine_put(UIO "/event", "41\n");
    machine_put(UIO "/device/vendor", "0x1234\n");
    machine_put(UIO "/device/device", "0x11e8\n");
    machine_put(UIO "/device/irq", "11\n");
    machine_put(UIO "/device/resource", UIO_MEMORY_LINE);
    fill(UIO_REGISTERS, UIO_REGISTERS_BYTES, UIO_REGISTERS_FILL);
    fill(UIO_CONFIG, UIO_CONFIG_BYTES, 0xff);
    (void)mkdir(machine_path("/dev"), 0755);
    CHECK_SAME(symlink("/dev/zero", machine_path("/dev/uio0")), 0);
    return true;
}

/* ---- tests ---- */

enum { COMMAND_HIGH = 5, RAISE = 0x60, ACK = 0x64 };

static struct port_uio uio;

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

/* Opening device `number` is refused with this, and leaves nothing open and nothing written. */
static void refused(int number, const struct port_uio_registers *registers, enum status status,
                    const char *reason, const char *remedy)
{
    struct outcome outcome = {0};
    int files = tap_open_files();
    CHECK_SAME(port_uio_open(number, registers, &uio, &outcome), -1);
    CHECK_SAME(outcome.status, status);
    CHECK_HOLDS(outcome.reason, reason);
    CHECK_HOLDS(outcome.remedy, remedy);
    CHECK(!uio.is_open && !uio.memory);
    CHECK_SAME(tap_open_files(), files);
}

static void opened(const struct port_uio_registers *registers)
{
    struct outcome outcome = {0};
    if (!CHECK_SAME(port_uio_open(0, registers, &uio, &outcome), 0))
        printf("# %s\n", outcome.reason);
}

static void take_away(void)
{
    port_uio_close(&uio);
    machine_close();
}

#define DEVICE_TEST(what) TEST_IN(make_up(), take_away(), what)

DEVICE_TEST(edu_is_known)
{
    int files = tap_open_files();
    opened(NULL);
    CHECK_TEXT(uio.name, "uio_pci_generic");
    CHECK_SAME(uio.vendor, 0x1234);
    CHECK_SAME(uio.device, 0x11e8);
    CHECK_SAME(uio.irq, 11);
    char command[80];
    port_uio_route_command(&uio, 1, command, sizeof command);
    CHECK_TEXT(command, "echo 1 > /proc/irq/11/smp_affinity_list");
    CHECK_SAME(uio.first_count, 41);
    CHECK_SAME(register_at(ACK), 1); /* what an ended program left raised */
    CHECK_SAME(changed_bytes(), 4);  /* and nothing is raised */
    port_uio_raise(&uio);
    CHECK_SAME(register_at(RAISE), 1);
    CHECK_SAME(changed_bytes(), 8);
    port_uio_close(&uio);
    CHECK(!uio.is_open);
    CHECK_SAME(tap_open_files(), files);
    port_uio_close(&uio);
    opened(&(struct port_uio_registers){RAISE, 7, ACK, 9});
    port_uio_raise(&uio);
    CHECK_SAME(register_at(RAISE), 7);
    *uio.acknowledge = 0;
    port_uio_close(&uio); /* its interrupt is taken back */
    CHECK_SAME(register_at(ACK), 9);
}

DEVICE_TEST(only_the_bit_that_blocks_the_line_is_cleared)
{
    unsigned char before[UIO_CONFIG_BYTES], after[UIO_CONFIG_BYTES];
    opened(NULL);
    CHECK_SAME(command_high(), 0xfb);
    fill(UIO_CONFIG, UIO_CONFIG_BYTES, 0x0c); /* as after an interrupt */
    fetch(UIO_CONFIG, before, sizeof before);
    CHECK_SAME(port_uio_enable(&uio), 0);
    fetch(UIO_CONFIG, after, sizeof after);
    CHECK_SAME(after[COMMAND_HIGH], 0x08);
    after[COMMAND_HIGH] = before[COMMAND_HIGH];
    CHECK(memcmp(before, after, sizeof after) == 0);
    machine_put(UIO_CONFIG, ""); /* the device has gone */
    CHECK_SAME(port_uio_enable(&uio), EIO);
}

DEVICE_TEST(a_driver_that_enables_is_asked)
{
    machine.write_error = 0;
    opened(NULL);
    CHECK(uio.has_irqcontrol);
    CHECK_SAME(machine.writes, 1);
    CHECK_SAME(machine.written, 1);
    CHECK_SAME(port_uio_enable(&uio), 0);
    CHECK_SAME(machine.writes, 2);
    CHECK_SAME(command_high(), 0xff);
    machine.write_error = ENODEV;
    CHECK_SAME(port_uio_enable(&uio), ENODEV);
}

DEVICE_TEST(a_driver_without_a_switch_leaves_the_line_on)
{
    machine_put(UIO "/name", "own_driver\n");
    opened(NULL);
    CHECK(!uio.has_irqcontrol);
    CHECK_SAME(uio.config_file, -1);
    CHECK_SAME(port_uio_enable(&uio), 0);
    CHECK_SAME(command_high(), 0xff);
}

DEVICE_TEST(waiting_gives_the_count)
{
    uint32_t count = 0;
    opened(NULL);
    machine.count = 44; /* three, of which two are seen as one */
    CHECK_SAME(port_uio_wait(&uio, &count), 0);
    CHECK_SAME(count - uio.first_count, 3);
    machine.read_error = EINTR;
    CHECK_SAME(port_uio_wait(&uio, &count), EINTR);
    machine.read_error = 0;
    machine.read_bytes = 2;
    CHECK_SAME(port_uio_wait(&uio, &count), EIO);
}

DEVICE_TEST(what_is_not_there)
{
    refused(1, NULL, STATUS_UNSUPPORTED, "UIO device 1 does not exist", "uio0");
    refused(-1, NULL, STATUS_UNSUPPORTED, "UIO device -1 does not exist", "uio0");
    refused(1000000, NULL, STATUS_UNSUPPORTED, "UIO device 1000000 does not exist", "uio0");
    machine_remove("/sys/class");
    struct outcome outcome = {0};
    CHECK_SAME(port_uio_open(0, NULL, &uio, &outcome), -1);
    CHECK_TEXT(outcome.reason, "there is no UIO device");
    CHECK_TEXT(outcome.command, "modprobe uio_pci_generic");
}

static void opened_to_serve(void)
{
    struct outcome outcome = {0};
    if (!CHECK_SAME(port_uio_open_to_serve(0, &uio, &outcome), 0))
        printf("# %s\n", outcome.reason);
}

DEVICE_TEST(who_only_serves_needs_no_registers)
{
    int files = tap_open_files();
    opened_to_serve(); /* edu is known */
    port_uio_raise(&uio);
    CHECK_SAME(register_at(RAISE), 1);
    port_uio_close(&uio);
    machine_put(UIO "/device/vendor", "0x8086\n");
    fill(UIO_REGISTERS, UIO_REGISTERS_BYTES, UIO_REGISTERS_FILL);
    opened_to_serve();
    CHECK(uio.is_open && !uio.raise && !uio.acknowledge && !uio.memory);
    CHECK_SAME(uio.first_count, 41);
    port_uio_acknowledge(&uio);
    CHECK_SAME(port_uio_enable(&uio), 0);
    CHECK_SAME(changed_bytes(), 0);
    port_uio_close(&uio);
    CHECK_SAME(tap_open_files(), files);
    struct outcome outcome = {0};
    CHECK_SAME(port_uio_open_to_serve(1, &uio, &outcome), -1);
    CHECK_SAME(outcome.status, STATUS_UNSUPPORTED);
    outcome = (struct outcome){0};
    machine_put(UIO "/dev", "1:7\n"); /* the file is that of another device */
    CHECK_SAME(port_uio_open_to_serve(0, &uio, &outcome), -1);
    CHECK_SAME(outcome.status, STATUS_FAILED);
    CHECK_SAME(tap_open_files(), files);
}

DEVICE_TEST(a_device_that_is_not_known_needs_its_registers)
{
    struct port_uio_registers none = {PORT_UIO_NOT_GIVEN, 1, PORT_UIO_NOT_GIVEN, 1};
    struct port_uio_registers given = {0x10, 5, PORT_UIO_NOT_GIVEN, 1};
    machine_put(UIO "/device/vendor", "0x8086\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "uio0 (uio_pci_generic, PCI 8086:11e8)",
            "offset and value of the register");
    refused(0, &none, STATUS_UNSUPPORTED, "it is not known how to raise its interrupt", "manual");
    CHECK_SAME(changed_bytes(), 0);
    opened(&given);
    port_uio_acknowledge(&uio); /* it has no such register */
    CHECK_SAME(changed_bytes(), 0);
    port_uio_raise(&uio);
    CHECK_SAME(register_at(0x10), 5);
    CHECK_SAME(changed_bytes(), 4);
}

DEVICE_TEST(no_register_outside_of_the_device)
{
    static const int64_t offsets[] = {0x1000, 0xffe, -4, 2, INT64_MAX - 3};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        struct port_uio_registers raise = {offsets[i], 1, ACK, 1};
        struct port_uio_registers acknowledge = {RAISE, 1, offsets[i], 1};
        refused(0, &raise, STATUS_UNSUPPORTED, "is no register", "multiple of 4");
        refused(0, &acknowledge, STATUS_UNSUPPORTED, "of 4096 bytes", "multiple of 4");
    }
    CHECK_SAME(changed_bytes(), 0);
    CHECK_SAME(command_high(), 0xff);
}

DEVICE_TEST(a_small_bar_lies_within_its_page)
{
    struct port_uio_registers registers = {0xfc, 3, PORT_UIO_NOT_GIVEN, 0};
    machine_put(UIO "/device/resource", "0xfea00800 0xfea008ff 0x40200\n");
    opened(&registers);
    port_uio_raise(&uio);
    CHECK_SAME(register_at(0x8fc), 3);
    CHECK_SAME(changed_bytes(), 4);
    port_uio_close(&uio);
    registers.raise_offset = 0x100; /* of the device beside it */
    refused(0, &registers, STATUS_UNSUPPORTED, "of 256 bytes", "");
}

DEVICE_TEST(what_has_no_memory)
{
    machine_put(UIO "/device/resource", "0xc000 0xc0ff 0x40101\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "BAR 0 is a range of I/O ports", "registers in memory");
    machine_put(UIO "/device/resource", "0x0 0x0 0x0\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "BAR 0 is empty", "registers in memory");
    machine_put(UIO "/device/resource", "hello\n");
    refused(0, NULL, STATUS_FAILED, "cannot read its resources", "");
    machine_put(UIO "/device/resource", UIO_MEMORY_LINE);
    machine.map_error = EINVAL;
    refused(0, NULL, STATUS_UNSUPPORTED, "does not map its registers", "use a kernel");
    machine.map_error = 0;
    unlink(machine_path(UIO "/device/vendor"));
    struct port_uio_registers given = {RAISE, 1, PORT_UIO_NOT_GIVEN, 0};
    refused(0, &given, STATUS_UNSUPPORTED, "its driver maps no memory", "registers in memory");
}

DEVICE_TEST(a_device_that_is_not_on_pci)
{
    struct port_uio_registers given = {8, 6, 12, 1};
    unlink(machine_path(UIO "/device/vendor"));
    unlink(machine_path(UIO "/device/irq"));
    machine_put(UIO "/name", "board\n");
    machine_put(UIO "/maps/map0/size", "0x20\n");
    machine_put(UIO "/maps/map0/offset", "0x40\n");
    refused(0, NULL, STATUS_UNSUPPORTED, "uio0 (board, no PCI device)", "register");
    opened(&given);
    CHECK_SAME((unsigned char *)uio.raise - (unsigned char *)uio.memory, 0x48);
    port_uio_raise(&uio);
    CHECK_SAME(*uio.raise, 6);
    CHECK_SAME(uio.irq, -1);
    CHECK_SAME(port_uio_cpu(&uio), -1);
    port_uio_close(&uio);
    CHECK_SAME(changed_bytes(), 0);
    given.raise_offset = 0x20;
    refused(0, &given, STATUS_UNSUPPORTED, "of 32 bytes", "");
}

DEVICE_TEST(refusals)
{
    static const char *const paths[] = {"/dev/uio0", "/device/resource0", "/device/config"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        tap_row(paths[i]);
        machine.refused = paths[i];
        machine.error = EACCES;
        machine_put(LOCKDOWN, "none [integrity] confidentiality\n");
        refused(0, NULL, STATUS_DENIED, "the kernel is locked down", "without lockdown");
        machine_put(LOCKDOWN, "[none] integrity confidentiality\n");
        refused(0, NULL, STATUS_DENIED, "uio0: cannot", "run it as root");
        machine_remove(LOCKDOWN);
        refused(0, NULL, STATUS_DENIED, "uio0: cannot", "run it as root");
        machine.error = ENODEV;
        refused(0, NULL, STATUS_FAILED, "uio0: cannot", "");
    }
    tap_row("irqcontrol");
    machine.refused = NULL;
    machine.write_error = EIO;
    refused(0, NULL, STATUS_UNSUPPORTED, "it has no interrupt line", "take a device");
    machine.write_error = ENODEV;
    refused(0, NULL, STATUS_FAILED, "cannot enable its interrupt", "");
}

DEVICE_TEST(a_file_that_is_another_device_is_not_touched)
{
    machine_put(UIO "/dev", "244:0\n");
    refused(0, NULL, STATUS_FAILED, "/dev/uio0 is not the device with the number 244:0", "");
    unlink(machine_path("/dev/uio0"));
    refused(0, NULL, STATUS_UNSUPPORTED, "there is no file /dev/uio0", "devtmpfs");
    machine_put("/dev/uio0", "a file\n");
    refused(0, NULL, STATUS_FAILED, "/dev/uio0 is not the device", "");
    CHECK_SAME(changed_bytes(), 0);
    CHECK_SAME(machine.writes, 0);
    CHECK_SAME(command_high(), 0xff);
}

/* The begin of a line of /proc/PID/stat up to rt_priority, as Linux writes it. */
#define STAT_OF(name, priority)                                                                    \
    "66 (" name                                                                                    \
    ") S 2 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 -51 0 1 0 71 0 0 18446744073709551615 0 0 "            \
    "0 0 0 0 0 2147483647 0 0 0 0 17 1 " priority " 1 0 0 0\n"

DEVICE_TEST(the_cpu_and_the_thread_that_serve)
{
    opened(NULL);
    CHECK_SAME(port_uio_cpu(&uio), -1);
    machine_put("/proc/irq/11/effective_affinity_list", "1\n");
    CHECK_SAME(port_uio_cpu(&uio), 1);
    machine_put("/proc/irq/11/effective_affinity_list", "0-1\n");
    CHECK_SAME(port_uio_cpu(&uio), -1);
    machine_put("/proc/65/comm", "irq/11-uio_pci\n");
    machine_put("/proc/65/stat", STAT_OF("irq/11-uio_pci", "77"));
    CHECK_SAME(port_uio_handler_priority(&uio), -1);
    machine_put("/proc/66/comm", "irq/11-uio_pci_\n"); /* the kernel cuts names */
    machine_put("/proc/66/stat", STAT_OF("irq/11-uio) _", "50"));
    CHECK_SAME(port_uio_handler_priority(&uio), 50);
    machine_put("/proc/66/comm", "irq/11-uio_pci_generic\n");
    CHECK_SAME(port_uio_handler_priority(&uio), 50);
    machine_put("/proc/66/stat", "66 (irq/11-uio_pci_) S 2 0\n");
    CHECK_SAME(port_uio_handler_priority(&uio), -1);
    uio.irq = -1;
    CHECK_SAME(port_uio_handler_priority(&uio), -1);
}

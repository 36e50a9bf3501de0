/* Interrupts of UIO devices: /dev/uioN and /sys/class/uio/uioN. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/device.h"

#include "base/cpus.h"
#include "port/linux/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { UIO_PATH_BYTES = 96 };

/* ---- the registers, as memory ----
 *
 * Only pages of the device that the user named are mapped, and a register must lie within its
 * memory: a small BAR shares its page with those of other devices. */

enum { RESOURCE_IO = 0x100, RESOURCE_MEMORY = 0x200, REGISTER_BYTES = 4 };

/* The first memory of a device: `offset` of its begin in its page. */
struct memory {
    bool is_bar;
    uint64_t offset, bytes;
};

/* Path of `name` in the folder of the device in /sys. */
static const char *uio_path(int number, const char *name, char path[UIO_PATH_BYTES])
{
    snprintf(path, UIO_PATH_BYTES, "/sys/class/uio/uio%d/%s", number, name);
    return path;
}

static bool is_locked_down(void)
{
    char text[128];
    return linux_read("/sys/kernel/security/lockdown", text, sizeof text) &&
           !strstr(text, "[none]");
}

/* The outcome of a call that failed with `error`: the kernel's lockdown and missing privileges are
 * STATUS_DENIED. */
static int uio_refuse(struct outcome *outcome, int error, int number, const char *what)
{
    char whole[160];
    snprintf(whole, sizeof whole, "uio%d: %s", number, what);
    bool is_refused = error == EPERM || error == EACCES;
    if (is_refused && is_locked_down())
        return outcome_set(outcome, STATUS_DENIED, "boot without lockdown=",
                           "%s: the kernel is locked down and gives programs no access to devices",
                           whole);
    return outcome_set_errno(outcome, error, whole, is_refused ? "run it as root (sudo)" : NULL);
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Takes a number in hex from `text`. Not with sscanf, which brings 80 KB of the C library along. */
static bool next_hex(const char **text, uint64_t *number)
{
    char *end;
    *number = strtoull(*text, &end, 16);
    bool is_number = end != *text;
    *text = end;
    return is_number;
}

/* The first line of `resource`: first and last address of BAR 0, and its flags. */
static int find_bar(const struct port_uio *uio, struct memory *memory, struct outcome *outcome)
{
    char path[UIO_PATH_BYTES], text[4096];
    const char *rest = text;
    uint64_t first, last, flags;
    if (!linux_read(uio_path(uio->number, "device/resource", path), text, sizeof text) ||
        !next_hex(&rest, &first) || !next_hex(&rest, &last) || !next_hex(&rest, &flags))
        return uio_refuse(outcome, errno ? errno : EIO, uio->number, "cannot read its resources");
    if (!(flags & RESOURCE_MEMORY) || last <= first)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "take a device with registers in memory",
                           "uio%d: its BAR 0 is %s", uio->number,
                           flags & RESOURCE_IO ? "a range of I/O ports" : "empty");
    *memory = (struct memory){true, first % page_bytes(), last - first + 1};
    return 0;
}

static bool read_hex(const struct port_uio *uio, const char *name, uint64_t *number)
{
    char path[UIO_PATH_BYTES], text[64];
    const char *rest = text;
    return linux_read(uio_path(uio->number, name, path), text, sizeof text) &&
           next_hex(&rest, number);
}

static int find_map(const struct port_uio *uio, struct memory *memory, struct outcome *outcome)
{
    memory->is_bar = false;
    if (!read_hex(uio, "maps/map0/size", &memory->bytes) || memory->bytes == 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "take a device with registers in memory",
                           "uio%d: its driver maps no memory, so nothing can raise its interrupt",
                           uio->number);
    if (!read_hex(uio, "maps/map0/offset", &memory->offset))
        memory->offset = 0; /* kernels before 2.6.30 */
    return 0;
}

static int check_register(const struct port_uio *uio, const struct memory *memory, int64_t offset,
                          struct outcome *outcome)
{
    if (offset >= 0 && offset % REGISTER_BYTES == 0 && memory->bytes >= REGISTER_BYTES &&
        (uint64_t)offset <= memory->bytes - REGISTER_BYTES)
        return 0;
    return outcome_set(outcome, STATUS_UNSUPPORTED,
                       "give a multiple of 4 below the size, from the device's manual",
                       "uio%d: %" PRId64 " is no register of its memory of %" PRIu64 " bytes",
                       uio->number, offset, memory->bytes);
}

/* BAR 0 has a file of its own; map 0 is the begin of /dev/uioN. */
static int map(struct port_uio *uio, const struct memory *memory, uint64_t end_bytes)
{
    char path[UIO_PATH_BYTES], place[LINUX_PLACE_BYTES];
    size_t page = page_bytes(), bytes = (size_t)((memory->offset + end_bytes + page - 1) / page);
    int file = uio->file;
    if (memory->is_bar)
        file = open(linux_rooted(uio_path(uio->number, "device/resource0", path), place),
                    O_RDWR | O_SYNC | O_CLOEXEC);
    if (file < 0)
        return errno;
    bytes *= page;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int error = mapped == MAP_FAILED ? errno : 0;
    if (memory->is_bar)
        close(file);
    if (!error) {
        uio->memory = mapped;
        uio->memory_bytes = bytes;
    }
    return error;
}

static volatile uint32_t *at(const struct port_uio *uio, const struct memory *memory,
                             int64_t offset)
{
    unsigned char *begin = (unsigned char *)uio->memory + memory->offset;
    return (volatile uint32_t *)(void *)(begin + offset);
}

/* Maps the registers of the open device `uio`: BAR 0 of a PCI device, else its driver's map 0. Sets
 * uio->raise, acknowledge and their values, memory and memory_bytes. */
static int uio_memory_map(struct port_uio *uio, const struct port_uio_registers *registers,
                          struct outcome *outcome)
{
    struct memory memory = {0};
    bool has_acknowledge = registers->acknowledge_offset != PORT_UIO_NOT_GIVEN;
    int64_t raise = registers->raise_offset;
    int64_t acknowledge = has_acknowledge ? registers->acknowledge_offset : raise;
    if ((uio->vendor >= 0 ? find_bar : find_map)(uio, &memory, outcome) != 0 ||
        check_register(uio, &memory, raise, outcome) != 0 ||
        check_register(uio, &memory, acknowledge, outcome) != 0)
        return -1;
    int64_t last = raise > acknowledge ? raise : acknowledge;
    int error = map(uio, &memory, (uint64_t)last + REGISTER_BYTES);
    if (error == EINVAL)
        return outcome_set(outcome, STATUS_UNSUPPORTED,
                           "use a kernel whose driver lets it be mapped",
                           "uio%d: the kernel does not map its registers", uio->number);
    if (error)
        return uio_refuse(outcome, error, uio->number, "cannot map its registers");
    uio->raise = at(uio, &memory, raise);
    uio->acknowledge = has_acknowledge ? at(uio, &memory, acknowledge) : NULL;
    uio->raise_value = registers->raise_value;
    uio->acknowledge_value = registers->acknowledge_value;
    return 0;
}

#define FOLDER "/sys/class/uio"

/* The command register of PCI: two bytes, little-endian. The driver sets INTx disable at each
 * interrupt. */
enum { COMMAND = 4, COMMAND_BYTES = 2, INTX_DISABLE_HIGH = 0x04 };

static const struct {
    int vendor, device;
    struct port_uio_registers registers;
} known[] = {{0x1234, 0x11e8, {0x60, 1, 0x64, 1}}}; /* QEMU's edu */

static bool read_text(int number, const char *name, char *text, size_t bytes)
{
    char path[UIO_PATH_BYTES];
    return linux_read(uio_path(number, name, path), text, bytes);
}

static int64_t read_number(int number, const char *name, int base, int64_t otherwise)
{
    char text[64], *end;
    if (!read_text(number, name, text, sizeof text))
        return otherwise;
    int64_t value = strtoll(text, &end, base);
    return end == text ? otherwise : value;
}

/* "uio0, uio1", as far as there is room. */
static void list_devices(char *list, size_t bytes)
{
    DIR *folder = linux_open_folder(FOLDER);
    size_t used = 0;
    list[0] = '\0';
    for (struct dirent *entry = NULL; folder && (entry = readdir(folder)) && used < bytes;)
        if (strncmp(entry->d_name, "uio", 3) == 0)
            used += (size_t)snprintf(list + used, bytes - used, "%s%.12s", used ? ", " : "",
                                     entry->d_name);
    if (folder)
        closedir(folder);
}

static int refuse_missing(int number, struct outcome *outcome)
{
    char list[160], remedy[200];
    list_devices(list, sizeof list);
    snprintf(remedy, sizeof remedy, "choose an existing one: %s", list);
    if (list[0])
        return outcome_set(outcome, STATUS_UNSUPPORTED, remedy, "UIO device %d does not exist",
                           number);
    return outcome_set_remedy(
        outcome, STATUS_UNSUPPORTED,
        (struct remedy){"load its driver, and write the device's vendor and device number to "
                        "new_id of the driver in /sys/bus/pci/drivers",
                        "modprobe uio_pci_generic"},
        "there is no UIO device");
}

static int look(int number, struct port_uio *uio, struct outcome *outcome)
{
    char path[UIO_PATH_BYTES];
    if (number < 0 || number > PORT_UIO_MOST_NUMBER || !linux_exists(uio_path(number, "", path)))
        return refuse_missing(number, outcome);
    uio->number = number;
    if (!read_text(number, "name", uio->name, sizeof uio->name))
        uio->name[0] = '\0';
    uio->vendor = (int)read_number(number, "device/vendor", 16, -1);
    uio->device = (int)read_number(number, "device/device", 16, -1);
    uio->irq = (int)read_number(number, "device/irq", 10, -1);
    return 0;
}

/* NULL: it is not known how to raise its interrupt. */
static const struct port_uio_registers *known_registers(const struct port_uio *uio)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].vendor == uio->vendor && known[i].device == uio->device)
            return &known[i].registers;
    return NULL;
}

static int refuse_unknown(const struct port_uio *uio, struct outcome *outcome)
{
    char what[32] = "no PCI device";
    if (uio->vendor >= 0)
        snprintf(what, sizeof what, "PCI %04x:%04x", uio->vendor & 0xffff, uio->device & 0xffff);
    return outcome_set(outcome, STATUS_UNSUPPORTED,
                       "give the offset and value of the register that raises it, and of the one "
                       "that acknowledges it, from the device's manual",
                       "uio%d (%s, %s): it is not known how to raise its interrupt", uio->number,
                       uio->name, what);
}

/* The file in /dev must be the device that /sys describes. */
static int open_file(struct port_uio *uio, struct outcome *outcome)
{
    char path[32], place[LINUX_PLACE_BYTES], numbers[32] = "", found[32];
    struct stat state;
    snprintf(path, sizeof path, "/dev/uio%d", uio->number);
    uio->file = open(linux_rooted(path, place), O_RDWR | O_CLOEXEC);
    if (uio->file < 0 && errno == ENOENT)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "mount devtmpfs at /dev",
                           "uio%d: there is no file %s", uio->number, path);
    if (uio->file < 0 || fstat(uio->file, &state) != 0)
        return uio_refuse(outcome, errno, uio->number, "cannot open it");
    snprintf(found, sizeof found, "%u:%u", major(state.st_rdev), minor(state.st_rdev));
    read_text(uio->number, "dev", numbers, sizeof numbers);
    if (S_ISCHR(state.st_mode) && strcmp(numbers, found) == 0)
        return 0;
    return outcome_set(outcome, STATUS_FAILED, "create it again, or mount devtmpfs at /dev",
                       "uio%d: %s is not the device with the number %s", uio->number, path,
                       numbers);
}

static int write_irqcontrol(const struct port_uio *uio)
{
    const int32_t on = 1;
    ssize_t done = write(uio->file, &on, sizeof on);
    return done < 0 ? errno : done == sizeof on ? 0 : EIO;
}

/* Written as a whole: QEMU takes no notice of the bit where only its byte is written, and then
 * loses an interrupt that was pending. */
static int clear_intx_disable(const struct port_uio *uio)
{
    unsigned char command[COMMAND_BYTES];
    if (pread(uio->config_file, command, COMMAND_BYTES, COMMAND) != COMMAND_BYTES)
        return errno ? errno : EIO;
    command[1] &= (unsigned char)~INTX_DISABLE_HIGH;
    if (pwrite(uio->config_file, command, COMMAND_BYTES, COMMAND) != COMMAND_BYTES)
        return errno ? errno : EIO;
    return 0;
}

int port_uio_enable(const struct port_uio *uio)
{
    errno = 0;
    if (uio->has_irqcontrol)
        return write_irqcontrol(uio);
    return uio->config_file >= 0 ? clear_intx_disable(uio) : 0;
}

/* A driver without irqcontrol (ENOSYS) leaves its line on, but for uio_pci_generic. EIO: the device
 * has no interrupt. */
static int enable_first(struct port_uio *uio, struct outcome *outcome)
{
    char path[UIO_PATH_BYTES], place[LINUX_PLACE_BYTES];
    int error = write_irqcontrol(uio);
    uio->has_irqcontrol = !error;
    if (error == EIO)
        return outcome_set(outcome, STATUS_UNSUPPORTED, "take a device that has one",
                           "uio%d (%s): it has no interrupt line", uio->number, uio->name);
    if (error != ENOSYS || strcmp(uio->name, "uio_pci_generic") != 0)
        return error && error != ENOSYS
                   ? uio_refuse(outcome, error, uio->number, "cannot enable its interrupt")
                   : 0;
    uio->config_file =
        open(linux_rooted(uio_path(uio->number, "device/config", path), place), O_RDWR | O_CLOEXEC);
    error = uio->config_file < 0 ? errno : port_uio_enable(uio);
    return error ? uio_refuse(outcome, error, uio->number, "cannot enable its interrupt") : 0;
}

/* Of the device that look() has found; `registers` NULL: none are mapped. */
static int open_found(struct port_uio *uio, const struct port_uio_registers *registers,
                      struct outcome *outcome)
{
    uio->is_open = true;
    int result = open_file(uio, outcome);
    result = result || !registers ? result : uio_memory_map(uio, registers, outcome);
    if (result == 0)
        port_uio_acknowledge(uio); /* an ended program may have left it raised */
    result = result ? result : enable_first(uio, outcome);
    if (result != 0)
        port_uio_close(uio);
    else
        uio->first_count = (uint32_t)read_number(uio->number, "event", 10, 0);
    return result;
}

int port_uio_open(int number, const struct port_uio_registers *registers, struct port_uio *uio,
                  struct outcome *outcome)
{
    *uio = (struct port_uio){.file = -1, .config_file = -1};
    if (look(number, uio, outcome) != 0)
        return -1;
    if (!registers || registers->raise_offset == PORT_UIO_NOT_GIVEN)
        registers = known_registers(uio);
    return registers ? open_found(uio, registers, outcome) : refuse_unknown(uio, outcome);
}

int port_uio_open_to_serve(int number, struct port_uio *uio, struct outcome *outcome)
{
    *uio = (struct port_uio){.file = -1, .config_file = -1};
    return look(number, uio, outcome) != 0 ? -1 : open_found(uio, known_registers(uio), outcome);
}

int port_uio_wait(const struct port_uio *uio, uint32_t *count)
{
    ssize_t got = read(uio->file, count, sizeof *count);
    return got < 0 ? errno : got == sizeof *count ? 0 : EIO;
}

int port_uio_cpu(const struct port_uio *uio)
{
    char path[64], text[256];
    struct cpus cpus;
    snprintf(path, sizeof path, "/proc/irq/%d/effective_affinity_list", uio->irq);
    if (uio->irq < 0 || !linux_read(path, text, sizeof text) || cpus_parse_list(text, &cpus) != 0 ||
        cpus_count(&cpus) != 1)
        return -1;
    return cpus_first(&cpus);
}

void port_uio_route_command(const struct port_uio *uio, int cpu, char *command, size_t bytes)
{
    snprintf(command, bytes, "echo %d > /proc/irq/%d/smp_affinity_list", cpu, uio->irq);
}

void port_uio_close(struct port_uio *uio)
{
    if (!uio->is_open)
        return;
    if (uio->memory) {
        port_uio_acknowledge(uio);
        munmap(uio->memory, uio->memory_bytes);
    }
    if (uio->config_file >= 0)
        close(uio->config_file);
    if (uio->file >= 0)
        close(uio->file);
    *uio = (struct port_uio){.file = -1, .config_file = -1};
}

/* ---- the thread that serves the interrupt ----
 *
 * The thread of the kernel that serves an interrupt, by its name: "irq/11-uio_pci_generic", which
 * kernels before 5.17 cut. */

enum {
    CUT_CHARS = 15, /* TASK_COMM_LEN without its 0 */
    STATE = 3,      /* first field of /proc/PID/stat behind the name */
    RT_PRIORITY = 40,
};

static bool has_name(const char *process, const char *name)
{
    char path[64], found[PORT_UIO_NAME_BYTES + 32];
    snprintf(path, sizeof path, "/proc/%.20s/comm", process);
    if (!linux_read(path, found, sizeof found))
        return false;
    return strcmp(found, name) == 0 ||
           (strlen(found) == CUT_CHARS && strncmp(found, name, CUT_CHARS) == 0);
}

static int priority_of(const char *process)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", process);
    char *at = linux_read(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    for (int field = STATE; at && field <= RT_PRIORITY; field++)
        at = strchr(at + 1, ' ');
    return at ? (int)strtol(at + 1, NULL, 10) : -1;
}

int port_uio_handler_priority(const struct port_uio *uio)
{
    char name[PORT_UIO_NAME_BYTES + 32];
    int priority = -1;
    DIR *folder = uio->irq < 0 ? NULL : linux_open_folder("/proc");
    snprintf(name, sizeof name, "irq/%d-%s", uio->irq, uio->name);
    for (struct dirent *entry = NULL; folder && priority < 0 && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && has_name(entry->d_name, name))
            priority = priority_of(entry->d_name);
    if (folder)
        closedir(folder);
    return priority;
}

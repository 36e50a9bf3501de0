/* Sources of facts that only people and the doctor need: what the kernel's files hold, as it is.
 * The toolkit reads them (src/hardstone/raw_facts.py), from a run of years ago too. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Of one source, less than a text of a document may have; of a packed configuration. */
enum { SOURCE_BYTES = 60000, PACKED_BYTES = 1 << 19, STATES = 16 };

enum kind {
    WHOLE,
    FIRST_LINE,
    LINK,     /* what it is linked to */
    PRESENCE, /* whether it is there */
    EACH_CPU, /* first lines of the files of all online CPUs; of CPU 0 where they are not known */
    EACH_NAME /* the first line of each "NAME : value" */
};

/* `*` in a path stands for a part of one name; of EACH_CPU for the CPU's number. */
static const struct {
    enum kind kind;
    const char *path;
} sources[] = {
    {WHOLE, "/etc/os-release"},
    {WHOLE, "/etc/security/limits.conf"},
    {WHOLE, "/etc/security/limits.d/*.conf"},
    {WHOLE, "/proc/cmdline"},
    {WHOLE, "/proc/device-tree/compatible"},
    {WHOLE, "/proc/device-tree/fw-cfg@*/compatible"},
    {WHOLE, "/proc/device-tree/hypervisor/compatible"},
    {WHOLE, "/proc/device-tree/model"},
    {WHOLE, "/proc/meminfo"},
    {WHOLE, "/proc/self/cgroup"},
    {WHOLE, "/proc/sys/kernel/nmi_watchdog"},
    {WHOLE, "/proc/sys/kernel/numa_balancing"},
    {WHOLE, "/proc/sys/kernel/random/boot_id"},
    {WHOLE, "/proc/sys/kernel/sched_rt_period_us"},
    {WHOLE, "/proc/sys/kernel/sched_rt_runtime_us"},
    {WHOLE, "/proc/sys/kernel/soft_watchdog"},
    {WHOLE, "/proc/sys/kernel/tainted"},
    {WHOLE, "/proc/sys/kernel/timer_migration"},
    {WHOLE, "/proc/sys/kernel/watchdog"},
    {WHOLE, "/proc/sys/kernel/watchdog_thresh"},
    {WHOLE, "/run/systemd/container"},
    {WHOLE, "/sys/class/dmi/id/board_name"},
    {WHOLE, "/sys/class/dmi/id/product_name"},
    {WHOLE, "/sys/class/dmi/id/sys_vendor"},
    {WHOLE, "/sys/class/power_supply/*/scope"},
    {WHOLE, "/sys/class/power_supply/*/status"},
    {WHOLE, "/sys/class/power_supply/*/type"},
    {WHOLE, "/sys/class/thermal/cooling_device*/cur_state"},
    {WHOLE, "/sys/class/thermal/cooling_device*/type"},
    {WHOLE, "/sys/devices/system/clocksource/clocksource0/available_clocksource"},
    {WHOLE, "/sys/devices/system/clocksource/clocksource0/current_clocksource"},
    {WHOLE, "/sys/devices/system/cpu/cpuidle/current_driver"},
    {WHOLE, "/sys/devices/system/cpu/cpuidle/current_governor"},
    {WHOLE, "/sys/devices/system/cpu/isolated"},
    {WHOLE, "/sys/devices/system/cpu/nohz_full"},
    {WHOLE, "/sys/devices/system/cpu/online"},
    {WHOLE, "/sys/devices/system/cpu/possible"},
    {WHOLE, "/sys/devices/system/cpu/smt/active"},
    {WHOLE, "/sys/devices/system/cpu/smt/control"},
    {WHOLE, "/sys/devices/system/cpu/vulnerabilities/*"},
    {WHOLE, "/sys/fs/cgroup/cpuset.cpus.isolated"},
    {WHOLE, "/sys/hypervisor/type"},
    {WHOLE, "/sys/kernel/mm/ksm/run"},
    {WHOLE, "/sys/kernel/mm/transparent_hugepage/enabled"},
    {WHOLE, "/sys/kernel/realtime"},
    {FIRST_LINE, "/proc/stat"},
    {EACH_NAME, "/proc/cpuinfo"},
    {LINK, "/proc/1/ns/mnt"},
    {LINK, "/proc/self/ns/cgroup"},
    {LINK, "/proc/self/ns/mnt"},
    {LINK, "/proc/self/ns/pid"},
    {LINK, "/proc/self/ns/user"},
    {PRESENCE, "/.dockerenv"},
    {PRESENCE, "/proc/lockdep"},
    {PRESENCE, "/run/.containerenv"},
    {PRESENCE, "/sys/class/power_supply"},
    {PRESENCE, "/sys/devices/system/cpu/vulnerabilities"},
    {PRESENCE, "/sys/devices/system/node/node0"},
    {PRESENCE, "/sys/devices/system/node/node1"},
    {PRESENCE, "/sys/kernel/mm"},
    {PRESENCE, "/sys/kernel/mm/transparent_hugepage"},
    {PRESENCE, "/usr/bin/grubby"},
    {PRESENCE, "/usr/sbin/grubby"},
    {PRESENCE, "/usr/sbin/update-grub"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_max_freq"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/cpufreq/scaling_min_freq"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/regs/identification/midr_el1"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/thermal_throttle/package_throttle_count"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/topology/physical_package_id"},
    {EACH_CPU, "/sys/devices/system/cpu/cpu*/topology/thread_siblings_list"},
};

/* Options of the kernel's configuration begin so of which something follows; raw_facts.py keeps the
 * same of a packed one. */
static const char *const options[] = {"CONFIG_HZ",   "CONFIG_NO_HZ",  "CONFIG_PREEMPT",
                                      "CONFIG_RCU_", "CONFIG_PROVE_", "CONFIG_RT_GROUP_SCHED"};

struct reading {
    const struct port_source_sink *sink;
    char *text; /* of the source at work, SOURCE_BYTES */
    size_t used;
};

static void send(const struct reading *reading, const char *source)
{
    reading->sink->take(reading->sink->context, source, reading->text, reading->used);
}

/* Adds to the text what fits whole. */
static void add(struct reading *reading, const char *text, size_t bytes)
{
    if (bytes > SOURCE_BYTES - reading->used)
        return;
    memcpy(reading->text + reading->used, text, bytes);
    reading->used += bytes;
}

static bool read_bytes(const char *path, char *bytes, size_t most, size_t *used)
{
    char place[LINUX_PLACE_BYTES];
    int file = open(linux_rooted(path, place), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = 0;
    *used = 0;
    if (file < 0)
        return false;
    while (*used < most && (got = read(file, bytes + *used, most - *used)) > 0)
        *used += (size_t)got;
    close(file);
    return *used > 0 || got == 0;
}

static void send_whole(struct reading *reading, const char *path)
{
    if (read_bytes(path, reading->text, SOURCE_BYTES, &reading->used))
        send(reading, path);
}

static void send_first_line(struct reading *reading, const char *path)
{
    if (!read_bytes(path, reading->text, SOURCE_BYTES, &reading->used))
        return;
    const char *end = memchr(reading->text, '\n', reading->used);
    reading->used = end ? (size_t)(end - reading->text) : reading->used;
    send(reading, path);
}

static void send_link(struct reading *reading, const char *source, const char *path)
{
    char text[LINUX_PLACE_BYTES];
    reading->used = 0;
    if (!linux_link(path, text, sizeof text))
        return;
    add(reading, text, strlen(text));
    send(reading, source);
}

/* A file that names a CPU over and over is as long as the machine is wide. */
static void send_each_name(struct reading *reading, const char *path)
{
    FILE *file = linux_open(path);
    char line[8192], name[80];
    reading->used = 0;
    reading->text[0] = '\0';
    while (file && fgets(line, sizeof line, file)) {
        size_t length = strcspn(line, "\t:");
        if (!line[length] || length == 0 || length > sizeof name - 3)
            continue;
        snprintf(name, sizeof name, "\n%.*s%c", (int)length, line, line[length]);
        bool is_known = strncmp(reading->text, name + 1, length + 1) == 0 ||
                        strstr(reading->text, name) != NULL;
        if (is_known || strlen(line) >= SOURCE_BYTES - reading->used)
            continue;
        add(reading, line, strlen(line));
        reading->text[reading->used] = '\0';
    }
    if (!file)
        return;
    fclose(file);
    send(reading, path);
}

/* Sends the paths that `pattern` stands for: one of its names has one `*`. */
static void send_matching(struct reading *reading, const char *pattern)
{
    const char *star = strchr(pattern, '*'), *rest = star + strcspn(star, "/");
    const char *name = star;
    char folder[200], wanted[100], path[LINUX_PLACE_BYTES];
    struct dirent *entry;
    while (name[-1] != '/')
        name--;
    snprintf(folder, sizeof folder, "%.*s", (int)(name - pattern - 1), pattern);
    snprintf(wanted, sizeof wanted, "%.*s", (int)(rest - name), name);
    DIR *place = linux_open_folder(folder);
    while (place && (entry = readdir(place)))
        if (entry->d_name[0] != '.' && fnmatch(wanted, entry->d_name, 0) == 0) {
            snprintf(path, sizeof path, "%s/%.255s%s", folder, entry->d_name, rest);
            send_whole(reading, path);
        }
    if (place)
        closedir(place);
}

/* ---- one file for each CPU: lines "0-3 TEXT", the CPUs with the same text in a row together ----
 */

enum { LINE_BYTES = 128 };

typedef bool (*reader)(const char *path, char *text, size_t bytes);

struct each {
    struct reading *reading;
    const char *before, *behind; /* of the CPU's number in the path */
    reader read;
    int first, last; /* CPUs with `text`; first -1: none */
    char text[LINE_BYTES];
};

static void end_row(struct each *each)
{
    char line[LINE_BYTES + 32];
    if (each->first < 0)
        return;
    if (each->first == each->last)
        snprintf(line, sizeof line, "%d %s\n", each->first, each->text);
    else
        snprintf(line, sizeof line, "%d-%d %s\n", each->first, each->last, each->text);
    add(each->reading, line, strlen(line));
    each->first = -1;
}

static void look_at_cpu(void *context, int cpu)
{
    struct each *each = context;
    char path[200], text[LINE_BYTES];
    snprintf(path, sizeof path, "%s%d%s", each->before, cpu, each->behind);
    bool is_read = each->read(path, text, sizeof text);
    text[is_read ? strcspn(text, "\n") : 0] = '\0';
    if (is_read && each->first >= 0 && cpu == each->last + 1 && strcmp(text, each->text) == 0) {
        each->last = cpu;
        return;
    }
    end_row(each);
    if (!is_read)
        return;
    each->first = each->last = cpu;
    memcpy(each->text, text, sizeof text);
}

/* Returns whether some CPU has it. */
static bool send_each_cpu(struct reading *reading, const char *source, const char *path,
                          reader read_file)
{
    char before[100];
    const char *star = strchr(path, '*');
    snprintf(before, sizeof before, "%.*s", (int)(star - path), path);
    struct each each = {reading, before, star + 1, read_file, -1, -1, ""};
    reading->used = 0;
    if (!linux_each_online(look_at_cpu, &each))
        look_at_cpu(&each, 0);
    end_row(&each);
    if (reading->used)
        send(reading, source);
    return reading->used > 0;
}

static void send_idle_states(struct reading *reading)
{
    static const char *const files[] = {"latency", "name", "disable"};
    char path[100];
    bool is_there = true;
    for (int state = 0; state < STATES && is_there; state++)
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu*/cpuidle/state%d/%s", state,
                     files[i]);
            bool is_sent = send_each_cpu(reading, path, path, linux_read);
            is_there = i == 0 ? is_sent : is_there || is_sent;
        }
}

/* ---- debugfs and tracefs: sources "debugfs:PATH" ---- */

static bool read_debugfs(const char *path, char *text, size_t bytes)
{
    return linux_read_debug("debugfs", path, text, bytes);
}

static bool send_debug(struct reading *reading, const char *system, const char *path)
{
    char source[80];
    if (!linux_read_debug(system, path, reading->text, SOURCE_BYTES))
        return false;
    reading->used = strlen(reading->text);
    snprintf(source, sizeof source, "%s:%s", system, path);
    send(reading, source);
    return true;
}

static void send_debug_systems(struct reading *reading)
{
    static const char *const servers[][2] = {
        {"debugfs:sched/fair_server/cpu*/period", "sched/fair_server/cpu*/period"},
        {"debugfs:sched/fair_server/cpu*/runtime", "sched/fair_server/cpu*/runtime"}};
    send_debug(reading, "tracefs", "current_tracer");
    send_debug(reading, "tracefs", "events/enable");
    send_debug(reading, "tracefs", "tracing_on");
    send_debug(reading, "debugfs", "sched/features");
    if (!send_debug(reading, "debugfs", "sched/preempt")) {
        const char *state = linux_debug_state("debugfs", "sched/preempt");
        reading->used = 0;
        add(reading, state, strlen(state));
        send(reading, "debugfs"); /* why nothing is seen there */
    }
    for (size_t i = 0; i < sizeof servers / sizeof servers[0]; i++)
        send_each_cpu(reading, servers[i][0], servers[i][1], read_debugfs);
}

/* ---- the kernel's configuration ---- */

/* "CONFIG_HZ=250", "# CONFIG_HZ_PERIODIC is not set" */
static bool is_option(const char *line)
{
    line += strncmp(line, "# ", 2) == 0 ? 2 : 0;
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (strncmp(line, options[i], strlen(options[i])) == 0)
            return true;
    return false;
}

static void send_plain_config(struct reading *reading, const char *path)
{
    FILE *file = linux_open(path);
    char line[512];
    reading->used = 0;
    while (file && fgets(line, sizeof line, file))
        if (is_option(line))
            add(reading, line, strlen(line));
    if (!file)
        return;
    fclose(file);
    send(reading, path);
}

static void send_config(struct reading *reading)
{
    struct utsname names;
    char path[160], *packed = malloc(PACKED_BYTES);
    size_t bytes = 0;
    if (packed && read_bytes("/proc/config.gz", packed, PACKED_BYTES, &bytes))
        reading->sink->take(reading->sink->context, "/proc/config.gz", packed, bytes);
    free(packed);
    if (uname(&names) != 0)
        return;
    snprintf(path, sizeof path, "/boot/config-%.65s", names.release);
    send_plain_config(reading, path);
    snprintf(path, sizeof path, "/lib/modules/%.65s/config", names.release);
    send_plain_config(reading, path);
}

/* ---- what the processor says ---- */

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

static void send_signature(struct reading *reading, const char *source, unsigned first,
                           unsigned second, unsigned third)
{
    const unsigned words[] = {first, second, third};
    reading->used = 0;
    add(reading, (const char *)words, sizeof words);
    send(reading, source);
}

/* Leaf 0 names the vendor; leaf 1 says whether there is a hypervisor, leaf 0x40000000 names it. */
static void send_cpuid(struct reading *reading)
{
    unsigned a, b, c, d;
    if (__get_cpuid(0, &a, &b, &c, &d))
        send_signature(reading, "cpuid:0", b, d, c);
    reading->used = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 31)))
        return;
    __cpuid(0x40000000, a, b, c, d);
    send_signature(reading, "cpuid:0x40000000", b, c, d);
}
#else
static void send_cpuid(struct reading *reading)
{
    (void)reading;
}
#endif

/* ---- all ---- */

static void send_one(struct reading *reading, enum kind kind, const char *path)
{
    switch (kind) {
    case WHOLE:
        if (strchr(path, '*'))
            send_matching(reading, path);
        else
            send_whole(reading, path);
        break;
    case FIRST_LINE:
        send_first_line(reading, path);
        break;
    case LINK:
        send_link(reading, path, path);
        break;
    case PRESENCE:
        if (linux_exists(path))
            reading->sink->take(reading->sink->context, path, NULL, 0);
        break;
    case EACH_CPU:
        send_each_cpu(reading, path, path, linux_read);
        break;
    case EACH_NAME:
        send_each_name(reading, path);
        break;
    }
}

void port_sources(const struct port_source_sink *sink)
{
    char path[64];
    struct reading reading = {sink, malloc(SOURCE_BYTES), 0};
    if (!reading.text)
        return;
    for (size_t i = 0; i < sizeof sources / sizeof sources[0]; i++)
        send_one(&reading, sources[i].kind, sources[i].path);
    /* QEMU's user-mode emulation answers /proc/self/exe itself, but not that of a thread */
    snprintf(path, sizeof path, "/proc/self/task/%ld/exe", (long)getpid());
    send_link(&reading, "/proc/self/task/PID/exe", path);
    send_idle_states(&reading);
    send_debug_systems(&reading);
    send_config(&reading);
    send_cpuid(&reading);
    free(reading.text);
}

/* Facts about the machine and its kernel; the other topics are in facts_*.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port/linux/facts.h"

#include <string.h>
#include <time.h>

static const char tree_model_path[] = "/proc/device-tree/model";

static void text_fact(const struct port_fact_sink *sink, const char *name, const char *path)
{
    char text[1024];
    if (linux_read(path, text, sizeof text))
        sink->text(sink->context, name, text);
}

static void number_fact(const struct port_fact_sink *sink, const char *name, const char *path)
{
    int64_t number;
    if (linux_read_number(path, &number))
        sink->number(sink->context, name, number);
}

/* A list of CPUs that may be empty; older kernels print "(null)" then. */
static bool list_fact(const struct port_fact_sink *sink, const char *name, const char *path)
{
    char text[CPUS_TEXT_BYTES];
    if (!linux_read_any(path, text, sizeof text))
        return false;
    sink->text(sink->context, name, strcmp(text, "(null)") == 0 ? NULL : text);
    return true;
}

/* The coarse clock steps once a tick, so its resolution gives HZ without privilege. */
static void tick_fact(const struct port_fact_sink *sink)
{
    struct timespec step;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 && step.tv_sec == 0 && step.tv_nsec > 0)
        sink->number(sink->context, "kernel.hz", (1000000000 + step.tv_nsec / 2) / step.tv_nsec);
}

static void isolation_facts(const struct port_fact_sink *sink)
{
    char value[32];
    bool is_known = list_fact(sink, "kernel.isolated_cpus", "/sys/devices/system/cpu/isolated");
    /* a kernel without CONFIG_NO_HZ_FULL has no such file; both came with Linux 4.1 */
    bool has_nohz = list_fact(sink, "kernel.nohz_full_cpus", "/sys/devices/system/cpu/nohz_full");
    if (!has_nohz && is_known)
        sink->text(sink->context, "kernel.nohz_full_cpus", NULL);
    if (has_nohz || is_known)
        sink->truth(sink->context, "kernel.has_nohz_full", has_nohz);
    if (linux_config("CONFIG_RCU_NOCB_CPU", value, sizeof value))
        sink->truth(sink->context, "kernel.has_rcu_nocbs", strcmp(value, "y") == 0);
    list_fact(sink, "kernel.partition_cpus", "/sys/fs/cgroup/cpuset.cpus.isolated");
}

static void kernel_facts(const struct port_fact_sink *sink)
{
    linux_preemption_facts(sink);
    tick_fact(sink);
    isolation_facts(sink);
    linux_throttling_facts(sink);
    text_fact(sink, "kernel.cmdline", "/proc/cmdline");
    text_fact(sink, "kernel.clocksource",
              "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    text_fact(sink, "kernel.clocksources",
              "/sys/devices/system/clocksource/clocksource0/available_clocksource");
    number_fact(sink, "kernel.tainted", "/proc/sys/kernel/tainted");
    number_fact(sink, "kernel.timer_migration", "/proc/sys/kernel/timer_migration");
}

/* CPU vulnerabilities that the kernel mitigates, by name. */
static void mitigation_facts(const struct port_fact_sink *sink)
{
    static const char folder_name[] = "/sys/devices/system/cpu/vulnerabilities";
    char list[512] = "", path[400], text[512];
    struct linux_words words = {list, sizeof list, 0, 0};
    struct dirent *entry;
    int64_t active = 0;
    DIR *folder = linux_open_folder(folder_name);
    if (!folder)
        return;
    while ((entry = readdir(folder))) {
        snprintf(path, sizeof path, "%s/%.255s", folder_name, entry->d_name);
        if (entry->d_name[0] == '.' || !linux_read(path, text, sizeof text) ||
            !strstr(text, "Mitigation"))
            continue;
        active++;
        linux_add_word(&words, ", ", entry->d_name);
    }
    closedir(folder);
    sink->number(sink->context, "kernel.mitigations_count", active);
    sink->text(sink->context, "kernel.mitigations", words.used ? list : NULL);
}

static void cpu_model_fact(const struct port_fact_sink *sink)
{
    static const char *const names[] = {"Model", "uarch", "cpu model", "Hardware"};
    char text[256];
    bool is_known =
        linux_cpuinfo("model name", text, sizeof text) || linux_arm_model(text, sizeof text);
    for (size_t i = 0; !is_known && i < sizeof names / sizeof names[0]; i++)
        is_known = linux_cpuinfo(names[i], text, sizeof text);
    if (is_known || linux_read(tree_model_path, text, sizeof text))
        sink->text(sink->context, "machine.cpu_model", text);
}

/* What DMI calls product and board, or on machines without DMI the device tree. */
static void product_facts(const struct port_fact_sink *sink)
{
    char text[256];
    if (linux_read("/sys/class/dmi/id/product_name", text, sizeof text) ||
        linux_read(tree_model_path, text, sizeof text))
        sink->text(sink->context, "machine.product", text);
    if (linux_read("/sys/class/dmi/id/board_name", text, sizeof text) ||
        linux_read(tree_model_path, text, sizeof text))
        sink->text(sink->context, "machine.board", text);
}

struct siblings {
    bool is_shared;
    bool is_known;
};

static void look_at_siblings(void *context, int cpu)
{
    struct siblings *siblings = context;
    char path[96], list[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    siblings->is_known &= linux_read(path, list, sizeof list);
    siblings->is_shared |= siblings->is_known && strpbrk(list, ",-");
}

static void smt_fact(const struct port_fact_sink *sink)
{
    struct siblings siblings = {false, true};
    int64_t smt;
    if (linux_each_online(look_at_siblings, &siblings) && (siblings.is_known || siblings.is_shared))
        sink->truth(sink->context, "cpu.smt", siblings.is_shared);
    else if (linux_read_number("/sys/devices/system/cpu/smt/active", &smt))
        sink->truth(sink->context, "cpu.smt", smt != 0);
    text_fact(sink, "cpu.smt_control", "/sys/devices/system/cpu/smt/control");
}

/* The tool that edits the kernel command line, if it is a known one. */
static void boot_tool_fact(const struct port_fact_sink *sink)
{
    static const char *const places[][2] = {{"/usr/sbin/grubby", "grubby"},
                                            {"/usr/bin/grubby", "grubby"},
                                            {"/usr/sbin/update-grub", "update-grub"}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (linux_exists(places[i][0])) {
            sink->text(sink->context, "os.boot_tool", places[i][1]);
            return;
        }
}

static void machine_facts(const struct port_fact_sink *sink)
{
    cpu_model_fact(sink);
    product_facts(sink);
    list_fact(sink, "cpu.online", "/sys/devices/system/cpu/online");
    text_fact(sink, "cpu.possible", "/sys/devices/system/cpu/possible");
    smt_fact(sink);
    mitigation_facts(sink);
}

static void os_fact(const struct port_fact_sink *sink)
{
    FILE *file = linux_open("/etc/os-release");
    char line[512];
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "PRETTY_NAME=", 12) != 0)
            continue;
        char *from = line + 12 + (line[12] == '"');
        from[strcspn(from, "\"\n")] = '\0';
        sink->text(sink->context, "os.name", from);
        break;
    }
    if (file)
        fclose(file);
}

void port_facts(const struct port_fact_sink *sink)
{
    os_fact(sink);
    text_fact(sink, "os.boot_id", "/proc/sys/kernel/random/boot_id");
    boot_tool_fact(sink);
    machine_facts(sink);
    kernel_facts(sink);
    linux_debug_facts(sink);
    linux_memory_facts(sink);
    linux_power_facts(sink);
    linux_idle_facts(sink);
    linux_interrupt_facts(sink);
    linux_virtual_facts(sink);
    linux_right_facts(sink);
    linux_task_facts(sink);
}

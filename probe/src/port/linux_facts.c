/* Facts about the machine, from the kernel's files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "port.h"

#include "linux_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

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

/* The active word of a list such as "none [voluntary] full". */
static bool bracketed(const char *path, char *word, size_t bytes)
{
    char text[512];
    if (!linux_read(path, text, sizeof text))
        return false;
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;
    char *from = strchr(text, '('); /* sched/preempt of debugfs: "none (voluntary) full" */
    if (!close && from) {
        open = from;
        close = strchr(from, ')');
    }
    if (!close)
        return false;
    *close = '\0';
    snprintf(word, bytes, "%s", open + 1);
    return true;
}

/* The model as the kernel's version line tells it; a dynamic kernel needs debugfs or the
 * boot line to tell which one is active. */
static void preemption_fact(const struct port_fact_sink *sink)
{
    struct utsname names;
    char active[64], line[4096];
    if (uname(&names) != 0)
        return;
    const char *model = strstr(names.version, "PREEMPT_RT")        ? "rt"
                        : strstr(names.version, "PREEMPT_DYNAMIC") ? "dynamic"
                        : strstr(names.version, "PREEMPT")         ? "full"
                                                                   : "none or voluntary";
    sink->truth(sink->context, "kernel.realtime", strcmp(model, "rt") == 0);
    if (strcmp(model, "dynamic") != 0) {
        sink->text(sink->context, "kernel.preemption", model);
        return;
    }
    char text[128];
    if (bracketed("/sys/kernel/debug/sched/preempt", active, sizeof active)) {
        snprintf(text, sizeof text, "%s (dynamic)", active);
    } else {
        const char *option = NULL;
        if (linux_read("/proc/cmdline", line, sizeof line))
            option = strstr(line, "preempt=");
        if (option)
            snprintf(text, sizeof text, "%.*s (dynamic, boot line)", (int)strcspn(option + 8, " "),
                     option + 8);
        else
            snprintf(text, sizeof text, "dynamic (active model not visible)");
    }
    sink->text(sink->context, "kernel.preemption", text);
}

/* The coarse clock steps once a tick: its resolution tells HZ without privilege. */
static void tick_fact(const struct port_fact_sink *sink)
{
    struct timespec step;
    if (clock_getres(CLOCK_MONOTONIC_COARSE, &step) == 0 && step.tv_sec == 0 && step.tv_nsec > 0)
        sink->number(sink->context, "kernel.hz", (1000000000 + step.tv_nsec / 2) / step.tv_nsec);
}

static void kernel_facts(const struct port_fact_sink *sink)
{
    char active[64];
    preemption_fact(sink);
    tick_fact(sink);
    text_fact(sink, "kernel.cmdline", "/proc/cmdline");
    text_fact(sink, "kernel.clocksource",
              "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    number_fact(sink, "kernel.rt_runtime_us", "/proc/sys/kernel/sched_rt_runtime_us");
    number_fact(sink, "kernel.rt_period_us", "/proc/sys/kernel/sched_rt_period_us");
    number_fact(sink, "kernel.tainted", "/proc/sys/kernel/tainted");
    number_fact(sink, "kernel.timer_migration", "/proc/sys/kernel/timer_migration");
    number_fact(sink, "kernel.nmi_watchdog", "/proc/sys/kernel/nmi_watchdog");
    text_fact(sink, "kernel.isolated_cpus", "/sys/devices/system/cpu/isolated");
    text_fact(sink, "kernel.nohz_full_cpus", "/sys/devices/system/cpu/nohz_full");
    if (bracketed("/sys/kernel/mm/transparent_hugepage/enabled", active, sizeof active))
        sink->text(sink->context, "memory.transparent_hugepage", active);
}

static void cpu_model_fact(const struct port_fact_sink *sink)
{
    static const char *const names[] = {"model name", "Model", "uarch", "cpu model", "Hardware"};
    char text[256];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (linux_cpuinfo(names[i], text, sizeof text)) {
            sink->text(sink->context, "machine.cpu_model", text);
            return;
        }
}

/* "POLL, C1, C6" */
static void idle_fact(const struct port_fact_sink *sink)
{
    char text[256] = "", path[96], name[64];
    size_t used = 0;
    for (int state = 0; state < 16; state++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cpuidle/state%d/name", state);
        if (!linux_read(path, name, sizeof name))
            break;
        int wrote = snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", name);
        if (wrote < 0 || (used += (size_t)wrote) >= sizeof text)
            break;
    }
    sink->text(sink->context, "power.idle_states", used ? text : NULL);
}

static void machine_facts(const struct port_fact_sink *sink)
{
    cpu_model_fact(sink);
    text_fact(sink, "cpu.online", "/sys/devices/system/cpu/online");
    text_fact(sink, "cpu.possible", "/sys/devices/system/cpu/possible");
    int64_t smt;
    if (linux_read_number("/sys/devices/system/cpu/smt/active", &smt))
        sink->truth(sink->context, "cpu.smt", smt != 0);
    text_fact(sink, "power.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    text_fact(sink, "power.idle_governor", "/sys/devices/system/cpu/cpuidle/current_governor");
    idle_fact(sink);
    sink->number(sink->context, "memory.total_bytes",
                 (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    text_fact(sink, "machine.product", "/sys/class/dmi/id/product_name");
}

static void os_fact(const struct port_fact_sink *sink)
{
    FILE *file = fopen("/etc/os-release", "re");
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

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

/* Leaf 0x40000000 names the hypervisor when the processor says that there is one. */
static bool hypervisor(char *name, size_t bytes)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 31)))
        return false;
    unsigned words[3];
    __cpuid(0x40000000, a, words[0], words[1], words[2]);
    char text[13];
    memcpy(text, words, 12);
    text[12] = '\0';
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    snprintf(name, bytes, "%s", *text ? text : "unnamed");
    return true;
}
#else
static bool hypervisor(char *name, size_t bytes)
{
    if (linux_read("/sys/hypervisor/type", name, bytes))
        return true;
    return linux_read("/proc/device-tree/hypervisor/compatible", name, bytes);
}
#endif

static const char *container(void)
{
    if (access("/.dockerenv", F_OK) == 0)
        return "docker";
    if (access("/run/.containerenv", F_OK) == 0)
        return "podman";
    return NULL;
}

static void virtual_facts(const struct port_fact_sink *sink)
{
    char name[64];
    sink->text(sink->context, "virtual.hypervisor", hypervisor(name, sizeof name) ? name : NULL);
    sink->text(sink->context, "virtual.container", container());
}

static void right_facts(const struct port_fact_sink *sink)
{
    struct rlimit limit;
    int64_t budget_us;
    if (getrlimit(RLIMIT_RTPRIO, &limit) == 0) {
        if (limit.rlim_cur == RLIM_INFINITY)
            sink->text(sink->context, "limits.rtprio", "unlimited");
        else
            sink->number(sink->context, "limits.rtprio", (int64_t)limit.rlim_cur);
    }
    if (linux_group_budget_us(&budget_us))
        sink->number(sink->context, "limits.group_rt_runtime_us", budget_us);
}

void port_facts(const struct port_fact_sink *sink)
{
    os_fact(sink);
    machine_facts(sink);
    kernel_facts(sink);
    virtual_facts(sink);
    right_facts(sink);
}

/* Idle states: how long a CPU may take to leave them. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { STATES = 16 };

struct depth {
    int64_t limit_us;   /* cpu_dma_latency; -1: not known */
    int64_t latency_us; /* exit latency of the deepest state that any CPU may enter; -1: none */
    char name[64];
};

/* Reads the limit in force; opening the file for reading does not request one. */
static int64_t dma_latency_us(void)
{
    char place[LINUX_PLACE_BYTES];
    int32_t value;
    snprintf(place, sizeof place, "%s/dev/cpu_dma_latency", linux_root());
    int file = open(place, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t got = read(file, &value, sizeof value);
    close(file);
    return got == sizeof value && value >= 0 ? value : -1;
}

/* Limit of this CPU alone, -1: none. In the file "n/a" means 0 us (no idle state), "0" no limit. */
static int64_t own_limit_us(int cpu)
{
    char path[128], text[32];
    int64_t limit_us;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us",
             cpu);
    if (!linux_read(path, text, sizeof text))
        return -1;
    if (strcmp(text, "n/a") == 0)
        return 0;
    return linux_read_number(path, &limit_us) && limit_us > 0 ? limit_us : -1;
}

static bool within(int64_t latency_us, int64_t limit_us)
{
    return limit_us < 0 || latency_us <= limit_us;
}

static void look_at_cpu(void *context, int cpu)
{
    struct depth *depth = context;
    char path[128];
    int64_t latency_us, is_disabled, own_us = own_limit_us(cpu);
    for (int state = 0; state < STATES; state++) {
        const char *format = "/sys/devices/system/cpu/cpu%d/cpuidle/state%d/%s";
        snprintf(path, sizeof path, format, cpu, state, "latency");
        if (!linux_read_number(path, &latency_us))
            return;
        snprintf(path, sizeof path, format, cpu, state, "disable");
        if ((linux_read_number(path, &is_disabled) && is_disabled) ||
            !within(latency_us, depth->limit_us) || !within(latency_us, own_us) ||
            latency_us <= depth->latency_us)
            continue;
        depth->latency_us = latency_us;
        snprintf(path, sizeof path, format, cpu, state, "name");
        if (!linux_read(path, depth->name, sizeof depth->name))
            depth->name[0] = '\0';
    }
}

/* "POLL, C1, C6"; null if the idle driver is "none". */
static void names_fact(const struct port_fact_sink *sink, bool has_none)
{
    char text[256] = "", path[96], name[64];
    struct linux_words words = {text, sizeof text, 0, 0};
    for (int state = 0; state < STATES; state++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cpuidle/state%d/name", state);
        if (!linux_read(path, name, sizeof name))
            break;
        linux_add_word(&words, ", ", name);
    }
    if (words.used || has_none)
        sink->text(sink->context, "power.idle_states", words.used ? text : NULL);
}

void linux_idle_facts(const struct port_fact_sink *sink)
{
    char text[128];
    struct depth depth = {dma_latency_us(), -1, ""};
    if (linux_read("/sys/devices/system/cpu/cpuidle/current_governor", text, sizeof text))
        sink->text(sink->context, "power.idle_governor", text);
    bool has_none = false;
    if (linux_read("/sys/devices/system/cpu/cpuidle/current_driver", text, sizeof text)) {
        sink->text(sink->context, "power.idle_driver", text);
        has_none = strcmp(text, "none") == 0;
    }
    if (linux_boot_option("idle", text, sizeof text))
        sink->text(sink->context, "power.idle_boot", text);
    names_fact(sink, has_none);
    if (depth.limit_us >= 0)
        sink->number(sink->context, "power.dma_latency_us", depth.limit_us);
    if (!linux_each_online(look_at_cpu, &depth) || depth.latency_us < 0)
        return;
    sink->number(sink->context, "power.idle_latency_us", depth.latency_us);
    sink->text(sink->context, "power.idle_deepest", depth.name);
}

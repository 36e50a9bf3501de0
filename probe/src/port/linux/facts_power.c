/* Frequency governors, battery and thermal throttling. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>

struct frequencies {
    struct linux_words governors;
    char names[256];
    int64_t cpus, with_governor, pinned;
};

static bool has_word(const char *words, const char *word)
{
    char list[280], wanted[80];
    snprintf(list, sizeof list, ", %s,", words);
    snprintf(wanted, sizeof wanted, ", %s,", word);
    return strstr(list, wanted) != NULL;
}

static void look_at_cpu(void *context, int cpu)
{
    struct frequencies *found = context;
    char path[128], governor[64];
    int64_t least, most;
    const char *format = "/sys/devices/system/cpu/cpu%d/cpufreq/%s";
    found->cpus++;
    snprintf(path, sizeof path, format, cpu, "scaling_governor");
    if (!linux_read(path, governor, sizeof governor))
        return;
    found->with_governor++;
    if (!has_word(found->names, governor))
        linux_add_word(&found->governors, ", ", governor);
    snprintf(path, sizeof path, format, cpu, "scaling_min_freq");
    bool is_known = linux_read_number(path, &least);
    snprintf(path, sizeof path, format, cpu, "scaling_max_freq");
    if (is_known && linux_read_number(path, &most) && least == most)
        found->pinned++;
}

/* Of all CPUs: a single CPU with another governor is enough to be late. */
static void governor_facts(const struct port_fact_sink *sink)
{
    struct frequencies found = {.cpus = 0};
    char governor[64];
    found.governors = (struct linux_words){found.names, sizeof found.names, 0, 0};
    if (linux_read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
                   sizeof governor))
        sink->text(sink->context, "power.governor", governor);
    if (!linux_each_online(look_at_cpu, &found) || found.cpus == 0 ||
        found.with_governor != found.cpus)
        return;
    sink->text(sink->context, "power.governors", found.names);
    sink->truth(sink->context, "power.frequency_is_fixed", found.pinned == found.cpus);
}

static bool supply_file(const char *supply, const char *name, char *text, size_t bytes)
{
    char path[400];
    snprintf(path, sizeof path, "/sys/class/power_supply/%.255s/%s", supply, name);
    return linux_read(path, text, bytes);
}

/* A mouse has a battery too: its scope is "Device". */
static void battery_fact(const struct port_fact_sink *sink)
{
    DIR *folder = linux_open_folder("/sys/class/power_supply");
    struct dirent *entry;
    bool is_discharging = false, is_known = true;
    char kind[32], text[32];
    if (!folder)
        return;
    while ((entry = readdir(folder))) {
        if (entry->d_name[0] == '.')
            continue;
        if (!supply_file(entry->d_name, "type", kind, sizeof kind) ||
            strcmp(kind, "Battery") != 0 ||
            (supply_file(entry->d_name, "scope", text, sizeof text) && strcmp(text, "Device") == 0))
            continue;
        if (!supply_file(entry->d_name, "status", text, sizeof text) ||
            strcmp(text, "Unknown") == 0)
            is_known = false;
        else
            is_discharging |= strcmp(text, "Discharging") == 0;
    }
    closedir(folder);
    if (is_known || is_discharging)
        sink->truth(sink->context, "power.on_battery", is_discharging);
}

struct most {
    int64_t id;
    int64_t count;
};

struct heat {
    struct most package[PORT_CPUS];
    struct most core[PORT_CPUS];
    int packages, cores;
    int64_t cpus, counted;
};

static void keep_most(struct most *groups, int *used, int64_t id, int64_t count)
{
    int at = 0;
    while (at < *used && groups[at].id != id)
        at++;
    if (at == *used)
        groups[(*used)++] = (struct most){id, count};
    else if (count > groups[at].count)
        groups[at].count = count;
}

static int64_t sum_of(const struct most *groups, int used)
{
    int64_t sum = 0;
    for (int at = 0; at < used; at++)
        sum += groups[at].count;
    return sum;
}

/* Number of a core: its first CPU; `cpu` itself if the siblings are not known. */
static int64_t core_of(int cpu)
{
    char path[96], list[256];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    return linux_read(path, list, sizeof list) ? strtol(list, NULL, 10) : cpu;
}

static int64_t package_of(int cpu)
{
    char path[96];
    int64_t package;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
    return linux_read_number(path, &package) ? package : -1;
}

/* All CPUs of a package show the package's count, and SMT siblings may show their core's: take each
 * package and core once. */
static void count_throttles(void *context, int cpu)
{
    struct heat *heat = context;
    char path[128];
    int64_t count;
    const char *format = "/sys/devices/system/cpu/cpu%d/thermal_throttle/%s_throttle_count";
    heat->cpus++;
    snprintf(path, sizeof path, format, cpu, "core");
    if (!linux_read_number(path, &count))
        return;
    heat->counted++;
    keep_most(heat->core, &heat->cores, core_of(cpu), count);
    snprintf(path, sizeof path, format, cpu, "package");
    if (linux_read_number(path, &count))
        keep_most(heat->package, &heat->packages, package_of(cpu), count);
}

static void heat_fact(const struct port_fact_sink *sink)
{
    struct heat *heat = calloc(1, sizeof *heat);
    if (heat && linux_each_online(count_throttles, heat) && heat->cpus &&
        heat->counted == heat->cpus)
        sink->number(sink->context, "power.thermal_throttles",
                     sum_of(heat->core, heat->cores) + sum_of(heat->package, heat->packages));
    free(heat);
}

/* Whether a cooling device slows the processor down now. */
static void cooling_fact(const struct port_fact_sink *sink)
{
    bool is_seen = false, is_cooling = false;
    char path[96], kind[64];
    int64_t state;
    for (int i = 0; i < 256; i++) {
        snprintf(path, sizeof path, "/sys/class/thermal/cooling_device%d/type", i);
        if (!linux_read(path, kind, sizeof kind))
            break;
        if (strcmp(kind, "Processor") != 0 && !strstr(kind, "cpufreq") && !strstr(kind, "cpu-"))
            continue;
        snprintf(path, sizeof path, "/sys/class/thermal/cooling_device%d/cur_state", i);
        if (!linux_read_number(path, &state))
            continue;
        is_seen = true;
        is_cooling |= state > 0;
    }
    if (is_seen)
        sink->truth(sink->context, "power.is_cooling", is_cooling);
}

void linux_power_facts(const struct port_fact_sink *sink)
{
    governor_facts(sink);
    battery_fact(sink);
    heat_fact(sink);
    cooling_fact(sink);
}

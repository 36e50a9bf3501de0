/* Frequency, battery and heat. */
#include "../posix_source.h"

#include "linux_facts.h"

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

/* Of all CPUs: one that was forgotten is the one that will be late. */
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

struct heat {
    int64_t throttles;
    int64_t cpus, counted;
};

static void count_throttles(void *context, int cpu)
{
    struct heat *heat = context;
    char path[128];
    int64_t core, package;
    const char *format = "/sys/devices/system/cpu/cpu%d/thermal_throttle/%s_throttle_count";
    heat->cpus++;
    snprintf(path, sizeof path, format, cpu, "core");
    if (!linux_read_number(path, &core))
        return;
    heat->counted++;
    snprintf(path, sizeof path, format, cpu, "package");
    heat->throttles += core + (linux_read_number(path, &package) ? package : 0);
}

static void heat_fact(const struct port_fact_sink *sink)
{
    struct heat heat = {0};
    if (linux_each_online(count_throttles, &heat) && heat.cpus && heat.counted == heat.cpus)
        sink->number(sink->context, "power.thermal_throttles", heat.throttles);
}

/* Devices that cool by slowing the processor down, where they do so now. */
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

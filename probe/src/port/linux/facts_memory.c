/* Memory size, swap, and what the kernel does with pages in the background. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "SwapTotal:  123 kB" in bytes. */
static bool meminfo(const char *name, int64_t *bytes)
{
    FILE *file = linux_open("/proc/meminfo");
    char line[256];
    size_t length = strlen(name);
    bool is_found = false;
    while (file && !is_found && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            *bytes = strtoll(line + length + 1, NULL, 10) * 1024;
            is_found = true;
        }
    if (file)
        fclose(file);
    return is_found;
}

/* A kernel without transparent huge pages has the folder "mm" but not the one inside: null. */
static void huge_page_fact(const struct port_fact_sink *sink)
{
    char list[128], active[64];
    if (linux_read("/sys/kernel/mm/transparent_hugepage/enabled", list, sizeof list) &&
        linux_bracketed(list, active, sizeof active))
        sink->text(sink->context, "memory.transparent_hugepage", active);
    else if (linux_exists("/sys/kernel/mm") && !linux_exists("/sys/kernel/mm/transparent_hugepage"))
        sink->text(sink->context, "memory.transparent_hugepage", NULL);
}

void linux_memory_facts(const struct port_fact_sink *sink)
{
    int64_t total, rest, number;
    sink->number(sink->context, "memory.total_bytes",
                 (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
    if (meminfo("SwapTotal", &total) && meminfo("SwapFree", &rest)) {
        sink->number(sink->context, "memory.swap_bytes", total);
        sink->number(sink->context, "memory.swap_used_bytes", total - rest);
    }
    huge_page_fact(sink);
    if (linux_read_number("/sys/kernel/mm/ksm/run", &number))
        sink->number(sink->context, "memory.ksm", number);
    if (linux_read_number("/proc/sys/kernel/numa_balancing", &number))
        sink->number(sink->context, "memory.numa_balancing", number);
    if (linux_exists("/sys/devices/system/node/node0"))
        sink->truth(sink->context, "memory.has_nodes",
                    linux_exists("/sys/devices/system/node/node1"));
}

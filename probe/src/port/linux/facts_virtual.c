/* Hypervisor, container and steal time. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>

enum { SIGNATURE_BYTES = 13 };

static void write_signature(char text[SIGNATURE_BYTES], unsigned first, unsigned second,
                            unsigned third)
{
    const unsigned words[] = {first, second, third};
    memcpy(text, words, sizeof words);
    text[sizeof words] = '\0';
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

/* CPUID leaf 1 says whether there is a hypervisor, leaf 0x40000000 names it. */
static bool hypervisor(char *name, size_t bytes, bool *is_known)
{
    unsigned a, b, c, d;
    char text[SIGNATURE_BYTES];
    *is_known = true;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 31)))
        return false;
    __cpuid(0x40000000, a, b, c, d);
    write_signature(text, b, c, d);
    snprintf(name, bytes, "%s", *text ? text : "unnamed");
    return true;
}

static void emulation_facts(const struct port_fact_sink *sink, const char *hypervisor_name)
{
    unsigned a, b, c, d;
    char vendor[SIGNATURE_BYTES] = "";
    struct linux_emulation emulation = {0};
    if (__get_cpuid(0, &a, &b, &c, &d))
        write_signature(vendor, b, d, c);
    linux_emulation_by_cpuid(vendor, hypervisor_name, &emulation);
    linux_emulation_by_lab(&emulation);
    linux_emulation_facts(sink, &emulation);
}
#else
/* Other processors have no such flag: the firmware's names show some hypervisors, but none can be
 * excluded. */
static bool hypervisor(char *name, size_t bytes, bool *is_known)
{
    *is_known = false;
    return linux_hypervisor_by_names(name, bytes);
}

static void emulation_facts(const struct port_fact_sink *sink, const char *hypervisor_name)
{
    struct linux_emulation emulation = {0};
    (void)hypervisor_name;
    linux_emulation_by_names(&emulation);
    linux_emulation_by_lab(&emulation);
    linux_emulation_facts(sink, &emulation);
}
#endif

static bool first_namespace(const char *kind, const char *number)
{
    char path[48], own[64], wanted[64];
    snprintf(path, sizeof path, "/proc/self/ns/%s", kind);
    snprintf(wanted, sizeof wanted, "%s:[%s]", kind, number);
    return linux_link(path, own, sizeof own) && strcmp(own, wanted) == 0;
}

/* The initial mount namespace has a constant number since about Linux 6.18; before, only a process
 * that may read /proc/1/ns knows it. */
static bool is_first_mount_namespace(void)
{
    char own[64], first[64];
    return first_namespace("mnt", "4026531832") ||
           (linux_link("/proc/self/ns/mnt", own, sizeof own) &&
            linux_link("/proc/1/ns/mnt", first, sizeof first) && strcmp(own, first) == 0);
}

/* Name of the container manager, by the traces it leaves; NULL: none found. */
static const char *marker(char *name, size_t bytes)
{
    static const char *const words[] = {"kubepods", "docker", "containerd", "libpod", "lxc"};
    char text[1024];
    if (linux_exists("/.dockerenv"))
        return "docker";
    if (linux_exists("/run/.containerenv"))
        return "podman";
    if (linux_read("/run/systemd/container", name, bytes))
        return name;
    if (linux_read("/proc/self/cgroup", text, sizeof text))
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strstr(text, words[i]))
                return words[i];
    return NULL;
}

/* The initial namespaces have constant numbers. A process in all of them is not in a container,
 * even if the system was installed from an image that has a container manager's traces. */
static const char *container(char *name, size_t bytes, bool *is_known)
{
    bool is_first = first_namespace("pid", "4026531836") && first_namespace("user", "4026531837") &&
                    first_namespace("cgroup", "4026531835");
    const char *kind = marker(name, bytes);
    char link[64];
    *is_known = linux_link("/proc/self/ns/pid", link, sizeof link) &&
                linux_link("/proc/self/ns/cgroup", link, sizeof link);
    if (*is_known && is_first && (!kind || is_first_mount_namespace()))
        return NULL;
    return kind ? kind : *is_known ? "namespaces of its own" : NULL;
}

/* "cpu  user nice system idle iowait irq softirq steal ..." since boot. */
static void steal_facts(const struct port_fact_sink *sink)
{
    char text[256];
    int64_t ticks[8] = {0}, total = 0;
    if (!linux_read("/proc/stat", text, sizeof text) || strncmp(text, "cpu ", 4) != 0)
        return;
    char *at = text + 4;
    for (int i = 0; i < 8; i++) {
        ticks[i] = strtoll(at, &at, 10);
        total += ticks[i];
    }
    if (total <= 0)
        return;
    sink->number(sink->context, "virtual.steal_ppm", ticks[7] * 1000000 / total);
}

void linux_virtual_facts(const struct port_fact_sink *sink)
{
    char name[64];
    bool is_known;
    bool is_virtual = hypervisor(name, sizeof name, &is_known);
    if (is_virtual || is_known)
        sink->text(sink->context, "virtual.hypervisor", is_virtual ? name : NULL);
    emulation_facts(sink, is_virtual ? name : "");
    const char *kind = container(name, sizeof name, &is_known);
    if (kind || is_known)
        sink->text(sink->context, "virtual.container", kind);
    steal_facts(sink);
}

/* Which CPUs serve device interrupts. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct served {
    int cpu[PORT_CPUS]; /* of each column */
    int columns;
    int64_t count[PORT_CPUS]; /* by column */
    int64_t lines;
    bool is_target[PORT_CPUS]; /* by CPU: in the affinity of some interrupt */
    bool is_known;             /* the affinity of every interrupt could be read */
};

static int cpu_of(const char *number)
{
    long cpu = strtol(number, NULL, 10);
    return cpu < 0 || cpu >= PORT_CPUS ? 0 : (int)cpu;
}

static void read_heading(struct served *served, const char *line)
{
    for (const char *at = strstr(line, "CPU"); at; at = strstr(at + 3, "CPU"))
        if (served->columns < PORT_CPUS)
            served->cpu[served->columns++] = cpu_of(at + 3);
}

static void mark_target(void *context, int cpu)
{
    struct served *served = context;
    served->is_target[cpu] = true;
}

/* Effective affinity; older kernels have only the affinity mask. */
static void look_where(struct served *served, int interrupt)
{
    char path[96], list[CPUS_TEXT_BYTES];
    snprintf(path, sizeof path, "/proc/irq/%d/effective_affinity_list", interrupt);
    if (!linux_read(path, list, sizeof list)) {
        snprintf(path, sizeof path, "/proc/irq/%d/smp_affinity_list", interrupt);
        if (!linux_read(path, list, sizeof list)) {
            served->is_known = false;
            return;
        }
    }
    served->is_known &= linux_each_cpu(list, mark_target, served);
}

/* "41:   0   5357  PCI-MSIX ... virtio3-rx". Timers, which some architectures number like devices,
 * are skipped: they tick on every CPU. */
static void read_line(struct served *served, const char *line)
{
    char *at;
    const char *from = line + strspn(line, " ");
    if (!isdigit((unsigned char)*from) || strstr(line, "timer"))
        return;
    long interrupt = strtol(from, &at, 10);
    if (*at++ != ':')
        return;
    for (int column = 0; column < served->columns; column++)
        served->count[column] += strtoll(at, &at, 10);
    served->lines++;
    look_where(served, (int)interrupt);
}

static bool read_all(struct served *served)
{
    enum { LINE_BYTES = PORT_CPUS * 11 + 4096 };
    FILE *file = linux_open("/proc/interrupts");
    char *line = file ? malloc(LINE_BYTES) : NULL;
    served->is_known = true;
    if (line && fgets(line, LINE_BYTES, file))
        read_heading(served, line);
    while (line && served->columns && fgets(line, LINE_BYTES, file))
        read_line(served, line);
    free(line);
    if (file)
        fclose(file);
    return served->lines > 0;
}

static void busiest_facts(const struct port_fact_sink *sink, const struct served *served)
{
    int64_t total = 0;
    int busiest = 0;
    for (int i = 0; i < served->columns; i++) {
        total += served->count[i];
        busiest = served->count[i] > served->count[busiest] ? i : busiest;
    }
    sink->number(sink->context, "interrupts.device_lines", served->lines);
    sink->number(sink->context, "interrupts.device_count", total);
    if (total <= 0)
        return;
    sink->number(sink->context, "interrupts.busiest_cpu", served->cpu[busiest]);
    sink->number(sink->context, "interrupts.busiest_percent",
                 (served->count[busiest] * 100 + total / 2) / total);
}

/* CPUs in the affinity of no device interrupt. */
static void quiet_fact(const struct port_fact_sink *sink, const struct served *served)
{
    char list[512] = "", word[32];
    struct linux_words words = {list, sizeof list, 0, 0};
    if (!served->is_known)
        return;
    for (int i = 0; i < served->columns; i++) {
        if (served->is_target[served->cpu[i]])
            continue;
        snprintf(word, sizeof word, "%d", served->cpu[i]);
        linux_add_word(&words, ",", word);
    }
    sink->text(sink->context, "interrupts.quiet_cpus", words.used ? list : NULL);
}

void linux_interrupt_facts(const struct port_fact_sink *sink)
{
    struct served *served = calloc(1, sizeof *served);
    if (served && read_all(served)) {
        busiest_facts(sink, served);
        quiet_fact(sink, served);
    }
    free(served);
}

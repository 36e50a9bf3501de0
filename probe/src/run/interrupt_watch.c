#include "base/posix_source.h"

#include "run/interrupt_watch.h"

#include "base/clock.h"
#include "base/options.h"
#include "port/port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MORE_LINES = 16 }; /* of devices that appear later */

static void count_line(void *context, const struct port_interrupt_line *line)
{
    struct interrupt_watch *watch = context;
    (void)line;
    watch->line_count++;
}

int interrupt_watch_open(struct interrupt_watch *watch, const struct cpus *measured, int cpu_count)
{
    memset(watch, 0, sizeof *watch);
    watch->measured = *measured;
    watch->cpu_count = cpu_count;
    watch->cpus = calloc((size_t)cpu_count, sizeof *watch->cpus);
    if (!watch->cpus)
        return ENOMEM;
    if (!port_interrupt_lines(measured, count_line, watch))
        return 0;
    watch->line_count += MORE_LINES;
    int most = HS_WATCH_COUNTS / watch->line_count;
    watch->line_cpus = cpu_count < most ? cpu_count : most;
    size_t lines = (size_t)watch->line_count, counts = lines * (size_t)watch->line_cpus;
    watch->keys = calloc(lines, sizeof *watch->keys);
    watch->last = calloc(counts + 1, sizeof *watch->last);
    watch->sum = calloc(counts + 1, sizeof *watch->sum);
    return watch->keys && watch->last && watch->sum ? 0 : ENOMEM;
}

void interrupt_watch_close(struct interrupt_watch *watch)
{
    free(watch->cpus);
    free(watch->keys);
    free(watch->last);
    free(watch->sum);
}

static void add_all(struct interrupts *cpu, const struct port_interrupt_line *line, int64_t count)
{
    if (count < 0)
        return;
    cpu->all_now = (cpu->all_now < 0 ? 0 : cpu->all_now) + count;
    if (line->is_timer)
        cpu->timer_now = (cpu->timer_now < 0 ? 0 : cpu->timer_now) + count;
}

/* Takes the line where it is above the one taken so far. */
static void take_busier(struct busiest *busiest, const char *name, int64_t count, double beyond)
{
    bool is_first = busiest->name[0] == '\0';
    if (count <= 0 || (!is_first && beyond <= busiest->beyond))
        return;
    busiest->count = count;
    busiest->beyond = beyond;
    snprintf(busiest->name, sizeof busiest->name, "%s", name);
}

static void compare(struct interrupt_watch *watch, int place, const char *name, uint32_t count,
                    bool is_known)
{
    size_t at = (size_t)watch->line * (size_t)watch->line_cpus + (size_t)place;
    uint32_t more = count - watch->last[at]; /* the kernel's count starts again at 2^32 */
    watch->last[at] = count;
    if (!is_known) {
        watch->sum[at] = 0;
        return;
    }
    double usual = (double)watch->sum[at] * watch->spans;
    watch->sum[at] += more;
    take_busier(&watch->cpus[place].busiest, name, more, (double)more - usual);
    take_busier(&watch->cpus[place].busiest_of_all, name, (int64_t)watch->sum[at],
                (double)watch->sum[at]);
}

static void take_line(void *context, const struct port_interrupt_line *line)
{
    struct interrupt_watch *watch = context;
    bool has_room = watch->line < watch->line_count;
    bool is_known = has_room && watch->has_looked && watch->keys[watch->line] == line->key;
    for (int i = 0; i < watch->cpu_count; i++) {
        add_all(&watch->cpus[i], line, line->counts[i]);
        if (has_room && i < watch->line_cpus && line->counts[i] >= 0)
            compare(watch, i, line->name, (uint32_t)line->counts[i], is_known);
    }
    if (has_room)
        watch->keys[watch->line] = line->key;
    watch->line++;
}

static int64_t grown(int64_t from, int64_t to)
{
    return from >= 0 && to >= from ? to - from : -1;
}

void interrupt_watch_look(struct interrupt_watch *watch)
{
    int64_t now_ns = clock_monotonic_ns();
    double before_ns = (double)(watch->looked_ns - watch->begun_ns);
    watch->spans = before_ns > 0 ? (double)(now_ns - watch->looked_ns) / before_ns : 0;
    watch->line = 0;
    for (int i = 0; i < watch->cpu_count; i++) {
        struct interrupts *cpu = &watch->cpus[i];
        cpu->all_now = cpu->timer_now = -1;
        memset(&cpu->busiest, 0, sizeof cpu->busiest);
        memset(&cpu->busiest_of_all, 0, sizeof cpu->busiest_of_all);
    }
    port_interrupt_lines(&watch->measured, take_line, watch);
    for (int i = 0; i < watch->cpu_count; i++) {
        struct interrupts *cpu = &watch->cpus[i];
        cpu->all_more = watch->has_looked ? grown(cpu->all, cpu->all_now) : -1;
        cpu->timer_more = watch->has_looked ? grown(cpu->timer, cpu->timer_now) : -1;
        cpu->all = cpu->all_now;
        cpu->timer = cpu->timer_now;
    }
    if (!watch->has_looked)
        watch->begun_ns = now_ns;
    watch->looked_ns = now_ns;
    watch->has_looked = true;
}

static void store(const struct busiest *busiest, struct arena_interval *interval)
{
    interval->counters[ARENA_BUSIEST] = busiest->name[0] ? busiest->count : -1;
    memcpy(interval->busiest, busiest->name, sizeof interval->busiest);
}

void interrupt_watch_take(const struct interrupt_watch *watch, int place,
                          struct arena_interval *interval)
{
    const struct interrupts *cpu = &watch->cpus[place];
    interval->counters[ARENA_INTERRUPTS] = cpu->all_more;
    interval->counters[ARENA_TIMER_INTERRUPTS] = cpu->timer_more;
    store(&cpu->busiest, interval);
}

void interrupt_watch_take_whole(const struct interrupt_watch *watch, int place,
                                struct arena_interval *whole)
{
    store(&watch->cpus[place].busiest_of_all, whole);
}

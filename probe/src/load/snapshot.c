#include "base/posix_source.h"

#include "load/snapshot.h"

#include "load/duty.h"
#include "load/elements.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

enum { PROCESSES = 4096 };

static int64_t cpu_time_ns(pid_t process)
{
    clockid_t clock;
    struct timespec used;
    if (process <= 0 || clock_getcpuclockid(process, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Nobody notes the end of a process when guard and keeper are killed. */
static bool is_gone(pid_t process)
{
    return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

/* map.h */
static int64_t stopped_ns(const struct load_slot *slot)
{
    int64_t stopped_ns = atomic_load(&slot->stopped_ns);
    return stopped_ns < 0 ? stopped_ns + duty_now_ns() : stopped_ns;
}

static void take_sample(const struct load_slot *slot, bool is_ended, struct load_sample *sample)
{
    sample->stopped_ns = stopped_ns(slot);
    sample->state = is_ended ? LOADER_ENDED : atomic_load(&slot->state);
    if (sample->state == LOADER_WORKS && is_gone(atomic_load(&slot->process)))
        sample->state = LOADER_ENDED;
    for (int i = 0; i < LOAD_COUNTERS; i++)
        sample->counters[i] = atomic_load_explicit(&slot->counters[i], memory_order_relaxed);
    uint64_t *cpu_ns = &sample->counters[COUNTER_CPU_NS];
    uint64_t read_ns =
        sample->state == LOADER_WORKS ? (uint64_t)cpu_time_ns(atomic_load(&slot->process)) : 0;
    if (read_ns > *cpu_ns)
        *cpu_ns = read_ns;
    *cpu_ns += sample->counters[COUNTER_CHILDREN];
}

static void note_seen(const struct load *load, struct load_snapshot *snapshot, int cpu,
                      int64_t timer_interrupts)
{
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        if (slot->cpu == cpu && load->setup.spec->terms[slot->term].element == &load_interrupt)
            snapshot->samples[i].seen = timer_interrupts;
    }
}

static void count_interrupts(const struct load *load, struct load_snapshot *snapshot)
{
    snapshot->interrupts = snapshot->timer_interrupts = -1;
    for (int cpu = 0; cpu < PORT_CPUS && load->setup.cpu_count > 0; cpu++) {
        struct port_environment one;
        if (!load->setup.cpus[cpu])
            continue;
        port_environment(cpu, &one);
        note_seen(load, snapshot, cpu, one.timer_interrupts);
        if (one.interrupts >= 0)
            snapshot->interrupts += one.interrupts + (snapshot->interrupts < 0 ? 1 : 0);
        if (one.timer_interrupts >= 0)
            snapshot->timer_interrupts +=
                one.timer_interrupts + (snapshot->timer_interrupts < 0 ? 1 : 0);
    }
}

static bool has_element(const struct load *load, const struct load_element *element)
{
    for (int i = 0; i < load->setup.spec->count; i++)
        if (load->setup.spec->terms[i].element == element)
            return true;
    return false;
}

void load_snapshot_take(const struct load *load, struct load_snapshot *snapshot)
{
    bool is_over = atomic_load(&load->map->stop) != 0;
    snapshot->at_ns = duty_now_ns();
    for (int i = 0; i < load->map->slot_count; i++)
        take_sample(&load->map->slots[i], is_over, &snapshot->samples[i]);
}

void load_snapshot_seen(const struct load *load, struct load_snapshot *snapshot)
{
    uint64_t device = atomic_load(&load->map->device);
    for (int i = 0; i < load->map->slot_count; i++)
        snapshot->samples[i].seen = -1;
    snapshot->interrupts = snapshot->timer_interrupts = -1;
    if (has_element(load, &load_interrupt))
        count_interrupts(load, snapshot);
    snapshot->tcp_segments = has_element(load, &load_network) ? port_tcp_segments_sent() : -1;
    snapshot->device_bytes = device != 0 ? port_device_written_bytes((dev_t)device) : -1;
}

void load_snapshot_recount(const struct load *load, struct load_snapshot *snapshot)
{
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        if (atomic_load(&slot->counted_ns) > 0)
            snapshot->samples[i].counters[COUNTER_OWN] = atomic_load(&slot->counters[COUNTER_OWN]);
    }
}

/* Of all that descend from `root`, itself too; the table may be in any order. */
static int family_of(pid_t root)
{
    static struct port_process list[PROCESSES];
    static bool is_in[PROCESSES];
    int count = port_processes(list, PROCESSES), members = 0, before;
    count = count < PROCESSES ? count : PROCESSES;
    memset(is_in, 0, sizeof is_in);
    for (int i = 0; i < count; i++)
        is_in[i] = list[i].id == root;
    do {
        before = members;
        members = 0;
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < count && !is_in[i]; j++)
                is_in[i] = is_in[j] && list[j].id == list[i].parent;
            members += is_in[i] ? 1 : 0;
        }
    } while (members > before);
    return members;
}

void load_snapshot_foreign(const struct load *load, struct load_snapshot *snapshot)
{
    for (int i = 0; i < load->map->slot_count; i++) {
        const struct load_slot *slot = &load->map->slots[i];
        if (load->setup.spec->terms[slot->term].element->kind == LOAD_FOREIGN &&
            atomic_load(&slot->state) == LOADER_WORKS)
            snapshot->samples[i].counters[COUNTER_OWN] =
                (uint64_t)family_of(atomic_load(&slot->process));
    }
}

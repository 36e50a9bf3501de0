#include "base/posix_source.h"

#include "load/snapshot.h"

#include "load/duty.h"
#include "load/elements.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PROCESSES = 4096 };

struct load_family {
    struct port_process list[PROCESSES];
    bool is_in[PROCESSES];
};

struct load_family *load_family_make(void)
{
    return calloc(1, sizeof(struct load_family));
}

static int64_t cpu_time_ns(pid_t process)
{
    clockid_t clock;
    struct timespec used;
    if (process <= 0 || clock_getcpuclockid(process, &clock) != 0 ||
        clock_gettime(clock, &used) != 0)
        return 0;
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Needed if guard and supervisor were killed: nobody else then records the end of a worker. */
static bool is_gone(pid_t process)
{
    return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

/* Decodes slot->stopped_ns (map.h). */
static int64_t stopped_ns(const struct load_slot *slot)
{
    int64_t stopped_ns = atomic_load(&slot->stopped_ns);
    return stopped_ns < 0 ? stopped_ns + duty_now_ns() : stopped_ns;
}

bool load_sample_did_work(const struct load_sample *from, const struct load_sample *to)
{
    return to->state == WORKER_WORKS &&
           (to->counters[COUNTER_ROUNDS] > from->counters[COUNTER_ROUNDS] ||
            to->counters[COUNTER_CPU_NS] > from->counters[COUNTER_CPU_NS]);
}

static void take_sample(const struct load_slot *slot, bool is_ended, struct load_sample *sample)
{
    sample->stopped_ns = stopped_ns(slot);
    sample->state = is_ended ? WORKER_ENDED : atomic_load(&slot->state);
    if (sample->state == WORKER_WORKS && is_gone(atomic_load(&slot->process)))
        sample->state = WORKER_ENDED;
    for (int i = 0; i < LOAD_COUNTERS; i++)
        sample->counters[i] = atomic_load_explicit(&slot->counters[i], memory_order_relaxed);
    uint64_t *cpu_ns = &sample->counters[COUNTER_CPU_NS];
    uint64_t read_ns =
        sample->state == WORKER_WORKS ? (uint64_t)cpu_time_ns(atomic_load(&slot->process)) : 0;
    if (read_ns > *cpu_ns)
        *cpu_ns = read_ns;
    *cpu_ns += sample->counters[COUNTER_CHILDREN];
}

/* `cpu` -1: the sum over the CPUs of the load, for processes that may run on all of them. */
static void note_seen(const struct load_map *map, const struct load_spec *spec,
                      struct load_snapshot *snapshot, int cpu, int64_t timer_interrupts)
{
    for (int i = 0; i < map->slot_count; i++) {
        const struct load_slot *slot = &map->slots[i];
        if (slot->cpu == cpu && spec->terms[slot->term].element == &load_interrupt)
            snapshot->samples[i].seen = timer_interrupts;
    }
}

static void count_interrupts(const struct load_map *map, const struct load_spec *spec,
                             struct load_snapshot *snapshot)
{
    snapshot->interrupts = snapshot->timer_interrupts = -1;
    if (!map->has_cpus)
        return;
    const struct cpus *cpus = &map->cpus;
    for (int cpu = cpus_first(cpus); cpu >= 0; cpu = cpus_next(cpus, cpu)) {
        struct port_environment one;
        port_environment(cpu, &one);
        note_seen(map, spec, snapshot, cpu, one.timer_interrupts);
        if (one.interrupts >= 0)
            snapshot->interrupts += one.interrupts + (snapshot->interrupts < 0 ? 1 : 0);
        if (one.timer_interrupts >= 0)
            snapshot->timer_interrupts +=
                one.timer_interrupts + (snapshot->timer_interrupts < 0 ? 1 : 0);
    }
    note_seen(map, spec, snapshot, -1, snapshot->timer_interrupts);
}

static bool has_element(const struct load_spec *spec, const struct load_element *element)
{
    for (int i = 0; i < spec->count; i++)
        if (spec->terms[i].element == element)
            return true;
    return false;
}

void load_snapshot_take(const struct load_map *map, struct load_snapshot *snapshot)
{
    bool is_over = atomic_load(&map->stop) != 0;
    snapshot->at_ns = duty_now_ns();
    for (int i = 0; i < map->slot_count; i++)
        take_sample(&map->slots[i], is_over, &snapshot->samples[i]);
}

void load_snapshot_seen(const struct load_map *map, const struct load_spec *spec,
                        struct load_snapshot *snapshot)
{
    uint64_t device = atomic_load(&map->device);
    for (int i = 0; i < map->slot_count; i++)
        snapshot->samples[i].seen = -1;
    snapshot->interrupts = snapshot->timer_interrupts = -1;
    if (has_element(spec, &load_interrupt))
        count_interrupts(map, spec, snapshot);
    snapshot->tcp_segments = has_element(spec, &load_network) ? port_tcp_segments_sent() : -1;
    snapshot->device_bytes = device != 0 ? port_device_written_bytes((dev_t)device) : -1;
}

void load_snapshot_ready(const struct load_map *map, const struct load_spec *spec,
                         const struct load_snapshot *begin, struct load_snapshot *end)
{
    for (int i = 0; i < map->slot_count; i++) {
        struct load_sample *sample = &end->samples[i];
        bool is_counted = spec->terms[map->slots[i].term].element->kind == LOAD_COUNT;
        sample->is_ready = is_counted && sample->state == WORKER_WORKS &&
                           !load_sample_did_work(&begin->samples[i], sample) &&
                           port_is_ready(atomic_load(&map->slots[i].process));
    }
}

void load_snapshot_recount(const struct load_map *map, struct load_snapshot *snapshot)
{
    for (int i = 0; i < map->slot_count; i++) {
        const struct load_slot *slot = &map->slots[i];
        if (atomic_load(&slot->counted_ns) > 0)
            snapshot->samples[i].counters[COUNTER_OWN] = atomic_load(&slot->counters[COUNTER_OWN]);
    }
}

/* Number of descendants of `root`, itself included; the process table may be in any order. */
static int family_of(struct load_family *family, pid_t root)
{
    struct port_process *list = family->list;
    bool *is_in = family->is_in;
    int count = port_processes(list, PROCESSES), members = 0, before;
    count = count < PROCESSES ? count : PROCESSES;
    memset(is_in, 0, sizeof family->is_in);
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

void load_snapshot_external_stressor(const struct load_map *map, const struct load_spec *spec,
                                     struct load_family *family, struct load_snapshot *snapshot)
{
    for (int i = 0; i < map->slot_count; i++) {
        const struct load_slot *slot = &map->slots[i];
        if (spec->terms[slot->term].element->kind == LOAD_EXTERNAL_STRESSOR &&
            atomic_load(&slot->state) == WORKER_WORKS)
            snapshot->samples[i].counters[COUNTER_OWN] =
                (uint64_t)family_of(family, atomic_load(&slot->process));
    }
}

#include "base/posix_source.h"

#include "run/load_run.h"

#include "load/report.h"
#include "run/supervise.h"

/* Allowance to start the load, to wait for it twice (load_patience_ns) and to prepare the test. */
#define START_NS INT64_C(180000000000)

int load_run_place(struct load_setup *setup, enum load_place place, int measured_cpu,
                   struct outcome *outcome)
{
    int allowed = port_allowed_cpus(&setup->cpus);
    if (place == LOAD_OFF_MEASURED)
        cpus_remove(&setup->cpus, measured_cpu);
    if (allowed >= 0 && place == LOAD_ON_MEASURED) {
        cpus_clear(&setup->cpus);
        cpus_add(&setup->cpus, measured_cpu);
    }
    setup->cpu_count = allowed >= 0 ? cpus_count(&setup->cpus) : -1;
    if (setup->cpu_count == 0)
        return outcome_set(outcome, STATUS_UNSUPPORTED,
                           "allow this process a second CPU, or choose --cpu-config single",
                           "no CPU is left for the load beside the one that is measured");
    return 0;
}

int load_run_start(struct run *run)
{
    static const enum load_place places[] = {[CPU_CONFIG_SHARED] = LOAD_EVERYWHERE,
                                             [CPU_CONFIG_SINGLE] = LOAD_ON_MEASURED,
                                             [CPU_CONFIG_SHIELDED] = LOAD_OFF_MEASURED};
    enum load_place place = places[run->request->cpu_config];
    struct load_setup setup = {.spec = &run->request->load,
                               .called_as = run->request->called_as,
                               .seed = run->request->seed,
                               .folder = run->request->folder};
    setup.limit_ns = clock_monotonic_ns() + supervise_limit_ns(run) + START_NS;
    if (setup.spec->count > 0 && load_run_place(&setup, place, run->setup.cpu, &run->outcome) != 0)
        return -1;
    return load_start(&run->load, &setup, &run->outcome);
}

static void tell(void *context, const char *name, int64_t at_ns, const struct datum *data,
                 const char *text)
{
    const struct run *run = context;
    bool is_inside = at_ns >= run->start_ns && at_ns <= run->arena->ended_ns;
    arena_event(run->arena, name, is_inside ? run_at_ns(run, at_ns) : -1, data, "%s", text);
}

int load_run_settle(struct run *run)
{
    if (load_settle(&run->load, NULL))
        return 0;
    load_unsettled_events(&run->load, tell, run);
    return load_deny(&run->load, &run->outcome);
}

int load_run_stop(struct run *run)
{
    load_stop(&run->load);
    load_events(&run->load, tell, run);
    return 0;
}

void load_run_free(struct run *run)
{
    load_free(&run->load);
}

#include "base/posix_source.h"

#include "load/external_stressor.h"

#include "load/element.h"
#include "port/port.h"
#include "work/scratch.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define LEAST_MEMORY_BYTES (64 * MIB)
#define END_LOOK_NS INT64_C(2000000)

enum { MEMORY_PARTS = 16 };

void external_stressor_find(struct external_stressor *external_stressor, struct load_map *map,
                            const struct load_spec *spec)
{
    *external_stressor = (struct external_stressor){.map = map, .folder = -1};
    for (int i = 0; i < map->slot_count; i++)
        if (spec->terms[map->slots[i].term].element->kind == LOAD_EXTERNAL_STRESSOR)
            external_stressor->slot = &map->slots[i];
    if (!external_stressor->slot || map->scratch.folder[0] == '\0')
        return;
    external_stressor->folder = open(map->scratch.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (external_stressor->folder >= 0 && scratch_is_short(external_stressor->folder)) {
        close(external_stressor->folder);
        external_stressor->folder = -1;
    }
}

bool external_stressor_is_watched(const struct external_stressor *external_stressor)
{
    return external_stressor->slot && !external_stressor->is_cleared &&
           atomic_load(&external_stressor->slot->state) != WORKER_REFUSED;
}

/* ---- the limits ---- */

/* Memory that must stay free, of a total of `of_bytes`. */
static int64_t kept_memory_bytes(int64_t of_bytes)
{
    int64_t part = of_bytes / MEMORY_PARTS;
    return part > LEAST_MEMORY_BYTES ? part : LEAST_MEMORY_BYTES;
}

static bool is_short(const struct external_stressor *external_stressor)
{
    struct worker worker = {.slot = external_stressor->slot};
    int64_t of_bytes, available = port_available_bytes(&of_bytes);
    int64_t kept = kept_memory_bytes(of_bytes);
    if (available >= 0 && available < kept)
        worker_note(
            &worker,
            "was ended because memory ran short: %lld MiB available, %lld MiB must stay free",
            (long long)(available / MIB), (long long)(kept / MIB));
    else if (external_stressor->folder >= 0 && scratch_is_short(external_stressor->folder))
        worker_note(&worker, "was ended because %.60s ran short of free space",
                    external_stressor->map->scratch.folder);
    else
        return false;
    return true;
}

/* Too little is left to wait for the program's own end. */
static bool is_very_short(const struct external_stressor *external_stressor)
{
    int64_t of_bytes, available = port_available_bytes(&of_bytes);
    return (available >= 0 && available < kept_memory_bytes(of_bytes) / 2) ||
           (external_stressor->folder >= 0 && scratch_is_very_short(external_stressor->folder));
}

/* ---- the end ---- */

static void ask_to_end(pid_t process)
{
    kill(process, SIGTERM);
    kill(process, SIGCONT); /* it may have been stopped */
}

/* The process id is valid until the state is WORKER_ENDED: only then was it waited for. */
void external_stressor_look(struct external_stressor *external_stressor)
{
    pid_t process = external_stressor->slot ? atomic_load(&external_stressor->slot->process) : 0;
    if (process <= 0 || !external_stressor_is_watched(external_stressor))
        return;
    switch (atomic_load(&external_stressor->slot->state)) {
    case WORKER_WORKS:
        break;
    case WORKER_ENDED:
        external_stressor->is_cleared = scratch_clear_room(&external_stressor->map->scratch);
        return;
    default:
        return;
    }
    if (external_stressor->kill_ns == 0 && is_short(external_stressor)) {
        ask_to_end(process);
        external_stressor->kill_ns = clock_monotonic_ns() + EXTERNAL_STRESSOR_END_NS;
    }
    if (external_stressor->kill_ns != 0 &&
        (clock_monotonic_ns() >= external_stressor->kill_ns || is_very_short(external_stressor)))
        kill(process, SIGKILL); /* the caller adopts its children and kills them */
}

void external_stressor_end(const struct external_stressor *external_stressor)
{
    int64_t until_ns = clock_monotonic_ns() + EXTERNAL_STRESSOR_END_NS;
    pid_t process = external_stressor->slot ? atomic_load(&external_stressor->slot->process) : 0;
    if (process <= 0 || atomic_load(&external_stressor->slot->state) == WORKER_ENDED ||
        waitpid(process, NULL, WNOHANG) != 0)
        return;
    ask_to_end(process);
    while (waitpid(process, NULL, WNOHANG) == 0 && clock_monotonic_ns() < until_ns)
        (void)clock_sleep_until(clock_monotonic_ns() + END_LOOK_NS);
}

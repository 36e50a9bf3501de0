#include "base/posix_source.h"

#include "load/external_stressor.h"

#include "load/duty.h"
#include "load/element.h"
#include "load/scratch.h"
#include "port/port.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (INT64_C(1) << 20)
#define LEAST_MEMORY_BYTES (64 * MIB)
#define END_LOOK_NS INT64_C(2000000)

enum { MEMORY_PARTS = 16 };

void foreign_find(struct foreign *foreign, struct load_map *map, const struct load_spec *spec)
{
    *foreign = (struct foreign){.map = map, .folder = -1};
    for (int i = 0; i < map->slot_count; i++)
        if (spec->terms[map->slots[i].term].element->kind == LOAD_FOREIGN)
            foreign->slot = &map->slots[i];
    if (!foreign->slot || map->folder[0] == '\0')
        return;
    foreign->folder = open(map->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (foreign->folder >= 0 && scratch_is_short(foreign->folder)) {
        close(foreign->folder);
        foreign->folder = -1;
    }
}

bool foreign_is_watched(const struct foreign *foreign)
{
    return foreign->slot && !foreign->is_cleared &&
           atomic_load(&foreign->slot->state) != LOADER_REFUSED;
}

/* ---- the limits ---- */

/* How much must stay, of the memory that `available` is of. */
static int64_t kept_memory_bytes(int64_t of_bytes)
{
    int64_t part = of_bytes / MEMORY_PARTS;
    return part > LEAST_MEMORY_BYTES ? part : LEAST_MEMORY_BYTES;
}

static bool is_short(const struct foreign *foreign)
{
    struct loader loader = {.slot = foreign->slot};
    int64_t of_bytes, available = port_available_bytes(&of_bytes);
    int64_t kept = kept_memory_bytes(of_bytes);
    if (available >= 0 && available < kept)
        loader_note(&loader,
                    "was ended since memory ran short: %lld MiB could be had, %lld MiB must stay",
                    (long long)(available / MIB), (long long)(kept / MIB));
    else if (foreign->folder >= 0 && scratch_is_short(foreign->folder))
        loader_note(&loader, "was ended since too little free space was left in %.60s",
                    foreign->map->folder);
    else
        return false;
    return true;
}

/* No time is left to wait for the program. */
static bool is_very_short(const struct foreign *foreign)
{
    int64_t of_bytes, available = port_available_bytes(&of_bytes);
    return (available >= 0 && available < kept_memory_bytes(of_bytes) / 2) ||
           (foreign->folder >= 0 && scratch_is_very_short(foreign->folder));
}

/* ---- the end ---- */

static void ask_to_end(pid_t process)
{
    kill(process, SIGTERM);
    kill(process, SIGCONT); /* it may have been stopped */
}

/* The program is not waited for before its state says so, so the number is its own. */
void foreign_look(struct foreign *foreign)
{
    pid_t process = foreign->slot ? atomic_load(&foreign->slot->process) : 0;
    if (process <= 0 || !foreign_is_watched(foreign))
        return;
    switch (atomic_load(&foreign->slot->state)) {
    case LOADER_WORKS:
        break;
    case LOADER_ENDED:
        foreign->is_cleared = scratch_clear_room(foreign->map);
        return;
    default:
        return;
    }
    if (foreign->kill_ns == 0 && is_short(foreign)) {
        ask_to_end(process);
        foreign->kill_ns = duty_now_ns() + FOREIGN_END_NS;
    }
    if (foreign->kill_ns != 0 && (duty_now_ns() >= foreign->kill_ns || is_very_short(foreign)))
        kill(process, SIGKILL); /* its children become the caller's, who kills them */
}

void foreign_end(const struct foreign *foreign)
{
    int64_t until_ns = duty_now_ns() + FOREIGN_END_NS;
    pid_t process = foreign->slot ? atomic_load(&foreign->slot->process) : 0;
    if (process <= 0 || atomic_load(&foreign->slot->state) == LOADER_ENDED ||
        waitpid(process, NULL, WNOHANG) != 0)
        return;
    ask_to_end(process);
    while (waitpid(process, NULL, WNOHANG) == 0 && duty_now_ns() < until_ns)
        duty_sleep_until(duty_now_ns() + END_LOOK_NS);
}

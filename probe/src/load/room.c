#include "base/posix_source.h"

#include "load/room.h"

#include "load/limits.h"
#include "port/port.h"

#include <stddef.h>

/* A process of the load or a job, with its page tables and kernel stack. */
#define PROCESS_BYTES (INT64_C(320) << 10)

enum { LEFT_PART = 8, MEMORY_PART = 2, GUARDS = 2 };

static void lower(struct load_room *room, int64_t processes, const char *limit)
{
    if (processes < room->processes)
        *room = (struct load_room){processes > 0 ? processes : 0, limit};
}

struct load_room load_room_now(void)
{
    struct load_room room = {LOAD_MOST_PROCESSES_IN_ALL, "the largest number that a load may have"};
    const char *limit = "a limit of the system";
    int64_t left = port_process_room(&limit), available = port_available_bytes(NULL);
    if (left >= 0)
        lower(&room, left - (left + LEFT_PART - 1) / LEFT_PART - GUARDS, limit);
    if (available >= 0)
        lower(&room, available / MEMORY_PART / PROCESS_BYTES, "half of the available memory");
    return room;
}

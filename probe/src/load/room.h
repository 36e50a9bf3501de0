/* How many processes a load may start and still leave some for other programs. */
#ifndef HS_LOAD_ROOM_H
#define HS_LOAD_ROOM_H

#include <stdint.h>

struct load_room {
    int64_t processes;
    const char *limit; /* name of that limit */
};

/* The least of LOAD_MOST_PROCESSES_IN_ALL, of seven eighths of what the limits of the system leave,
 * and of half of the available memory. */
struct load_room load_room_now(void);

#endif

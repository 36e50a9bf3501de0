/* How many processes a load may make without taking the last that the machine has. */
#ifndef HS_LOAD_ROOM_H
#define HS_LOAD_ROOM_H

#include <stdint.h>

struct load_room {
    int64_t processes;
    const char *limit; /* which limit it is, in words */
};

/* The least of LOAD_MOST_PROCESSES_IN_ALL, of seven eighths of what the limits of the system leave,
 * and of half of the available memory. */
struct load_room load_room_now(void);

#endif

/* The lines `window` of a stream (schema/README.md): the gaps of a loop, and when it watched. */
#ifndef HS_RUN_WINDOW_LINES_H
#define HS_RUN_WINDOW_LINES_H

#include "base/emit.h"
#include "record/arena.h"

/* One line for each window of the arena's table; nothing where it has none. */
void window_lines(struct emit *emit, const struct arena *arena);

#endif

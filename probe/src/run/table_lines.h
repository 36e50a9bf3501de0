/* The lines `table` of a stream (schema/README.md): whole numbers in rows and columns. */
#ifndef HS_RUN_TABLE_LINES_H
#define HS_RUN_TABLE_LINES_H

#include "base/emit.h"
#include "record/arena.h"

/* One line for each of the arena's tables; nothing where it has none. */
void table_lines(struct emit *emit, const struct arena *arena);

#endif

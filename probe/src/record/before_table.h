/* Which task had the CPU before a worst value of a series. Whoever knows it keeps a table for the
 * series, of as many values as the series keeps; it is filled by a thread that does not measure and
 * read when that has ended. It is not in the arena: a kill leaves the values without it. */
#ifndef HS_RECORD_BEFORE_TABLE_H
#define HS_RECORD_BEFORE_TABLE_H

#include "record/record.h"

#include <stdint.h>

enum { BEFORE_NAME_BYTES = 16 };

struct before {
    int64_t value_ns, at_ns; /* as in the record */
    int64_t thread;          /* the kernel's id; 0: the CPU was idle */
    char name[BEFORE_NAME_BYTES];
};

struct before_table {
    const struct before_table *next; /* of another series */
    uint32_t series, count;
    struct before values[RECORD_WORST]; /* largest first */
};

/* Keeps a value, unless there are as many that are as large: those of its record that have a task
 * are among them, if they come in the same order. */
void before_table_see(struct before_table *table, const struct before *before);

/* That of a worst value of the series, in any of the tables from `tables` on; NULL: not known. */
const struct before *before_table_find(const struct before_table *tables, uint32_t series,
                                       const struct record_worst *worst);

#endif

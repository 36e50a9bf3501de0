/* What tables of whole numbers consist of (row_table.h). */
#ifndef HS_RECORD_ROW_ENTRY_H
#define HS_RECORD_ROW_ENTRY_H

#include "base/options.h"

#include <stdatomic.h>
#include <stdint.h>

enum {
    ROW_TABLE_COLUMNS = 6,
    ROW_TABLE_ROWS = 1 << 14,      /* at most, of one table */
    ROW_TABLE_TABLES = 1 << 12,    /* at most, of a test */
    ROW_TABLE_ALL = HS_ARENA_ROWS, /* at most, of all tables of a test; 0: it has none */
    ROW_TABLE_NAME_BYTES = 40,
};

struct row_table {
    char name[ROW_TABLE_NAME_BYTES];
    char columns[ROW_TABLE_COLUMNS][ROW_TABLE_NAME_BYTES];
    char data[HS_ARENA_DATA_BYTES]; /* packed (base/data.h) */
    uint32_t column_count, first_row, row_count;
};

struct row_tables {
    _Atomic uint32_t count; /* of tables whose head is whole */
    uint32_t row_count;     /* of all of them */
};

struct row_table_row {
    _Atomic int64_t values[ROW_TABLE_COLUMNS];
};

#endif

#include "base/posix_source.h"

#include "run/table_lines.h"

#include "base/data.h"
#include "record/tables.h"

static void column(struct emit *emit, const struct arena *arena, const struct row_table *table,
                   uint32_t place)
{
    emit_member_array(emit, table->columns[place]);
    for (uint32_t row = 0; row < table->row_count; row++)
        emit_integer(emit, row_table_value(arena, table, row, place));
    emit_end_array(emit);
}

static void table_line(struct emit *emit, const struct arena *arena, const struct row_table *table)
{
    emit_begin_object(emit);
    emit_member_text(emit, "type", "table");
    emit_member_text(emit, "name", table->name);
    emit_key(emit, "data");
    data_emit(emit, table->data, sizeof table->data);
    emit_member_object(emit, "columns");
    for (uint32_t i = 0; i < table->column_count; i++)
        column(emit, arena, table, i);
    emit_end_object(emit);
    emit_end_object(emit);
    emit_line(emit);
}

void table_lines(struct emit *emit, const struct arena *arena)
{
    uint32_t count = row_table_count(arena);
    for (uint32_t i = 0; i < count; i++)
        table_line(emit, arena, row_table_at(arena, i));
}

#include "record/before_table.h"

#include <stddef.h>

void before_table_see(struct before_table *table, const struct before *before)
{
    uint32_t place = table->count;
    if (place == RECORD_WORST && before->value_ns <= table->values[place - 1].value_ns)
        return;
    if (place < RECORD_WORST)
        table->count++;
    else
        place--;
    for (; place > 0 && table->values[place - 1].value_ns < before->value_ns; place--)
        table->values[place] = table->values[place - 1];
    table->values[place] = *before;
}

const struct before *before_table_find(const struct before_table *tables, uint32_t series,
                                       const struct record_worst *worst)
{
    while (tables && tables->series != series)
        tables = tables->next;
    for (uint32_t i = 0; tables && i < tables->count; i++)
        if (tables->values[i].at_ns == worst->at_ns &&
            tables->values[i].value_ns == worst->value_ns)
            return &tables->values[i];
    return NULL;
}

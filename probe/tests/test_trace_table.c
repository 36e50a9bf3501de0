/* The excerpts of the kernel's trace: which value is to have one. */
#include "base/posix_source.h"

#include "record/trace_table.h"
#include "tap.h"

#include <stdlib.h>

static struct arena *arena;

static void begin(void)
{
    static struct arena_plan plan;
    struct outcome outcome = {0};
    memset(&plan, 0, sizeof plan);
    arena_plan_series(&plan, "wakeup", "ns", NULL);
    arena = arena_create(&plan, NULL, &outcome);
    arena_plan_free(&plan);
    if (!arena)
        abort();
}

static bool wants(int64_t value_ns, int64_t at_ns, int64_t since_ns)
{
    struct trace_value value;
    record_value(arena_record(arena, 0), value_ns, at_ns);
    return trace_table_wants(arena, since_ns, &value) && CHECK_SAME(value.value_ns, value_ns) &&
           CHECK_SAME(value.at_ns, at_ns);
}

static void keep(int64_t value_ns, int64_t at_ns)
{
    static const char line[1][ARENA_TRACE_BYTES] = {"a line"};
    const struct trace_value value = {value_ns, at_ns, -1};
    trace_table_keep(arena, &value, line, 1);
}

/* Of what ended before the look before, the ring has nothing any more. */
TEST(old_values)
{
    begin();
    CHECK(!wants(500, 7000, 7001));
    CHECK(wants(501, 8000, 8000));
    arena_free(arena);
}

TEST(only_larger_values)
{
    begin();
    CHECK(!wants(0, 10, 0)); /* larger than none */
    for (int i = 0; i < ARENA_TRACES; i++)
        keep(500 + i, 1000 + i);
    CHECK(!wants(500, 7000, 0));
    CHECK(wants(501, 8000, 0));
    arena_free(arena);
}

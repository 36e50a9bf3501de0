/* Pictures of the tire as tables: their moments, which masses are in them, and what ends them. The
 * clock is made up, so that simulating takes no time or all of it. */
#include "base/posix_source.h"

#include "command/args.h"
#include "family/simulate/simulation.h"
#include "family/simulate/tire.h"
#include "made_up_run.h"
#include "record/tables.h"
#include "tap.h"

#include <math.h>
#include <time.h>

static int64_t now_ns, look_ns; /* look_ns: that each look at the clock takes */

int clock_gettime(clockid_t id, struct timespec *time)
{
    (void)id;
    now_ns += look_ns;
    *time = clock_ns_timespec(now_ns);
    return 0;
}

static int64_t available_bytes = -1;

WRAP_IF(true, available_bytes, int64_t, port_available_bytes, (int64_t * of), (of));

static const struct param_spec params[] = {
    {"masses", PARAM_COUNT},           {"simulated_s", PARAM_COUNT}, {"step_ns", PARAM_NS},
    {"stiffness_per_s2", PARAM_COUNT}, {"frames", PARAM_COUNT},      {0}};
static const struct test test = {.params = params};

/* What a run of these parameters keeps, with such a clock. */
static void keep(int64_t masses, int64_t simulated_s, int64_t step_ns, int64_t frames, int64_t look)
{
    const int64_t values[] = {masses, simulated_s, step_ns, 0, frames};
    run_of(&test);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        request.params[i] = (struct param_value){1, {values[i]}};
    look_ns = look;
    tire_plan_frames(&run);
    run_make_arena();
    tire_keep_frames(&run);
}

#define FRAMES_TEST(what, ...) TEST_IN((keep(__VA_ARGS__), true), arena_free(run.arena), what)

static const struct row_table *table_at(uint32_t table)
{
    return table_head(run.arena, TABLE_ROWS, table);
}

static int64_t value(uint32_t table, uint32_t row, uint32_t column)
{
    return row_table_value(run.arena, table_at(table), row, column);
}

static const char *data_of(const char *room, size_t bytes)
{
    static struct emit emit;
    emit_open(&emit, -1);
    data_emit(&emit, room, bytes);
    emit.buffer[emit.used] = '\0';
    return emit.buffer;
}

static const char *head(uint32_t table)
{
    const struct row_table *found = table_at(table);
    return data_of(found->data, sizeof found->data);
}

FRAMES_TEST(moments, 8, 0, 10000000, 4, 0)
{
    CHECK_SAME(run.arena->tables[TABLE_ROWS].count, 4);
    CHECK_SAME(run.arena->event_count, 0);
    CHECK_HOLDS(head(0), "\"simulated_ns\":0,\"masses_count\":8,\"every_count\":1,"
                         "\"step_ns\":10000000,\"energy_uj\":78480000");
    CHECK_HOLDS(head(1), "\"simulated_ns\":500000000");
    CHECK_HOLDS(head(3), "\"simulated_ns\":1500000000");
    CHECK_TEXT(table_at(0)->name, "frame");
    CHECK_SAME(table_at(0)->row_count, 8);
    CHECK_SAME(value(0, 0, 0), 0); /* on top */
    CHECK_SAME(value(0, 0, 1), 1100000);
    CHECK_SAME(value(0, 2, 0), 300000); /* on the right */
    CHECK_SAME(value(0, 2, 1), 800000);
    CHECK_SAME(value(0, 4, 1), 500000);
    CHECK_SAME(value(3, 4, 1), 0); /* on the floor */
    CHECK(value(3, 0, 1) < 1100000);
}

FRAMES_TEST(one_picture_is_the_end, 8, 2, 10000000, 1, 0)
{
    CHECK_SAME(run.arena->tables[TABLE_ROWS].count, 1);
    CHECK_HOLDS(head(0), "\"simulated_ns\":2000000000");
}

/* Of many masses some are in the picture; of few steps there are few pictures. */
FRAMES_TEST(bounds, 5904, 0, 500000000, 64, 0)
{
    CHECK_SAME(run.arena->tables[TABLE_ROWS].count, 4);
    CHECK_HOLDS(head(3), "\"every_count\":12");
    CHECK_SAME(table_at(0)->row_count, 492);
    CHECK_SAME(value(0, 123, 0), 300000); /* mass 1476 of 5904 */
    CHECK_SAME(value(0, 246, 1), 500000);
}

FRAMES_TEST(none, 8, 0, 10000000, 0, 0)
{
    CHECK_SAME(run.plan.tables[TABLE_ROWS].heads, 0);
    CHECK_SAME(run.arena->tables[TABLE_ROWS].count, 0);
}

FRAMES_TEST(cut, 20000, 1, 10000000, 51, 100000000)
{
    CHECK_SAME(run.arena->event_count, 1);
    const struct arena_event *event = arena_event_at(run.arena, 0);
    CHECK_TEXT(event->name, "frames_cut");
    CHECK_HOLDS(event->text,
                "of 51 pictures of the tire are kept, up to a simulated time of 80 ms: "
                "simulating them took half a second");
    CHECK_HOLDS(data_of(event->data, sizeof event->data),
                "\"masses_count\":20000,\"frames_count\":51,\"kept_count\":5,");
    CHECK_SAME(run.arena->tables[TABLE_ROWS].count, 5);
}

WRAP_TEST(no_memory)
{
    available_bytes = 1 << 20;
    keep(100000, 0, 10000000, 3, 0);
    CHECK_SAME(run.arena->tables[TABLE_ROWS].count, 0);
    CHECK_SAME(run.arena->event_count, 1);
    CHECK_HOLDS(arena_event_at(run.arena, 0)->text,
                "0 of 3 pictures of the tire are kept, up to a simulated time of 0 ms: there is "
                "no memory for them");
    arena_free(run.arena);
    available_bytes = -1;
}

#include "base/posix_source.h"

#include "family/simulate/step_blocks.h"

#include "record/tables.h"
#include "run/variant.h"

static int64_t with_table(int64_t threads)
{
    return threads < STEP_BLOCKS_THREADS ? threads : STEP_BLOCKS_THREADS;
}

void step_blocks_plan(struct run *run)
{
    const struct param_value *threads = run_param(run, "threads");
    int64_t steps = run_number(run, "block_steps"), tables = 0;
    int others = variant_count(run) / threads->count + 1; /* policies may be the same */
    for (int i = 0; i < threads->count && steps > 0; i++)
        tables += with_table(threads->number[i]) * others;
    run->plan.table_room += (uint32_t)tables;
    run->plan.row_room += (uint32_t)(tables * steps);
}

/* The number of the step last: a row without it is none (record/tables.h). */
static void keep_step(const struct team *team, int table, uint32_t step,
                      const struct step_block *block)
{
    struct arena *arena = team->run->arena;
    int64_t start_ns = team->start_ns;
    int64_t release_ns =
        team->ring ? (int64_t)step * team->ring->period_ns : block->begin_ns - start_ns;
    row_table_set(arena, table, step, 1, release_ns);
    row_table_set(arena, table, step, 2, block->begin_ns - start_ns);
    row_table_set(arena, table, step, 3, block->read_ns - start_ns);
    row_table_set(arena, table, step, 4, block->compute_ns - start_ns);
    row_table_set(arena, table, step, 5, block->write_ns - start_ns);
    row_table_set(arena, table, step, 0, (int64_t)step + 1);
}

void step_blocks_keep(const struct team *team, int64_t masses, const char *solver,
                      const char *policy)
{
    static const char *const columns[] = {"step",       "release_ns", "begin_ns", "read_ns",
                                          "compute_ns", "write_ns",   NULL};
    for (int i = 0; i < with_table(team->threads) && team->block_steps > 0; i++) {
        const struct team_member *member = &team->members[i];
        uint64_t steps = member->done < team->block_steps ? member->done : team->block_steps;
        if (steps == 0)
            continue;
        const struct datum data[] = {data_integer("masses_count", masses),
                                     data_integer("threads_count", team->threads),
                                     data_integer("thread", i),
                                     data_integer("cpu", member->cpu),
                                     data_text("solver", solver),
                                     data_text("policy", policy),
                                     {.key = NULL}};
        int table = row_table_add(team->run->arena, "blocks", data, columns, (uint32_t)steps);
        for (uint32_t step = 0; step < steps; step++)
            keep_step(team, table, step, &member->blocks[step]);
    }
}

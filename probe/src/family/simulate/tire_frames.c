#include "base/posix_source.h"

#include "family/simulate/simulation.h"

#include "family/simulate/tire.h"
#include "record/tables.h"

#include <math.h>
#include <stdlib.h>

#define SIMULATED_NS INT64_C(1500000000) /* the fall, and the tire on the floor */
#define MOST_NS INT64_C(500000000)       /* that all pictures may take */

enum { LINE = 64, LOOK_MASSES = 20000 /* advanced between two looks at the clock */ };

static const char *const columns[] = {"x_um", "y_um", NULL};

struct frames {
    const struct run *run;
    struct tire tire;
    struct tire_state states[2];
    enum tire_code code;
    int64_t step_ns, step, last_step, end_ns;
    int wanted, kept;
};

static int64_t every_of(int64_t masses)
{
    return (masses + TIRE_FRAME_ROWS - 1) / TIRE_FRAME_ROWS;
}

static int64_t rows_of(int64_t masses)
{
    int64_t every = every_of(masses);
    return (masses + every - 1) / every;
}

void tire_plan_frames(struct run *run)
{
    uint32_t frames = (uint32_t)run_number(run, "frames");
    run->plan.tables[TABLE_ROWS].heads += frames;
    run->plan.tables[TABLE_ROWS].entries += frames * (uint32_t)rows_of(run_number(run, "masses"));
}

static int64_t millionths(double value)
{
    return isfinite(value) && fabs(value) < 1e12 ? (int64_t)llround(value * 1e6) : 0;
}

static void keep_frame(struct frames *frames)
{
    struct arena *arena = frames->run->arena;
    const struct tire_state *state = &frames->states[frames->step % 2];
    int64_t masses = frames->tire.masses, every = every_of(masses);
    int table = row_table_add(
        arena, "frame",
        DATA(data_integer("simulated_ns", frames->step * frames->step_ns),
             data_integer("masses_count", masses), data_integer("every_count", every),
             data_integer("step_ns", frames->step_ns),
             data_integer("energy_uj", millionths(tire_energy_j(&frames->tire, state)))),
        columns, (uint32_t)rows_of(masses));
    for (int64_t i = 0; i < masses; i += every) {
        row_table_set(arena, table, (uint32_t)(i / every), 1, millionths(state->y[i]));
        row_table_set(arena, table, (uint32_t)(i / every), 0, millionths(state->x[i]));
    }
    frames->kept += table >= 0 ? 1 : 0;
}

/* Advances to `step`, unless the time is over: false. */
static bool advance_to(struct frames *frames, int64_t step)
{
    int64_t between = LOOK_MASSES / frames->tire.masses + 1;
    while (frames->step < step) {
        if (frames->step % between == 0 && clock_monotonic_ns() >= frames->end_ns)
            return false;
        const struct tire_state *now = &frames->states[frames->step++ % 2];
        tire_advance(&frames->tire, now, &frames->states[frames->step % 2], 0, frames->tire.masses,
                     frames->code);
    }
    return true;
}

static int64_t step_of_frame(const struct frames *frames, int frame)
{
    if (frames->wanted == 1)
        return frames->last_step;
    return (int64_t)llround((double)frames->last_step * frame / (frames->wanted - 1));
}

/* Moments that long steps put into the same one have one picture. */
static bool keep_all(struct frames *frames)
{
    for (int frame = 0; frame < frames->wanted; frame++) {
        int64_t step = step_of_frame(frames, frame);
        if (frame > 0 && step == frames->step)
            continue;
        if (!advance_to(frames, step))
            return false;
        keep_frame(frames);
    }
    return true;
}

static void report_cut(const struct frames *frames, const char *why)
{
    arena_event(
        frames->run->arena, "frames_cut", -1,
        DATA(data_integer("masses_count", frames->tire.masses),
             data_integer("frames_count", frames->wanted), data_integer("kept_count", frames->kept),
             data_integer("simulated_ns", frames->step * frames->step_ns)),
        "%d of %d pictures of the tire are kept, up to a simulated time of %lld ms: %s",
        frames->kept, frames->wanted, (long long)(frames->step * frames->step_ns / 1000000), why);
}

static void *allocate(struct frames *frames)
{
    size_t bytes = tire_state_bytes(frames->tire.masses);
    int64_t available = port_available_bytes(NULL);
    if (available >= 0 && (int64_t)bytes > available / 4)
        return NULL;
    char *memory = calloc(1, 2 * bytes + LINE);
    for (size_t i = 0; i < 2 && memory; i++)
        tire_state_place(&frames->states[i], memory + LINE - (uintptr_t)memory % LINE + i * bytes,
                         frames->tire.masses);
    return memory;
}

void tire_keep_frames(const struct run *run)
{
    int64_t simulated_ns = run_number(run, "simulated_s") * CLOCK_NS_PER_S;
    struct frames frames = {.run = run,
                            .code = tire_best_code(),
                            .step_ns = run_number(run, "step_ns"),
                            .end_ns = clock_monotonic_ns() + MOST_NS,
                            .wanted = (int)run_number(run, "frames")};
    if (frames.wanted == 0)
        return;
    frames.last_step = (simulated_ns > 0 ? simulated_ns : SIMULATED_NS) / frames.step_ns;
    tire_init(&frames.tire, run_number(run, "masses"), frames.step_ns,
              run_number(run, "stiffness_per_s2"));
    void *memory = allocate(&frames);
    if (!memory) {
        report_cut(&frames, "there is no memory for them");
        return;
    }
    tire_start(&frames.tire, &frames.states[0]);
    if (!keep_all(&frames))
        report_cut(&frames, "simulating them took half a second");
    free(memory);
}

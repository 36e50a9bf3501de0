#include "base/posix_source.h"

#include "family/simulate/tire_trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define DROP_M 0.5
#define GRAVITY_M_PER_S2 9.81

enum { CACHE_LINE = 64 };

bool tire_trial_open(struct tire_trial *trial, tire_advancer *advance, int64_t step_ns,
                     int64_t stiffness_per_s2)
{
    *trial = (struct tire_trial){.advance = advance,
                                 .step_ns = step_ns,
                                 .stiffness_per_s2 = stiffness_per_s2,
                                 .code = tire_best_code()};
    size_t bytes = TIRE_TRIAL_STATES * tire_state_bytes(TIRE_TRIAL_MASSES) + CACHE_LINE;
    trial->memory = calloc(1, bytes);
    return trial->memory != NULL;
}

void tire_trial_close(struct tire_trial *trial)
{
    free(trial->memory);
    trial->memory = NULL;
}

void tire_trial_place(struct tire_trial *trial, int64_t masses)
{
    char *memory = trial->memory;
    tire_init(&trial->tire, masses, trial->step_ns, trial->stiffness_per_s2);
    memory += CACHE_LINE - (uintptr_t)memory % CACHE_LINE;
    for (int i = 0; i < TIRE_TRIAL_STATES; i++)
        tire_state_place(&trial->states[i], memory + (size_t)i * tire_state_bytes(masses), masses);
}

double tire_trial_start(const struct tire_trial *trial, const struct tire_state *state)
{
    double lead_s = (double)TIRE_TRIAL_LEAD * trial->tire.step_s;
    double speed = sqrt(2.0 * GRAVITY_M_PER_S2 * DROP_M) - GRAVITY_M_PER_S2 * lead_s;
    tire_start(&trial->tire, state);
    if (speed <= 0.0)
        return 0.0;
    double fallen_m = speed * speed / (2.0 * GRAVITY_M_PER_S2);
    for (int64_t i = -1; i <= trial->tire.masses; i++) {
        state->y[i] -= fallen_m;
        state->vy[i] = -speed;
    }
    return -speed;
}

void tire_trial_advance(const struct tire_trial *trial, int64_t step)
{
    trial->advance(&trial->tire, &trial->states[step % 2], &trial->states[(step + 1) % 2], 0,
                   trial->tire.masses, trial->code);
}

void tire_say(struct tire_finding *found, bool is_good, const char *format, ...)
{
    va_list arguments;
    found->is_good = is_good;
    va_start(arguments, format);
    vsnprintf(found->evidence, sizeof found->evidence, format, arguments);
    va_end(arguments);
}

double tire_worse(double one, double other)
{
    return isnan(one) || one >= other ? one : other;
}

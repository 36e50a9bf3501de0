/* A run without the command: the test and the values of its parameters are chosen. */
#ifndef HS_MADE_UP_RUN_H
#define HS_MADE_UP_RUN_H

#include "new_arena.h"
#include "run/request.h"
#include "run/run.h"

static struct request request;
static struct run run;

/* Of that test, with no value for its parameters. */
static inline void run_of(const struct test *test)
{
    memset(&request, 0, sizeof request);
    memset(&run, 0, sizeof run);
    stop_reset();
    request.test = run.test = test;
    run.request = &request;
}

static inline void run_make_arena(void)
{
    run.arena = arena_create(&run.plan, NULL, &run.outcome);
    if (!run.arena)
        abort();
}

/* With so many series of values, which their places tell apart. */
static inline void run_make_series(int most)
{
    for (int i = 0; i < most; i++) {
        arena_plan_series(&run.plan, "value", "ns", NULL);
        arena_plan_label_number(&run.plan, i, "place", i);
    }
    run_make_arena();
}

static inline void run_free(void)
{
    arena_free(run.arena);
    arena_plan_free(&run.plan);
}

static inline const struct arena_event *event(const char *name)
{
    return event_of(run.arena, name);
}

static inline void expect_event(const char *name, const char *part)
{
    if (CHECK(event(name) != NULL))
        CHECK_HOLDS(event(name)->text, part);
}

#endif

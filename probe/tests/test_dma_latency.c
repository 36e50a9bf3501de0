/* --dma-latency-us: held while a test measures, let go before the results are sent, and what a run
 * says where it is refused or a lower bound is in force. The port is a fake. */
#include "base/posix_source.h"

#include "child_run.h"
#include "fake_port.h"
#include "run/life_cycle.h"
#include "run/run.h"
#include "shield/shield.h"
#include "tap.h"

#include <fcntl.h>

enum { STILL_HELD = 99 };

static bool is_open(void)
{
    return fcntl(fake_port.latency_descriptor, F_GETFD) >= 0;
}

static int measure(struct run *run)
{
    bool is_held = run->request->has_dma_latency && is_open();
    arena_event(run->arena, is_held ? "measured_held" : "measured_free", -1, NO_DATA, "looked");
    arena_verdict(run->arena, true, 1, "ran", "it ran");
    return 0;
}

static int measure_and_fail(struct run *run)
{
    measure(run);
    return outcome_set(&run->outcome, STATUS_FAILED, NULL, "an invented failure");
}

/* After the results were sent. */
static void finish(struct run *run)
{
    if (run->request->has_dma_latency && is_open())
        _exit(STILL_HELD);
}

static const char *stream_of(const char *us, int (*act)(struct run *run), int *code)
{
    const struct test test = {
        .id = "LOOKS", .title = "looks", .setup_ns = 1000000, .measure = act, .finish = finish};
    const char *more[] = {us ? "--dma-latency-us" : NULL, us, NULL};
    return child_run_of(&test, more, code);
}

static void be(int error, int others_us)
{
    fake_port = (struct fake_port){.is_counter_trusted = true,
                                   .cpu_count = 1,
                                   .latency_error = error,
                                   .latency_of_others = others_us};
}

TEST(held_and_let_go)
{
    int code;
    be(0, 0);
    const char *text = stream_of("5", measure, &code);
    CHECK_SAME(code, 0);
    CHECK_HOLDS(text, "\"measured_held\"");
    CHECK_HOLDS(text, "\"realtime\":false,\"dma_latency_us\":5}");
    CHECK(!strstr(text, "dma_latency_lower"));
}

TEST(let_go_after_a_failure)
{
    int code;
    be(0, 0);
    const char *text = stream_of("0", measure_and_fail, &code);
    CHECK_SAME(code, EXIT_NOT_MEASURED);
    CHECK_HOLDS(text, "\"measured_held\"");
    CHECK_HOLDS(text, "\"status\":\"failed\"");
    CHECK_HOLDS(text, "\"dma_latency_us\":0}");
}

TEST(not_asked_for)
{
    int code;
    be(EACCES, 0);
    const char *text = stream_of(NULL, measure, &code);
    CHECK_SAME(code, 0);
    CHECK_HOLDS(text, "\"measured_free\"");
    CHECK_HOLDS(text, "\"dma_latency_us\":null}");
}

TEST(refused)
{
    static const struct {
        int error;
        const char *status, *remedy;
    } refusals[] = {{EACCES, "denied", "\"command\":\"sudo chmod a+rw /dev/cpu_dma_latency\""},
                    {EPERM, "denied", "run as root"},
                    {ENOTSUP, "unsupported", "such limit\",\"command\":null"}};
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        int code;
        char status[40];
        be(refusals[i].error, 0);
        const char *text = stream_of("5", measure, &code);
        snprintf(status, sizeof status, "\"status\":\"%s\"", refusals[i].status);
        CHECK_SAME(code, EXIT_MISSING);
        CHECK_HOLDS(text, status);
        CHECK_HOLDS(text, refusals[i].remedy);
        CHECK_HOLDS(text, "holding the exit latency of idle states at 5 us");
        CHECK_HOLDS(text, "\"dma_latency_us\":null}");
        CHECK(!strstr(text, "\"measured_")); /* before anything was measured */
    }
}

TEST(a_lower_bound_of_others)
{
    int code;
    be(0, 3);
    const char *text = stream_of("5", measure, &code);
    CHECK_HOLDS(text, "\"dma_latency_us\":3}");
    CHECK_HOLDS(text, "\"name\":\"dma_latency_lower\",\"at_ns\":null,\"data\":{\"asked_us\":5,"
                      "\"in_force_us\":3,\"holder\":\"another program\"}");
    text = stream_of("2", measure, &code);
    CHECK_HOLDS(text, "\"dma_latency_us\":2}");
    CHECK(!strstr(text, "dma_latency_lower"));
}

/* The shield holds 0. */
TEST(the_bound_of_the_shield)
{
    static struct arena_plan plan;
    static struct run run;
    static struct request request;
    struct outcome outcome = {0};
    be(0, 0);
    memset(&run, 0, sizeof run);
    memset(&request, 0, sizeof request);
    run.request = &request;
    run.settings = 1u << SHIELD_DMA_LATENCY;
    run.arena = arena_create(&plan, NULL, &outcome);
    if (!run.arena)
        abort();
    CHECK_SAME(dma_latency_hold(&run), 0);
    CHECK(run.dma_latency.is_held && !run.dma_latency.is_open);
    CHECK_SAME(run.dma_latency.us, 0);
    CHECK_SAME(run.arena->event_count, 0);
    fake_port.latency_of_others = 1; /* in place of 0, which the fake has as none */
    request.has_dma_latency = true;
    request.dma_latency_us = 40;
    CHECK_SAME(dma_latency_hold(&run), 0);
    CHECK_SAME(run.dma_latency.us, 1);
    CHECK_TEXT(run.arena->events[0].text, "40 us requested, 1 us in force: the setting "
                                          "dma_latency of the shield holds the lower bound");
    CHECK(is_open());
    dma_latency_release(&run);
    CHECK(!is_open());
    dma_latency_release(&run);
    arena_free(run.arena);
}

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

static const char *stream_of(const char *us, int (*act)(struct run *run))
{
    const struct test test = {
        .id = "LOOKS", .title = "looks", .setup_ns = 1000000, .measure = act, .finish = finish};
    const char *more[] = {us ? "--dma-latency-us" : NULL, us, NULL};
    return child_run_of(&test, more);
}

static void be(int error, int others_us)
{
    fake_port = (struct fake_port){.is_counter_trusted = true,
                                   .cpu_count = 1,
                                   .latency_error = error,
                                   .latency_of_others = others_us};
}

TEST(held_while_it_measures)
{
    static const struct {
        const char *name;
        int error, others_us;
        const char *asked_us;
        int (*act)(struct run *run);
        int code;
        const char *measured, *in_force, *more;
        bool has_lower; /* bound, of others */
    } rows[] = {
        {"and let go", 0, 0, "5", measure, 0, "\"measured_held\"",
         "\"realtime\":false,\"dma_latency_us\":5}", "\"status\":\"measured\""},
        {"let go after a failure", 0, 0, "0", measure_and_fail, EXIT_NOT_MEASURED,
         "\"measured_held\"", "\"dma_latency_us\":0}", "\"status\":\"failed\""},
        {"not asked for", EACCES, 0, NULL, measure, 0, "\"measured_free\"",
         "\"dma_latency_us\":null}", ""},
        {"a lower bound of others", 0, 3, "5", measure, 0, "\"measured_held\"",
         "\"dma_latency_us\":3}",
         "\"name\":\"dma_latency_lower\",\"at_ns\":null,\"data\":{\"asked_us\":5,"
         "\"in_force_us\":3,\"holder\":\"another program\"}",
         true},
        {"a higher bound of others", 0, 3, "2", measure, 0, "\"measured_held\"",
         "\"dma_latency_us\":2}", ""},
    };
    foreach (row, rows, row->name) {
        be(row->error, row->others_us);
        const char *text = stream_of(row->asked_us, row->act);
        CHECK_SAME(child_code, row->code);
        CHECK_HOLDS(text, row->measured, row->in_force, row->more);
        CHECK_SAME(strstr(text, "dma_latency_lower") != NULL, row->has_lower);
    }
}

TEST(refused)
{
    static const struct {
        int error;
        const char *status, *remedy;
    } refusals[] = {{EACCES, "denied", "\"command\":\"sudo chmod a+rw /dev/cpu_dma_latency\""},
                    {EPERM, "denied", "run as root"},
                    {ENOTSUP, "unsupported", "such limit\",\"command\":null"}};
    foreach (row, refusals, NULL) {
        char status[40];
        be(row->error, 0);
        const char *text = stream_of("5", measure);
        snprintf(status, sizeof status, "\"status\":\"%s\"", row->status);
        CHECK_SAME(child_code, EXIT_MISSING);
        CHECK_HOLDS(text, status, row->remedy, "holding the exit latency of idle states at 5 us",
                    "\"dma_latency_us\":null}");
        CHECK_LACKS(text, "\"measured_"); /* before anything was measured */
    }
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

/* The kernel's tracing, in the place of the port's. What the kernel lacks and what its rings hold
 * is the matter of the file that includes this: it has port_tracing_look, _filter, _stop and _read,
 * and _symbols where a name is asked for. */
#ifndef HS_MADE_UP_TRACING_H
#define HS_MADE_UP_TRACING_H

#include "fake_port.h"
#include "port/tracing.h"

#include <stdio.h>

/* A port that is made up answers whatever it is asked. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static struct made_up_tracing {
    struct cpus cpus; /* that were asked for */
    int kind_count;
    int open_error, start_error, close_error;
    int open_count, start_count, close_count;
    bool is_on, is_switched_off; /* switched_off: by others */
} traced;

static _Thread_local pid_t own_id;

void port_tracing_name(char *name, size_t bytes)
{
    snprintf(name, bytes, "mine");
}

struct port_tracing *port_tracing_open(const struct port_tracing_wish *wish,
                                       struct outcome *outcome)
{
    traced.cpus = wish->cpus;
    traced.kind_count = wish->kind_count;
    if (traced.open_error) {
        outcome_set(outcome, STATUS_DENIED, "a remedy", "the kernel is locked down");
        return NULL;
    }
    traced.open_count++;
    return (struct port_tracing *)&traced;
}

int port_tracing_start(struct port_tracing *tracing, struct outcome *outcome)
{
    traced.start_count++;
    if (traced.start_error)
        return outcome_set(outcome, STATUS_FAILED, NULL, "does not start");
    traced.is_on = true;
    return 0;
}

int port_tracing_close(struct port_tracing *tracing, char *path, size_t bytes)
{
    snprintf(path, bytes, "/instances/mine");
    traced.close_count++;
    return traced.close_error;
}

ANSWERS(bool, port_tracing_is_on, (const struct port_tracing *tracing), !traced.is_switched_off);
ANSWERS(int, port_tracing_remove_left, (void), 0);
ANSWERS(pid_t, port_tracing_thread, (void), own_id);
ANSWERS(int, port_timerlat_look, (int64_t period_us, struct outcome *outcome), 0);
ANSWERS(int, port_timerlat_open, (int cpu), -1);

#endif

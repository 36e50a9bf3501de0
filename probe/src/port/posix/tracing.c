/* Tracing on systems whose kernel has none that this port knows. */
#include "port/tracing.h"

#include <errno.h>
#include <stdio.h>

static int refuse(struct outcome *outcome)
{
    return outcome_set(outcome, STATUS_UNSUPPORTED, NULL, "this port does not support tracing");
}

int port_tracing_look(const struct port_tracing_wish *wish, struct outcome *outcome)
{
    (void)wish;
    return refuse(outcome);
}

void port_tracing_name(char *name, size_t bytes)
{
    snprintf(name, bytes, "none");
}

struct port_tracing *port_tracing_open(const struct port_tracing_wish *wish,
                                       struct outcome *outcome)
{
    (void)wish;
    refuse(outcome);
    return NULL;
}

int port_tracing_filter(struct port_tracing *tracing, int kind, const char *expression)
{
    (void)tracing, (void)kind, (void)expression;
    return ENOTSUP;
}

int port_tracing_start(struct port_tracing *tracing, struct outcome *outcome)
{
    (void)tracing;
    return refuse(outcome);
}

bool port_tracing_is_on(const struct port_tracing *tracing)
{
    (void)tracing;
    return false;
}

int port_tracing_stop(struct port_tracing *tracing)
{
    (void)tracing;
    return ENOTSUP;
}

int port_tracing_read(struct port_tracing *tracing, int cpu, port_tracing_visit visit,
                      void *context)
{
    (void)tracing, (void)cpu, (void)visit, (void)context;
    errno = ENOTSUP;
    return -1;
}

int port_tracing_remove_left(void)
{
    return 0;
}

int port_tracing_close(struct port_tracing *tracing, char *path, size_t bytes)
{
    (void)tracing, (void)path, (void)bytes;
    return 0;
}

pid_t port_tracing_thread(void)
{
    return -1;
}

int port_timerlat_look(int64_t period_us, struct outcome *outcome)
{
    (void)period_us;
    return refuse(outcome);
}

int port_timerlat_open(int cpu)
{
    (void)cpu;
    errno = ENOTSUP;
    return -1;
}

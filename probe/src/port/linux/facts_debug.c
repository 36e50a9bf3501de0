/* Tracing, lock checking and watchdogs that are switched on. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>

static void tracing_facts(const struct port_fact_sink *sink)
{
    char text[128];
    if (linux_read_debug("tracefs", "current_tracer", text, sizeof text))
        sink->text(sink->context, "tracing.tracer", text);
    if (linux_read_debug("tracefs", "tracing_on", text, sizeof text))
        sink->truth(sink->context, "tracing.is_recording", strcmp(text, "0") != 0);
    /* 0: none; 1: all; X: some */
    if (linux_read_debug("tracefs", "events/enable", text, sizeof text))
        sink->text(sink->context, "tracing.events",
                   strcmp(text, "0") == 0   ? "none"
                   : strcmp(text, "1") == 0 ? "all"
                                            : "some");
}

void linux_debug_facts(const struct port_fact_sink *sink)
{
    int64_t number;
    char value[32];
    tracing_facts(sink);
    bool is_checking = linux_exists("/proc/lockdep");
    if (is_checking || linux_config("CONFIG_PROVE_LOCKING", value, sizeof value))
        sink->truth(sink->context, "kernel.lock_checking", is_checking || strcmp(value, "y") == 0);
    if (linux_read_number("/proc/sys/kernel/watchdog", &number))
        sink->number(sink->context, "kernel.watchdog", number);
    if (linux_read_number("/proc/sys/kernel/soft_watchdog", &number))
        sink->number(sink->context, "kernel.soft_watchdog", number);
    if (linux_read_number("/proc/sys/kernel/nmi_watchdog", &number))
        sink->number(sink->context, "kernel.nmi_watchdog", number);
    if (linux_read_number("/proc/sys/kernel/watchdog_thresh", &number))
        sink->number(sink->context, "kernel.watchdog_threshold_s", number);
}

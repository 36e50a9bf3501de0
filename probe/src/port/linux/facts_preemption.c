/* The preemption model in force. */
#include "base/posix_source.h"

#include "port/linux/facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

static bool is_realtime(const struct utsname *names)
{
    int64_t flag;
    return strstr(names->version, "PREEMPT_RT") || strstr(names->version, "PREEMPT RT") ||
           (linux_read_number("/sys/kernel/realtime", &flag) && flag == 1);
}

/* Since Linux 6.13 "PREEMPT" in the version may also mean lazy preemption. */
static bool may_be_lazy(const char *release)
{
    char *rest;
    long major = strtol(release, &rest, 10);
    long minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;
    return major > 6 || (major == 6 && minor >= 13);
}

static bool is_model(const char *word)
{
    static const char *const models[] = {"none", "voluntary", "full", "lazy"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(word, models[i]) == 0)
            return true;
    return false;
}

/* Model that a PREEMPT_DYNAMIC kernel boots with, from its command line, else its configuration.
 * Returns which of the two; NULL: not known. */
static const char *default_model(char *model, size_t bytes)
{
    static const char *const built[][2] = {{"CONFIG_PREEMPT_NONE", "none"},
                                           {"CONFIG_PREEMPT_VOLUNTARY", "voluntary"},
                                           {"CONFIG_PREEMPT", "full"},
                                           {"CONFIG_PREEMPT_LAZY", "lazy"}};
    char value[32];
    if (linux_boot_option("preempt", model, bytes) && is_model(model))
        return "boot line";
    for (size_t i = 0; i < sizeof built / sizeof built[0]; i++) {
        if (!linux_config(built[i][0], value, sizeof value))
            return NULL;
        if (strcmp(value, "y") == 0) {
            snprintf(model, bytes, "%s", built[i][1]);
            return "configuration";
        }
    }
    return NULL;
}

static void dynamic_facts(const struct port_fact_sink *sink)
{
    char list[256], model[64], text[128];
    if (linux_read_debug("debugfs", "sched/preempt", list, sizeof list) &&
        linux_bracketed(list, model, sizeof model)) {
        snprintf(text, sizeof text, "%s (dynamic)", model);
        sink->text(sink->context, "kernel.preemption", text);
        sink->text(sink->context, "kernel.preemption_model", model);
        return;
    }
    const char *source = default_model(model, sizeof model);
    if (source) {
        snprintf(text, sizeof text, "%s (dynamic, %s)", model, source);
        sink->text(sink->context, "kernel.preemption_default", model);
    } else {
        snprintf(text, sizeof text, "dynamic (active model not visible)");
    }
    sink->text(sink->context, "kernel.preemption", text);
}

void linux_preemption_facts(const struct port_fact_sink *sink)
{
    struct utsname names;
    if (uname(&names) != 0)
        return;
    bool is_rt = is_realtime(&names);
    bool is_dynamic = strstr(names.version, "PREEMPT_DYNAMIC") != NULL;
    sink->truth(sink->context, "kernel.realtime", is_rt);
    sink->truth(sink->context, "kernel.preemption_is_dynamic", is_dynamic && !is_rt);
    if (is_dynamic && !is_rt) {
        dynamic_facts(sink);
        return;
    }
    const char *model = is_rt                               ? "rt"
                        : !strstr(names.version, "PREEMPT") ? "none or voluntary"
                        : may_be_lazy(names.release)        ? "full or lazy"
                                                            : "full";
    sink->text(sink->context, "kernel.preemption", model);
    sink->text(sink->context, "kernel.preemption_model", model);
}
